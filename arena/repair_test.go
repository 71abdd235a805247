package arena

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cmpi/flush"
)

// damaged makes a pool with five objects, the third of them large, and spoils it.
func damaged(t *testing.T, c Config, spoil func(a *Arena)) *Arena {
	t.Helper()
	a := mustOpen(t, c)
	for i := range 5 {
		size := int64(1 + i*5000)
		if i == 2 {
			size = largeObject
		}
		if _, err := a.Create(fmt.Sprint("object ", i), size); err != nil {
			t.Fatal(err)
		}
	}
	if spoil != nil {
		spoil(a)
		a.fence()
		a.seen = newSeen(a.geo.lazyPages) // as a process that comes later
	}
	return a
}

// slotBytes is slot i of the object as it is in the pool.
func slotBytes(a *Arena, object int) (i int64, b [slotSize]byte) {
	p := a.search(fmt.Sprint("object ", object))
	p.slot.encode(&b)
	return p.index, b
}

// rewrite puts a changed slot in the place of an object's.
func rewrite(a *Arena, object int, change func(s *slot)) {
	p := a.search(fmt.Sprint("object ", object))
	change(&p.slot)
	a.put(p.index, &p.slot)
}

// isBucket says whether slot i is one of name's buckets.
func isBucket(a *Arena, i int64, name string) bool {
	for level := range levels {
		if a.geo.candidate(nameHash(name), level) == i {
			return true
		}
	}
	return false
}

// taken says whether slot i has an object.
func taken(a *Arena, i int64) bool {
	s, ok := a.look(i)
	return !ok || s.state != free
}

// findingCases are ways to damage a pool, and what is found.
var findingCases = []struct {
	name  string
	spoil func(a *Arena)
	part  string // of the first finding; empty: none
	cure  Cure   // the hardest of all findings
	left  int    // objects after a repair that may take away
}{
	{"nothing", nil, "", CureAny, 5},
	{"journal lost", func(a *Arena) { a.clearRange(rootOff, rootLines*lineSize) }, PartJournal, CureAny, 5},
	{"change cut off", func(a *Arena) {
		i, _ := slotBytes(a, 0)
		p := a.search("object 0")
		a.begin(opClear, a.root.gen, i, p.slot.off, p.slot.size)
	}, PartJournal, CureAny, 4},
	{"generation ahead", func(a *Arena) { rewrite(a, 1, func(s *slot) { s.gen += 100 }) }, PartJournal, CureAny, 5},
	{"slot damaged", func(a *Arena) {
		i, b := slotBytes(a, 1)
		b[20] ^= 1
		a.write(a.geo.slotOff(i), b[:])
	}, PartSlot, CureIdle, 4},
	{"slot astray", func(a *Arena) {
		_, b := slotBytes(a, 1)
		var i int64
		for isBucket(a, i, "object 1") || !a.present(a.geo.pageOf(a.geo.slotOff(i))) || taken(a, i) {
			i++
		}
		a.clearSlot(a.search("object 1").index)
		a.write(a.geo.slotOff(i), b[:])
	}, PartName, CureIdle, 4},
	{"name twice", func(a *Arena) {
		p := a.search("object 1")
		h := nameHash("object 1")
		for level := levels - 1; ; level-- {
			if i := a.geo.candidate(h, level); i != p.index {
				p.slot.gen++
				p.slot.off, p.slot.size = a.geo.objHi-granule, 1
				a.awaken(a.geo.pageOf(a.geo.slotOff(i)))
				a.put(i, &p.slot)
				return
			}
		}
	}, PartName, CureIdle, 5},
	{"overlap", func(a *Arena) {
		p := a.search("object 3")
		rewrite(a, 4, func(s *slot) { s.off = p.slot.off })
	}, PartSpace, CureNone, 5},
	{"bits lost", func(a *Arena) { a.clearRange(a.geo.bitmapOff, granule) }, PartBitmap, CureAny, 5},
	{"space leaked", func(a *Arena) { a.mark(1000, 10, true) }, PartBitmap, CureAny, 5},
	{"summary wrong", func(a *Arena) { a.storeSummary(0, summary{1, 2, 1, 3}) }, PartSummary, CureAny, 5},
	{"summary senseless", func(a *Arena) { a.storeSummary(0, summary{9, 2, 1, 3}) }, PartSummary, CureAny, 5},
	{"page lost", func(a *Arena) { a.clearRange(presentOff, a.geo.presentLen) }, PartPages, CureAny, 5},
	{"page behind the last", func(a *Arena) {
		a.store(presentOff+a.geo.presentLen-8, 1<<63)
	}, PartPages, CureAny, 5},
}

// hardest is the hardest cure of all findings.
func hardest(r Report) (c Cure) {
	for _, f := range r.Findings {
		c = max(c, f.Cure)
	}
	return c
}

// TestInspectAndRepair: every kind of damage is found without writing anything,
// and what is left after a repair is what only a person can decide.
func TestInspectAndRepair(t *testing.T) {
	for _, tc := range findingCases {
		t.Run(tc.name, func(t *testing.T) {
			forModes(t, func(t *testing.T, c Config) {
				a := damaged(t, c, tc.spoil)
				before, _ := os.ReadFile(c.Path)
				r, err := a.Inspect()
				if err != nil || r.Changing {
					t.Fatalf("%+v, %v", r, err)
				}
				if after, _ := os.ReadFile(c.Path); string(before) != string(after) {
					t.Error("Inspect has written")
				}
				if tc.part == "" {
					if len(r.Findings) > 0 {
						t.Fatalf("a sound pool: %+v", r.Findings)
					}
				} else if len(r.Findings) == 0 || r.Findings[0].Part != tc.part || hardest(r) != tc.cure {
					t.Fatalf("found %+v, want %s, cure %d", r.Findings, tc.part, tc.cure)
				}
				found, left, err := a.Repair(false)
				if err != nil {
					t.Fatal(err)
				}
				if len(found.Findings) != len(r.Findings) {
					t.Errorf("Repair found %+v, Inspect %+v", found.Findings, r.Findings)
				}
				for _, f := range left.Findings {
					if f.Cure == CureAny {
						t.Errorf("left: %+v", f)
					}
				}
				if tc.cure == CureIdle && len(left.Findings) == 0 {
					t.Error("it took something away that may be in use")
				}
				if _, left, err = a.Repair(true); err != nil {
					t.Fatal(err)
				}
				if hardest(left) != CureNone && len(left.Findings) > 0 || tc.cure != CureNone && len(left.Findings) > 0 {
					t.Errorf("left of an idle pool: %+v", left.Findings)
				}
				if left.Objects != tc.left {
					t.Errorf("%d objects are left, want %d", left.Objects, tc.left)
				}
				if tc.cure == CureNone {
					return
				}
				b := mustOpen(t, otherHost(c, 2))
				for _, size := range []int64{1, largeObject} {
					if _, err := b.Create(fmt.Sprint("new ", size), size); err != nil {
						t.Error(err)
					}
				}
				mustBeSound(t, b)
			})
		})
	}
}

// TestRepairKeepsSpaceOfLostObjects: a process may still use an object whose
// slot was damaged; its space is given to nobody else before the pool is idle.
func TestRepairKeepsSpaceOfLostObjects(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := damaged(t, c, nil)
		o, err := a.OpenObject("object 3")
		if err != nil {
			t.Fatal(err)
		}
		i, b := slotBytes(a, 3)
		b[40] ^= 1
		a.write(a.geo.slotOff(i), b[:])
		a.fence()
		if _, _, err := a.Repair(false); err != nil {
			t.Fatal(err)
		}
		p, err := a.Create("new", o.Size())
		if err != nil {
			t.Fatal(err)
		}
		if p.Offset() < o.Offset()+o.Size() && o.Offset() < p.Offset()+p.Size() {
			t.Errorf("new object at %d+%d, lost one at %d+%d", p.Offset(), p.Size(), o.Offset(), o.Size())
		}
	})
}

func TestRepairOfPoolInUse(t *testing.T) {
	c := Config{Path: filepath.Join(t.TempDir(), "pool"), Size: MinSize, Create: true}
	a, b := mustOpen(t, c), mustOpen(t, c)
	if _, _, err := a.Repair(true); !errors.Is(err, ErrInUse) {
		t.Errorf("open twice: %v", err)
	}
	b.Close()
	if _, _, err := a.Repair(true); err != nil {
		t.Error(err)
	}
	if removed, err := RemoveIfIdle(c.Path); removed || err != nil {
		t.Errorf("after a repair the pool counts as unused: %v, %v", removed, err)
	}
}

// TestInspectNeedsNoLock: a dead host that holds it does not matter, and the
// host that looks does not join the pool.
func TestInspectNeedsNoLock(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		c.LockTimeout = 30 * time.Millisecond
		a := mustOpen(t, c)
		if _, err := a.Create("x", 1); err != nil {
			t.Fatal(err)
		}
		a.dieHolding(t, func() {})
		b := mustOpen(t, otherHost(c, 2))
		if r, err := b.Inspect(); err != nil || r.Objects != 1 || len(r.Findings) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if st := mustStat(t, b); len(st.Hosts) != 1 || st.Hosts[0].Self {
			t.Errorf("hosts %+v", st.Hosts)
		}
	})
}

// TestInspectWhileOthersChange: what is under way is no finding.
func TestInspectWhileOthersChange(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		b := mustOpen(t, otherHost(c, 2))
		stop, done := make(chan struct{}), make(chan error, 1)
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				if _, err := b.Create(fmt.Sprint(i), 9000); err != nil {
					done <- err
					return
				}
				if err := b.Destroy(fmt.Sprint(i)); err != nil {
					done <- err
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		for range 10 {
			r, err := a.Inspect()
			if err != nil || !r.Changing && len(r.Findings) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestRepairTellsHosts: a ticket that can't be keeps everyone out; it is found,
// and evicting its host cures it.
func TestImpossibleTicket(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		gone := otherHost(c, 9)
		b := mustOpen(t, gone)
		if _, err := b.Create("x", 1); err != nil {
			t.Fatal(err)
		}
		b.store(hostLine(b.host.entry, lineLock), maxTicket+1)
		if r, err := a.Inspect(); err != nil || len(r.Findings) != 1 || r.Findings[0].Part != PartHosts {
			t.Errorf("%+v, %v", r, err)
		}
		if _, _, err := a.Repair(false); !errors.Is(err, ErrCorrupt) {
			t.Errorf("repair: %v", err)
		}
		if _, err := a.Evict(gone.HostID); err != nil {
			t.Fatal(err)
		}
		mustBeSound(t, a)
	})
}

func TestFragmentation(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		if st := mustStat(t, a); st.Runs != 1 || st.Fragmentation() != 0 {
			t.Errorf("empty: %d runs, %v", st.Runs, st.Fragmentation())
		}
		for i := range 6 {
			if _, err := a.Create(fmt.Sprint(i), granule); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range []int{1, 3} {
			if err := a.Destroy(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		st := mustStat(t, a)
		if want := 2 * granule / float64(st.Free); st.Runs != 3 || st.Fragmentation() < want*0.99 || st.Fragmentation() > want*1.01 {
			t.Errorf("%d runs, %v, want 3 and %v", st.Runs, st.Fragmentation(), want)
		}
	})
}

// TestRunsAcrossGroups: a free run that goes on in the next group is one.
func TestRunsAcrossGroups(t *testing.T) {
	a := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "pool"), Size: 300 << 20, Create: true, Mode: flush.Coherent})
	if st := mustStat(t, a); a.geo.groups < 3 || st.Runs != 1 {
		t.Errorf("%d groups, %d runs", a.geo.groups, st.Runs)
	}
	first, last := int64(groupGranules-2), int64(groupGranules+2)
	if err := a.withLock(func() error { return errors.Join(a.mark(first, 1, true), a.mark(last, 1, true)) }); err != nil {
		t.Fatal(err)
	}
	if st := mustStat(t, a); st.Runs != 3 {
		t.Errorf("%d runs, want 3", st.Runs)
	}
}

func TestRemove(t *testing.T) {
	forModes(t, func(t *testing.T, c Config) {
		a := mustOpen(t, c)
		for _, size := range []int64{10, largeObject} {
			if _, err := a.Create("x", size); err != nil {
				t.Fatal(err)
			}
			l, err := a.List()
			if err != nil || len(l) != 1 || l[0].Life != Alive {
				t.Fatalf("%+v, %v", l, err)
			}
			if started, ok := l[0].Owner.Started(); !ok || time.Since(started) < 0 || time.Since(started) > time.Hour {
				t.Errorf("we started at %v", started)
			}
			if err := a.Destroy("x"); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Create("x", size); err != nil {
				t.Fatal(err)
			}
			if err := a.Remove(l[0]); !errors.Is(err, ErrNotFound) {
				t.Errorf("an earlier object of the name: %v", err)
			}
			l, _ = a.List()
			if err := a.Remove(l[0]); err != nil {
				t.Error(err)
			}
		}
		mustBeSound(t, a)
	})
}

func TestLife(t *testing.T) {
	a := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "pool"), Size: MinSize, Create: true})
	self := Self(a.cfg.HostID)
	there := self
	there.PIDNS += 2
	b := mustOpen(t, Config{Path: a.Path(), Owner: there})
	if _, err := b.Create("there", 1); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		what   string
		change func(o *Owner)
		want   Life
	}{
		{"we", func(*Owner) {}, Alive},
		{"pid of another process", func(o *Owner) { o.Start++ }, Dead},
		{"no such process", func(o *Owner) { o.PID = 1 << 22 }, Dead},
		{"a process group", func(o *Owner) { o.PID = 1<<32 - 1 }, Dead},
		{"all of us", func(o *Owner) { o.PID = 0 }, Dead},
		{"gone in another namespace", func(o *Owner) { o.PIDNS++ }, Dead},
		{"living in another namespace", func(o *Owner) { *o = there }, Alive},
		{"another host", func(o *Owner) { o.Host[3]++ }, Unknown},
	} {
		o := self
		tc.change(&o)
		s := slot{host: hostTag(o.Host), pid: o.PID, pidns: o.PIDNS, start: o.Start, uid: o.UID}
		if got := a.life(&s); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
	}
}
