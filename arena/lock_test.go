package arena

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockExcludes: hosts and processes increment a counter in the pool that
// only the lock protects, with the primitives that the metadata uses.
func TestLockExcludes(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		const hosts, processes, times = 3, 2, 30
		a := mustOpen(t, c)
		o, err := a.Create("counter", lineSize)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for h := range hosts {
			for p := range processes {
				cc := otherHost(c, byte(h+1))
				cc.Flush.Seed += uint64(100 * p)
				b := mustOpen(t, cc)
				wg.Go(func() {
					for range times {
						err := b.withLock(func() error {
							b.store(o.Offset(), b.load(o.Offset())+1)
							return nil
						})
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
		wg.Wait()
		if n := a.load(o.Offset()); n != hosts*processes*times {
			t.Errorf("%d increments arrived, %d were made", n, hosts*processes*times)
		}
		if st := mustStat(t, a); len(st.Hosts) != hosts {
			t.Errorf("%d hosts in the table: %+v", len(st.Hosts), st.Hosts)
		}
	})
}

// die leaves the pool as a killed process does: nothing is written any more,
// the kernel drops the file locks.
func (a *Arena) die() {
	a.back.unlockByte(a.hostByte)
	a.back.unlockByte(usersByte)
}

// dieHolding takes the pool lock and never gives it back.
func (a *Arena) dieHolding(t testing.TB, f func()) {
	t.Helper()
	if ok, err := a.back.lockByte(unix.F_WRLCK, a.hostByte); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := a.enter(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	a.alloc.forget()
	if err := a.repair(); err != nil {
		t.Fatal(err)
	}
	f()
	a.die()
}

func TestDeadHostIsNamedAndEvicted(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		c.LockTimeout = 30 * time.Millisecond
		a := mustOpen(t, c)
		gone := otherHost(c, 9)
		b := mustOpen(t, gone)
		if _, err := b.Create("of the dead", 5000); err != nil {
			t.Fatal(err)
		}
		b.dieHolding(t, func() {})
		_, err := a.Create("x", 1)
		if !errors.Is(err, ErrLockTimeout) || !strings.Contains(err.Error(), formatID(gone.HostID)) {
			t.Fatalf("lock of a dead host: %v", err)
		}
		if _, err := a.OpenObject("of the dead"); err != nil {
			t.Errorf("opening needs no lock: %v", err)
		}
		if l, err := a.List(); err != nil || len(l) != 1 || l[0].Owner.Host != gone.HostID {
			t.Errorf("listing needs no lock: %+v, %v", l, err)
		}
		if n, err := a.Evict(gone.HostID); n != 1 || err != nil {
			t.Fatalf("evicted %d objects, %v", n, err)
		}
		if _, err := a.Create("x", 1); err != nil {
			t.Error(err)
		}
		if st := mustStat(t, a); len(st.Hosts) != 1 {
			t.Errorf("hosts: %+v", st.Hosts)
		}
		// The dead one was only asleep: it joins anew.
		b2 := mustOpen(t, gone)
		if _, err := b2.Create("y", 1); err != nil {
			t.Error(err)
		}
		mustBeSound(t, a)
	})
}

func TestSuccessorRepairs(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave func(a *Arena) // what the dead holder had done
		left  int            // objects afterwards
	}{
		{"nothing", func(*Arena) {}, 1},
		{"intent to create", func(a *Arena) {
			a.begin(opPut, a.root.gen+1, 5, a.geo.objLo+10*granule, 3*granule)
		}, 1},
		{"bits of a new object", func(a *Arena) {
			a.begin(opPut, a.root.gen+1, 5, a.geo.objLo+10*granule, 3*granule)
			a.mark(10, 3, true)
		}, 1},
		{"half a slot", func(a *Arena) {
			p := a.search("new")
			s := a.newSlot("new", a.geo.objLo+10*granule, 3*granule)
			a.awaken(a.geo.pageOf(a.geo.slotOff(p.empty)))
			a.begin(opPut, s.gen, p.empty, s.off, s.size)
			a.mark(10, 3, true)
			var b [slotSize]byte
			s.encode(&b)
			a.write(a.geo.slotOff(p.empty), b[:lineSize])
			a.fence()
		}, 1},
		{"a slot without bits", func(a *Arena) {
			p := a.search("new")
			s := a.newSlot("new", a.geo.objLo+10*granule, 3*granule)
			s.state = ready
			a.awaken(a.geo.pageOf(a.geo.slotOff(p.empty)))
			a.begin(opPut, s.gen, p.empty, s.off, s.size)
			a.put(p.empty, &s)
			a.fence()
		}, 2},
		{"intent to destroy", func(a *Arena) {
			p := a.search("old")
			a.begin(opClear, a.root.gen, p.index, p.slot.off, p.slot.size)
		}, 0},
		{"slot freed, bits not", func(a *Arena) {
			p := a.search("old")
			a.begin(opClear, a.root.gen, p.index, p.slot.off, p.slot.size)
			a.clearSlot(p.index)
			a.fence()
		}, 0},
		{"a torn root record", func(a *Arena) {
			var b [lineSize]byte
			r := root{seq: a.root.seq + 1, tag: a.tag, op: opClear}
			r.encode(&b)
			b[60]++
			a.write(rootOff+int64(r.seq%rootLines)*lineSize, b[:])
			a.fence()
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, sameHost := range []bool{true, false} {
				forModes(t, func(t *testing.T, cfg Config) {
					cfg.LockTimeout = 30 * time.Millisecond
					a := mustOpen(t, cfg)
					if _, err := a.Create("old", 5000); err != nil {
						t.Fatal(err)
					}
					a.dieHolding(t, func() { c.leave(a) })
					heir := cfg
					heir.Flush.Seed += 50
					if !sameHost {
						heir = otherHost(cfg, 2)
					}
					b := mustOpen(t, heir)
					if !sameHost {
						b.withLock(func() error { return nil }) // joins; the holder is dead
						b.store(hostLine(a.host.entry, lineLock), idle)
					}
					r := mustBeSound(t, b)
					if r.Objects != c.left {
						t.Errorf("%d objects, want %d", r.Objects, c.left)
					}
					if _, err := b.Create("another", 100); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// TestHostTableFills: every entry can be claimed, then the error has a name.
func TestHostTableFills(t *testing.T) {
	c := Config{Path: t.TempDir() + "/pool", Size: MinSize, Create: true}
	noop := func() error { return nil }
	for i := range hostSlots {
		c.HostID = [16]byte{1, byte(i)}
		a := mustOpen(t, c)
		if err := a.withLock(noop); err != nil {
			t.Fatalf("host %d: %v", i, err)
		}
		a.Close()
	}
	c.HostID = [16]byte{2}
	a := mustOpen(t, c)
	if err := a.withLock(noop); !errors.Is(err, ErrHostsFull) {
		t.Errorf("host 65: %v", err)
	}
}

// TestClaimRace: many hosts join at once; no two get one entry.
func TestClaimRace(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		const hosts = 12
		var as []*Arena
		for i := range hosts {
			as = append(as, mustOpen(t, otherHost(c, byte(i+1))))
		}
		var wg sync.WaitGroup
		for _, a := range as {
			wg.Go(func() {
				if err := a.withLock(func() error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		owner := map[int]int{}
		for i, a := range as {
			if j, taken := owner[a.host.entry]; taken {
				t.Errorf("hosts %d and %d share entry %d", i, j, a.host.entry)
			}
			owner[a.host.entry] = i
		}
	})
}
