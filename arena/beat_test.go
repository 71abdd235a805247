package arena

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// TestSilentHost: a host whose last sign of life is old, and that gives none while
// it is watched, is found, and no other; what it owned can then be freed, and if
// it lives all the same it is told.
func TestSilentHost(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		var told atomic.Int32
		open := func(id byte) *Arena {
			cc := c
			cc.HostID, cc.Evicted = [16]byte{id}, func() { told.Add(int32(id)) }
			b := mustOpen(t, cc)
			if _, err := b.Create(string('a'+rune(id)), 100); err != nil {
				t.Fatal(err)
			}
			return b
		}
		open(2) // lives
		stopped := open(3)
		stopped.endBeats()
		stale := open(4) // lives, with a clock that is an hour behind
		stale.endBeats()
		back := open(5) // taken for dead by mistake
		old := uint64(time.Now().Add(-time.Hour).UnixNano())
		for _, b := range []*Arena{stopped, stale} {
			b.store(hostLine(b.host.entry, lineBeat), old)
			cl, _ := b.readClaim(b.host.entry)
			cl.at = int64(old)
			var l [lineSize]byte
			cl.encode(&l)
			b.write(hostLine(b.host.entry, lineClaim), l[:])
			b.fence()
		}
		silent := a.Silent()
		if len(silent) != 2 {
			t.Fatalf("silent: %+v, want two hosts", silent)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 8 {
				time.Sleep(SilentWatch / 8)
				stale.store(hostLine(stale.host.entry, lineBeat), old+uint64(i))
			}
		}()
		silent = a.Watch(silent)
		<-done
		if len(silent) != 1 || silent[0].ID != [16]byte{3} {
			t.Fatalf("after the watch: %+v, want host 3", silent)
		}
		for _, b := range []*Arena{stopped, back} {
			if n, err := a.Evict(b.cfg.HostID); n != 1 || err != nil {
				t.Errorf("evicted %d objects, %v", n, err)
			}
		}
		for limit := time.Now().Add(20 * time.Second); told.Load() == 0 && time.Now().Before(limit); {
			time.Sleep(10 * time.Millisecond)
		}
		if told.Load() != 5 {
			t.Errorf("told: %d, want 5", told.Load())
		}
		for name, want := range map[string]error{"c": nil, "d": ErrNotFound, "e": nil, "f": ErrNotFound} {
			if _, err := a.OpenObject(name); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	})
}
