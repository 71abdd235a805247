package arena

import (
	"errors"
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
