package arena

import (
	"strings"
	"sync/atomic"
	"unsafe"

	"cmpi/flush"
)

// Object is an open object: a name and a range of the pool. It stays valid
// until its arena is closed or anyone destroys the object.
type Object struct {
	a      *Arena
	name   string
	off    int64
	size   int64
	gen    uint64
	closed atomic.Bool
}

// Name is the object's name.
func (o *Object) Name() string { return o.name }

// Offset is where the object starts, in bytes from the pool's start; a
// multiple of 4096. It is the same for every process.
func (o *Object) Offset() int64 { return o.off }

// Size is the object's length in bytes as it was asked for.
func (o *Object) Size() int64 { return o.size }

// Generation is unique among all objects that this pool ever had. Two objects
// of one name, one after the other, differ in it.
func (o *Object) Generation() uint64 { return o.gen }

// Addr is where the object starts in this process: View().Base()+Offset(). Use
// the View's primitives for whatever other hosts write.
func (o *Object) Addr() unsafe.Pointer { return unsafe.Add(o.a.view.Base(), o.off) }

// largeObject is the size from which the work that grows with an object's size
// (reserving, clearing, giving back) is done without holding the lock, at the
// price of taking it twice. 1 MiB takes some 100 µs.
const largeObject = 1 << 20

// Create makes an object of size bytes, all zero, aligned to 4096 bytes. Of
// several creators of a name, on any hosts, one wins and the others get
// ErrExists. Other errors: ErrBadName, ErrNameTooLong, ErrBadSize, ErrPoolFull
// (no free run of that length, or all ten buckets of the name taken),
// ErrNoSpace, ErrLockTimeout, ErrHostsFull, ErrCorrupt.
func (a *Arena) Create(name string, size int64) (*Object, error) {
	o, err := a.create(name, size)
	return o, wrap(opCreate, a.cfg.Path, name, err)
}

func (a *Arena) create(name string, size int64) (*Object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, ErrBadSize
	}
	large := size >= largeObject
	var index int64
	var s slot
	err := a.withLock(func() (err error) {
		a.pledge()
		index, s, err = a.insert(name, size, large)
		return err
	})
	if err != nil {
		return nil, err
	}
	if large {
		if err := a.complete(index, &s); err != nil {
			return nil, err
		}
	}
	o := a.object(&s)
	a.dropObject(o.off, o.size)
	return o, nil
}

// insert gives name a slot and a range. A large one is left in state building,
// its range reserved by nothing but its bits.
func (a *Arena) insert(name string, size int64, large bool) (int64, slot, error) {
	p := a.search(name)
	switch {
	case p.index >= 0:
		return 0, slot{}, ErrExists
	case p.bad >= 0:
		return 0, slot{}, faultf(ErrCorrupt, "slot %d", p.bad)
	case p.empty < 0:
		return 0, slot{}, faultf(ErrPoolFull, "all %d buckets of this name are taken", levels)
	}
	if size > a.geo.objHi-a.geo.objLo {
		return 0, slot{}, faultf(ErrPoolFull, "%d bytes wanted, %d in all", size, a.geo.objHi-a.geo.objLo)
	}
	n := granulesFor(size)
	first, err := a.find(n)
	if err != nil {
		return 0, slot{}, err
	}
	if err := a.prepare(first, n); err != nil {
		return 0, slot{}, err
	}
	if err := a.awaken(a.geo.pageOf(a.geo.slotOff(p.empty))); err != nil {
		return 0, slot{}, err
	}
	s := a.newSlot(name, a.geo.objLo+first*granule, size)
	a.begin(opPut, s.gen, p.empty, s.off, s.size)
	if !large {
		s.state = ready
		if err := a.furnish(s.off, s.size); err != nil {
			a.recycle(s.off, s.size)
			a.finish()
			return 0, slot{}, err
		}
	}
	if err := a.mark(first, n, true); err != nil {
		return 0, slot{}, err // the next holder of the lock undoes it
	}
	a.put(p.empty, &s)
	a.finish()
	return p.empty, s, nil
}

// newSlot fills in a slot in state building, owned by the configured owner.
func (a *Arena) newSlot(name string, off, size int64) slot {
	s := slot{name: name, off: off, size: size, gen: a.root.gen + 1, state: building}
	a.own(&s)
	return s
}

// own makes the configured owner that of s.
func (a *Arena) own(s *slot) {
	w := &a.cfg.Owner
	s.host, s.pid, s.start, s.uid, s.pidns = hostTag(w.Host), w.PID, w.Start, w.UID, w.PIDNS
}

// complete furnishes a large object without the lock and then makes it ready.
func (a *Arena) complete(index int64, s *slot) error {
	fault := a.furnish(s.off, s.size)
	err := a.withLock(func() error {
		now, ok := a.look(index)
		if !ok || now.gen != s.gen {
			return faultf(ErrCorrupt, "slot %d was lost while its object was made", index)
		}
		if fault != nil {
			a.begin(opClear, a.root.gen, index, s.off, s.size)
			if err := a.erase(index, s.off, s.size); err != nil {
				return err
			}
		} else {
			s.state = ready
			a.begin(opPut, a.root.gen, index, s.off, s.size)
			a.put(index, s)
		}
		a.finish()
		return nil
	})
	if fault != nil {
		return fault
	}
	return err
}

// OpenObject finds an object by name. It takes no lock unless a slot looks
// corrupt. Errors: ErrNotFound (also while a large object is still being made),
// ErrBadName, ErrNameTooLong, ErrCorrupt, ErrLockTimeout.
func (a *Arena) OpenObject(name string) (*Object, error) {
	o, err := a.openObject(name)
	return o, wrap(opOpenObj, a.cfg.Path, name, err)
}

func (a *Arena) openObject(name string) (*Object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	p := a.search(name)
	if p.index < 0 && p.bad >= 0 {
		// A bucket of this name is unsound: its writer may have died in the
		// middle of it. Holding the lock, we have repaired that.
		if err := a.withLock(func() error { p = a.search(name); return nil }); err != nil {
			return nil, err
		}
		if p.index < 0 && p.bad >= 0 {
			return nil, faultf(ErrCorrupt, "slot %d", p.bad)
		}
	}
	if p.index < 0 || p.slot.state != ready {
		return nil, ErrNotFound
	}
	o := a.object(&p.slot)
	a.dropObject(o.off, o.size)
	return o, nil
}

func (a *Arena) object(s *slot) *Object {
	return &Object{a: a, name: s.name, off: s.off, size: s.size, gen: s.gen}
}

// Close writes back what this host's caches hold of the object, where that can
// matter, and gives up the handle. The object stays. Closing twice is no error.
func (o *Object) Close() error {
	if !o.closed.Swap(true) {
		o.a.dropObject(o.off, o.size)
	}
	return nil
}

// Destroy removes the object from the pool, if it is still there, and closes
// the handle. Another object of the same name, made since, is left alone.
func (o *Object) Destroy() error {
	o.Close()
	return wrap(opDestroy, o.a.cfg.Path, o.name, o.a.destroy(o.name, o.gen))
}

// Destroy removes the object of that name. Its space may be another object's
// at once, so every process must have closed it, or at least have stopped
// writing to it and written its lines back.
func (a *Arena) Destroy(name string) error {
	return wrap(opDestroy, a.cfg.Path, name, a.destroy(name, 0))
}

// destroy removes an object by name, and by generation unless that is zero.
func (a *Arena) destroy(name string, gen uint64) error {
	if err := checkName(name); err != nil {
		return err
	}
	return a.remove(func() (int64, slot, error) {
		p := a.search(name)
		switch {
		case p.index >= 0 && (gen == 0 || p.slot.gen == gen) && p.slot.state == ready:
			return p.index, p.slot, nil
		case p.index < 0 && p.bad >= 0:
			return 0, slot{}, faultf(ErrCorrupt, "slot %d", p.bad)
		}
		return 0, slot{}, ErrNotFound
	})
}

// remove frees the slot that find chooses, under the lock, and its range. The
// range of a large object is given back without the lock, its slot meanwhile
// being in state dying.
func (a *Arena) remove(find func() (int64, slot, error)) error {
	var index int64
	var s slot
	err := a.withLock(func() (err error) {
		if index, s, err = find(); err != nil {
			return err
		}
		if s.size < largeObject {
			a.dropObject(s.off, s.size)
			return a.free(index, &s)
		}
		s.state = dying
		a.own(&s)
		a.begin(opPut, a.root.gen, index, s.off, s.size)
		a.put(index, &s)
		a.finish()
		return nil
	})
	if err != nil || s.size < largeObject {
		return err
	}
	a.dropObject(s.off, s.size)
	a.recycle(s.off, s.size)
	return a.withLock(func() error {
		now, ok := a.look(index)
		if !ok || now.gen != s.gen || now.state != dying {
			return nil // collected by someone who took us for dead
		}
		a.begin(opClear, a.root.gen, index, s.off, s.size)
		a.clearSlot(index)
		if err := a.mark(a.geo.granuleAt(s.off), granulesFor(s.size), false); err != nil {
			return err
		}
		a.finish()
		return nil
	})
}

// free frees slot i and its range; the lock is held.
func (a *Arena) free(i int64, s *slot) error {
	a.begin(opClear, a.root.gen, i, s.off, s.size)
	if err := a.erase(i, s.off, s.size); err != nil {
		return err
	}
	a.finish()
	return nil
}

// dropObject writes back and drops what this host's caches hold of an object's
// range, so that lines of an earlier object there are neither read nor written
// back later.
//
// A pool whose memory comes and goes with the filesystem (flagZeroFree) lives in
// one kernel's page cache, within which every cache agrees; flushing it would
// only fault in all its pages (2.5 s per GiB). There it is done in Emulate only,
// where the View itself is the cache.
func (a *Arena) dropObject(off, size int64) {
	if a.super.flags&flagZeroFree == 0 || a.view.Mode() == flush.Emulate {
		a.dropCached(a.view, off, size)
	}
}

// checkName says whether name may name an object.
func checkName(name string) error {
	switch {
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return ErrBadName
	case len(name) > MaxName:
		return faultf(ErrNameTooLong, "%d bytes", len(name))
	}
	return nil
}
