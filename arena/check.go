package arena

import (
	"fmt"
	"io"
	"sort"
	"time"

	"golang.org/x/sys/unix"
)

// Report is what Check, Inspect or Repair found.
type Report struct {
	Objects  int
	Bytes    int64     // that objects occupy, rounded to granules
	Findings []Finding // none: the pool is sound

	// Changing: the pool was changed each time that Inspect looked, so that a
	// finding may be a change under way.
	Changing bool
}

// Finding is one thing that contradicts the invariant of the package.
type Finding struct {
	Part string // of the metadata: PartSlot, …
	Text string // one line
	Cure Cure
}

// The parts of the metadata that a Finding names.
const (
	PartJournal = "journal"
	PartHosts   = "hosts"
	PartPages   = "pages" // the present map
	PartSlot    = "slot"
	PartName    = "name"
	PartSpace   = "space" // two objects in one place
	PartBitmap  = "bitmap"
	PartSummary = "summary"
)

// Cure is what it takes to put a Finding right.
type Cure uint8

// CureAny: Repair does it at any time. CureIdle: Repair does it when nobody uses
// the pool, because it takes something away that a process may be using.
// CureNone: it takes a person, who knows what may be lost.
const (
	CureAny Cure = iota
	CureIdle
	CureNone
)

// maxFindings bounds a report on a pool of noise.
const maxFindings = 100

// Check goes through all metadata under the pool lock, after completing what a
// dead holder left behind, and reports what contradicts the invariant of the
// package. It changes nothing else. Large objects that are being made or
// destroyed are sound.
func (a *Arena) Check() (Report, error) {
	var r Report
	err := a.withLock(func() error { r = a.check().Report; return nil })
	return r, wrap(opCheck, a.cfg.Path, "", err)
}

const (
	// inspectLooks is how often Inspect looks at a pool that changes. A change
	// takes some 5 µs, and a job makes few.
	inspectLooks = 50
	// inspectPause lets a change end.
	inspectPause = 2 * time.Millisecond
)

// Inspect is Check without the lock: it writes nothing at all, not even the
// host's entry in the host table, and works while a dead host holds the lock.
//
// All changes of slots and bits lie between two root records, so a look is of
// one state when the record is idle and the same before and after it.
func (a *Arena) Inspect() (Report, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return Report{}, wrap(opCheck, a.cfg.Path, "", ErrClosed)
	}
	var r Report
	stuck := true // always the same record
	first, _ := a.newestRoot()
	for look := range inspectLooks {
		if look > 0 {
			time.Sleep(inspectPause)
		}
		before, ok := a.newestRoot()
		if ok && before.op != opIdle && look < inspectLooks-1 {
			continue // a change is under way, probably
		}
		a.root = before
		a.alloc.forget()
		r = a.check().Report
		after, _ := a.newestRoot()
		if before.seq == after.seq && (!ok || before.op == opIdle) {
			return r, nil
		}
		stuck = stuck && first.seq == after.seq
	}
	r.Changing = !stuck
	return r, nil
}

// survey is a Report with what Repair needs to know.
type survey struct {
	Report
	slots   []slot  // the sound ones, by offset
	unsound []int64 // slots that are neither free nor sound
	astray  []int64 // sound slots that a search for their name doesn't find
	lost    []int64 // pages that hold something and are not in the present map
	lastGen uint64  // highest generation of a slot
}

func (r *Report) add(part string, cure Cure, format string, args ...any) {
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, Finding{part, fmt.Sprintf(format, args...), cure})
	}
}

// check surveys the pool; a.root is known. Nothing is written.
func (a *Arena) check() *survey {
	v := &survey{}
	journal := a.checkJournal(v)
	a.checkHosts(v)
	a.checkPages(v)
	a.checkSlots(v)
	if journal && v.lastGen > a.root.gen {
		v.add(PartJournal, CureAny, "an object has generation %d, the last one given out is %d", v.lastGen, a.root.gen)
	}
	a.checkSpace(v)
	return v
}

// checkJournal says whether there is a root record.
func (a *Arena) checkJournal(v *survey) bool {
	r, ok := a.newestRoot()
	switch {
	case !ok:
		v.add(PartJournal, CureAny, "no sound root record: nothing can be created or destroyed")
	case r.op != opIdle:
		v.add(PartJournal, CureAny, "a change of slot %d was cut off; whoever changes the pool next completes or undoes it", r.slot)
	}
	return ok
}

// checkHosts looks at the host table.
func (a *Arena) checkHosts(v *survey) {
	entries := map[[16]byte]int{}
	for _, h := range a.hosts() {
		if j, twice := entries[h.ID]; twice {
			v.add(PartHosts, CureNone, "entries %d and %d are both of host %s; evict it when it is gone", j, h.Entry, formatID(h.ID))
		}
		entries[h.ID] = h.Entry
		if h.Ticket >= maxTicket && !h.Self {
			v.add(PartHosts, CureNone, "host %s has ticket %d, with which nobody gets the lock; evict it when it is gone", formatID(h.ID), h.Ticket)
		}
	}
}

// checkPages looks at the present map. Pages that were lost from it can be told
// where a page that never came to life reads as zero: in files.
func (a *Arena) checkPages(v *survey) {
	for w := range a.geo.presentLen / 8 {
		bits := a.load(presentOff + w*8)
		if past := (w+1)*64 - a.geo.lazyPages; past > 0 && bits>>(64-min(past, 64)) != 0 {
			v.add(PartPages, CureAny, "word %d of the present map names pages behind the last one", w)
		}
	}
	if a.back.device || a.super.flags&flagZeroFree == 0 {
		return
	}
	buf := make([]byte, granule)
	for k := int64(0); k < a.geo.lazyPages; k++ {
		off := a.geo.lazyOff + k*granule
		data, err := unix.Seek(a.back.fd(), off, unix.SEEK_DATA)
		if err != nil {
			return // nothing but holes, or a filesystem that doesn't tell
		}
		if data >= off+granule {
			k = (data-a.geo.lazyOff)/granule - 1
			continue
		}
		if a.load(presentOff+k/64*8)>>(k%64)&1 != 0 {
			continue
		}
		if _, err := a.back.f.ReadAt(buf, off); (err == nil || err == io.EOF) && !zero(buf) {
			v.lost = append(v.lost, k)
			v.add(PartPages, CureAny, "page %d of the metadata is in use and not in the present map", k)
		}
	}
}

// checkSlots looks at each slot by itself.
func (a *Arena) checkSlots(v *survey) {
	a.eachSlot(func(i int64, s slot, ok bool) bool {
		if !ok {
			v.unsound = append(v.unsound, i)
			v.add(PartSlot, CureIdle, "slot %d is neither free nor sound: its object is lost", i)
			return true
		}
		if s.state != dying {
			if found := a.search(s.name); found.index != i {
				v.astray = append(v.astray, i)
				if found.index >= 0 {
					v.add(PartName, CureIdle, "slots %d and %d have the name %q; the second can't be opened", found.index, i, s.name)
				} else {
					v.add(PartName, CureIdle, "slot %d is not a bucket of its name %q, which can't be opened", i, s.name)
				}
			}
		}
		if s.gen == 0 {
			v.add(PartSlot, CureNone, "object %q has generation 0; remove it", s.name)
		}
		v.lastGen = max(v.lastGen, s.gen)
		v.slots = append(v.slots, s)
		v.Objects++
		v.Bytes += granulesFor(s.size) * granule
		return true
	})
	sort.Slice(v.slots, func(i, j int) bool { return v.slots[i].off < v.slots[j].off })
}

// checkSpace compares objects with one another, and bitmap and summaries with
// the objects.
func (a *Arena) checkSpace(v *survey) {
	var end int64
	var widest slot // reaches farthest of those before
	for _, s := range v.slots {
		if s.off < end {
			v.add(PartSpace, CureNone, "objects %q at %d and %q at %d overlap; copy what is needed and remove both", widest.name, widest.off, s.name, s.off)
		}
		if e := s.off + granulesFor(s.size)*granule; e > end {
			end, widest = e, s
		}
	}
	leak := CureAny
	if len(v.unsound) > 0 {
		leak = CureIdle // it may be the space of the objects that are lost
	}
	sums := make([]byte, a.geo.sumLen)
	a.read(sums, a.geo.sumOff)
	a.wantedBits(v.slots, func(i int64, want *groupBits) error {
		n := a.geo.groupLen(i)
		have := a.readGroup(i)
		at, missing, extra := int64(-1), 0, 0
		for g := range n {
			w, h := want[g/64]>>(g%64)&1, have[g/64]>>(g%64)&1
			if w == h {
				continue
			}
			if at < 0 {
				at = g
			}
			missing += int(w)
			extra += int(h)
		}
		where := a.geo.objLo + (i*groupGranules+at)*granule
		if missing > 0 {
			v.add(PartBitmap, CureAny, "group %d: %d bytes of objects count as free, from offset %d or behind it", i, int64(missing)*granule, where)
		}
		if extra > 0 {
			v.add(PartBitmap, leak, "group %d: %d bytes that belong to no object count as taken, from offset %d or behind it", i, int64(extra)*granule, where)
		}
		if s, ok := decodeSummary(sums[i*sumSize:], n); !ok || s != have.summarize(int(n)) {
			v.add(PartSummary, CureAny, "group %d: the summary is not that of its bits", i)
		}
		return nil
	})
}

// wantedBits calls f with the bits of each group as the slots, sorted by
// offset, demand them, until f fails.
func (a *Arena) wantedBits(slots []slot, f func(i int64, want *groupBits) error) error {
	var open []slot // that reach into the group at hand
	for i := range a.geo.groups {
		base, n := i*groupGranules, a.geo.groupLen(i)
		for len(slots) > 0 && a.geo.granuleAt(slots[0].off) < base+n {
			open = append(open, slots[0])
			slots = slots[1:]
		}
		var want groupBits
		next := open[:0]
		for _, s := range open {
			first := a.geo.granuleAt(s.off)
			end := first + granulesFor(s.size)
			if lo, hi := max(first, base), min(end, base+n); lo < hi {
				want.set(int(lo-base), int(hi-base), true)
			}
			if end > base+n {
				next = append(next, s)
			}
		}
		open = next
		if err := f(i, &want); err != nil {
			return err
		}
	}
	return nil
}
