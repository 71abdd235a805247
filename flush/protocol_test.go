package flush

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// A message-passing protocol over the primitives, with a switch for each of the
// mistakes that Emulate exists to catch. The writer stores a payload, writes it
// back, fences, publishes a flagged line; the reader sees the line, invalidates
// the payload, checks it, and stores a credit.

// mistake is what a broken variant leaves out or does wrong.
type mistake int

const (
	noMistake mistake = iota
	noWriteBack
	noFence
	noInvalidate
	twoWriters
)

func (m mistake) String() string {
	return [...]string{"none", "no write-back", "no fence", "no invalidate", "two writers in a line"}[m]
}

const (
	flagAt   = 0
	headAt   = 2 * LineSize // the writer's count
	creditAt = 4 * LineSize // the reader's count, in a line of its own if all is well
	dataAt   = 8 * LineSize
	dataLen  = 300
	poolSize = 1 << 16
)

// step is one action of a host; it reports whether the next one may follow.
type step func() bool

// always makes a step of an action that needs no waiting.
func always(f func()) step { return func() bool { f(); return true } }

// exchange runs rounds of the protocol, interleaving the two hosts at random,
// and returns what went wrong.
func exchange(w, r *View, m mistake, rounds int, rng *rand.Rand) error {
	credit := creditAt
	if m == twoWriters {
		credit = headAt + 8
	}
	var wrong error
	var wRound, rRound uint64 = 1, 1
	payload := func(round uint64) []byte { return fill(round, dataLen) }
	data := func(v *View) []byte { return unsafe.Slice((*byte)(at(v, dataAt)), dataLen) }
	var line [lineWords]uint64
	writer := []step{
		always(func() { copy(data(w), payload(wRound)) }),
		always(func() {
			if m != noWriteBack {
				w.WriteBack(at(w, dataAt), dataLen)
			}
		}),
		always(func() {
			if m != noFence {
				w.Fence()
			}
		}),
		always(func() {
			line[0], line[lineWords-1] = ^wRound, wRound
			w.PutLine(at(w, flagAt), unsafe.Pointer(&line))
		}),
		always(w.Fence),
		always(func() { w.Store64(at(w, headAt), wRound) }),
		func() bool { return w.Load64(at(w, credit)) == wRound },
		always(func() { wRound++ }),
	}
	var seen [lineWords]uint64
	reader := []step{
		func() bool { return r.GetLine(unsafe.Pointer(&seen), at(r, flagAt), rRound) },
		always(func() {
			if m != noInvalidate {
				r.Invalidate(at(r, dataAt), dataLen)
			}
		}),
		always(func() {
			if seen[0] != ^rRound {
				wrong = fmt.Errorf("round %d: the flagged line's payload is %#x", rRound, seen[0])
			} else if !bytes.Equal(data(r), payload(rRound)) {
				wrong = fmt.Errorf("round %d: the payload is not what was sent", rRound)
			}
		}),
		always(func() { r.Store64(at(r, credit), rRound) }),
		always(func() { rRound++ }),
	}
	wNext, rNext := 0, 0
	for range 400 * rounds {
		if rng.IntN(2) == 0 {
			if wRound <= uint64(rounds) && writer[wNext]() {
				wNext = (wNext + 1) % len(writer)
			}
		} else if rRound <= uint64(rounds) && reader[rNext]() {
			rNext = (rNext + 1) % len(reader)
		}
		if wrong != nil {
			return wrong
		}
		if wRound > uint64(rounds) && rRound > uint64(rounds) {
			break
		}
	}
	if wRound <= uint64(rounds) {
		return fmt.Errorf("stalled: writer in round %d, reader in round %d of %d", wRound, rRound, rounds)
	}
	for _, c := range []struct {
		name string
		off  int
	}{{"head", headAt}, {"credit", credit}} {
		if got := r.Load64(at(r, c.off)); got != uint64(rounds) {
			return fmt.Errorf("%s is %d after %d rounds", c.name, got, rounds)
		}
	}
	return nil
}

func TestProtocol(t *testing.T) {
	eachVariant(t, poolSize, func(t *testing.T, w, r *View) {
		if err := exchange(w, r, noMistake, 100, rand.New(rand.NewPCG(7, 7))); err != nil {
			t.Fatal(err)
		}
	})
}

// TestMistakesAreCaught shows that the adversary finds each mistake within a
// bounded number of seeds, and with the same seeds finds nothing in the right
// protocol.
func TestMistakesAreCaught(t *testing.T) {
	const seeds, rounds = 24, 20
	// run returns what the adversary of this seed makes of the protocol.
	run := func(t *testing.T, m mistake, seed uint64) error {
		shared := make([]byte, poolSize+LineSize)
		shared = shared[-uintptr(unsafe.Pointer(unsafe.SliceData(shared)))%LineSize:][:poolSize]
		var views [2]*View
		for i := range views {
			v, err := NewView(shared, Emulate, Options{Seed: 2*seed + uint64(i), Chaos: 30})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			views[i] = v
		}
		return exchange(views[0], views[1], m, rounds, rand.New(rand.NewPCG(seed, 3)))
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		if err := run(t, noMistake, seed); err != nil {
			t.Errorf("seed %d: the right protocol failed: %v", seed, err)
		}
	}
	for _, m := range []mistake{noWriteBack, noFence, noInvalidate, twoWriters} {
		t.Run(m.String(), func(t *testing.T) {
			caught, first := 0, ""
			for seed := uint64(1); seed <= seeds; seed++ {
				if err := run(t, m, seed); err != nil {
					if caught++; caught == 1 {
						first = fmt.Sprintf("seed %d: %v", seed, err)
					}
				}
			}
			t.Logf("caught with %d of %d seeds; first: %s", caught, seeds, first)
			if caught == 0 {
				t.Errorf("the adversary missed it with seeds 1..%d", seeds)
			}
		})
	}
}

// TestRing passes a token around several hosts that run at once, each with its
// own View: every host waits for its predecessor's lines, checks them and
// publishes the next ones.
func TestRing(t *testing.T) {
	const hosts, rounds, size = 4, 60, 200
	for _, va := range variants() {
		t.Run(va.name, func(t *testing.T) {
			m := sharedMemory(t, poolSize)
			var views [hosts]*View
			for i := range views {
				o := va.o
				o.Seed += uint64(i) * 100
				views[i] = newView(t, m, va.mode, o)
			}
			var wg sync.WaitGroup
			var stop atomic.Bool
			errs := make([]error, hosts)
			for host, v := range views {
				wg.Go(func() {
					if errs[host] = ringHost(v, host, hosts, rounds, size, &stop); errs[host] != nil {
						stop.Store(true)
					}
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// ringHost is one host of TestRing. Round r uses words from r*16, which leaves
// room for the lines of a message.
func ringHost(v *View, host, hosts, rounds, size int, stop *atomic.Bool) error {
	const slot = 16 * LineSize
	mine, theirs := at(v, host*slot), at(v, (host+hosts-1)%hosts*slot)
	got := make([]byte, size)
	for round := 1; round <= rounds; round++ {
		word := uint64(round * 16)
		receive := func() error {
			for n := 0; n < size; {
				k := v.GetLines(unsafe.Add(ptr(got), n), unsafe.Add(theirs, n/LinePayload*LineSize), size-n, word+uint64(n/LinePayload))
				if n += k; k == 0 {
					if stop.Load() {
						return errors.New("another host gave up")
					}
					Pause()
					runtime.Gosched()
				}
			}
			if !bytes.Equal(got, fill(uint64(round), size)) {
				return fmt.Errorf("host %d, round %d: wrong payload", host, round)
			}
			return nil
		}
		if host != 0 {
			if err := receive(); err != nil {
				return err
			}
		}
		v.PutLines(mine, ptr(fill(uint64(round), size)), size, word)
		v.Fence()
		if host == 0 {
			if err := receive(); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestOneViewManyThreads has threads of one host work on lines of their own
// through one View, with plain stores in between: no store may get lost.
func TestOneViewManyThreads(t *testing.T) {
	eachVariant(t, poolSize, func(t *testing.T, w, r *View) {
		var wg sync.WaitGroup
		const threads, rounds = 4, 200
		for thread := range threads {
			wg.Go(func() {
				p := at(w, thread*LineSize)
				for i := uint64(1); i <= rounds; i++ {
					for word := range uintptr(lineWords) {
						*(*uint64)(unsafe.Add(p, word*8)) = i + uint64(word)
					}
					w.WriteBack(p, LineSize)
					w.Fence()
				}
			})
		}
		wg.Wait()
		for thread := range threads {
			for word := range lineWords {
				if got, want := r.Load64(at(r, thread*LineSize+word*8)), uint64(rounds+word); got != want {
					t.Errorf("thread %d, word %d: %d, want %d", thread, word, got, want)
				}
			}
		}
	})
}
