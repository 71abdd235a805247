package window

import (
	"math"
	"math/big"
	"testing"
)

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(64).SetFloat64(x) }

// TestLongDouble: on numbers that are doubles too, arithmetic is that of double
// where the result is exact, and of IEEE 754 for what is no number.
func TestLongDouble(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	xs := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 3, -1024, 1 << 40, inf, -inf, nan}
	make := func(x float64) longDouble {
		if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			return fromSpecial(x)
		}
		return longOf(x)
	}
	for _, x := range xs {
		for _, y := range xs {
			a, b := make(x), make(y)
			for _, c := range []struct {
				name string
				got  longDouble
				want float64
			}{{"+", a.add(b), x + y}, {"-", a.sub(b), x - y}, {"*", a.mul(b), x * y}} {
				if want := make(c.want); c.got != want && !(c.got.nan() && want.nan()) {
					t.Errorf("%v %s %v = %v, want %v", x, c.name, y, c.got, want)
				}
			}
			want := 0
			if x < y {
				want = -1
			} else if x > y {
				want = 1
			}
			if got := a.compare(b); got != want {
				t.Errorf("compare %v and %v: %d, want %d", x, y, got, want)
			}
		}
	}
}

// TestLongDoublePrecision: 64 bits of mantissa and 15 of exponent are kept.
func TestLongDoublePrecision(t *testing.T) {
	one := makeLong(false, longBias, longInteger)
	ulp := makeLong(false, longBias-63, longInteger)
	if got, want := one.add(ulp), makeLong(false, longBias, longInteger|1); got != want {
		t.Errorf("1 + 2^-63 = %v, want %v", got, want)
	}
	half := makeLong(false, longBias-64, longInteger)
	if got := one.add(half); got != one {
		t.Errorf("1 + 2^-64 = %v, want 1 (ties to even)", got)
	}
	large := makeLong(false, longMaxExp-1, ^uint64(0))
	if got, want := large.add(large), fromSpecial(math.Inf(1)); got != want {
		t.Errorf("overflow: %v, want %v", got, want)
	}
	small := makeLong(false, 1, longInteger)
	if got, want := small.mul(makeLong(false, longBias-1, longInteger)), makeLong(false, 0, longInteger>>1); got != want {
		t.Errorf("subnormal: %v, want %v", got, want)
	}
	if got, want := makeLong(false, 0, longInteger>>1).add(makeLong(false, 0, longInteger>>1)), small; got != want {
		t.Errorf("sum of subnormals: %v, want %v", got, want)
	}
	if got, want := small.mul(small), makeLong(false, 0, 0); got != want {
		t.Errorf("underflow: %v, want %v", got, want)
	}
}
