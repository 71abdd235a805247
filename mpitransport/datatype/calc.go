package datatype

import "math"

// calc does 64-bit arithmetic and remembers whether any step overflowed, so
// that a constructor checks once at its end. Results after an overflow are
// meaningless.
type calc struct{ overflow bool }

func (c *calc) add(a, b int64) int64 {
	s := a + b
	if (s > a) != (b > 0) && b != 0 {
		c.overflow = true
	}
	return s
}

func (c *calc) sub(a, b int64) int64 {
	d := a - b
	if (d < a) != (b > 0) && b != 0 {
		c.overflow = true
	}
	return d
}

func (c *calc) mul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	// MinInt64 / -1 wraps to itself, so the division alone would miss it.
	if p/b != a || (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		c.overflow = true
	}
	return p
}
