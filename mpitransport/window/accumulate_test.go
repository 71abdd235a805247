package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"cmpi/mpitransport/datatype"
)

// TestAccumulateCounts: all ranks add to the same elements at one time, of every
// integer and floating-point width, aligned and not, and nothing is lost.
func TestAccumulateCounts(t *testing.T) {
	const n, rounds = 4, 12
	kinds := []Elem{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float32, Float64, Complex64, Complex128, LongDouble}
	eachShape(t, n, func(t *testing.T, j *job) {
		j.run(func(w *Window, barrier func()) error {
			if err := must(w.LockAll(0)); err != nil {
				return err
			}
			for i := range rounds {
				for k, e := range kinds {
					one := ones(e, 3)
					disp := int64(64*k + k%3)
					p := Place{1, disp, int64(len(one)), byteType}
					switch i % 3 {
					case 0:
						if err := must(w.Accumulate(data(one), p, OpSum, e)); err != nil {
							return err
						}
					case 1:
						was := make([]byte, len(one))
						if err := must(w.GetAccumulate(data(one), data(was), p, OpSum, e)); err != nil {
							return err
						}
					default:
						var was [maxElem]byte
						for m := range int64(3) {
							if err := must(w.FetchAndOp(ptr(one), unsafe.Pointer(&was), e, 1, disp+m*int64(e.Size()), OpSum)); err != nil {
								return err
							}
						}
					}
				}
			}
			if err := must(w.FlushAll()); err != nil {
				return err
			}
			barrier()
			for k, e := range kinds {
				got := make([]byte, 3*e.Size())
				if err := must(w.GetAccumulate(Data{}, data(got), Place{1, int64(64*k + k%3), int64(len(got)), byteType}, OpNoOp, e)); err != nil {
					return err
				}
				for m := range 3 {
					if x := number(e, got[m*e.Size():]); x != n*rounds {
						return fmt.Errorf("kind %d, element %d: %v, want %d", e, m, x, n*rounds)
					}
				}
			}
			return must(w.UnlockAll())
		})
	})
}

// ones are n elements of value 1.
func ones(e Elem, n int) []byte {
	b := make([]byte, n*e.Size())
	for i := range n {
		p := unsafe.Pointer(&b[i*e.Size()])
		switch e {
		case Float32, Complex64:
			*(*float32)(p) = 1
		case Float64, Complex128:
			*(*float64)(p) = 1
		case LongDouble:
			*(*longDouble)(p) = makeLong(false, longBias, longInteger)
		default:
			storeElem(p, 1, int64(e.Size()))
		}
	}
	return b
}

// number is the (real part of the) element at the start of b.
func number(e Elem, b []byte) float64 {
	p := ptr(b)
	switch e {
	case Float32, Complex64:
		return float64(*(*float32)(p))
	case Float64, Complex128:
		return *(*float64)(p)
	case LongDouble:
		f, _ := (*longDouble)(p).big().Float64()
		return f
	}
	return float64(loadElem(p, int64(e.Size())))
}

// TestLongRuns: all ranks add to the same elements at once, in runs of many words
// that begin and end inside a word. No sum is lost, nothing beside is touched.
func TestLongRuns(t *testing.T) {
	const n, rounds, size, from, to = 3, 30, 4096, 2, 4090
	eachShape(t, n, func(t *testing.T, j *job) {
		j.size = func(int) int64 { return size }
		for _, e := range []Elem{Int8, Uint16} {
			want := make([]byte, size)
			for i := from; i < to; i += e.Size() {
				want[i] = n * rounds
			}
			one := make([]byte, to-from)
			for i := 0; i < len(one); i += e.Size() {
				one[i] = 1
			}
			typ := datatype.Contiguous(int64(e.Size()), byteType)
			count := int64(len(one) / e.Size())
			j.run(func(w *Window, barrier func()) error {
				if err := must(w.LockAll(0)); err != nil {
					return err
				}
				for range rounds {
					if c := w.Accumulate(Data{ptr(one), count, typ}, Place{1, from, count, typ}, OpSum, e); c != OK {
						return c
					}
				}
				if err := must(w.UnlockAll()); err != nil {
					return err
				}
				barrier()
				got := make([]byte, size)
				if err := must(w.Lock(LockShared, 1, 0), w.Get(data(got), place(1, 0, size)), w.Unlock(1)); err != nil {
					return err
				}
				if d := cmp.Diff(want, got); d != "" {
					return fmt.Errorf("%v, seed %d: %s", e, j.s.seed, d)
				}
				return nil
			})
		}
	})
}

// TestFetchUnique: tickets drawn with fetch-and-add, and with compare-and-swap,
// are given out once each.
func TestFetchUnique(t *testing.T) {
	const n, rounds = 4, 40
	eachShape(t, n, func(t *testing.T, j *job) {
		drawn := make([][]int64, n)
		j.run(func(w *Window, _ func()) error {
			if err := must(w.LockAll(0)); err != nil {
				return err
			}
			for range rounds {
				one, got := int64(1), int64(-1)
				if err := must(w.FetchAndOp(value(one), unsafe.Pointer(&got), Int64, 2, 8, OpSum), w.Flush(2)); err != nil {
					return err
				}
				drawn[w.Rank()] = append(drawn[w.Rank()], got)
				for now := uint16(0); ; {
					var was uint16
					if err := must(w.CompareAndSwap(value(now+1), value(now), unsafe.Pointer(&was), Uint16, 2, 2)); err != nil {
						return err
					}
					if was == now {
						drawn[w.Rank()] = append(drawn[w.Rank()], int64(was)+n*rounds)
						break
					}
					now = was
				}
			}
			return must(w.UnlockAll())
		})
		seen := map[int64]int{}
		for _, d := range drawn {
			for _, x := range d {
				seen[x]++
			}
		}
		for i := range int64(2 * n * rounds) {
			if seen[i] != 1 {
				t.Fatalf("seed %d: ticket %d was given out %d times", j.s.seed, i, seen[i])
			}
		}
	})
}

// TestOps: every operation on every kind that has it, of contiguous and strided
// elements, against scalar arithmetic on 8-byte values.
func TestOps(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			j := newJob(t, 2, s)
			j.run(func(w *Window, _ func()) error {
				if w.Rank() != 0 {
					return nil
				}
				for e := range Elem(elems) {
					for op := range Op(ops) {
						if !op.Valid(e) {
							continue
						}
						if err := checkOp(w, e, op); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
	}
}

// checkOp accumulates to a strided target under an exclusive and a shared lock.
func checkOp(w *Window, e Elem, op Op) error {
	const n = 5
	size := e.Size()
	elem := datatype.Bytes(size)
	strided := datatype.Resized(elem, 0, int64(size+8))
	a, b := make([]byte, n*size), make([]byte, n*size)
	fill(e, a, 1)
	fill(e, b, 2)
	want := append([]byte{}, a...)
	for i := range n {
		reference(e, op, want[i*size:][:size], b[i*size:][:size])
	}
	for _, kind := range []LockType{LockShared, LockExclusive} {
		p := Place{1, 16, n, strided}
		was, got := make([]byte, len(a)), make([]byte, len(a))
		if err := must(w.Lock(kind, 1, 0), w.Put(Data{ptr(a), n, elem}, p),
			w.GetAccumulate(Data{ptr(b), n, elem}, Data{ptr(was), n, elem}, p, op, e),
			w.Get(Data{ptr(got), n, elem}, p), w.Unlock(1)); err != nil {
			return fmt.Errorf("kind %d, op %d: %w", e, op, err)
		}
		if d := cmp.Diff(a, was); d != "" {
			return fmt.Errorf("kind %d, op %d: fetched (-want +got):\n%s", e, op, d)
		}
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Errorf("kind %d, op %d, lock %d: result (-want +got):\n%s", e, op, kind, d)
		}
	}
	return nil
}

// fill makes small numbers, some equal, some zero.
func fill(e Elem, b []byte, salt int) {
	size := e.Size()
	for i := 0; i*size < len(b); i++ {
		x := int64((i*salt*3+i)%4 - 1)
		put := func(kind Elem, at int) int {
			p := unsafe.Pointer(&b[i*size+at])
			switch kind {
			case Float32:
				*(*float32)(p) = float32(x) / 2
			case Float64:
				*(*float64)(p) = float64(x) / 2
			case LongDouble:
				*(*longDouble)(p) = longOf(float64(x) / 2)
			default:
				storeElem(p, uint64(x), int64(kind.Size()))
			}
			return at + kind.Size()
		}
		at := 0
		for _, part := range parts(e) {
			at = put(part, at)
			x = int64(i - salt)
		}
	}
}

// parts are the plain kinds that an element consists of.
func parts(e Elem) []Elem {
	switch e {
	case Complex64, Float32Float32:
		return []Elem{Float32, Float32}
	case Complex128, Float64Float64:
		return []Elem{Float64, Float64}
	case LongComplex:
		return []Elem{LongDouble, LongDouble}
	case Int16Int32:
		return []Elem{Int16, Int32}
	case Int32Int32:
		return []Elem{Int32, Int32}
	case Int64Int32:
		return []Elem{Int64, Int32}
	case Float32Int32:
		return []Elem{Float32, Int32}
	case Float64Int32:
		return []Elem{Float64, Int32}
	case LongDoubleInt32:
		return []Elem{LongDouble, Int32}
	}
	return []Elem{e}
}

// read is a part of an element as a number.
func read(e Elem, b []byte) float64 {
	p := ptr(b)
	switch e {
	case Float32, Float64, LongDouble:
		return number(e, b)
	case Int8:
		return float64(*(*int8)(p))
	case Int16:
		return float64(*(*int16)(p))
	case Int32:
		return float64(*(*int32)(p))
	case Int64:
		return float64(*(*int64)(p))
	}
	return float64(loadElem(p, int64(e.Size())))
}

func write(e Elem, b []byte, x float64) {
	p := ptr(b)
	switch e {
	case Float32:
		*(*float32)(p) = float32(x)
	case Float64:
		*(*float64)(p) = x
	case LongDouble:
		*(*longDouble)(p) = longOf(x)
	case Uint64, Logical64:
		storeElem(p, uint64(x), 8)
	default:
		storeElem(p, uint64(int64(x)), int64(e.Size()))
	}
}

func longOf(x float64) longDouble {
	if x == 0 {
		return fromSpecial(x)
	}
	return fromBig(bigOf(x))
}

// reference is a op= b, in another way than combine: over float64 for arithmetic,
// over words for bits.
func reference(e Elem, op Op, a, b []byte) {
	ps := parts(e)
	one := ps[0].Size()
	truth := func(b []byte) bool { return loadElem(ptr(b), int64(len(b))) != 0 }
	set := func(x bool) {
		v := uint64(0)
		if x {
			v = 1
		}
		storeElem(ptr(a), v, int64(len(a)))
	}
	switch op {
	case OpReplace:
		copy(a, b)
	case OpNoOp:
	case OpLAnd:
		set(truth(a) && truth(b))
	case OpLOr:
		set(truth(a) || truth(b))
	case OpLXor:
		set(truth(a) != truth(b))
	case OpBAnd, OpBOr, OpBXor:
		for i := range a {
			switch op {
			case OpBAnd:
				a[i] &= b[i]
			case OpBOr:
				a[i] |= b[i]
			default:
				a[i] ^= b[i]
			}
		}
	case OpMaxLoc, OpMinLoc:
		x, y := read(ps[0], a), read(ps[0], b)
		i, k := read(ps[1], a[one:]), read(ps[1], b[one:])
		switch {
		case x == y:
			write(ps[1], a[one:], math.Min(i, k))
		case op == OpMaxLoc && y > x, op == OpMinLoc && y < x:
			copy(a, b)
		}
	case OpSum, OpProd:
		if elemInfos[e].family == integers { // modulo 2^n, signed or not
			size := int64(len(a))
			x, y := loadElem(ptr(a), size), loadElem(ptr(b), size)
			if op == OpSum {
				storeElem(ptr(a), x+y, size)
			} else {
				storeElem(ptr(a), x*y, size)
			}
			return
		}
		if len(ps) == 1 {
			x, y := read(e, a), read(e, b)
			if op == OpSum {
				write(e, a, x+y)
			} else {
				write(e, a, x*y)
			}
			return
		}
		x, y := complex(read(ps[0], a), read(ps[0], a[one:])), complex(read(ps[0], b), read(ps[0], b[one:]))
		if op == OpSum {
			x += y
		} else {
			x *= y
		}
		write(ps[0], a, real(x))
		write(ps[0], a[one:], imag(x))
	case OpMax, OpMin:
		if e == Uint64 {
			x, y := loadElem(ptr(a), 8), loadElem(ptr(b), 8)
			if (op == OpMax) == (y > x) {
				storeElem(ptr(a), y, 8)
			}
			return
		}
		x, y := read(e, a), read(e, b)
		if op == OpMax {
			write(e, a, math.Max(x, y))
		} else {
			write(e, a, math.Min(x, y))
		}
	}
}

// TestCombineWord: the operation on a word is that on memory.
func TestCombineWord(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for e := range Elem(elems) {
		if !e.atomicKind() {
			continue
		}
		for op := range Op(ops) {
			if !op.Valid(e) {
				continue
			}
			size := int64(e.Size())
			for range 200 {
				a, b := rng.Uint64()>>rng.IntN(64), rng.Uint64()>>rng.IntN(64)
				a, b = a<<(64-8*size)>>(64-8*size), b<<(64-8*size)>>(64-8*size)
				got := combineWord(e, op, a, b)
				x := a
				combine(e, op, unsafe.Pointer(&x), unsafe.Pointer(&b), 1)
				if got != x {
					t.Fatalf("kind %d op %d of %#x and %#x: %#x, in memory %#x", e, op, a, b, got, x)
				}
			}
		}
	}
}

// unalignedRounds makes the ranks meet: 10 ms each.
var unalignedRounds = 200000

// TestUnaligned: elements at odd addresses are updated one at a time, too.
func TestUnaligned(t *testing.T) {
	const n = 2
	rounds := unalignedRounds
	j := newJob(t, n, shape{domains: 1})
	j.run(func(w *Window, barrier func()) error {
		if err := must(w.LockAll(0)); err != nil {
			return err
		}
		for range rounds {
			if err := must(w.Accumulate(Data{value(int64(1)), 8, byteType}, place(0, 61, 8), OpSum, Int64)); err != nil {
				return err
			}
		}
		barrier()
		var sum int64
		if err := must(w.FetchAndOp(nil, unsafe.Pointer(&sum), Int64, 0, 61, OpNoOp), w.UnlockAll()); err != nil {
			return err
		}
		if sum != int64(n*rounds) {
			return fmt.Errorf("%d, want %d", sum, n*rounds)
		}
		return nil
	})
}
