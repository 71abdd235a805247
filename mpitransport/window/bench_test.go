package window

import (
	"fmt"
	"testing"
	"unsafe"

	"cmpi/flush"
)

// benchWindow is a window of two members of which one is there: what an origin's
// calls cost when nobody else wants anything.
func benchWindow(b *testing.B, mode flush.Mode, domains int, size int64, lines bool) *Window {
	b.Helper()
	j := newJob(b, 1, shape{mode: mode, domains: 1})
	c := j.config(0, newBarrier(1))
	c.LineWrites = lines
	c.Members = []Member{{Domain: 1, Size: size, DispUnit: 1}, {World: 1, Domain: int32(domains), Size: size, DispUnit: 1}}
	return memberless(b, c)
}

type variant struct {
	name    string
	mode    flush.Mode
	domains int
	lines   bool
}

var variants = []variant{
	{"coherent", flush.Coherent, 1, false},
	{"flush", flush.Flush, 2, false},
	{"flush-lines", flush.Flush, 2, true},
}

// BenchmarkOps is the time of one call on 8 bytes, complete at the target.
func BenchmarkOps(b *testing.B) {
	for _, v := range variants {
		w := benchWindow(b, v.mode, v.domains, 4096, v.lines)
		buf := make([]byte, 8)
		o, t := data(buf), place(1, 64, 8)
		var was int64
		p := unsafe.Pointer(&was)
		for _, c := range []struct {
			name string
			call func() Class
		}{
			{"put+flush", func() Class { return first(w.Put(o, t), w.Flush(1)) }},
			{"get+flush", func() Class { return first(w.Get(o, t), w.Flush(1)) }},
			{"fetch-and-op", func() Class { return first(w.FetchAndOp(o.Buf, p, Int64, 1, 64, OpSum), w.Flush(1)) }},
			{"compare-and-swap", func() Class { return first(w.CompareAndSwap(o.Buf, o.Buf, p, Int64, 1, 64), w.Flush(1)) }},
			{"accumulate", func() Class { return first(w.Accumulate(o, t, OpSum, Float64), w.Flush(1)) }},
		} {
			b.Run(v.name+"/"+c.name, func(b *testing.B) {
				w.Lock(LockShared, 1, 0)
				b.ReportAllocs()
				for b.Loop() {
					if c := c.call(); c != OK {
						b.Fatal(c)
					}
				}
				w.Unlock(1)
			})
		}
		for name, kind := range map[string]LockType{"lock-shared": LockShared, "lock-exclusive": LockExclusive} {
			b.Run(v.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if c := first(w.Lock(kind, 1, 0), w.Unlock(1)); c != OK {
						b.Fatal(c)
					}
				}
			})
		}
	}
}

// BenchmarkBare is what 8 bytes cost without a window: a line stored to, written
// back and fenced, and one dropped and loaded.
func BenchmarkBare(b *testing.B) {
	w := benchWindow(b, flush.Flush, 2, 4096, false)
	p := w.segment(1)
	b.Run("line written", func(b *testing.B) {
		for b.Loop() {
			*(*uint64)(p)++
			w.v.WriteBack(p, 8)
			w.v.Fence()
		}
	})
	b.Run("line published", func(b *testing.B) {
		var l [line]byte
		for b.Loop() {
			w.v.PutLine(p, unsafe.Pointer(&l))
			w.v.Fence()
		}
	})
	b.Run("line looked at", func(b *testing.B) {
		for b.Loop() {
			w.v.Load64(p)
		}
	})
}

// BenchmarkBandwidth is put and get of long data, beside the bare copy between
// the same two buffers.
func BenchmarkBandwidth(b *testing.B) {
	for _, size := range []int64{4 << 10, 64 << 10, 1 << 20} {
		for _, v := range variants[:2] {
			w := benchWindow(b, v.mode, v.domains, 1<<20, v.lines)
			buf := make([]byte, size)
			o, t := data(buf), place(1, 0, size)
			run := func(name string, f func()) {
				b.Run(fmt.Sprintf("%s/%s/%d", v.name, name, size), func(b *testing.B) {
					w.Lock(LockShared, 1, 0)
					b.SetBytes(size)
					for b.Loop() {
						f()
					}
					w.Unlock(1)
				})
			}
			run("put", func() { w.Put(o, t); w.Flush(1) })
			run("get", func() { w.Get(o, t) })
			if v.mode == flush.Coherent {
				run("copy in", func() { move(w.segment(1), o.Buf, size) })
				run("copy out", func() { move(o.Buf, w.segment(1), size) })
			}
		}
	}
}

// BenchmarkAccumulate is a long accumulate: per element with CPU atomics, or
// plain under an exclusive lock.
func BenchmarkAccumulate(b *testing.B) {
	const size = 64 << 10
	for _, v := range variants {
		w := benchWindow(b, v.mode, v.domains, size, v.lines)
		o, t := data(make([]byte, size)), place(1, 0, size)
		for name, kind := range map[string]LockType{"shared": LockShared, "exclusive": LockExclusive} {
			b.Run(v.name+"/"+name, func(b *testing.B) {
				w.Lock(kind, 1, 0)
				b.SetBytes(size)
				for b.Loop() {
					w.Accumulate(o, t, OpSum, Float64)
				}
				w.Unlock(1)
			})
		}
	}
}

// TestNoAllocation: the calls of a program's inner loop allocate nothing.
func TestNoAllocation(t *testing.T) {
	for _, s := range shapes {
		if s.mode == flush.Emulate {
			continue
		}
		j := newJob(t, 1, shape{mode: s.mode, domains: 1})
		c := j.config(0, newBarrier(1))
		c.LineWrites = s.lineWrites
		c.Members = append(c.Members, Member{World: 1, Domain: int32(9 + s.domains), Size: 4096, DispUnit: 1})
		w := memberless(t, c)
		o, p := data(make([]byte, 40)), place(1, 3, 40)
		var was int64
		at := unsafe.Pointer(&was)
		if n := testing.AllocsPerRun(100, func() {
			w.Lock(LockShared, 1, 0)
			w.Put(o, p)
			w.Get(o, p)
			w.Accumulate(o, p, OpSum, Int64)
			w.GetAccumulate(o, o, p, OpMax, Float64)
			w.FetchAndOp(at, at, Int64, 1, 8, OpSum)
			w.CompareAndSwap(at, at, at, Int32, 1, 3)
			w.Flush(1)
			w.Unlock(1)
		}); n != 0 {
			t.Errorf("%v: %v allocations", s, n)
		}
	}
}
