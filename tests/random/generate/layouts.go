package generate

import (
	"slices"

	"cmpi/tests/random/program"
)

// longStruct is the longest message in bytes for which MPICH 4.0 handles
// structures: it can't split a message inside a member of one.
const longStruct = 4000

// manyBlocks bounds the pieces of a datatype, which the executor lists one by
// one.
const manyBlocks = 400

// layout draws a layout of n cells.
func (g *generator) layout(n int) program.Layout {
	if n == 0 || !chance(g.rng, g.style.derived) {
		return program.Plain(n)
	}
	cell := &program.Type{Kind: program.CellType}
	switch r := g.rng; r.IntN(10) {
	case 0: // cells with room between them
		if n <= manyBlocks {
			return program.Layout{Count: n, Type: g.resized(cell)}
		}
	case 1: // elements of several cells each
		if k := g.divisor(n); k < n && n/k <= manyBlocks {
			return program.Layout{Count: n / k, Type: g.resized(g.derived(k, cell))}
		}
	case 2: // nested
		if k := g.divisor(n); k < n && n/k <= manyBlocks && k <= manyBlocks {
			inner := g.derived(k, cell)
			return program.Layout{Count: 1, Type: g.derived(n/k, inner)}
		}
	case 3:
		return program.Layout{Count: 1, Type: &program.Type{Kind: program.Duplicate, Sub: g.derived(n, cell)}}
	}
	return program.Layout{Count: 1, Type: g.derived(n, cell)}
}

// divisor is a random divisor of n.
func (g *generator) divisor(n int) int {
	for range 8 {
		if d := 1 + g.rng.IntN(min(n, 64)); n%d == 0 {
			if chance(g.rng, 50) {
				return n / d
			}
			return d
		}
	}
	return n
}

// derived draws a type of n elements of sub.
func (g *generator) derived(n int, sub *program.Type) *program.Type {
	r := g.rng
	t := func(k program.TypeKind, args ...int) *program.Type {
		return &program.Type{Kind: k, Args: args, Sub: sub}
	}
	ext, align := sub.Extent(g.c.Cell), g.c.Cell.Align()
	// Strides and displacements in bytes keep the alignment of the members.
	gap := func() int { return align * r.IntN(4) }
	block := g.blockLength(n)
	switch k := program.TypeKind(1 + r.IntN(int(program.Subarray))); k {
	case program.Vector:
		return t(k, n/block, block, block+r.IntN(3))
	case program.Hvector:
		return t(k, n/block, block, block*ext+gap())
	case program.Subarray:
		return t(k, n/block+r.IntN(2)+1, block+r.IntN(2)+1, n/block, block, r.IntN(2), r.IntN(2), 0)
	case program.IndexedBlock:
		args := []int{block}
		for _, b := range g.blocks(n, block, 1) {
			args = append(args, b[1])
		}
		return t(k, args...)
	case program.Indexed:
		return t(k, slices.Concat(g.blocks(n, 0, 1)...)...)
	case program.Hindexed, program.Struct:
		if k == program.Struct && g.p.Host && n*sub.Cells()*g.c.Cell.Size() > longStruct {
			break
		}
		return t(k, slices.Concat(g.blocks(n, 0, ext)...)...)
	}
	return t(program.Contiguous, n)
}

// blockLength is a divisor of n that makes no more than manyBlocks blocks.
func (g *generator) blockLength(n int) int {
	b := g.divisor(n)
	if n/b > manyBlocks {
		return n
	}
	return b
}

// blocks divides n elements into blocks of the given length (0: any), with
// their displacements in multiples of unit, gaps between them, in any order.
func (g *generator) blocks(n, length, unit int) (list [][]int) {
	r := g.rng
	gap := 1
	if unit > 1 {
		gap = g.c.Cell.Align()
	}
	at := r.IntN(3) * gap
	for left := n; left > 0; {
		b := length
		if b == 0 {
			b = left
			if len(list) < 12 {
				b = 1 + r.IntN(left)
			}
		}
		list = append(list, []int{b, at})
		at += b*unit + r.IntN(3)*gap
		left -= b
	}
	if chance(r, 30) {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

// resized gives a type more room than it needs.
func (g *generator) resized(sub *program.Type) *program.Type {
	align := g.c.Cell.Align()
	lb, ub := sub.Bounds(g.c.Cell)
	return &program.Type{Kind: program.Resized, Args: []int{lb, ub - lb + align*g.rng.IntN(4)}, Sub: sub}
}
