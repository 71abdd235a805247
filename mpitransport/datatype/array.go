package datatype

// Order is the storage order of an array.
type Order uint8

// Storage orders: in C order the last dimension is contiguous, in Fortran order
// the first.
const (
	OrderC Order = iota
	OrderFortran
)

// Distribution is how one dimension of a distributed array is dealt to
// processes.
type Distribution uint8

// Distributions, with MPI's meaning.
const (
	DistributeBlock Distribution = iota
	DistributeCyclic
	DistributeNone
)

// DefaultArg is MPI_DISTRIBUTE_DFLT_DARG: even blocks for DistributeBlock, 1 for
// DistributeCyclic.
const DefaultArg int64 = -1

// span is the piece of one dimension that a type selects: full blocks of length
// block, period apart, and then one of length rest; all in elements from start.
type span struct {
	size          int64 // of the whole dimension
	start         int64
	block, period int64
	full, rest    int64
}

// Subarray is the box of subsizes elements at starts in an array of sizes
// elements (MPI_Type_create_subarray). Its bounds are those of the whole array.
func Subarray(sizes, subsizes, starts []int64, order Order, t *Type) *Type {
	if len(subsizes) != len(sizes) || len(starts) != len(sizes) || len(sizes) == 0 {
		return invalid("%d sizes, %d subsizes, %d starts", len(sizes), len(subsizes), len(starts))
	}
	spans := make([]span, len(sizes))
	for i, size := range sizes {
		sub, start := subsizes[i], starts[i]
		if sub < 1 || start < 0 || sub > size || start > size-sub {
			return invalid("dimension %d: %d elements at %d of %d", i, sub, start, size)
		}
		spans[i] = span{size: size, start: start, rest: sub}
	}
	return selection(spans, order, t)
}

// Darray is the part of a distributed array of gsizes elements that the process
// of the given rank holds, in a grid of psizes processes whose ranks are in C
// order whatever the array's order (MPI_Type_create_darray). Its bounds are
// those of the whole array.
func Darray(size, rank int, gsizes []int64, distribs []Distribution, dargs, psizes []int64, order Order, t *Type) *Type {
	dims := len(gsizes)
	if len(distribs) != dims || len(dargs) != dims || len(psizes) != dims || dims == 0 {
		return invalid("%d sizes, %d distributions, %d arguments, %d process counts", dims, len(distribs), len(dargs), len(psizes))
	}
	if rank < 0 || rank >= size {
		return invalid("rank %d of %d", rank, size)
	}
	spans := make([]span, dims)
	var c calc
	left, grid := int64(rank), int64(size)
	for i, p := range psizes {
		if p < 1 || grid%p != 0 || gsizes[i] < 1 {
			return invalid("dimension %d: %d elements over %d processes", i, gsizes[i], p)
		}
		grid /= p
		coord := left / grid
		left %= grid
		s, ok := deal(&c, gsizes[i], distribs[i], dargs[i], p, coord)
		if !ok {
			return invalid("dimension %d: distribution %d with argument %d", i, distribs[i], dargs[i])
		}
		spans[i] = s
	}
	if grid != 1 {
		return invalid("a grid of %d processes too many", grid)
	}
	if c.overflow {
		return failed(ErrOverflow)
	}
	return selection(spans, order, t)
}

// deal is what the process at coord of procs holds of one dimension. All three
// distributions are the standard's CYCLIC(block), MPI-4.0 §5.1.4, with a block
// of their own.
func deal(c *calc, size int64, d Distribution, arg, procs, coord int64) (span, bool) {
	block := arg
	switch even := (size-1)/procs + 1; {
	case d == DistributeNone && procs == 1:
		block = size
	case d == DistributeBlock && arg == DefaultArg:
		block = even
	case d == DistributeBlock && arg >= even:
	case d == DistributeCyclic && arg == DefaultArg:
		block = 1
	case d == DistributeCyclic && arg >= 1:
	default:
		return span{}, false
	}
	block = min(block, size) // a longer block holds nothing more
	s := span{size: size, start: c.mul(coord, block), block: block, period: c.mul(procs, block)}
	if c.overflow || s.start >= size {
		return span{size: size}, true
	}
	held := size - s.start
	s.full, s.rest = held/s.period, held%s.period
	if s.rest >= block {
		s.full, s.rest = s.full+1, 0
	}
	return s, true
}

// nest is the piece that s selects of a dimension whose elements are p with
// bounds b, pitch bytes apart.
func (s span) nest(c *calc, p part, b bounds, pitch int64) (part, bounds) {
	var (
		parts = make([]part, 0, 2)
		all   bounds
	)
	add := func(start, length, count, period int64) {
		if length == 0 || count == 0 {
			return
		}
		off, step := c.mul(start, pitch), c.mul(period, pitch)
		if q := p.repeat(c, length, pitch).repeat(c, count, step); q.n > 0 {
			parts = append(parts, q.shift(c, off))
		}
		all = all.join(b.repeat(c, length, pitch).repeat(c, count, step).shift(c, off))
	}
	add(s.start, s.block, s.full, s.period)
	add(c.add(s.start, c.mul(s.full, s.period)), s.rest, 1, 0)
	return sequence(c, parts), all
}

// selection builds the type of an array of which each dimension contributes its
// span. Dimensions nest with the contiguous one innermost.
func selection(spans []span, order Order, t *Type) *Type {
	if t.err != nil {
		return t
	}
	if order > OrderFortran {
		return invalid("storage order %d", order)
	}
	var c calc
	box, b := t.root, t.b
	pitch := t.Extent() // bytes from element to element of the dimension at hand
	for i := range spans {
		s := spans[i]
		if order == OrderC {
			s = spans[len(spans)-1-i]
		}
		box, b = s.nest(&c, box, b, pitch)
		pitch = c.mul(pitch, s.size)
	}
	b.lb, b.ub, b.marked = 0, pitch, true
	return newType(&c, box, b)
}
