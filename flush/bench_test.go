package flush

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"
)

// benchModes are the modes whose primitives are single instructions or loops.
var benchModes = []variant{
	{"coherent", Coherent, Options{}},
	{"coherent-novector", Coherent, Options{NoVector: true}},
	{"flush", Flush, Options{}},
	{"flush-novector", Flush, Options{NoVector: true}},
	{"flush-cachedlines", Flush, Options{CachedLines: true}},
	{"uncached", Uncached, Options{}},
}

var sink uint64

// BenchmarkPrimitives times every primitive alone, on one core.
func BenchmarkPrimitives(b *testing.B) {
	const size = 1 << 20
	for _, va := range benchModes {
		v := newView(b, sharedMemory(b, size), va.mode, va.o)
		line := new([lineWords]uint64)
		src := unsafe.Pointer(line)
		seq := uint64(0)
		ring := func() unsafe.Pointer { return at(v, int(seq%64)*LineSize) }
		for _, p := range []struct {
			name string
			op   func()
		}{
			{"PutLine", func() { // the source was just written by words, as callers do
				seq++
				for i := range line {
					line[i] = seq
				}
				v.PutLine(ring(), src)
			}},
			{"PutLine+Fence", func() { seq++; line[7] = seq; v.PutLine(ring(), src); v.Fence() }},
			{"GetLine/hit", func() {
				if !v.GetLine(src, at(v, 0), 7) {
					b.Fatal("missed")
				}
				sink += line[0]
			}},
			{"GetLine/miss", func() { v.GetLine(src, at(v, 0), 8) }},
			{"Load64", func() { sink += v.Load64(at(v, 64)) }},
			{"Peek64", func() { sink += v.Peek64(at(v, 64)) }},
			{"Store64", func() { seq++; v.Store64(at(v, 64), seq) }},
			{"WriteBack+Fence", func() { seq++; *(*uint64)(at(v, 64)) = seq; v.WriteBack(at(v, 64), 8); v.Fence() }},
			{"Invalidate", func() { v.Invalidate(at(v, 64), 8) }},
			{"Fence", v.Fence},
			{"FullFence", v.FullFence},
		} {
			b.Run(va.name+"/"+p.name, func(b *testing.B) {
				line[7] = 7
				v.PutLine(at(v, 0), src)
				v.Fence()
				v.GetLine(src, at(v, 0), 7)
				for b.Loop() {
					p.op()
				}
			})
		}
	}
}

// BenchmarkBulk compares the copies with the runtime's memmove.
func BenchmarkBulk(b *testing.B) {
	const most = 4 << 20
	private := fill(1, most)
	for _, n := range []int{8, 40, 56, 448, 4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("memmove/%d", n), func(b *testing.B) {
			m := sharedMemory(b, 2*most)
			b.SetBytes(int64(n))
			for b.Loop() {
				copy(m, private[:n])
			}
		})
		for _, va := range benchModes {
			v := newView(b, sharedMemory(b, 2*most), va.mode, va.o)
			p := ptr(private)
			for _, c := range []struct {
				name string
				op   func()
			}{
				{"CopyIn", func() { v.CopyIn(at(v, 0), p, n); v.Fence() }},
				{"CopyOut", func() { v.CopyOut(p, at(v, 0), n) }},
				{"PutLines", func() { v.PutLines(at(v, 0), p, n, 1); v.Fence() }},
				{"GetLines", func() { v.GetLines(p, at(v, 0), n, 1) }},
				{"Invalidate+GetLines", func() { v.Invalidate(at(v, 0), n/56*64+64); v.GetLines(p, at(v, 0), n, 1) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/%d", va.name, c.name, n), func(b *testing.B) {
					v.PutLines(at(v, 0), p, n, 1)
					v.Fence()
					b.SetBytes(int64(n))
					for b.Loop() {
						c.op()
					}
				})
			}
		}
	}
}

// BenchmarkPingPong is the one-way time of a line between two pinned threads,
// beside that of a bare word.
func BenchmarkPingPong(b *testing.B) {
	run := func(name string, f func(rounds int) (Sample, error)) {
		b.Run(name, func(b *testing.B) {
			s, err := f(b.N)
			if err != nil {
				b.Skip(err)
			}
			b.ReportMetric(s.Nanoseconds[0], "ns/oneway")
		})
	}
	run("bare", func(n int) (Sample, error) { return BarePingPong(n, 1) })
	for _, va := range benchModes {
		run(va.name, func(n int) (Sample, error) { return PingPong(nil, va.mode, va.o, n, 1) })
	}
}

// BenchmarkFigure11 reports the figure's medians, one benchmark per point.
func BenchmarkFigure11(b *testing.B) {
	const reps = 9
	var sizes []int
	for n := 64; n <= 128<<10; n *= 2 {
		sizes = append(sizes, n)
	}
	samples, err := Figure11(nil, nil, sizes, reps)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range samples {
		b.Run(fmt.Sprintf("%s/%d", s.Method, s.Size), func(b *testing.B) {
			if s.Skipped != "" {
				b.Skip(s.Skipped)
			}
			slices.Sort(s.Nanoseconds)
			b.ReportMetric(s.Nanoseconds[reps/2], "ns/memset")
			b.ReportMetric(0, "ns/op") // measured above, not by this loop
		})
	}
}
