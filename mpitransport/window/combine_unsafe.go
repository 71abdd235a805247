package window

import (
	"math"
	"unsafe"
)

// combine makes dst[i] = dst[i] op src[i] for n elements that lie without
// padding at any alignment (MPI's order of operands: the target's first).
// op.Valid(e) must hold. It allocates nothing, long double excepted.
func combine(e Elem, op Op, dst, src unsafe.Pointer, n int) {
	switch op {
	case OpNoOp:
		return
	case OpReplace:
		bytes := n * elemInfos[e].size
		copy(unsafe.Slice((*byte)(dst), bytes), unsafe.Slice((*byte)(src), bytes))
		return
	}
	switch e {
	case Int8:
		combineInts[int8](op, dst, src, n)
	case Int16:
		combineInts[int16](op, dst, src, n)
	case Int32:
		combineInts[int32](op, dst, src, n)
	case Int64:
		combineInts[int64](op, dst, src, n)
	case Uint8, Byte, Bool:
		combineInts[uint8](op, dst, src, n)
	case Uint16, Logical16:
		combineInts[uint16](op, dst, src, n)
	case Uint32, Logical32:
		combineInts[uint32](op, dst, src, n)
	case Uint64, Logical64:
		combineInts[uint64](op, dst, src, n)
	case Float32:
		combineFloats[float32](op, dst, src, n)
	case Float64:
		combineFloats[float64](op, dst, src, n)
	case Complex64:
		combineComplex[complex64](op, dst, src, n)
	case Complex128:
		combineComplex[complex128](op, dst, src, n)
	case LongDouble:
		for i := range n {
			d := (*longDouble)(unsafe.Add(dst, 16*i))
			d.combine(op, *(*longDouble)(unsafe.Add(src, 16*i)))
		}
	case LongComplex:
		for i := range n {
			combineLongComplex(op, (*[2]longDouble)(unsafe.Add(dst, 32*i)), (*[2]longDouble)(unsafe.Add(src, 32*i)))
		}
	case LongDoubleInt32:
		for i := range n {
			d, s := unsafe.Add(dst, 20*i), unsafe.Add(src, 20*i)
			combineLongPair(op, (*longDouble)(d), (*longDouble)(s), (*int32)(unsafe.Add(d, 16)), (*int32)(unsafe.Add(s, 16)))
		}
	case Int16Int32:
		combinePairs[int16, int32](op, dst, src, n)
	case Int32Int32:
		combinePairs[int32, int32](op, dst, src, n)
	case Int64Int32:
		combinePairs[int64, int32](op, dst, src, n)
	case Float32Int32:
		combinePairs[float32, int32](op, dst, src, n)
	case Float64Int32:
		combinePairs[float64, int32](op, dst, src, n)
	case Float32Float32:
		combinePairs[float32, float32](op, dst, src, n)
	case Float64Float64:
		combinePairs[float64, float64](op, dst, src, n)
	}
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type float interface{ float32 | float64 }

// Each case is a loop of its own so that the compiler sees one operation in it.
func combineInts[T integer](op Op, dst, src unsafe.Pointer, n int) {
	d, s := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n)
	switch op {
	case OpSum:
		for i, x := range s {
			d[i] += x
		}
	case OpProd:
		for i, x := range s {
			d[i] *= x
		}
	case OpMax:
		for i, x := range s {
			d[i] = max(d[i], x)
		}
	case OpMin:
		for i, x := range s {
			d[i] = min(d[i], x)
		}
	case OpBAnd:
		for i, x := range s {
			d[i] &= x
		}
	case OpBOr:
		for i, x := range s {
			d[i] |= x
		}
	case OpBXor:
		for i, x := range s {
			d[i] ^= x
		}
	default:
		for i, x := range s {
			d[i] = logical(op, d[i], x)
		}
	}
}

func logical[T integer](op Op, a, b T) T {
	var r bool
	switch op {
	case OpLAnd:
		r = a != 0 && b != 0
	case OpLOr:
		r = a != 0 || b != 0
	case OpLXor:
		r = (a != 0) != (b != 0)
	}
	if r {
		return 1
	}
	return 0
}

func combineFloats[T float](op Op, dst, src unsafe.Pointer, n int) {
	d, s := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n)
	switch op {
	case OpSum:
		for i, x := range s {
			d[i] += x
		}
	case OpProd:
		for i, x := range s {
			d[i] *= x
		}
	case OpMax:
		for i, x := range s {
			d[i] = larger(d[i], x)
		}
	case OpMin:
		for i, x := range s {
			d[i] = smaller(d[i], x)
		}
	}
}

// larger and smaller compare as C does, so that a NaN never replaces a number.
func larger[T float](a, b T) T {
	if b > a || a != a {
		return b
	}
	return a
}

func smaller[T float](a, b T) T {
	if b < a || a != a {
		return b
	}
	return a
}

func combineComplex[T complex64 | complex128](op Op, dst, src unsafe.Pointer, n int) {
	d, s := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n)
	for i, x := range s {
		if op == OpSum {
			d[i] += x
		} else {
			d[i] *= x
		}
	}
}

// combinePairs is MAXLOC and MINLOC on values and indices without padding between
// them. Of equal values the smaller index stays.
func combinePairs[V int16 | int32 | int64 | float32 | float64, I int32 | float32 | float64](op Op, dst, src unsafe.Pointer, n int) {
	var v V
	var x I
	value, index := int(unsafe.Sizeof(v)), int(unsafe.Sizeof(x))
	for i := range n {
		d, s := unsafe.Add(dst, i*(value+index)), unsafe.Add(src, i*(value+index))
		dv, sv := (*V)(d), (*V)(s)
		di, si := (*I)(unsafe.Add(d, value)), (*I)(unsafe.Add(s, value))
		switch a, b := *dv, *sv; {
		case a == b:
			*di = min(*di, *si)
		case op == OpMaxLoc && b > a, op == OpMinLoc && b < a:
			*dv, *di = b, *si
		}
	}
}

// combineWord is combine on one element of at most 8 bytes, held in the low
// bytes of a word; e.atomicKind() must hold.
func combineWord(e Elem, op Op, old, operand uint64) uint64 {
	switch op {
	case OpNoOp:
		return old
	case OpReplace:
		return operand
	}
	switch e {
	case Int8:
		return uint64(uint8(combineInt(op, int8(old), int8(operand))))
	case Int16:
		return uint64(uint16(combineInt(op, int16(old), int16(operand))))
	case Int32:
		return uint64(uint32(combineInt(op, int32(old), int32(operand))))
	case Int64:
		return uint64(combineInt(op, int64(old), int64(operand)))
	case Uint8, Byte, Bool:
		return uint64(combineInt(op, uint8(old), uint8(operand)))
	case Uint16, Logical16:
		return uint64(combineInt(op, uint16(old), uint16(operand)))
	case Uint32, Logical32:
		return uint64(combineInt(op, uint32(old), uint32(operand)))
	case Float32:
		return uint64(math.Float32bits(combineFloat(op, math.Float32frombits(uint32(old)), math.Float32frombits(uint32(operand)))))
	case Float64:
		return math.Float64bits(combineFloat(op, math.Float64frombits(old), math.Float64frombits(operand)))
	}
	return combineInt(op, old, operand)
}

func combineInt[T integer](op Op, a, b T) T {
	switch op {
	case OpSum:
		return a + b
	case OpProd:
		return a * b
	case OpMax:
		return max(a, b)
	case OpMin:
		return min(a, b)
	case OpBAnd:
		return a & b
	case OpBOr:
		return a | b
	case OpBXor:
		return a ^ b
	}
	return logical(op, a, b)
}

func combineFloat[T float](op Op, a, b T) T {
	switch op {
	case OpSum:
		return a + b
	case OpProd:
		return a * b
	case OpMax:
		return larger(a, b)
	}
	return smaller(a, b)
}
