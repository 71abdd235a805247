package ringq

import (
	"unsafe"

	"cmpi/flush"
)

// The paper's ring (section 3.3): a circle of message cells between a tail
// pointer that the producer moves and a head pointer that the consumer moves.
//
//	0          64         128
//	+----------+----------+--------------------------+-- ... --+
//	| head     | tail     | cell 0: header | payload | cell 1  |
//	+----------+----------+--------------------------+-- ... --+
//	  consumer   producer   producer
//
// Each step of an enqueue is made visible before the next begins: payload,
// then cell header, then tail. A dequeue looks at the tail afresh, then at the
// header, then at the payload. Nothing in a cell says whether it is valid, so
// none of those looks can be left out.
const (
	// cellPayload is MPICH's default cell size, which the paper starts from.
	cellPayload = 16 << 10
	cellSpan    = flush.LineSize + cellPayload
	cellsAt     = 2 * flush.LineSize
	cellRatio   = 128 // ring lines per cell: 1,024 lines make 8 cells
)

func cellCount(lines int) int                  { return max(2, lines/cellRatio) }
func cellRegion(lines int) int                 { return cellsAt + cellCount(lines)*cellSpan }
func cellHead(r unsafe.Pointer) unsafe.Pointer { return r }
func cellTail(r unsafe.Pointer) unsafe.Pointer { return unsafe.Add(r, flush.LineSize) }

// cellHeader is what a cell's first line holds.
type cellHeader struct {
	a, b uint64 // the message's Header
	off  uint64 // position of this cell's payload in the message
	n    uint64 // payload bytes in this cell
}

type cellRing struct {
	v      *flush.View
	region unsafe.Pointer
	cells  uint64
	head   uint64 // cells consumed
	tail   uint64 // cells written
}

func (r *cellRing) cell(i uint64) unsafe.Pointer {
	return unsafe.Add(r.region, cellsAt+i%r.cells*cellSpan)
}

type cellProducer struct {
	cellRing
	h    Header
	left uint64
}

func newCellProducer(v *flush.View, region unsafe.Pointer, c Config) *cellProducer {
	return &cellProducer{cellRing: cellRing{v: v, region: region, cells: uint64(cellCount(c.Lines))}}
}

func (p *cellProducer) full() bool {
	if p.tail-p.head < p.cells {
		return false
	}
	if head := p.v.Load64(cellHead(p.region)); head-p.head <= p.tail-p.head {
		p.head = head
	}
	return p.tail-p.head >= p.cells
}

func (p *cellProducer) Begin(h Header, src unsafe.Pointer, n int) (int, bool) {
	if p.full() {
		return 0, false
	}
	p.h, p.left = h, h.Len
	if h.Len == 0 {
		p.enqueue(nil, 0)
		return 0, true
	}
	return p.More(src, n), true
}

func (p *cellProducer) More(src unsafe.Pointer, n int) int {
	done := 0
	for done < n && p.left > 0 && !p.full() {
		c := min(n-done, cellPayload, int(p.left))
		p.enqueue(unsafe.Add(src, done), c)
		done += c
	}
	return done
}

// enqueue writes one cell of n bytes; there is room.
func (p *cellProducer) enqueue(src unsafe.Pointer, n int) {
	cell := p.cell(p.tail)
	if n > 0 {
		dst := unsafe.Add(cell, flush.LineSize)
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
		p.v.WriteBack(dst, n)
		p.v.Fence()
	}
	a, b := p.h.words()
	*(*cellHeader)(cell) = cellHeader{a: a, b: b, off: p.h.Len - p.left, n: uint64(n)}
	p.v.WriteBack(cell, flush.LineSize)
	p.v.Fence()
	p.left -= uint64(n)
	p.tail++
	p.v.Store64(cellTail(p.region), p.tail)
}

func (p *cellProducer) Left() int { return int(p.left) }

type cellConsumer struct {
	cellRing
	len  uint64 // length of the open message
	left uint64 // of which not read
	n    int    // payload bytes of the cell at head
	used int    // of which read
	open bool   // the cell at head has been looked at
}

func newCellConsumer(v *flush.View, region unsafe.Pointer, c Config) *cellConsumer {
	return &cellConsumer{cellRing: cellRing{v: v, region: region, cells: uint64(cellCount(c.Lines))}}
}

// arrived looks at the header of the cell at head.
func (k *cellConsumer) arrived() (cellHeader, bool) {
	if k.tail == k.head {
		if tail := k.v.Load64(cellTail(k.region)); tail-k.head <= k.cells {
			k.tail = tail
		}
		if k.tail == k.head {
			return cellHeader{}, false
		}
	}
	cell := k.cell(k.head)
	k.v.Invalidate(cell, flush.LineSize)
	return *(*cellHeader)(cell), true
}

func (k *cellConsumer) Poll(h *Header) bool {
	c, ok := k.arrived()
	if !ok {
		return false
	}
	*h = headerOf(c.a, c.b)
	k.len, k.left = h.Len, h.Len
	k.take(c)
	return true
}

// take opens the cell for reading; its length is untrusted.
func (k *cellConsumer) take(c cellHeader) {
	k.n, k.used, k.open = int(min(c.n, cellPayload, k.left)), 0, true
}

func (k *cellConsumer) Read(dst unsafe.Pointer, n int) int {
	got := 0
	for got < n && k.left > 0 {
		if !k.open {
			c, ok := k.arrived()
			if !ok {
				break
			}
			k.take(c)
			if k.n == 0 {
				break // a cell without bytes inside a message: never sent, so corrupt
			}
		}
		c := min(n-got, k.n-k.used)
		k.v.CopyOut(unsafe.Add(dst, got), unsafe.Add(k.cell(k.head), flush.LineSize+k.used), c)
		k.used += c
		k.left -= uint64(c)
		got += c
		if k.used == k.n {
			k.release()
		}
	}
	return got
}

// release gives the cell at head back.
func (k *cellConsumer) release() {
	k.open = false
	k.head++
	k.v.Store64(cellHead(k.region), k.head)
}

func (k *cellConsumer) Left() int { return int(k.left) }

func (k *cellConsumer) End() {
	if k.open {
		k.release()
	}
}
