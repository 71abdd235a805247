package arena

import "sync/atomic"

// The lazy area's pages come to life one by one. The present map says which
// did: a page without its bit has never been reserved, must not be touched (a
// load would allocate memory, and die of SIGBUS when there is none) and counts
// as zero. Bits are only ever set. So neither start-up nor a search for a name
// that isn't there pays for the whole table.

// seen is this process's copy of the bits that it found set.
type seen []atomic.Uint64

func newSeen(pages int64) seen { return make(seen, (pages+63)/64) }

// present says whether page k of the lazy area is alive.
func (a *Arena) present(k int64) bool {
	bit := uint64(1) << (k % 64)
	w := &a.seen[k/64]
	if w.Load()&bit != 0 {
		return true
	}
	now := a.load(presentOff + k/64*8)
	w.Or(now)
	return now&bit != 0
}

// awaken brings page k to life, zeroed. The lock must be held. A crash before
// the bit is set leaves a reserved page of zeroes that is found again.
func (a *Arena) awaken(k int64) error {
	if a.present(k) {
		return nil
	}
	off := a.geo.lazyOff + k*granule
	if err := a.back.reserve(off, granule); err != nil {
		return err
	}
	if a.super.flags&flagZeroFree == 0 {
		a.clearRange(off, granule)
		a.fence()
	}
	word := presentOff + k/64*8
	a.store(word, a.load(word)|1<<(k%64))
	return nil
}
