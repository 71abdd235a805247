package arena

import "cmpi/flush"

// The hash table: ten levels, each with a prime number of buckets of one slot.
// A name has one bucket in each level; it lives in the first that was free when
// it was created, so a search looks at ten slots at most.

// candidate is the index of the bucket of hash h in a level.
func (g *geometry) candidate(h uint64, level int) int64 {
	return g.levelBase[level] + int64(h%uint64(g.buckets[level]))
}

// tornLooks is how often an unsound slot is looked at before it counts as
// corrupt: its writer needs less than a microsecond for the two lines.
const tornLooks = 64

// slotsPerPage: the table starts on a page, so no slot crosses one.
const slotsPerPage = granule / slotSize

// look reads slot i. ok is false when it is unsound and stays so. The lock is
// not needed: checksum and generation validate what was read.
func (a *Arena) look(i int64) (s slot, ok bool) {
	off := a.geo.slotOff(i)
	if !a.present(a.geo.pageOf(off)) {
		return slot{}, true
	}
	var b [slotSize]byte
	for n := 0; n < tornLooks; n++ {
		a.read(b[:], off)
		if s.decode(&b, &a.geo) {
			return s, true
		}
		flush.Pause()
	}
	return slot{}, false
}

// put writes slot i; the lock is held and its page alive. Visible after fence.
func (a *Arena) put(i int64, s *slot) {
	var b [slotSize]byte
	s.encode(&b)
	a.write(a.geo.slotOff(i), b[:])
}

// clearSlot frees slot i; the lock is held. Visible after fence.
func (a *Arena) clearSlot(i int64) {
	if off := a.geo.slotOff(i); a.present(a.geo.pageOf(off)) {
		a.clearRange(off, slotSize)
	}
}

// place is what a search found.
type place struct {
	index int64 // where the name is; -1 when it isn't there
	slot  slot
	empty int64 // first free bucket of the name; -1 when there is none
	bad   int64 // an unsound bucket of the name; -1 when there is none
}

// search looks for a name that is building or ready.
func (a *Arena) search(name string) place {
	p := place{index: -1, empty: -1, bad: -1}
	h := nameHash(name)
	for level := range levels {
		i := a.geo.candidate(h, level)
		s, ok := a.look(i)
		switch {
		case !ok:
			p.bad = i
		case s.state == free:
			if p.empty < 0 {
				p.empty = i
			}
		case s.name == name && s.state != dying:
			p.index, p.slot = i, s
			return p
		}
	}
	return p
}

// eachSlot calls f for every slot that isn't free, in index order, until f
// returns false; ok tells f whether the slot is sound. Only pages that are
// alive are looked at.
func (a *Arena) eachSlot(f func(i int64, s slot, ok bool) bool) {
	var alive uint64
	page := make([]byte, granule)
	for k := int64(0); k*slotsPerPage < a.geo.slots; k++ {
		if k%64 == 0 {
			alive = a.load(presentOff + k/64*8)
		}
		if alive>>(k%64)&1 == 0 {
			continue
		}
		first := k * slotsPerPage
		a.read(page, a.geo.slotOff(first))
		for j := range min(slotsPerPage, a.geo.slots-first) {
			b := page[j*slotSize : (j+1)*slotSize]
			if zero(b) {
				continue
			}
			var s slot
			ok := s.decode((*[slotSize]byte)(b), &a.geo)
			if !ok {
				s, ok = a.look(first + j) // torn, perhaps
			}
			if ok && s.state == free {
				continue
			}
			if !f(first+j, s, ok) {
				return
			}
		}
	}
}
