package arena

import (
	"fmt"
	"sort"
)

// Report is what Check found.
type Report struct {
	Objects  int
	Bytes    int64    // that objects occupy, rounded to granules
	Problems []string // none: the pool is sound
}

// maxProblems bounds a report on a pool of noise.
const maxProblems = 100

// Check goes through all metadata under the pool lock, after repairing what a
// dead holder left behind, and reports what contradicts the invariant of the
// package. It changes nothing else. Large objects that are being made or
// destroyed are sound.
func (a *Arena) Check() (Report, error) {
	var r Report
	err := a.withLock(func() error { r = a.check(); return nil })
	return r, wrap(opCheck, a.cfg.Path, "", err)
}

func (a *Arena) check() (r Report) {
	problem := func(format string, args ...any) {
		if len(r.Problems) < maxProblems {
			r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
		}
	}
	var slots []slot
	names := map[string]int64{}
	a.eachSlot(func(i int64, s slot, ok bool) bool {
		if !ok {
			problem("slot %d is neither free nor sound", i)
			return true
		}
		if !a.geo.mayHold(i, s.name) {
			problem("slot %d is not a bucket of its name %q", i, s.name)
		}
		if s.state != dying {
			if j, twice := names[s.name]; twice {
				problem("slots %d and %d have the name %q", j, i, s.name)
			}
			names[s.name] = i
		}
		if s.gen == 0 || s.gen > a.root.gen {
			problem("slot %d has generation %d, the last one given out is %d", i, s.gen, a.root.gen)
		}
		slots = append(slots, s)
		r.Objects++
		r.Bytes += granulesFor(s.size) * granule
		return true
	})
	sort.Slice(slots, func(i, j int) bool { return slots[i].off < slots[j].off })
	for i := 1; i < len(slots); i++ {
		if p, s := slots[i-1], slots[i]; p.off+granulesFor(p.size)*granule > s.off {
			problem("objects %q at %d and %q at %d overlap", p.name, p.off, s.name, s.off)
		}
	}
	a.checkBits(slots, problem)
	return r
}

// checkBits compares bitmap and summaries with the slots, sorted by offset.
func (a *Arena) checkBits(slots []slot, problem func(string, ...any)) {
	sums := make([]byte, a.geo.sumLen)
	a.read(sums, a.geo.sumOff)
	for i := range a.geo.groups {
		base, n := i*groupGranules, a.geo.groupLen(i)
		var want groupBits
		for len(slots) > 0 {
			first := a.geo.granuleAt(slots[0].off)
			end := first + granulesFor(slots[0].size)
			if lo, hi := max(first, base), min(end, base+n); lo < hi {
				want.set(int(lo-base), int(hi-base), true)
			}
			if end > base+n {
				break // it goes on in the next group
			}
			slots = slots[1:]
		}
		if have := a.loadGroup(i); *have != want {
			for g := range int(n) {
				if w, h := want[g/64]>>(g%64)&1, have[g/64]>>(g%64)&1; w != h {
					problem("granule %d has bit %d, slots say %d", base+int64(g), h, w)
					break
				}
			}
		}
		if s, ok := decodeSummary(sums[i*sumSize:], n); !ok || s != a.alloc.bits.summarize(int(n)) {
			problem("summary of group %d is %+v", i, s)
		}
	}
}

// mayHold says whether slot i is one of name's buckets.
func (g *geometry) mayHold(i int64, name string) bool {
	h := nameHash(name)
	for level := range levels {
		if g.candidate(h, level) == i {
			return true
		}
	}
	return false
}
