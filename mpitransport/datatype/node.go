package datatype

import (
	"fmt"
	"strings"
)

// kind tells how a node finds its blocks.
type kind uint8

const (
	vector  kind = iota // block i is kid, i*stride bytes on
	indexed             // block i is kid, at disps[i]
	list                // block i is kids[i], at disps[i], and ends at cum[i+1] of the packed stream
)

// node is one level of the tree: at least two blocks, none of them empty.
type node struct {
	kind   kind
	n      int64   // number of blocks
	blk    int64   // packed bytes of each block (vector, indexed)
	stride int64   // bytes from block to block (vector)
	kid    *node   // what each block is, nil: one run of blk bytes (vector, indexed)
	disps  []int64 // bytes from this node to the block (indexed, list)
	cum    []int64 // packed bytes before each block, one more for the end (list)
	kids   []*node // what block i is, nil: one run; nil slice: all are runs (list)
}

// part is something placed: n packed bytes that start off bytes from the
// level above. A nil nd stands for one run. n == 0 is nothing at all.
type part struct {
	off int64
	n   int64
	nd  *node
}

// kidAt is what block i is: nil for a run.
func (nd *node) kidAt(i int64) *node {
	switch {
	case nd.kind != list:
		return nd.kid
	case nd.kids == nil:
		return nil
	}
	return nd.kids[i]
}

// disp is where block i starts, in bytes from this node.
func (nd *node) disp(i int64) int64 {
	if nd.kind == vector {
		return i * nd.stride
	}
	return nd.disps[i]
}

// width is the number of packed bytes of block i.
func (nd *node) width(i int64) int64 {
	if nd.kind == list {
		return nd.cum[i+1] - nd.cum[i]
	}
	return nd.blk
}

// seek finds the block that holds byte pos of this node's packed stream, and
// the position inside it. The end of the stream is (n, 0). The block must not
// be before hint; the nearer it is, the faster.
func (nd *node) seek(pos, hint int64) (block, inside int64) {
	if nd.kind != list {
		return pos / nd.blk, pos % nd.blk
	}
	// Gallop from hint until block hi ends behind pos, then halve: the wanted
	// block is the first that does.
	lo, hi := hint, hint
	for step := int64(1); hi < nd.n && nd.cum[hi+1] <= pos; step *= 2 {
		lo, hi = hi+1, min(hi+step, nd.n)
	}
	for lo < hi {
		if mid := lo + (hi-lo)/2; nd.cum[mid+1] <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, pos - nd.cum[lo]
}

// same tells cheaply whether two blocks of equal size have the same layout. It
// may say no for layouts that are equal but were built apart.
func same(a, b *node) bool {
	if a == b {
		return true
	}
	return a != nil && b != nil && a.kind == vector && b.kind == vector &&
		a.n == b.n && a.blk == b.blk && a.stride == b.stride && same(a.kid, b.kid)
}

// continues tells whether a vector that starts d bytes behind this node carries
// on its pattern, so that the two are one.
func (nd *node) continues(d int64) bool {
	var c calc
	end := c.mul(nd.n, nd.stride)
	return nd.kind == vector && end == d && !c.overflow
}

// shift moves a part by d bytes.
func (p part) shift(c *calc, d int64) part {
	p.off = c.add(p.off, d)
	return p
}

// repeat is n copies of p, stride bytes apart.
func (p part) repeat(c *calc, n, stride int64) part {
	switch {
	case n == 0 || p.n == 0:
		return part{}
	case n == 1:
		return p
	}
	total := c.mul(n, p.n)
	c.mul(n-1, stride)
	if p.nd == nil && stride == p.n {
		return part{p.off, total, nil}
	}
	if v := p.nd; v != nil && v.continues(stride) {
		return part{p.off, total, &node{kind: vector, n: c.mul(n, v.n), blk: v.blk, stride: v.stride, kid: v.kid}}
	}
	return part{p.off, total, &node{kind: vector, n: n, blk: p.n, stride: stride, kid: p.nd}}
}

// join makes one part of two that follow each other in the stream, if memory
// allows: runs that touch, and a vector with what continues its pattern.
func join(c *calc, a, b part) (part, bool) {
	n := c.add(a.n, b.n)
	if a.nd == nil && b.nd == nil {
		return part{a.off, n, nil}, c.add(a.off, a.n) == b.off
	}
	v := a.nd
	if v == nil || !v.continues(c.sub(b.off, a.off)) {
		return part{}, false
	}
	more := int64(0)
	switch w := b.nd; {
	case b.n == v.blk && same(w, v.kid):
		more = 1
	case w != nil && w.kind == vector && w.blk == v.blk && w.stride == v.stride && same(w.kid, v.kid):
		more = w.n
	default:
		return part{}, false
	}
	return part{a.off, n, &node{kind: vector, n: v.n + more, blk: v.blk, stride: v.stride, kid: v.kid}}, true
}

// spliceMax is the number of blocks up to which a list of runs inside a list is
// copied into it. It saves a level for the structs of structs that programs
// have, and lets their neighbours join; a bound keeps big lists shared.
const spliceMax = 32

// sequence is all parts one after the other, none of them empty.
func sequence(c *calc, parts []part) part {
	joined := make([]part, 0, len(parts))
	total := int64(0)
	push := func(p part) {
		total = c.add(total, p.n)
		if k := len(joined); k > 0 {
			if j, ok := join(c, joined[k-1], p); ok {
				joined[k-1] = j
				return
			}
		}
		joined = append(joined, p)
	}
	for _, p := range parts {
		if nd := p.nd; nd != nil && nd.kind == list && nd.kids == nil && nd.n <= spliceMax && len(parts) <= spliceMax {
			for i := range nd.n {
				push(part{c.add(p.off, nd.disp(i)), nd.width(i), nil})
			}
			continue
		}
		push(p)
	}
	switch len(joined) {
	case 0:
		return part{}
	case 1:
		return joined[0]
	}
	if p, ok := regular(c, joined); ok {
		return p
	}
	if words(parts) && len(parts) <= apartMax*len(joined) {
		joined = parts
	}
	return part{0, total, collect(joined)}
}

// apartMax is the gain in blocks up to which equal words are not joined: a loop
// over equal words takes a third of the time per block of one over runs of
// mixed length, which the branch predictor can't follow. (Measured: 65536
// doubles at random distances of 1 to 3 words.)
const apartMax = 3

// words tells whether all parts are runs of one length that copies as one word.
func words(parts []part) bool {
	n := parts[0].n
	for _, p := range parts {
		if p.nd != nil || p.n != n {
			return false
		}
	}
	return n == 4 || n == 8 || n == 16
}

// regular recognises equal blocks at even distances: a vector.
func regular(c *calc, parts []part) (part, bool) {
	first := parts[0]
	stride := c.sub(parts[1].off, first.off)
	for i, p := range parts[1:] {
		if p.n != first.n || !same(p.nd, first.nd) || c.sub(p.off, parts[i].off) != stride {
			return part{}, false
		}
	}
	return first.repeat(c, int64(len(parts)), stride), true
}

// collect makes the smallest node that holds two or more unrelated parts.
func collect(parts []part) *node {
	nd := &node{kind: indexed, n: int64(len(parts)), blk: parts[0].n, kid: parts[0].nd}
	nd.disps = make([]int64, len(parts))
	runs := true
	for i, p := range parts {
		nd.disps[i] = p.off
		runs = runs && p.nd == nil
		if p.n != nd.blk || !same(p.nd, nd.kid) {
			nd.kind = list
		}
	}
	if nd.kind == indexed {
		return nd
	}
	nd.blk, nd.kid = 0, nil
	nd.cum = make([]int64, len(parts)+1)
	for i, p := range parts {
		nd.cum[i+1] = nd.cum[i] + p.n
	}
	if !runs {
		nd.kids = make([]*node, len(parts))
		for i, p := range parts {
			nd.kids[i] = p.nd
		}
	}
	return nd
}

// runs counts the contiguous runs of a part. It can't overflow where the size
// in bytes did not.
func (p part) runs() int64 {
	switch {
	case p.n == 0:
		return 0
	case p.nd == nil:
		return 1
	case p.nd.kind != list:
		return p.nd.n * part{n: p.nd.blk, nd: p.nd.kid}.runs()
	}
	total := int64(0)
	for i := range p.nd.n {
		total += part{n: p.nd.width(i), nd: p.nd.kidAt(i)}.runs()
	}
	return total
}

func (p part) String() string {
	var s strings.Builder
	if p.off != 0 {
		fmt.Fprintf(&s, "@%d ", p.off)
	}
	switch nd := p.nd; {
	case p.n == 0:
		s.WriteString("empty")
	case nd == nil:
		fmt.Fprintf(&s, "run %d", p.n)
	case nd.kind == vector:
		fmt.Fprintf(&s, "vector %d × %d (%v)", nd.n, nd.stride, part{n: nd.blk, nd: nd.kid})
	case nd.kind == indexed:
		fmt.Fprintf(&s, "indexed %d (%v)", nd.n, part{n: nd.blk, nd: nd.kid})
	default:
		fmt.Fprintf(&s, "list %d (", nd.n)
		for i := range nd.n {
			if i > 0 {
				s.WriteString(", ")
			}
			s.WriteString(part{nd.disp(i), nd.width(i), nd.kidAt(i)}.String())
		}
		s.WriteString(")")
	}
	return s.String()
}
