package window

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"cmpi/mpitransport/datatype"
)

// TestFencePut: every rank puts a piece of odd length and place to every other,
// and direct loads after the fence see all of them, and what was there before.
func TestFencePut(t *testing.T) {
	const n = 4
	eachShape(t, n, func(t *testing.T, j *job) {
		j.run(func(w *Window, _ func()) error {
			for round := range 6 {
				own := direct(w, w.Rank())
				copy(own, pattern(len(own), w.Rank()+round))
				if err := must(w.Fence(NoPrecede)); err != nil {
					return err
				}
				for target := range n {
					at, length := 100+w.Rank()*37+round, 30
					if err := must(w.Put(data(pattern(length, 50+w.Rank()*n+target)), place(target, int64(at), int64(length)))); err != nil {
						return err
					}
				}
				if err := must(w.Fence(NoSucceed)); err != nil {
					return err
				}
				want := pattern(len(own), w.Rank()+round)
				for origin := range n {
					copy(want[100+origin*37+round:], pattern(30, 50+origin*n+w.Rank()))
				}
				if !bytes.Equal(want, own) {
					return fmt.Errorf("round %d (-want +got):\n%s", round, cmp.Diff(want, own))
				}
				if err := must(w.Fence(0)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestPassive: under a shared lock ranks put and get in each other's segments,
// which no target takes part in; flush makes puts visible to a get of another.
func TestPassive(t *testing.T) {
	const n = 3
	eachShape(t, n, func(t *testing.T, j *job) {
		j.run(func(w *Window, barrier func()) error {
			if err := must(w.LockAll(0)); err != nil {
				return err
			}
			for round := range 5 {
				for target := range n {
					length := 1 + round*97
					at := w.Rank() * 1000
					if err := must(w.Put(data(pattern(length, round+w.Rank()+target)), place(target, int64(at), int64(length)))); err != nil {
						return err
					}
				}
				if err := must(w.FlushAll()); err != nil {
					return err
				}
				barrier()
				for target := range n {
					for origin := range n {
						length := 1 + round*97
						got := make([]byte, length)
						if err := must(w.Get(data(got), place(target, int64(origin*1000), int64(length))), w.Flush(target), w.FlushLocal(target)); err != nil {
							return err
						}
						if want := pattern(length, round+origin+target); !bytes.Equal(want, got) {
							return fmt.Errorf("round %d, of %d at %d (-want +got):\n%s", round, origin, target, cmp.Diff(want, got))
						}
					}
				}
				barrier()
			}
			return must(w.FlushLocalAll(), w.UnlockAll())
		})
	})
}

// TestExclusive: a counter and a block that only the holder of an exclusive lock
// touches, with puts and gets, never with an atomic.
func TestExclusive(t *testing.T) {
	const n, rounds = 4, 60
	eachShape(t, n, func(t *testing.T, j *job) {
		j.run(func(w *Window, barrier func()) error {
			for i := range rounds {
				target := i % 2
				if err := must(w.Lock(LockExclusive, target, 0)); err != nil {
					return err
				}
				got := make([]byte, 24)
				if err := must(w.Get(data(got), place(target, 13, 24))); err != nil {
					return err
				}
				x := binary.LittleEndian.Uint64(got)
				for k := range 3 {
					if y := binary.LittleEndian.Uint64(got[8*k:]); y != x {
						return fmt.Errorf("half of an update: %d and %d", x, y)
					}
					binary.LittleEndian.PutUint64(got[8*k:], x+1)
				}
				if err := must(w.Put(data(got), place(target, 13, 24)), w.Unlock(target)); err != nil {
					return err
				}
			}
			barrier()
			got := make([]byte, 8)
			if err := must(w.Lock(LockShared, 0, 0), w.Get(data(got), place(0, 13, 8)), w.Unlock(0)); err != nil {
				return err
			}
			if x := binary.LittleEndian.Uint64(got); x != n*rounds/2 {
				return fmt.Errorf("counter %d, want %d", x, n*rounds/2)
			}
			barrier()
			return nil
		})
	})
}

// TestPSCW: a ring in which each rank exposes its segment to its left neighbour
// and puts to its right one.
func TestPSCW(t *testing.T) {
	const n = 4
	eachShape(t, n, func(t *testing.T, j *job) {
		j.run(func(w *Window, _ func()) error {
			left, right := (w.Rank()+n-1)%n, (w.Rank()+1)%n
			for round := range 20 {
				own := direct(w, w.Rank())
				for i := range 64 {
					own[i] = byte(round + w.Rank())
				}
				if err := must(w.Post([]int{left}, 0), w.Start([]int{right}, 0)); err != nil {
					return err
				}
				var seen [10]byte
				if err := must(w.Get(data(seen[:]), place(right, 3, 10)),
					w.Put(data(pattern(500, round+w.Rank())), place(right, 70, 500)), w.Complete()); err != nil {
					return err
				}
				if seen[0] != byte(round+right) || seen[9] != seen[0] {
					return fmt.Errorf("round %d: got %v", round, seen)
				}
				if round%2 == 0 {
					if err := must(w.Wait()); err != nil {
						return err
					}
				} else {
					for done := false; !done; {
						var c Class
						if done, c = w.Test(); c != OK {
							return c
						}
						w.idle(40)
					}
				}
				if want := pattern(500, round+left); !bytes.Equal(want, own[70:570]) {
					return fmt.Errorf("round %d (-want +got):\n%s", round, cmp.Diff(want, own[70:570]))
				}
			}
			return nil
		})
	})
}

// TestPSCWGroups: one target, several origins, and the other way round.
func TestPSCWGroups(t *testing.T) {
	const n = 4
	eachShape(t, n, func(t *testing.T, j *job) {
		j.run(func(w *Window, _ func()) error {
			others := []int{}
			for r := range n {
				if r != w.Rank() {
					others = append(others, r)
				}
			}
			for round := range 10 {
				if err := must(w.Post(others, 0), w.Start(others, 0)); err != nil {
					return err
				}
				for _, r := range others {
					if err := must(w.Put(data(pattern(40, round+r)), place(r, int64(w.Rank()*40), 40))); err != nil {
						return err
					}
				}
				if err := must(w.Complete(), w.Wait()); err != nil {
					return err
				}
				for _, r := range others {
					if got := direct(w, w.Rank())[r*40 : r*40+40]; !bytes.Equal(pattern(40, round+w.Rank()), got) {
						return fmt.Errorf("round %d, from %d: %v", round, r, got)
					}
				}
			}
			return nil
		})
	})
}

// TestDatatypes: random types on both sides, against a model in plain memory.
func TestDatatypes(t *testing.T) {
	eachShape(t, 2, func(t *testing.T, j *job) {
		const size = 40000
		j.size = func(int) int64 { return size }
		j.run(func(w *Window, _ func()) error {
			if err := must(w.Fence(0)); err != nil {
				return err
			}
			if w.Rank() == 0 {
				if err := exchangeTypes(w, j.s.seed); err != nil {
					return err
				}
			}
			return must(w.Fence(0))
		})
	})
}

func exchangeTypes(w *Window, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	model := make([]byte, w.cfg.Members[1].Size)
	if err := must(w.Put(data(model), place(1, 0, int64(len(model))))); err != nil {
		return err
	}
	random := func() (*datatype.Type, int64) { // and how many bytes an element has
		k, bl := int64(1+rng.IntN(5)), int64(1+rng.IntN(30))
		switch rng.IntN(4) {
		case 0:
			return datatype.Bytes(int(bl)), bl
		case 1:
			return datatype.Hvector(k, bl, bl+int64(rng.IntN(50)), byteType), k * bl
		case 2:
			return datatype.Resized(datatype.Hvector(2, bl, 3*bl, byteType), 0, 5*bl), 2 * bl
		}
		disps, lens, total := []int64{}, []int64{}, int64(0)
		for at := int64(rng.IntN(9)); len(disps) < int(k); at += lens[len(lens)-1] + int64(rng.IntN(30)) {
			disps = append(disps, at)
			lens = append(lens, int64(1+rng.IntN(20)))
			total += lens[len(lens)-1]
		}
		return datatype.Hindexed(lens, disps, byteType), total
	}
	for i := range 60 {
		tt, tb := random()
		ot, ob := random()
		// As many elements as make equal lengths, but not too much.
		tc, oc := ob, tb
		if extent := tt.Extent() * tc; extent > int64(len(model))-2000 || tt.Extent()*tc < 0 {
			continue
		}
		origin := pattern(int(ot.Extent()*oc)+64, i)
		disp := int64(rng.IntN(1000))
		if c := w.Put(Data{ptr(origin), oc, ot}, Place{1, disp, tc, tt}); c != OK {
			return fmt.Errorf("put %d of %v: %w", i, tt, c)
		}
		packed := make([]byte, ob*oc)
		ot.Pack(ptr(packed), ptr(origin), oc, 0, ob*oc)
		tt.Unpack(ptr(model[disp:]), ptr(packed), tc, 0, tb*tc)

		back := make([]byte, len(origin))
		if err := must(w.Get(Data{ptr(back), oc, ot}, Place{1, disp, tc, tt})); err != nil {
			return err
		}
		again := make([]byte, ob*oc)
		ot.Pack(ptr(again), ptr(back), oc, 0, ob*oc)
		if !bytes.Equal(packed, again) {
			return fmt.Errorf("get %d of %v as %v differs", i, tt, ot)
		}
	}
	got := make([]byte, len(model))
	if err := must(w.Get(data(got), place(1, 0, int64(len(got))))); err != nil {
		return err
	}
	if !bytes.Equal(model, got) {
		return fmt.Errorf("the segment (-want +got):\n%s", cmp.Diff(model, got))
	}
	return nil
}

// TestErrors: what is wrong is said, and nothing is written.
func TestErrors(t *testing.T) {
	eachShape(t, 2, func(t *testing.T, j *job) {
		j.unit = func(int) int32 { return 4 }
		j.size = func(r int) int64 { return int64(100 * r) }
		j.run(func(w *Window, barrier func()) error {
			b := data(make([]byte, 8))
			var x int64
			p := unsafe.Pointer(&x)
			odd := datatype.Hvector(1, 1, 0, datatype.Resized(byteType, -40, 3))
			bad := datatype.Contiguous(-1, byteType)
			far := datatype.Hindexed([]int64{1, 1}, []int64{-9, 1}, byteType)
			type row struct {
				name string
				got  Class
				want Class
			}
			before := []row{
				{"put without epoch", w.Put(b, place(1, 0, 8)), ErrSync},
				{"get without epoch", w.Get(b, place(1, 0, 8)), ErrSync},
				{"accumulate without epoch", w.Accumulate(b, place(1, 0, 8), OpSum, Int64), ErrSync},
				{"fetch without epoch", w.FetchAndOp(p, p, Int64, 1, 0, OpSum), ErrSync},
				{"swap without epoch", w.CompareAndSwap(p, p, p, Int64, 1, 0), ErrSync},
				{"unlock", w.Unlock(1), ErrSync},
				{"unlock all", w.UnlockAll(), ErrSync},
				{"complete", w.Complete(), ErrSync},
				{"wait", w.Wait(), ErrSync},
				{"flush", w.Flush(1), ErrSync},
				{"flush all", w.FlushAll(), ErrSync},
				{"flush local", w.FlushLocal(1), ErrSync},
				{"flush local all", w.FlushLocalAll(), ErrSync},
				{"lock type", w.Lock(9, 1, 0), ErrLockType},
				{"lock rank", w.Lock(LockShared, 2, 0), ErrRank},
				{"lock null", w.Lock(LockShared, ProcNull, 0), OK},
				{"unlock null", w.Unlock(ProcNull), OK},
				{"lock assert", w.Lock(LockShared, 1, NoPut), ErrAssert},
				{"lock all assert", w.LockAll(NoSucceed), ErrAssert},
				{"fence assert", w.Fence(NoCheck), ErrAssert},
				{"post assert", w.Post(nil, NoPrecede), ErrAssert},
				{"start assert", w.Start(nil, NoStore), ErrAssert},
				{"post twice the same", w.Post([]int{1, 1}, 0), ErrGroup},
				{"start out of range", w.Start([]int{7}, 0), ErrGroup},
				{"start negative", w.Start([]int{-1}, 0), ErrGroup},
			}
			if err := must(w.Lock(LockShared, 1, 0)); err != nil {
				return err
			}
			rows := append(before, []row{
				{"put", w.Put(b, place(1, 0, 8)), OK},
				{"put to another", w.Put(b, place(0, 0, 8)), ErrSync},
				{"last bytes", w.Put(b, place(1, 23, 8)), OK},
				{"a word too far", w.Put(b, place(1, 24, 8)), ErrRange},
				{"last fitting", w.Put(b, place(1, 23, 4)), ErrTruncate},
				{"last word", w.Put(data(make([]byte, 4)), place(1, 24, 4)), OK},
				{"behind", w.Put(b, place(1, 26, 8)), ErrRange},
				{"far behind", w.Put(b, place(1, 1<<61, 8)), ErrRange},
				{"negative", w.Put(b, place(1, -1, 8)), ErrDisp},
				{"rank", w.Put(b, place(2, 0, 8)), ErrRank},
				{"rank -2", w.Put(b, place(-2, 0, 8)), ErrRank},
				{"null", w.Put(b, place(ProcNull, -5, 8)), OK},
				{"count", w.Put(Data{b.Buf, -1, byteType}, place(1, 0, 8)), ErrCount},
				{"target count", w.Put(b, place(1, 0, -8)), ErrCount},
				{"type", w.Put(Data{b.Buf, 8, bad}, place(1, 0, 8)), ErrType},
				{"no type", w.Put(Data{b.Buf, 8, nil}, place(1, 0, 8)), ErrType},
				{"target type", w.Put(b, Place{1, 0, 8, bad}), ErrType},
				{"nothing", w.Put(data(nil), place(1, 25, 0)), OK},
				{"huge", w.Put(b, place(1, 0, 1<<62)), ErrRange},
				{"before the start", w.Put(b, Place{1, 2, 4, far}), ErrRange},
				{"after the start", w.Put(b, Place{1, 3, 4, far}), OK},
				{"strange bounds", w.Put(b, Place{1, 0, 8, odd}), OK},
				{"get behind", w.Get(b, place(1, 24, 8)), ErrRange},
				{"element behind", w.FetchAndOp(p, p, Int64, 1, 24, OpSum), ErrRange},
				{"element negative", w.FetchAndOp(p, p, Int64, 1, -1, OpSum), ErrDisp},
				{"element rank", w.FetchAndOp(p, p, Int64, 3, 0, OpSum), ErrRank},
				{"element null", w.FetchAndOp(nil, nil, Int64, ProcNull, 0, OpSum), OK},
				{"op", w.FetchAndOp(p, p, Float64, 1, 0, OpBAnd), ErrOp},
				{"op unknown", w.FetchAndOp(p, p, Float64, 1, 0, 77), ErrOp},
				{"element unknown", w.FetchAndOp(p, p, 77, 1, 0, OpSum), ErrOp},
				{"swap of floats", w.CompareAndSwap(p, p, p, Float64, 1, 0), ErrType},
				{"swap behind", w.CompareAndSwap(p, p, p, Int64, 1, 24), ErrRange},
				{"accumulate of half an element", w.Accumulate(data(make([]byte, 4)), place(1, 0, 4), OpSum, Int64), ErrType},
				{"accumulate behind", w.Accumulate(b, place(1, 24, 8), OpSum, Int64), ErrRange},
				{"accumulate too little", w.Accumulate(data(make([]byte, 4)), place(1, 0, 8), OpSum, Int64), ErrTruncate},
				{"result too little", w.GetAccumulate(b, data(make([]byte, 4)), place(1, 0, 8), OpSum, Int64), ErrTruncate},
				{"second lock", w.Lock(LockShared, 1, 0), ErrSync},
				{"lock all", w.LockAll(0), ErrSync},
				{"fence", w.Fence(0), ErrSync},
				{"start", w.Start([]int{1}, 0), ErrSync},
				{"free", w.Free(), ErrSync},
				{"unlock another", w.Unlock(0), ErrSync},
				{"unlock all of one", w.UnlockAll(), ErrSync},
			}...)
			if err := must(w.Unlock(1), w.LockAll(0)); err != nil {
				return err
			}
			rows = append(rows, row{"unlock one of all", w.Unlock(1), ErrSync}, row{"lock in all", w.Lock(LockShared, 1, 0), ErrSync})
			if err := must(w.UnlockAll()); err != nil {
				return err
			}
			barrier()
			if err := must(w.Fence(0), w.Lock(LockShared, 1, 0), w.Unlock(1)); err != nil {
				return fmt.Errorf("lock after an empty fence epoch: %w", err)
			}
			if err := must(w.Fence(0), w.Put(b, place(1, 0, 8))); err != nil {
				return err
			}
			rows = append(rows, row{"lock in a fence epoch", w.Lock(LockShared, 1, 0), ErrSync},
				row{"post in a fence epoch", w.Post([]int{0}, 0), ErrSync})
			if err := must(w.Fence(NoSucceed)); err != nil {
				return err
			}
			rows = append(rows, row{"put after the last fence", w.Put(b, place(1, 0, 8)), ErrSync})
			for _, r := range rows {
				if r.got != r.want {
					return fmt.Errorf("%s: %v, want %v", r.name, r.got, r.want)
				}
			}
			return nil
		})
	})
}

// TestShared: direct stores and loads in all segments, made visible by Sync.
func TestShared(t *testing.T) {
	const n = 4
	for _, s := range shapes {
		s.shared = true
		t.Run(s.String(), func(t *testing.T) {
			j := newJob(t, n, s)
			j.size = func(r int) int64 { return int64(r) * 128 }
			j.run(func(w *Window, barrier func()) error {
				base, size, _ := w.Base(ProcNull)
				if first, _, _ := w.Base(1); base != first || size != 128 {
					return fmt.Errorf("the first segment is %p of %d bytes, want %p", base, size, first)
				}
				if err := must(w.LockAll(NoCheck)); err != nil {
					return err
				}
				right := (w.Rank() + 1) % n
				for round := range 10 {
					copy(direct(w, right), pattern(right*128, round+right))
					if err := must(w.Sync()); err != nil {
						return err
					}
					barrier()
					if err := must(w.Sync()); err != nil {
						return err
					}
					for r := range n {
						if want := pattern(r*128, round+r); !bytes.Equal(want, direct(w, r)) {
							return fmt.Errorf("round %d, rank %d (-want +got):\n%s", round, r, cmp.Diff(want, direct(w, r)))
						}
					}
					barrier()
				}
				return must(w.UnlockAll())
			})
		})
	}
}

// TestContiguous: segments follow one another without a gap.
func TestContiguous(t *testing.T) {
	for _, s := range []shape{{domains: 1, contiguous: true, shared: true}, {domains: 2, contiguous: true}} {
		j := newJob(t, 3, s)
		j.size = func(r int) int64 { return int64(r*10 + 4) }
		j.run(func(w *Window, _ func()) error {
			for r := range 2 {
				base, size, _ := w.Base(r)
				if next, _, _ := w.Base(r + 1); next != unsafe.Add(base, size) {
					return fmt.Errorf("segment %d: %p + %d, the next is at %p", r, base, size, next)
				}
			}
			if base, size, unit := w.Base(3); base != nil || size != 0 || unit != 0 {
				return fmt.Errorf("rank 3 has a segment: %p %d %d", base, size, unit)
			}
			return nil
		})
	}
}

// TestEmptySegments: a segment of no bytes lies between its neighbours where
// segments are contiguous, else nowhere.
func TestEmptySegments(t *testing.T) {
	for _, s := range []shape{{domains: 1, contiguous: true, shared: true}, {domains: 1, shared: true}, {domains: 2}} {
		j := newJob(t, 3, s)
		j.size = func(r int) int64 { return int64(r%2) * 64 }
		j.run(func(w *Window, _ func()) error {
			first, _, _ := w.Base(0)
			full, size, _ := w.Base(1)
			last, none, _ := w.Base(2)
			if full == nil || size != 64 || none != 0 {
				return fmt.Errorf("segments: %p + %d, %p + %d", full, size, last, none)
			}
			if s.contiguous != (first == full && last == unsafe.Add(full, size)) || !s.contiguous && (first != nil || last != nil) {
				return fmt.Errorf("%v: empty segments at %p and %p, the full one at %p", s, first, last, full)
			}
			return nil
		})
	}
}

// TestThreads: two threads of each rank use one window at one time.
func TestThreads(t *testing.T) {
	const n, rounds = 2, 50
	for _, s := range shapes {
		s.threaded = true
		t.Run(s.String(), func(t *testing.T) {
			j := newJob(t, n, s)
			j.run(func(w *Window, barrier func()) error {
				errs := make(chan error, 2)
				for thread := range 2 {
					go func() { errs <- threadWork(w, thread, rounds) }()
				}
				for range 2 {
					if err := <-errs; err != nil {
						return err
					}
				}
				barrier()
				for target := range n {
					var sum int64
					if err := must(w.Lock(LockShared, target, 0), w.FetchAndOp(nil, unsafe.Pointer(&sum), Int64, target, 40, OpNoOp), w.Unlock(target)); err != nil {
						return err
					}
					if sum != n*rounds {
						return fmt.Errorf("counter of %d: %d, want %d", target, sum, n*rounds)
					}
				}
				barrier()
				return nil
			})
		})
	}
}

// threadWork locks one target, each thread another one.
func threadWork(w *Window, thread, rounds int) error {
	for i := range rounds {
		kind := LockType(i % 2)
		at := int64(100 + 64*w.Rank())
		b := pattern(33, i)
		got := make([]byte, 33)
		var was int64
		if err := must(w.Lock(kind, thread, 0), w.FetchAndOp(value(int64(1)), unsafe.Pointer(&was), Int64, thread, 40, OpSum),
			w.Put(data(b), place(thread, at, 33)), w.Flush(thread), w.Get(data(got), place(thread, at, 33)), w.Unlock(thread)); err != nil {
			return err
		}
		if !bytes.Equal(b, got) {
			return fmt.Errorf("thread %d, round %d: %v, want %v", thread, i, got, b)
		}
	}
	return nil
}

// TestNeighbouringSegments: segments shorter than a line, each changed under its
// own lock by another rank, at one time.
func TestNeighbouringSegments(t *testing.T) {
	const n, rounds, size = 4, 40, 21
	for _, s := range shapes {
		s.contiguous = true
		t.Run(s.String(), func(t *testing.T) {
			j := newJob(t, n, s)
			j.size = func(int) int64 { return size }
			j.run(func(w *Window, _ func()) error {
				target := (w.Rank() + 1) % n
				var sum [2]int64
				for i := range rounds {
					b, got := pattern(5, i+w.Rank()), make([]byte, 5)
					one := value(int64(1))
					if err := must(w.Lock(LockType(i%2), target, 0), w.Put(data(b), place(target, 0, 5)),
						w.FetchAndOp(one, unsafe.Pointer(&sum[0]), Int64, target, 5, OpSum),
						w.Accumulate(Data{one, 8, byteType}, place(target, 13, 8), OpSum, Int64),
						w.Flush(target), w.Get(data(got), place(target, 0, 5)),
						w.FetchAndOp(nil, unsafe.Pointer(&sum[1]), Int64, target, 13, OpNoOp), w.Unlock(target)); err != nil {
						return err
					}
					if !bytes.Equal(b, got) || sum != [2]int64{int64(i), int64(i + 1)} {
						return fmt.Errorf("round %d: %v and %v, want %v and %d", i, got, sum, b, i)
					}
				}
				return nil
			})
		})
	}
}

// TestSharedHandsOver: what one rank puts under a shared lock, in several lines,
// is complete for whoever gets the lock exclusively after it.
func TestSharedHandsOver(t *testing.T) {
	const n, rounds, size = 3, 80, 300
	eachShape(t, n, func(t *testing.T, j *job) {
		j.run(func(w *Window, _ func()) error {
			for i := range rounds {
				b := make([]byte, size)
				if w.Rank() == 0 {
					for k := range b {
						b[k] = byte(i)
					}
					if err := must(w.Lock(LockShared, 1, 0), w.Put(data(b), place(1, 7, size)), w.Unlock(1)); err != nil {
						return err
					}
					continue
				}
				if err := must(w.Lock(LockExclusive, 1, 0), w.Get(data(b), place(1, 7, size)), w.Unlock(1)); err != nil {
					return err
				}
				for k := range b {
					if b[k] != b[0] {
						return fmt.Errorf("round %d: byte %d is %d, byte 0 %d", i, k, b[k], b[0])
					}
				}
			}
			return nil
		})
	})
}
