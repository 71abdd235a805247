package datatype

import "unsafe"

// Segment is one contiguous run of memory. It has the layout of the kernel's
// struct iovec, so a slice of them can be handed to process_vm_readv as it is.
type Segment struct {
	Addr uintptr
	Len  int64
}

// Segments lists the runs of memory that hold the packed stream of count
// elements at buf, from byte from on, in stream order, until out is full or the
// stream ends. It returns the number of segments and the stream position
// behind them: call again from there; the stream has ended when n is 0 or next
// reaches Total. Runs that touch are joined. It allocates nothing.
//
// The addresses don't keep buf alive: memory of Go's must be pinned or
// otherwise held by the caller, and must not be on a stack.
func (t *Type) Segments(buf unsafe.Pointer, count, from int64, out []Segment) (n int, next int64) {
	start, total := t.clip(count, from, maxLen)
	if start >= total || len(out) == 0 {
		return 0, from
	}
	s := segments{out: out, next: start}
	addr := uintptr(buf) + uintptr(t.root.off)
	switch {
	case t.root.nd != nil && count == 1:
		t.root.nd.list(&s, addr, start)
	case t.root.nd == nil && (count == 1 || t.Extent() == t.root.n):
		s.add(addr+uintptr(start), total-start)
	default:
		all := t.elements(count)
		all.list(&s, addr, start)
	}
	return s.n, s.next
}

// segments collects runs.
type segments struct {
	out  []Segment
	n    int
	next int64 // stream position behind the last run
}

// add takes one more run; false if there is no room.
func (s *segments) add(addr uintptr, n int64) bool {
	if s.n > 0 {
		if last := &s.out[s.n-1]; last.Addr+uintptr(last.Len) == addr {
			last.Len += n
			s.next += n
			return true
		}
	}
	if s.n == len(s.out) {
		return false
	}
	s.out[s.n] = Segment{addr, n}
	s.n++
	s.next += n
	return true
}

// list adds the node's runs from byte from on; false if there was no room for
// all. Displacements wrap around as addresses do, so a negative one is right.
func (nd *node) list(s *segments, addr uintptr, from int64) bool {
	i, inside := nd.seek(from, 0)
	for ; i < nd.n; i++ {
		at := addr + uintptr(nd.disp(i))
		if kid := nd.kidAt(i); kid != nil {
			if !kid.list(s, at, inside) {
				return false
			}
		} else if !s.add(at+uintptr(inside), nd.width(i)-inside) {
			return false
		}
		inside = 0
	}
	return true
}
