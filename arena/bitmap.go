package arena

import "math/bits"

// A group's page of bitmap as 512 words: bit i of the page is granule i of the
// group, 1 = taken. These functions know nothing of pools.

const groupWords = groupGranules / 64

type groupBits [groupWords]uint64

// forRuns calls f for each maximal free run among the first n granules, in
// ascending order, until f returns false.
func (b *groupBits) forRuns(n int, f func(start, length int) bool) {
	at := 0
	for at < n {
		start := b.next(at, n, 0)
		if start == n {
			return
		}
		at = b.next(start, n, 1)
		if !f(start, at-start) {
			return
		}
	}
}

// next is the first granule ≥ at whose bit equals v, or n.
func (b *groupBits) next(at, n int, v uint64) int {
	for at < n {
		w := b[at/64]
		if v == 0 {
			w = ^w
		}
		if w >>= at % 64; w != 0 {
			return min(n, at+bits.TrailingZeros64(w))
		}
		at = at/64*64 + 64
	}
	return n
}

// fit is the start of the first free run of at least want granules, or -1.
func (b *groupBits) fit(n, want int) int {
	found := -1
	b.forRuns(n, func(start, length int) bool {
		if length >= want {
			found = start
		}
		return found < 0
	})
	return found
}

// summarize derives the summary of the first n granules.
func (b *groupBits) summarize(n int) (s summary) {
	b.forRuns(n, func(start, length int) bool {
		if start == 0 {
			s.start = uint16(length)
		}
		if start+length == n {
			s.end = uint16(length)
		}
		s.longest = max(s.longest, uint16(length))
		s.free += uint16(length)
		return true
	})
	return s
}

// set gives granules [lo, hi) the value v.
func (b *groupBits) set(lo, hi int, v bool) {
	for lo < hi {
		k := min(hi, lo/64*64+64)
		mask := (^uint64(0) >> (64 - (k - lo))) << (lo % 64)
		if v {
			b[lo/64] |= mask
		} else {
			b[lo/64] &^= mask
		}
		lo = k
	}
}

// isFree says whether all of [lo, hi) is free.
func (b *groupBits) isFree(lo, hi int) bool { return b.next(lo, hi, 1) == hi }
