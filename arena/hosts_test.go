package arena

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// TestHostsCompete: simulated hosts create, open and destroy the same few names
// on one pool. Whoever creates an object stamps every line of it; whoever opens
// one must find one object's stamp and size throughout; whoever destroys checks
// that its own stamp is still there, so an overlap shows.
func TestHostsCompete(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		const hosts, names = 4, 5
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		a := mustOpen(t, c)
		before := mustStat(t, a)
		stop := time.Now().Add(400 * time.Millisecond)
		var wg sync.WaitGroup
		var created, destroyed atomic.Int64
		for h := range hosts {
			cc := otherHost(c, byte(h+1))
			cc.Flush.Seed = seed + uint64(h)
			b := mustOpen(t, cc)
			rng := rand.New(rand.NewPCG(seed, uint64(h)))
			wg.Go(func() {
				for time.Now().Before(stop) {
					name := fmt.Sprint("shared ", rng.IntN(names))
					switch rng.IntN(3) {
					case 0, 1:
						o, err := b.Create(name, 1+rng.Int64N(20_000))
						if errors.Is(err, ErrExists) {
							break
						}
						if err != nil {
							t.Error(err)
							return
						}
						created.Add(1)
						if !stampAndCheck(t, o, uint64(h)<<32|uint64(rng.Uint32())) {
							return
						}
						if err := o.Destroy(); err != nil {
							t.Errorf("our own object: %v", err)
							return
						}
						destroyed.Add(1)
					case 2:
						o, err := b.OpenObject(name)
						if err == nil {
							if lo, hi := b.Bounds(); o.Offset() < lo || o.Offset()+o.Size() > hi {
								t.Errorf("%q lies at %d+%d", name, o.Offset(), o.Size())
							}
						} else if !errors.Is(err, ErrNotFound) {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d objects", created.Load())
		if r := mustBeSound(t, a); r.Objects != 0 {
			t.Errorf("%d objects are left", r.Objects)
		}
		if after := mustStat(t, a); after.Free != before.Free {
			t.Errorf("%d bytes free, %d before", after.Free, before.Free)
		}
	})
}

// stampAndCheck finds the object zero, writes a stamp to each line, waits a
// little, and finds its stamps again.
func stampAndCheck(t *testing.T, o *Object, stamp uint64) bool {
	v := o.a.View()
	n := o.Size() / lineSize * lineSize
	if !zero(contents(o)) {
		t.Errorf("%q is not zero", o.Name())
		return false
	}
	for off := int64(0); off < n; off += lineSize {
		var line [lineSize]byte
		le.PutUint64(line[:], stamp)
		v.CopyIn(unsafe.Add(o.Addr(), off), unsafe.Pointer(&line[0]), lineSize)
	}
	v.Fence()
	time.Sleep(time.Duration(stamp % 50_000))
	b := contents(o)
	for off := int64(0); off < n; off += lineSize {
		if got := le.Uint64(b[off:]); got != stamp {
			t.Errorf("%q at %d+%d: stamp %#x instead of %#x", o.Name(), o.Offset(), off, got, stamp)
			return false
		}
	}
	return true
}

// TestOneCreatorWins: all hosts create the same name at the same moment.
func TestOneCreatorWins(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		const hosts, rounds = 4, 8
		var as []*Arena
		for h := range hosts {
			as = append(as, mustOpen(t, otherHost(c, byte(h+1))))
		}
		for round := range rounds {
			name := fmt.Sprint("round ", round)
			var wins atomic.Int64
			var wg sync.WaitGroup
			for _, a := range as {
				wg.Go(func() {
					switch _, err := a.Create(name, 100); {
					case err == nil:
						wins.Add(1)
					case !errors.Is(err, ErrExists):
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if wins.Load() != 1 {
				t.Errorf("%q has %d creators", name, wins.Load())
			}
			for _, a := range as {
				if _, err := a.OpenObject(name); err != nil {
					t.Error(err)
				}
			}
		}
		mustBeSound(t, as[0])
	})
}
