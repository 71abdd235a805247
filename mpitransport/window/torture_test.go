package window

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"unsafe"
)

// TestTorture: four ranks do random things under random locks. Of the segment of
// each target
//
//	[0, 48)     six equal words: written under an exclusive lock only, read
//	            under any
//	[48, 80)    counters of several kinds: accumulated under a shared lock
//	[80, 1104)  bytes that belong to the ranks in turn, 1 to 5 at a time: put by
//	            their owner under a shared lock
//
// so that neighbours in one line are changed by different ranks at one time, in
// every way there is. CMPI_WINDOW_SEEDS says with how many seeds (1).
func TestTorture(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("CMPI_WINDOW_SEEDS"))
	for _, s := range shapes {
		for i := range max(seeds, 1) {
			s.seed = uint64(i)*7 + 1
			t.Run(fmt.Sprintf("%v/seed %d", s, s.seed), func(t *testing.T) { torture(t, s) })
		}
	}
}

const (
	tortureRanks   = 4
	tortureTargets = 2
	tortureSteps   = 150
	mineFrom       = 80
	mineLen        = 1024
)

type counter struct {
	e    Elem
	disp int64
}

var counters = []counter{{Int64, 48}, {Int32, 56}, {Int16, 60}, {Uint8, 62}, {Float64, 65}, {Int32, 76}}

func torture(t *testing.T, s shape) {
	j := newJob(t, tortureRanks, s)
	j.size = func(int) int64 { return mineFrom + mineLen + 3 } // the next segment begins inside a line
	var added [tortureRanks][tortureTargets][8]int
	var writes [tortureRanks][tortureTargets]int
	owner := make([]int, mineLen)
	rng := rand.New(rand.NewPCG(s.seed, 3))
	for i := 0; i < mineLen; {
		o, n := rng.IntN(tortureRanks), 1+rng.IntN(5)
		for ; n > 0 && i < mineLen; n, i = n-1, i+1 {
			owner[i] = o
		}
	}
	j.run(func(w *Window, barrier func()) error {
		r := &rank{w: w, owner: owner, rng: rand.New(rand.NewPCG(s.seed, uint64(w.Rank())+10))}
		for i := range r.mine {
			r.mine[i] = make([]byte, mineLen)
		}
		for range tortureSteps {
			if err := r.step(); err != nil {
				return err
			}
		}
		added[w.Rank()], writes[w.Rank()] = r.added, r.writes
		barrier()
		if err := must(w.LockAll(0)); err != nil {
			return err
		}
		for target := range tortureTargets {
			if err := r.checkMine(target); err != nil {
				return err
			}
			for k, c := range counters {
				sum := 0
				for _, a := range added {
					sum += a[target][k]
				}
				got := make([]byte, c.e.Size())
				if err := must(w.Get(data(got), place(target, c.disp, int64(len(got))))); err != nil {
					return err
				}
				if x := number(c.e, got); x != float64(sum%(1<<(8*min(c.e.Size(), 6)))) {
					return fmt.Errorf("target %d, counter %d: %v, want %d", target, k, x, sum)
				}
			}
			sum := 0
			for _, a := range writes {
				sum += a[target]
			}
			if x, err := r.words(target); err != nil || x != uint64(sum) {
				return fmt.Errorf("target %d: %d exclusive writes, want %d: %w", target, x, sum, err)
			}
		}
		return must(w.UnlockAll())
	})
}

// rank is one rank's doing.
type rank struct {
	w      *Window
	rng    *rand.Rand
	owner  []int
	mine   [tortureTargets][]byte // what this rank has put last
	added  [tortureTargets][8]int
	writes [tortureTargets]int
}

func (r *rank) step() error {
	target := r.rng.IntN(tortureTargets)
	if r.rng.IntN(3) == 0 {
		if err := must(r.w.Lock(LockExclusive, target, 0)); err != nil {
			return err
		}
		x, err := r.words(target)
		if err != nil {
			return fmt.Errorf("exclusive: %w", err)
		}
		b := make([]byte, 48)
		for i := range 6 {
			binary.LittleEndian.PutUint64(b[8*i:], x+1)
		}
		cut := int64(r.rng.IntN(49)) // in two pieces
		r.writes[target]++
		if err := must(r.w.Put(data(b[:cut]), place(target, 0, cut))); err != nil {
			return err
		}
		r.dawdle()
		return must(r.w.Put(data(b[cut:]), place(target, cut, 48-cut)), r.w.Unlock(target))
	}
	if err := must(r.w.Lock(LockShared, target, 0)); err != nil {
		return err
	}
	for range 1 + r.rng.IntN(3) {
		if err := r.shared(target); err != nil {
			return err
		}
	}
	return must(r.w.Unlock(target))
}

// dawdle lets the others run, now and then.
func (r *rank) dawdle() {
	if r.rng.IntN(3) == 0 {
		runtime.Gosched()
	}
}

// shared does one thing that a shared lock allows.
func (r *rank) shared(target int) error {
	r.dawdle()
	switch r.rng.IntN(4) {
	case 0:
		_, err := r.words(target)
		return err
	case 1:
		k := r.rng.IntN(len(counters))
		c := counters[k]
		r.added[target][k]++
		one := ones(c.e, 1)
		if r.rng.IntN(2) == 0 {
			return must(r.w.Accumulate(data(one), place(target, c.disp, int64(len(one))), OpSum, c.e))
		}
		var was [8]byte
		return must(r.w.FetchAndOp(ptr(one), unsafe.Pointer(&was), c.e, target, c.disp, OpSum))
	case 2:
		from := r.rng.IntN(mineLen)
		until := min(mineLen, from+r.rng.IntN(100))
		for i := from; i < until; {
			n := 1
			for i+n < until && r.owner[i+n] == r.owner[i] {
				n++
			}
			if r.owner[i] == r.w.Rank() {
				for k := range n {
					r.mine[target][i+k] = byte(r.rng.Uint32())
				}
				if err := must(r.w.Put(data(r.mine[target][i:i+n]), place(target, int64(mineFrom+i), int64(n)))); err != nil {
					return err
				}
			}
			i += n
		}
		return nil
	}
	if err := must(r.w.Flush(target)); err != nil {
		return err
	}
	return r.checkMine(target)
}

// words reads the six words of a target; they are equal.
func (r *rank) words(target int) (uint64, error) {
	b := make([]byte, 48)
	if err := must(r.w.Get(data(b), place(target, 0, 48))); err != nil {
		return 0, err
	}
	for i := range 6 {
		if !bytes.Equal(b[:8], b[8*i:8*i+8]) {
			return 0, fmt.Errorf("target %d: half of a write: %x", target, b)
		}
	}
	return binary.LittleEndian.Uint64(b), nil
}

// checkMine reads all bytes of a target that belong to this rank.
func (r *rank) checkMine(target int) error {
	got := make([]byte, mineLen)
	if err := must(r.w.Get(data(got), place(target, mineFrom, mineLen))); err != nil {
		return err
	}
	for i, o := range r.owner {
		if o == r.w.Rank() && got[i] != r.mine[target][i] {
			return fmt.Errorf("target %d, byte %d: %#x, this rank put %#x", target, i, got[i], r.mine[target][i])
		}
	}
	return nil
}
