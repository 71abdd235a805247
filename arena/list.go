package arena

import (
	"errors"
	"math"
	"sort"
)

// Info describes an object.
type Info struct {
	Name       string
	Slot       int64 // where its name stands in the hash table
	Offset     int64 // bytes from the pool's start
	Size       int64 // bytes, as it was asked for
	Generation uint64
	Ready      bool  // false: being made, or being destroyed
	Owner      Owner // Host is zero when the host table no longer knows it
	Life       Life  // of its owner
}

// Stat describes a pool.
type Stat struct {
	Size      int64
	Metadata  int64 // bytes before and not usable for objects
	Used      int64 // bytes that objects occupy, rounded to granules
	Free      int64
	Largest   int64 // longest free run
	Runs      int   // free runs; 0 or 1: the free space is in one piece
	Objects   int
	Slots     int64
	Buckets   [levels]int64
	Hosts     []HostInfo
	Created   int64 // ns since 1970
	Published bool  // the hash table has the paper's geometry
}

// Fragmentation is the part of the free space, 0 to 1, that the largest object
// that fits would have to leave: 0 when all of it is in one piece.
func (st Stat) Fragmentation() float64 {
	if st.Free == 0 {
		return 0
	}
	return 1 - float64(st.Largest)/float64(st.Free)
}

// HostInfo describes an entry of the host table.
type HostInfo struct {
	Entry   int
	Self    bool // it is the host that asks
	ID      [16]byte
	Name    string // as it called itself
	Since   int64  // ns since 1970
	Beat    int64  // when one of its owners of objects gave the last sign of life, by its own clock, ns since 1970; 0: never
	Ticket  uint64 // 0: idle, 1: choosing
	Holding bool   // holds the pool lock at this moment
}

// List describes all objects in the order of their offsets. It takes no lock,
// so it also works while a dead host holds it; an object created or destroyed
// meanwhile may or may not be among them.
func (a *Arena) List() ([]Info, error) {
	hosts := a.hostsByTag()
	var infos []Info
	bad := int64(-1)
	a.eachSlot(func(i int64, s slot, ok bool) bool {
		if !ok {
			bad = i
			return true
		}
		infos = append(infos, a.describe(i, &s, hosts))
		return true
	})
	sort.Slice(infos, func(i, j int) bool { return infos[i].Offset < infos[j].Offset })
	if bad >= 0 {
		return infos, wrap(opList, a.cfg.Path, "", faultf(ErrCorrupt, "slot %d", bad))
	}
	return infos, nil
}

// describe makes an Info of slot i.
func (a *Arena) describe(i int64, s *slot, hosts map[uint64][16]byte) Info {
	return Info{
		Name: s.name, Slot: i, Offset: s.off, Size: s.size, Generation: s.gen, Ready: s.state == ready,
		Owner: Owner{Host: hosts[s.host], PID: s.pid, PIDNS: s.pidns, Start: s.start, UID: s.uid},
		Life:  a.life(s),
	}
}

// hostsByTag gives the ids of the hosts in the host table by what slots call
// them.
func (a *Arena) hostsByTag() map[uint64][16]byte {
	hosts := map[uint64][16]byte{}
	for _, h := range a.hosts() {
		hosts[hostTag(h.ID)] = h.ID
	}
	return hosts
}

// hosts reads the host table.
func (a *Arena) hosts() (hs []HostInfo) {
	for j := range hostSlots {
		if c, ok := a.readClaim(j); ok {
			w := a.load(hostLine(j, lineLock))
			hs = append(hs, HostInfo{
				Entry: j, Self: c.host == a.cfg.HostID, ID: c.host, Name: c.name, Since: c.at, Ticket: w &^ holding, Holding: w&holding != 0,
				Beat: int64(a.load(hostLine(j, lineBeat)) & math.MaxInt64),
			})
		}
	}
	return hs
}

// Stat describes the pool. It takes no lock.
func (a *Arena) Stat() (Stat, error) {
	g := &a.geo
	st := Stat{
		Size: g.size, Metadata: g.objLo, Slots: g.slots, Buckets: g.buckets,
		Created: a.super.created, Published: g.buckets[0] == publishedTop, Hosts: a.hosts(),
	}
	sums := make([]byte, g.sumLen)
	a.read(sums, g.sumOff)
	var run, longest, avail int64
	for i := range g.groups {
		n := g.groupLen(i)
		s, ok := decodeSummary(sums[i*sumSize:], n)
		if !ok {
			return st, wrap(opStat, a.cfg.Path, "", faultf(ErrCorrupt, "summary of group %d", i))
		}
		avail += int64(s.free)
		longest = max(longest, run+int64(s.start), int64(s.longest))
		if int64(s.start) == n {
			run += n
		} else {
			run = int64(s.end)
		}
	}
	st.Free, st.Largest = avail*granule, longest*granule
	st.Used = (g.granules - avail) * granule
	a.eachSlot(func(int64, slot, bool) bool { st.Objects++; return true })
	st.Runs = a.freeRuns()
	return st, nil
}

// freeRuns counts the free runs of the bitmap. It takes no lock.
func (a *Arena) freeRuns() (runs int) {
	open := false // the last group ended in a run that the next one continues
	for i := range a.geo.groups {
		bits, n := a.readGroup(i), int(a.geo.groupLen(i))
		was := open
		open = open && n == 0
		bits.forRuns(n, func(start, length int) bool {
			if start > 0 || !was {
				runs++
			}
			open = start+length == n
			return true
		})
	}
	return runs
}

// GC destroys every object whose owner was a process of this host that is gone,
// and finishes what such a process began. It returns how many it freed. Objects
// of other hosts, and of pid namespaces that we can't see into, are left alone.
func (a *Arena) GC() (n int, err error) {
	freed, err := a.Collect()
	return len(freed), err
}

// Collect is GC; it describes what it freed.
func (a *Arena) Collect() (freed []Info, err error) {
	freed, err = a.removeAll(a.dead)
	return freed, wrap(opGC, a.cfg.Path, "", err)
}

// Remove destroys exactly the object that i describes, in whatever state it is;
// a later one of its name is left alone. ErrNotFound: it is gone already. As for
// Destroy, nobody may be writing to it any more.
func (a *Arena) Remove(i Info) error {
	return wrap(opDestroy, a.cfg.Path, i.Name, a.removeSlot(i.Slot, i.Generation))
}

func (a *Arena) removeSlot(index int64, gen uint64) error {
	if index < 0 || index >= a.geo.slots {
		return ErrNotFound
	}
	return a.remove(func() (int64, slot, error) {
		s, ok := a.look(index)
		if !ok || s.state == free || s.gen != gen {
			return 0, slot{}, ErrNotFound
		}
		return index, s, nil
	})
}

// removeAll removes the objects for which condemned says so, one at a time, so
// that the lock is never held long.
func (a *Arena) removeAll(condemned func(*slot) bool) (removed []Info, err error) {
	var victims []Info
	hosts := a.hostsByTag()
	a.eachSlot(func(i int64, s slot, ok bool) bool {
		if ok && condemned(&s) {
			victims = append(victims, a.describe(i, &s, hosts))
		}
		return true
	})
	for _, v := range victims {
		switch err := a.removeSlot(v.Slot, v.Generation); {
		case err == nil:
			removed = append(removed, v)
		case !errors.Is(err, ErrNotFound): // someone else was faster
			return removed, err
		}
	}
	return removed, nil
}

// Heal ends what a process of this host began before it died inside the pool
// lock, or on its way there: until some process of the host does, all hosts wait.
// It takes the lock only if it is not free.
func (a *Arena) Heal() error {
	for j := range hostSlots {
		if c, ok := a.readClaim(j); ok && c.host == a.cfg.HostID && a.load(hostLine(j, lineLock)) != idle {
			return wrap(opGC, a.cfg.Path, "", a.withLock(func() error { return nil }))
		}
	}
	return nil
}

// Evict removes a host that is gone for good from the pool: its part in the
// pool lock, its entry, and its objects, of which it returns the number. The
// caller answers for it that no process of that host uses the pool any more;
// evicting a living host breaks mutual exclusion.
func (a *Arena) Evict(id [16]byte) (n int, err error) {
	n, err = a.evict(id)
	return n, wrap(opEvict, a.cfg.Path, "", err)
}

func (a *Arena) evict(id [16]byte) (int, error) {
	if id == a.cfg.HostID {
		return 0, faultf(ErrExists, "it is the host that asks")
	}
	for j := range hostSlots {
		if c, ok := a.readClaim(j); ok && c.host == id {
			// Its only writer is dead: its lock line is free to be written.
			a.store(hostLine(j, lineLock), idle)
		}
	}
	err := a.withLock(func() error {
		for j := range hostSlots {
			if c, ok := a.readClaim(j); ok && c.host == id {
				for _, line := range []int{lineX, lineClaim, lineBeat, lineY} {
					a.clearRange(hostLine(j, line), lineSize)
					a.fence()
				}
			}
		}
		a.store(claimsOff, randomWord())
		return nil
	})
	if err != nil {
		return 0, err
	}
	tag := hostTag(id)
	removed, err := a.removeAll(func(s *slot) bool { return s.host == tag })
	return len(removed), err
}
