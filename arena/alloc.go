package arena

// The allocator: first fit in address order over one bit per granule, with a
// summary per group of 32,768 granules so that a search reads 8 bytes per
// 128 MiB and one page of bits. Neighbouring free space coalesces by itself,
// since free bits that touch are one run. Bits and summaries are derived from
// the slots and are redone from the root record after a crash.
//
// Everything here needs the pool lock.

// granulesFor is the number of granules that size bytes occupy.
func granulesFor(size int64) int64 { return (size + granule - 1) / granule }

// allocator is what the holder of the lock has read of the metadata.
type allocator struct {
	group int64 // whose bits are in bits; -1: none
	bits  groupBits
}

// forget drops what was read under an earlier hold of the lock.
func (al *allocator) forget() { al.group = -1 }

// loadGroup reads a group's bits, once per hold of the lock.
func (a *Arena) loadGroup(i int64) *groupBits {
	al := &a.alloc
	if al.group == i {
		return &al.bits
	}
	al.bits, al.group = a.readGroup(i), i
	return &al.bits
}

// readGroup reads a group's bits afresh. It needs no lock.
func (a *Arena) readGroup(i int64) (bits groupBits) {
	off := a.geo.bitmapOff + i*granule
	if !a.present(a.geo.pageOf(off)) {
		return bits
	}
	var raw [granule]byte
	a.read(raw[:], off)
	for w := range bits {
		bits[w] = le.Uint64(raw[w*8:])
	}
	return bits
}

// storeGroup writes the lines of the loaded group that hold granules [lo, hi),
// and the group's summary.
func (a *Arena) storeGroup(i int64, lo, hi int) {
	al := &a.alloc
	const perLine = lineSize * 8
	for line := lo / perLine; line <= (hi-1)/perLine; line++ {
		var b [lineSize]byte
		for w := range lineSize / 8 {
			le.PutUint64(b[w*8:], al.bits[line*lineSize/8+w])
		}
		a.write(a.geo.bitmapOff+i*granule+int64(line*lineSize), b[:])
	}
	a.storeSummary(i, al.bits.summarize(int(a.geo.groupLen(i))))
}

// storeSummary writes the summary of a group.
func (a *Arena) storeSummary(i int64, s summary) {
	var b [lineSize]byte
	off := a.geo.sumOff + i*sumSize/lineSize*lineSize
	a.read(b[:], off)
	s.encode(b[i*sumSize%lineSize:])
	a.write(off, b[:])
}

// find gives the first granule of the lowest free run of n granules.
func (a *Arena) find(n int64) (int64, error) {
	if n > a.geo.granules {
		return 0, faultf(ErrPoolFull, "%d bytes wanted, %d in all", n*granule, a.geo.granules*granule)
	}
	sums := make([]byte, a.geo.sumLen)
	a.read(sums, a.geo.sumOff)
	var run, avail int64 // free granules just before the group; free ones in all
	for i := range a.geo.groups {
		length := a.geo.groupLen(i)
		s, ok := decodeSummary(sums[i*sumSize:], length)
		if !ok {
			return 0, faultf(ErrCorrupt, "summary of group %d", i)
		}
		avail += int64(s.free)
		base := i * groupGranules
		if run+int64(s.start) >= n {
			return base - run, nil
		}
		if int64(s.longest) >= n {
			at := a.loadGroup(i).fit(int(length), int(n))
			if at < 0 {
				return 0, faultf(ErrCorrupt, "summary of group %d promises a free run that isn't there", i)
			}
			return base + int64(at), nil
		}
		if int64(s.start) == length {
			run += length
		} else {
			run = int64(s.end)
		}
	}
	return 0, faultf(ErrPoolFull, "%d bytes wanted, %d free but not in one piece of that size", n*granule, avail*granule)
}

// eachGroup calls f for the part [lo, hi) of each group that granules
// [first, first+n) touch.
func eachGroup(first, n int64, f func(group int64, lo, hi int) error) error {
	for n > 0 {
		group, lo := first/groupGranules, first%groupGranules
		k := min(n, groupGranules-lo)
		if err := f(group, int(lo), int(lo+k)); err != nil {
			return err
		}
		first, n = first+k, n-k
	}
	return nil
}

// prepare makes sure that the bits of a range found free can be written: their
// pages are alive and they are indeed free.
func (a *Arena) prepare(first, n int64) error {
	return eachGroup(first, n, func(group int64, lo, hi int) error {
		if err := a.awaken(a.geo.pageOf(a.geo.bitmapOff + group*granule)); err != nil {
			return err
		}
		if !a.loadGroup(group).isFree(lo, hi) {
			return faultf(ErrCorrupt, "summary of group %d calls taken space free", group)
		}
		return nil
	})
}

// mark sets or clears the bits of a range. It may be repeated.
func (a *Arena) mark(first, n int64, taken bool) error {
	return eachGroup(first, n, func(group int64, lo, hi int) error {
		if taken {
			if err := a.awaken(a.geo.pageOf(a.geo.bitmapOff + group*granule)); err != nil {
				return err
			}
		} else if !a.present(a.geo.pageOf(a.geo.bitmapOff + group*granule)) {
			return nil // never written: free already
		}
		a.loadGroup(group).set(lo, hi, taken)
		a.storeGroup(group, lo, hi)
		return nil
	})
}

// granuleAt is the granule at which the object area's offset off lies.
func (g *geometry) granuleAt(off int64) int64 { return (off - g.objLo) / granule }

// recycle makes a range that nobody uses any more ready for its next owner: it
// gives the memory back and leaves zeroes, if the pool promises zeroes.
func (a *Arena) recycle(off, size int64) {
	n := roundUp(size, granule)
	if a.super.flags&flagZeroFree == 0 {
		return // whoever allocates clears
	}
	if a.back.device || a.back.release(off, n) != nil {
		a.clearRange(off, n)
		a.fence()
	}
}

// furnish makes a range ready to be an object: memory promised, all zeroes.
func (a *Arena) furnish(off, size int64) error {
	n := roundUp(size, granule)
	if err := a.back.reserve(off, n); err != nil {
		return err
	}
	if a.super.flags&flagZeroFree == 0 {
		a.clearRange(off, n)
		a.fence()
	}
	return nil
}
