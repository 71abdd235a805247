package arena

import "golang.org/x/sys/unix"

// lostGenerations is added to the highest generation in sight when the root
// record is lost: objects that are gone may have had higher ones.
const lostGenerations = 1 << 32

// Repair does Check and puts right what can be: everything that is derived from
// the slots, which are the truth; and with idle also what takes something away,
// slots that are unsound or can't be found and space that may be theirs. With
// idle the caller answers for it that no host uses the pool; where a process of
// this kernel does, it fails with ErrInUse. Cut off, it may be repeated.
//
// It returns what it found at first, and what is left.
func (a *Arena) Repair(idle bool) (found, left Report, err error) {
	if idle {
		var free bool
		if free, err = a.back.lockByte(unix.F_WRLCK, usersByte); err == nil && !free {
			err = faultf(ErrInUse, "by another process of this host")
		}
		if err != nil {
			return found, left, wrap(opRepair, a.cfg.Path, "", err)
		}
		defer a.back.lockByte(unix.F_RDLCK, usersByte)
	}
	err = a.withRawLock(func() (err error) {
		found, left, err = a.repairAll(idle)
		return err
	})
	return found, left, wrap(opRepair, a.cfg.Path, "", err)
}

func (a *Arena) repairAll(idle bool) (found, left Report, err error) {
	before, ok := a.newestRoot()
	a.root = before
	v := a.check()
	found = v.Report
	if ok {
		// What a dead holder left, in the order in which it must be done.
		if err := a.repair(); err != nil {
			return found, left, err
		}
	} else {
		a.root.seq = 0
		a.writeRoot(root{gen: v.lastGen + lostGenerations})
	}
	if err := a.repairPages(v); err != nil {
		return found, left, err
	}
	a.alloc.forget()
	v = a.check() // pages that are back may hold slots
	if idle {
		for _, i := range append(v.unsound, v.astray...) {
			a.clearSlot(i)
		}
		a.fence()
		v = a.check()
	}
	if v.lastGen > a.root.gen {
		a.writeRoot(root{gen: v.lastGen})
	}
	if err := a.repairBits(v, idle); err != nil {
		return found, left, err
	}
	a.fence()
	return found, a.check().Report, nil
}

// repairPages makes the present map name the pages that are in use.
func (a *Arena) repairPages(v *survey) error {
	for _, k := range v.lost {
		word := presentOff + k/64*8
		a.store(word, a.load(word)|1<<(k%64))
	}
	for w := range a.geo.presentLen / 8 {
		bits := a.load(presentOff + w*8)
		if past := (w+1)*64 - a.geo.lazyPages; past > 0 {
			if kept := bits & (1<<(64-min(past, 64)) - 1); kept != bits {
				a.store(presentOff+w*8, kept)
			}
		}
	}
	// A page that is named may be one that was never reserved.
	for k := range a.geo.lazyPages {
		if a.load(presentOff+k/64*8)>>(k%64)&1 != 0 {
			if err := a.back.reserve(a.geo.lazyOff+k*granule, granule); err != nil {
				return err
			}
		}
	}
	return nil
}

// repairBits derives bitmap and summaries from the slots. Taken space that no
// slot claims stays taken while there are unsound ones: it may be theirs.
func (a *Arena) repairBits(v *survey, idle bool) error {
	keep := len(v.unsound) > 0 && !idle
	return a.wantedBits(v.slots, func(i int64, want *groupBits) error {
		page := a.geo.pageOf(a.geo.bitmapOff + i*granule)
		if *want != (groupBits{}) {
			if err := a.awaken(page); err != nil {
				return err
			}
		}
		have := a.readGroup(i)
		if keep {
			for w := range want {
				want[w] |= have[w]
			}
		}
		n := int(a.geo.groupLen(i))
		a.alloc.group, a.alloc.bits = i, *want
		if a.present(page) {
			a.storeGroup(i, 0, groupGranules)
			return nil
		}
		a.storeSummary(i, want.summarize(n))
		return nil
	})
}
