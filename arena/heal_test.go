package arena

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// TestHeal: a host whose process died inside the pool lock keeps all out until one
// of its processes looks after it, which needs nothing else to do.
func TestHeal(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		c.LockTimeout = 200 * time.Millisecond
		a := mustOpen(t, c)
		if _, err := a.Create("a", 1); err != nil {
			t.Fatal(err)
		}
		cc := c
		cc.HostID = [16]byte{2}
		b := mustOpen(t, cc)
		a.store(hostLine(a.host.entry, lineLock), 1|holding)
		if _, err := b.Create("b", 1); !errors.Is(err, ErrLockTimeout) {
			t.Fatalf("the other host: %v, want %v", err, ErrLockTimeout)
		}
		if err := mustOpen(t, c).Heal(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Create("b", 1); err != nil {
			t.Fatal(err)
		}
		mustBeSound(t, b)
	})
}

// TestBury: a host that died inside the pool lock, or on its way there, doesn't stop
// the others for ever, though none of its processes will look after it. One that lives
// and waits, though it owns nothing, is not taken for dead.
func TestBury(t *testing.T) {
	for name, word := range map[string]uint64{"inside": 1 | holding, "waiting": 1, "choosing": choosing} {
		t.Run(name, func(t *testing.T) {
			forModes(t, func(t *testing.T, c Config) {
				c.LockTimeout, c.BuryAfter = 100*time.Millisecond, 400*time.Millisecond
				var told atomic.Int32
				c.Delayed = func(string, time.Duration) { told.Add(1) }
				host := func(id byte) *Arena {
					c.HostID = [16]byte{id}
					return mustOpen(t, c)
				}
				dead, b, d := host(1), host(2), host(3)
				for i, a := range []*Arena{dead, b, d} { // all have an entry
					if _, err := a.Create(fmt.Sprint("first", i), 1); err != nil {
						t.Fatal(err)
					}
				}
				dead.endBeats()
				dead.store(hostLine(dead.host.entry, lineLock), word)
				start := time.Now()
				errs := make(chan error, 2)
				for i, a := range []*Arena{b, d} {
					go func() {
						_, err := a.Create(fmt.Sprint("second", i), 1)
						errs <- err
					}()
				}
				for range 2 {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(start); took < c.LockTimeout+c.BuryAfter {
					t.Errorf("a host is taken for dead after %v", took)
				}
				if told.Load() == 0 {
					t.Error("nobody was told why it takes so long")
				}
				mustBeSound(t, b)
			})
		})
	}
}

// TestSlowHolder: a host that keeps the pool lock for long but gives signs of life is
// not buried.
func TestSlowHolder(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		if _, err := a.Create("a", 1); err != nil {
			t.Fatal(err)
		}
		c.HostID, c.LockTimeout, c.BuryAfter = [16]byte{2}, 50*time.Millisecond, 3*time.Second
		b := mustOpen(t, c)
		a.store(hostLine(a.host.entry, lineLock), 1|holding)
		if _, err := b.Create("b", 1); !errors.Is(err, ErrLockTimeout) {
			t.Errorf("%v, want %v", err, ErrLockTimeout)
		}
		if w := b.load(hostLine(a.host.entry, lineLock)); w != 1|holding {
			t.Errorf("the holder's word is %x", w)
		}
		a.store(hostLine(a.host.entry, lineLock), idle)
	})
}
