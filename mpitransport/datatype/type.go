package datatype

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrOverflow says that a size, displacement or bound doesn't fit in 63 bits.
	ErrOverflow = errors.New("datatype: size or bound beyond 63 bits")
	// ErrArgument says that a constructor's arguments describe no datatype.
	ErrArgument = errors.New("datatype: invalid argument")
)

// Type is an immutable, flattened datatype. The zero value is an empty type.
type Type struct {
	root part
	b    bounds
	runs int64 // runs per element
	err  error
}

// newType closes a construction: it takes the tree and bounds unless the
// arithmetic that led to them overflowed.
func newType(c *calc, root part, b bounds) *Type {
	c.sub(b.ub, b.lb)
	c.sub(b.trueUB, b.trueLB)
	if c.overflow {
		return &Type{err: ErrOverflow}
	}
	return &Type{root: root, b: b, runs: root.runs()}
}

// failed returns a type that holds nothing and carries err.
func failed(err error) *Type { return &Type{err: err} }

// invalid returns a type that holds nothing because of wrong arguments.
func invalid(format string, args ...any) *Type {
	return failed(fmt.Errorf("%w: %s", ErrArgument, fmt.Sprintf(format, args...)))
}

// Err tells why a construction failed: nil, or an error that wraps
// [ErrOverflow] or [ErrArgument].
func (t *Type) Err() error { return t.err }

// Size is the number of bytes of data in one element (MPI_Type_size).
func (t *Type) Size() int64 { return t.root.n }

// LB is the lower bound in bytes (MPI_Type_get_extent).
func (t *Type) LB() int64 { return t.b.lb }

// UB is the upper bound in bytes, LB plus Extent.
func (t *Type) UB() int64 { return t.b.ub }

// Extent is the distance in bytes from one element to the next.
func (t *Type) Extent() int64 { return t.b.ub - t.b.lb }

// TrueLB is the displacement in bytes of the first byte of data
// (MPI_Type_get_true_extent).
func (t *Type) TrueLB() int64 { return t.b.trueLB }

// TrueExtent is the distance in bytes from the first to behind the last byte of
// data, markers and padding ignored.
func (t *Type) TrueExtent() int64 { return t.b.trueUB - t.b.trueLB }

// Runs is the number of pieces of memory that one element is moved in: what a
// protocol weighs against Size when it chooses between packing and passing
// addresses. (Some may touch; Segments joins those.)
func (t *Type) Runs() int64 { return t.runs }

// Total is the length in bytes of the packed stream of count elements. It fails
// with ErrArgument when count is negative and with ErrOverflow when the length
// or the memory that count elements span is beyond 63 bits.
func (t *Type) Total(count int64) (int64, error) {
	if count < 0 {
		return 0, fmt.Errorf("%w: count %d", ErrArgument, count)
	}
	var c calc
	n := c.mul(count, t.root.n)
	t.b.repeat(&c, count, t.Extent())
	if c.overflow {
		return 0, ErrOverflow
	}
	return n, nil
}

// Contig tells whether count elements occupy one contiguous run of memory, in
// stream order. If so the run is n bytes long and starts offset bytes from the
// buffer address. No data at all is a run of length 0.
func (t *Type) Contig(count int64) (offset, n int64, ok bool) {
	switch {
	case count <= 0 || t.root.n == 0:
		return 0, 0, true
	case t.root.nd != nil:
		return 0, 0, false
	case count == 1:
		return t.root.off, t.root.n, true
	case t.Extent() != t.root.n || count > math.MaxInt64/t.root.n:
		return 0, 0, false
	}
	return t.root.off, count * t.root.n, true
}

// String shows the flattened tree, for tests and debugging.
func (t *Type) String() string {
	if t.err != nil {
		return t.err.Error()
	}
	return t.root.String()
}
