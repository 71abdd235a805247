package datatype

// bounds are the four numbers of MPI-4.0 §5.1.6–§5.1.8, in bytes relative to
// the buffer address. True bounds enclose the data. The plain bounds are the
// same unless a resized type is among the parts: then its markers alone decide
// (§5.1.6: "if any entry of the type map has lb_marker, the lower bound is the
// least of those").
type bounds struct {
	lb, ub         int64
	trueLB, trueUB int64
	data           bool // there is at least one byte
	marked         bool // lb and ub come from markers
}

// dense is the bounds of n contiguous bytes at displacement 0.
func dense(n int64) bounds {
	return bounds{ub: n, trueUB: n, data: n > 0}
}

// shift moves all bounds by d bytes.
func (b bounds) shift(c *calc, d int64) bounds {
	return b.spread(c, d, d)
}

// repeat is the bounds of count copies that lie stride bytes apart.
func (b bounds) repeat(c *calc, count, stride int64) bounds {
	if count == 0 {
		return bounds{}
	}
	last := c.mul(count-1, stride)
	return b.spread(c, min(0, last), max(0, last))
}

// spread is the bounds of copies whose displacements reach from lo to hi.
func (b bounds) spread(c *calc, lo, hi int64) bounds {
	if b.data || b.marked {
		b.lb, b.ub = c.add(b.lb, lo), c.add(b.ub, hi)
	}
	if b.data {
		b.trueLB, b.trueUB = c.add(b.trueLB, lo), c.add(b.trueUB, hi)
	}
	return b
}

// join is the bounds of b and o together. A part without data and markers
// doesn't count.
func (b bounds) join(o bounds) bounds {
	j := b
	switch {
	case !o.data && !o.marked || b.marked && !o.marked:
	case !b.data && !b.marked || o.marked && !b.marked:
		j.lb, j.ub = o.lb, o.ub
	default:
		j.lb, j.ub = min(b.lb, o.lb), max(b.ub, o.ub)
	}
	switch {
	case !o.data:
	case !b.data:
		j.trueLB, j.trueUB = o.trueLB, o.trueUB
	default:
		j.trueLB, j.trueUB = min(b.trueLB, o.trueLB), max(b.trueUB, o.trueUB)
	}
	j.data = b.data || o.data
	j.marked = b.marked || o.marked
	return j
}
