package datatype

import (
	"fmt"
	"math/rand/v2"
)

// typemap is the naive reference: the displacement of every single byte in
// stream order, and every marker, built by the definitions of MPI-4.0 §5.1.
type typemap struct {
	bytes    []int64
	lbs, ubs []int64 // markers
}

func (m *typemap) place(o typemap, disp int64) {
	for _, b := range o.bytes {
		m.bytes = append(m.bytes, b+disp)
	}
	for i := range o.lbs {
		m.lbs = append(m.lbs, o.lbs[i]+disp)
		m.ubs = append(m.ubs, o.ubs[i]+disp)
	}
}

func least(xs []int64) int64 {
	m := xs[0]
	for _, x := range xs {
		m = min(m, x)
	}
	return m
}

func greatest(xs []int64) int64 {
	m := xs[0]
	for _, x := range xs {
		m = max(m, x)
	}
	return m
}

// figures are the numbers that MPI asks of a datatype.
type figures struct{ Size, LB, Extent, TrueLB, TrueExtent int64 }

func (m typemap) figures() figures {
	f := figures{Size: int64(len(m.bytes))}
	if len(m.bytes) > 0 {
		f.TrueLB = least(m.bytes)
		f.TrueExtent = greatest(m.bytes) + 1 - f.TrueLB
	}
	if len(m.lbs) > 0 {
		f.LB = least(m.lbs)
		f.Extent = greatest(m.ubs) - f.LB
	} else {
		f.LB, f.Extent = f.TrueLB, f.TrueExtent
	}
	return f
}

func figuresOf(t *Type) figures {
	return figures{t.Size(), t.LB(), t.Extent(), t.TrueLB(), t.TrueExtent()}
}

// elements is the map of count elements, an extent apart.
func (m typemap) elements(count int64) typemap {
	var all typemap
	for i := range count {
		all.place(m, i*m.figures().Extent)
	}
	return all
}

func (m typemap) hindexed(lens, disps []int64) typemap {
	var all typemap
	for i := range lens {
		all.place(m.elements(lens[i]), disps[i])
	}
	return all
}

// owned is the map of an array in which keep chooses the elements.
func (m typemap) owned(sizes []int64, order Order, keep func(index []int64) bool) typemap {
	var (
		all    typemap
		extent = m.figures().Extent
		dims   = len(sizes)
		index  = make([]int64, dims)
		total  = int64(1)
	)
	for _, s := range sizes {
		total *= s
	}
	for at := range total {
		rest := at
		for k := range dims {
			d := k
			if order == OrderC {
				d = dims - 1 - k
			}
			index[d] = rest % sizes[d]
			rest /= sizes[d]
		}
		if keep(index) {
			all.place(m, at*extent)
		}
	}
	all.lbs, all.ubs = []int64{0}, []int64{total * extent}
	return all
}

// chooser makes the generator's decisions: a seeded generator, or a fuzzer's
// bytes.
type chooser interface{ IntN(n int) int }

// script is a chooser that reads its decisions from bytes; 0 at the end.
type script struct{ bytes []byte }

func (s *script) IntN(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

// sample is a datatype in both forms, and how it was built.
type sample struct {
	t    *Type
	m    typemap
	text string
}

// sampleMax bounds the bytes of a generated type, so that the reference stays
// quick.
const sampleMax = 6000

// generate makes a random datatype of the given nesting depth or less.
func generate(r chooser, depth int) sample {
	if depth == 0 || r.IntN(8) == 0 {
		n := []int{1, 2, 4, 8, 16, 3, 12, 24, 32, 40, 0}[r.IntN(11)]
		var m typemap
		for i := range n {
			m.bytes = append(m.bytes, int64(i))
		}
		return sample{Bytes(n), m, fmt.Sprintf("%d", n)}
	}
	s := generate(r, depth-1)
	g := grow(r, s, depth)
	if len(g.m.bytes) > sampleMax || g.m.figures().Extent > 1<<20 || g.m.figures().Extent < -(1<<20) {
		return s
	}
	return g
}

// some is a small count, now and then 0.
func some(r chooser, n int) int64 { return int64(r.IntN(n + 1)) }

// grow applies one random constructor to s.
func grow(r chooser, s sample, depth int) sample {
	ext := s.m.figures().Extent
	name := func(format string, args ...any) string {
		return fmt.Sprintf(format, args...) + "(" + s.text + ")"
	}
	lists := func(unit int64) (lens, disps []int64) {
		at := int64(0)
		for range some(r, 6) {
			n := some(r, 3)
			lens = append(lens, n)
			disps = append(disps, at)
			at += (n + some(r, 2)) * unit
			if r.IntN(6) == 0 {
				at -= 9 * unit
			}
		}
		return lens, disps
	}
	switch r.IntN(10) {
	case 0:
		n := some(r, 6)
		return sample{Contiguous(n, s.t), s.m.elements(n), name("contiguous %d", n)}
	case 1:
		count, block, stride := some(r, 9), some(r, 3), int64(r.IntN(9)-3)
		var m typemap
		for i := range count {
			m.place(s.m.elements(block), i*stride*ext)
		}
		return sample{Vector(count, block, stride, s.t), m, name("vector %d %d %d", count, block, stride)}
	case 2:
		count, block, stride := some(r, 6), some(r, 3), int64(r.IntN(200)-60)
		var m typemap
		for i := range count {
			m.place(s.m.elements(block), i*stride)
		}
		return sample{Hvector(count, block, stride, s.t), m, name("hvector %d %d %d", count, block, stride)}
	case 3:
		lens, disps := lists(1)
		bytes := make([]int64, len(disps))
		for i := range disps {
			bytes[i] = disps[i] * ext
		}
		return sample{Indexed(lens, disps, s.t), s.m.hindexed(lens, bytes), name("indexed %v %v", lens, disps)}
	case 4:
		lens, disps := lists(ext + int64(r.IntN(3)))
		return sample{Hindexed(lens, disps, s.t), s.m.hindexed(lens, disps), name("hindexed %v %v", lens, disps)}
	case 5:
		lens, disps := lists(1)
		block := some(r, 3)
		bytes := make([]int64, len(disps))
		for i := range disps {
			lens[i], bytes[i] = block, disps[i]*ext
		}
		return sample{IndexedBlock(block, disps, s.t), s.m.hindexed(lens, bytes), name("indexed_block %d %v", block, disps)}
	case 6:
		lb, extent := int64(r.IntN(60)-20), int64(r.IntN(120)-20)
		m := typemap{bytes: s.m.bytes, lbs: []int64{lb}, ubs: []int64{lb + extent}}
		return sample{Resized(s.t, lb, extent), m, name("resized %d %d", lb, extent)}
	case 7:
		return mixed(r, s, depth)
	case 8:
		return subarray(r, s)
	default:
		return darray(r, s)
	}
}

// mixed is a struct of s and other random types.
func mixed(r chooser, s sample, depth int) sample {
	parts := []sample{s}
	for range some(r, 3) {
		parts = append(parts, generate(r, depth-1))
	}
	var (
		lens, disps []int64
		ts          []*Type
		m           typemap
		text        = "struct("
		at          = int64(0)
	)
	for _, p := range parts {
		n := some(r, 3)
		lens, disps, ts = append(lens, n), append(disps, at), append(ts, p.t)
		m.place(p.m.elements(n), at)
		text += fmt.Sprintf("%d@%d %s; ", n, at, p.text)
		at += n*p.m.figures().Extent + int64(r.IntN(3))*4
	}
	return sample{Struct(lens, disps, ts), m, text + ")"}
}

func subarray(r chooser, s sample) sample {
	var sizes, subs, starts []int64
	for range 1 + r.IntN(3) {
		size := 1 + some(r, 5)
		sub := 1 + some(r, int(size)-1)
		sizes, subs, starts = append(sizes, size), append(subs, sub), append(starts, some(r, int(size-sub)))
	}
	order := Order(r.IntN(2))
	m := s.m.owned(sizes, order, func(index []int64) bool {
		for d, i := range index {
			if i < starts[d] || i >= starts[d]+subs[d] {
				return false
			}
		}
		return true
	})
	return sample{Subarray(sizes, subs, starts, order, s.t), m, fmt.Sprintf("subarray %v %v %v %d(%s)", sizes, subs, starts, order, s.text)}
}

func darray(r chooser, s sample) sample {
	var (
		sizes, dargs, procs, blocks []int64
		distribs                    []Distribution
		size                        = int64(1)
	)
	for range 1 + r.IntN(3) {
		g, p := 1+some(r, 6), 1+some(r, 2)
		d := Distribution(r.IntN(3))
		arg, block := DefaultArg, int64(1)
		switch d {
		case DistributeNone:
			p, block = 1, g
		case DistributeBlock:
			block = (g + p - 1) / p
			if r.IntN(2) == 0 {
				block += some(r, 2)
				arg = block
			}
		case DistributeCyclic:
			if r.IntN(2) == 0 {
				block = 1 + some(r, 2)
				arg = block
			}
		}
		sizes, procs, dargs, blocks, distribs = append(sizes, g), append(procs, p), append(dargs, arg), append(blocks, block), append(distribs, d)
		size *= p
	}
	rank := int64(r.IntN(int(size)))
	coords := make([]int64, len(procs))
	for d, rest := len(procs)-1, rank; d >= 0; d-- {
		coords[d], rest = rest%procs[d], rest/procs[d]
	}
	order := Order(r.IntN(2))
	m := s.m.owned(sizes, order, func(index []int64) bool {
		for d, i := range index {
			if i/blocks[d]%procs[d] != coords[d] {
				return false
			}
		}
		return true
	})
	t := Darray(int(size), int(rank), sizes, distribs, dargs, procs, order, s.t)
	return sample{t, m, fmt.Sprintf("darray %d/%d %v %v %v %v %d(%s)", rank, size, sizes, distribs, dargs, procs, order, s.text)}
}

// seeded is the generator of test case number i.
func seeded(i uint64) *rand.Rand { return rand.New(rand.NewPCG(0x646174617479, i)) }
