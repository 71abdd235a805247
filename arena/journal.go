package arena

// The root record is the journal. A change is: intent written, everything else
// in any order, fence, idle written.

// readRoot finds the current root record.
func (a *Arena) readRoot() error {
	r, found := a.newestRoot()
	if !found {
		return faultf(ErrCorrupt, "no sound root record; perhaps it was formatted anew")
	}
	a.root = r
	return nil
}

// newestRoot reads the current root record; false when none is sound.
func (a *Arena) newestRoot() (newest root, found bool) {
	for i := range rootLines {
		var b [lineSize]byte
		var r root
		a.read(b[:], rootOff+int64(i)*lineSize)
		if r.decode(&b, &a.geo, a.tag) && (!found || r.seq > newest.seq) {
			newest, found = r, true
		}
	}
	return newest, found
}

// writeRoot writes r as the next root record, in the line of the older copy.
func (a *Arena) writeRoot(r root) {
	r.seq, r.tag = a.root.seq+1, a.tag
	var b [lineSize]byte
	r.encode(&b)
	a.write(rootOff+int64(r.seq%rootLines)*lineSize, b[:])
	a.fence()
	a.root = r
}

// begin records the intent to change slot i, which has (or gets) the range.
func (a *Arena) begin(op rootOp, gen uint64, i, off, size int64) {
	a.writeRoot(root{gen: gen, slot: i, off: off, size: size, op: op})
}

// finish records that the change is complete.
func (a *Arena) finish() {
	a.fence()
	a.writeRoot(root{gen: a.root.gen})
}

// repair reads the root record and completes or undoes the change that a dead
// holder left behind. It may itself be cut off and repeated.
func (a *Arena) repair() error {
	if err := a.readRoot(); err != nil {
		return err
	}
	r := a.root
	if r.op == opIdle {
		return nil
	}
	if a.inherited {
		a.dropInherited(r)
	}
	if r.op == opPut {
		s, ok := a.look(r.slot)
		if ok && s.state != free && s.off == r.off && s.size == r.size {
			if err := a.mark(a.geo.granuleAt(r.off), granulesFor(r.size), true); err != nil {
				return err
			}
			a.finish()
			return nil
		}
	}
	if err := a.erase(r.slot, r.off, r.size); err != nil {
		return err
	}
	a.finish()
	return nil
}

// dropInherited flushes from this host's caches what a process of this host may
// have written in the change r before it died.
func (a *Arena) dropInherited(r root) {
	drop := func(off, n int64) {
		for k := a.geo.pageOf(off); k <= a.geo.pageOf(off+n-1); k++ {
			if a.present(k) {
				a.dropCached(a.meta, a.geo.lazyOff+k*granule, granule)
			}
		}
	}
	drop(a.geo.slotOff(r.slot), slotSize)
	first := a.geo.granuleAt(r.off) / groupGranules
	last := (a.geo.granuleAt(r.off) + granulesFor(r.size) - 1) / groupGranules
	drop(a.geo.bitmapOff+first*granule, (last-first+1)*granule)
}

// erase frees a slot and its range; between begin and finish.
func (a *Arena) erase(i, off, size int64) error {
	a.clearSlot(i)
	a.fence() // the name is gone before its space can be anyone else's
	a.recycle(off, size)
	return a.mark(a.geo.granuleAt(off), granulesFor(size), false)
}
