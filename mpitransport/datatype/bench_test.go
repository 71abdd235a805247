package datatype

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// workload is one message of a benchmark.
type workload struct {
	name  string
	t     *Type
	count int64
}

func (w workload) bytes() int64  { return w.count * w.t.Size() }
func (w workload) memory() int64 { return w.count*w.t.Extent() + w.t.TrueExtent() }

// workloads are types that programs have, 512 KiB of data each.
func workloads() []workload {
	const n = 1 << 16
	double := Bytes(8)
	r := rand.New(rand.NewPCG(1, 2))
	disps, lens := make([]int64, n), make([]int64, n/2)
	at := int64(0)
	for i := range disps {
		at += int64(1 + r.IntN(3))
		disps[i] = at
	}
	for i := range lens {
		lens[i] = int64(1 + r.IntN(3))
	}
	return []workload{
		{"contiguous", double, n},
		{"vector-1-double", Vector(n, 1, 2, double), 1},
		{"vector-2-doubles", Vector(n/2, 2, 4, double), 1},
		{"vector-16-doubles", Vector(n/16, 16, 20, double), 1},
		{"vector-float", Vector(2*n, 1, 2, Bytes(4)), 1},
		{"column", Resized(Vector(256, 1, 260, double), 0, 8), 256},
		{"indexed-block", IndexedBlock(1, disps, double), 1},
		{"indexed", Indexed(lens, spaced(disps[:n/2]), double), 1},
		{"struct", Struct([]int64{1, 1, 3}, []int64{0, 8, 16}, []*Type{Bytes(4), double, Bytes(4)}), n / 3},
		{"subarray-3d", Subarray([]int64{66, 66, 66}, []int64{32, 32, 64}, []int64{1, 1, 1}, OrderC, double), 1},
		{"subarray-face", Subarray([]int64{256, 256, 4}, []int64{256, 256, 1}, []int64{0, 0, 1}, OrderC, double), 1},
	}
}

// spaced leaves room for blocks of three between displacements.
func spaced(disps []int64) []int64 {
	out := make([]int64, len(disps))
	for i, d := range disps {
		out[i] = 4 * d
	}
	return out
}

// bench moves the whole message per iteration, in pieces of piece bytes (0: at
// once), and reports the packed bytes per second.
func bench(b *testing.B, piece int64, f func(w workload, packed, user unsafe.Pointer, from, n int64)) {
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			user, packed := make([]byte, w.memory()), make([]byte, w.bytes())
			step := piece
			if step == 0 {
				step = w.bytes()
			}
			b.SetBytes(w.bytes())
			for b.Loop() {
				for from := int64(0); from < w.bytes(); from += step {
					f(w, unsafe.Pointer(&packed[from]), unsafe.Pointer(&user[0]), from, min(step, w.bytes()-from))
				}
			}
			b.ReportMetric(float64(w.bytes())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
		})
	}
}

func BenchmarkPack(b *testing.B) {
	bench(b, 0, func(w workload, packed, user unsafe.Pointer, from, n int64) {
		w.t.Pack(packed, user, w.count, from, n)
	})
}

func BenchmarkUnpack(b *testing.B) {
	bench(b, 0, func(w workload, packed, user unsafe.Pointer, from, n int64) {
		w.t.Unpack(user, packed, w.count, from, n)
	})
}

// BenchmarkPackLines packs in the 56-byte payloads of ring lines: the cost of
// stopping and finding the place again.
func BenchmarkPackLines(b *testing.B) {
	bench(b, 56, func(w workload, packed, user unsafe.Pointer, from, n int64) {
		w.t.Pack(packed, user, w.count, from, n)
	})
}

// BenchmarkMemcpy is the yardstick: 512 KiB, contiguous.
func BenchmarkMemcpy(b *testing.B) {
	dst, src := make([]byte, 1<<19), make([]byte, 1<<19)
	b.SetBytes(1 << 19)
	for b.Loop() {
		copy(dst, src)
	}
	b.ReportMetric(float64(len(dst))*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
}
