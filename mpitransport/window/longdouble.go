package window

import (
	"encoding/binary"
	"math"
	"math/big"
)

// longDouble is the x87 extended format in the 16 bytes that the ABI of amd64
// gives it: 64 bits of mantissa, its integer bit included; sign and 15 bits of
// exponent; 6 bytes of padding. Go has no such type, so arithmetic goes through
// math/big, which rounds to 64 bits as the processor does (to nearest, even);
// results below the normal range may differ in the last bit.
type longDouble [16]byte

const (
	longBias    = 16383
	longMaxExp  = 0x7fff
	longInteger = uint64(1) << 63
)

func (x *longDouble) parts() (negative bool, exp int, mant uint64) {
	se := binary.LittleEndian.Uint16(x[8:])
	return se>>15 != 0, int(se & longMaxExp), binary.LittleEndian.Uint64(x[:])
}

func makeLong(negative bool, exp int, mant uint64) (x longDouble) {
	se := uint16(exp)
	if negative {
		se |= 1 << 15
	}
	binary.LittleEndian.PutUint64(x[:], mant)
	binary.LittleEndian.PutUint16(x[8:], se)
	return x
}

func (x *longDouble) nan() bool {
	_, exp, mant := x.parts()
	return exp == longMaxExp && mant != longInteger
}

// special gives the double that behaves like x in sums and products with
// infinities and NaN: an infinity, a NaN, a zero of its sign, or ±1.
func (x *longDouble) special() float64 {
	negative, exp, mant := x.parts()
	f := 1.0
	switch {
	case x.nan():
		return math.NaN()
	case exp == longMaxExp:
		f = math.Inf(1)
	case mant == 0:
		f = 0
	}
	if negative {
		return math.Copysign(f, -1)
	}
	return f
}

func (x *longDouble) finite() bool {
	_, exp, _ := x.parts()
	return exp != longMaxExp
}

// big is the value of a finite x.
func (x *longDouble) big() *big.Float {
	negative, exp, mant := x.parts()
	f := new(big.Float).SetPrec(64).SetUint64(mant)
	f.SetMantExp(f, max(exp, 1)-longBias-63)
	if negative {
		f.Neg(f)
	}
	return f
}

// fromSpecial is the long double of a zero, an infinity or a NaN.
func fromSpecial(f float64) longDouble {
	switch {
	case f == 0:
		return makeLong(math.Signbit(f), 0, 0)
	case math.IsInf(f, 0):
		return makeLong(f < 0, longMaxExp, longInteger)
	}
	return makeLong(false, longMaxExp, longInteger|longInteger>>1)
}

func fromBig(f *big.Float) longDouble {
	if f.Sign() == 0 {
		return makeLong(f.Signbit(), 0, 0)
	}
	var m big.Float
	exp := f.MantExp(&m) - 1 + longBias // f = m × 2^…, 0.5 ≤ |m| < 1
	if exp >= longMaxExp {
		return makeLong(f.Signbit(), longMaxExp, longInteger)
	}
	m.Abs(&m)
	mant, _ := m.SetMantExp(&m, 64).Uint64()
	if exp <= 0 { // subnormal: the integer bit is off
		shift := uint(1 - exp)
		if shift > 64 {
			return makeLong(f.Signbit(), 0, 0)
		}
		rest := mant << (64 - shift)
		mant >>= shift
		if rest > longInteger || rest == longInteger && mant&1 != 0 {
			mant++ // may become the smallest normal number, whose exponent is 1
		}
		return makeLong(f.Signbit(), int(mant>>63), mant)
	}
	return makeLong(f.Signbit(), exp, mant)
}

func (x longDouble) add(y longDouble) longDouble {
	if a, b := x.special(), y.special(); !x.finite() || !y.finite() {
		return fromSpecial(a + b)
	} else if a == 0 && b == 0 {
		return fromSpecial(a + b)
	}
	return fromBig(new(big.Float).SetPrec(64).Add(x.big(), y.big()))
}

func (x longDouble) sub(y longDouble) longDouble {
	y[9] ^= 0x80
	return x.add(y)
}

func (x longDouble) mul(y longDouble) longDouble {
	if a, b := x.special(), y.special(); !x.finite() || !y.finite() || a == 0 || b == 0 {
		return fromSpecial(a * b)
	}
	return fromBig(new(big.Float).SetPrec(64).Mul(x.big(), y.big()))
}

// compare is -1, 0 or 1 as x is less than, equal to or greater than y; 0 also if
// one is no number.
func (x *longDouble) compare(y longDouble) int {
	switch {
	case x.nan() || y.nan():
		return 0
	case x.finite() && y.finite():
		return x.big().Cmp(y.big())
	}
	a, b := x.special(), y.special()
	switch {
	case !x.finite() && !y.finite() && a == b:
		return 0
	case !x.finite():
		return int(math.Copysign(1, a))
	}
	return -int(math.Copysign(1, b))
}

func (x *longDouble) combine(op Op, y longDouble) {
	switch op {
	case OpSum:
		*x = x.add(y)
	case OpProd:
		*x = x.mul(y)
	case OpMax:
		if x.compare(y) < 0 || x.nan() {
			*x = y
		}
	case OpMin:
		if x.compare(y) > 0 || x.nan() {
			*x = y
		}
	}
}

func combineLongComplex(op Op, d, s *[2]longDouble) {
	if op == OpSum {
		d[0], d[1] = d[0].add(s[0]), d[1].add(s[1])
		return
	}
	d[0], d[1] = d[0].mul(s[0]).sub(d[1].mul(s[1])), d[0].mul(s[1]).add(d[1].mul(s[0]))
}

func combineLongPair(op Op, d, s *longDouble, di, si *int32) {
	order := s.compare(*d)
	if op == OpMinLoc {
		order = -order
	}
	switch {
	case order > 0:
		*d, *di = *s, *si
	case order == 0:
		*di = min(*di, *si)
	}
}
