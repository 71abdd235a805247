package window

import "sync/atomic"

// epochs is what a rank knows of its own access epochs.
type epochs struct {
	fence bool   // a fence has opened an epoch towards all members
	noPut bool   // that fence said that nobody would put to this rank
	held  []held // by target
	locks int    // how many of held are not unlocked
	all   bool   // they come from LockAll
}

// held is how this rank has a target locked.
type held uint8

const (
	unlocked  held = iota
	unchecked      // NoCheck: nothing is held in fact
	shared
	exclusive
)

// setOpen notes that operations on a target are allowed from now on, or not.
func (w *Window) setOpen(target int, open bool) {
	to := uint32(Closed)
	switch {
	case open && w.coherent:
		to = Direct
	case open && w.words:
		to = Exact
	case open:
		to = Guarded
	}
	f := &w.fast[target]
	if f.Open != to {
		atomic.StoreUint32(&f.Open, to)
	}
	if f.Used != 0 {
		atomic.StoreUint32(&f.Used, 0)
	}
}

func (f *FastTarget) closed() bool { return atomic.LoadUint32(&f.Open) == Closed }

// use notes that an operation was done.
func (f *FastTarget) use() {
	if atomic.LoadUint32(&f.Used) == 0 {
		atomic.StoreUint32(&f.Used, 1)
	}
}

func (w *Window) setOpenAll(open bool) {
	for r := range w.n {
		w.setOpen(r, open)
	}
}

// idleFence reports whether another kind of epoch may begin: there is no fence
// epoch, or nothing was done in it, so that it was none. It ends it.
func (w *Window) idleFence() bool {
	if !w.fence {
		return true
	}
	for r := range w.n {
		if w.fast[r].Used != 0 {
			return false
		}
	}
	w.fence, w.noPut = false, false
	w.setOpenAll(false)
	return true
}

// Fence ends the epochs of the last fence and, unless NoSucceed, begins new ones.
// It is collective. NoStore and NoPut save flushes in windows of several domains,
// as NoPrecede does where segments are not shared.
func (w *Window) Fence(a Assert) Class {
	if a&^(NoStore|NoPut|NoPrecede|NoSucceed) != 0 {
		return ErrAssert
	}
	w.lock()
	if w.locks > 0 || w.pscw.access || w.pscw.exposed {
		w.unlock()
		return ErrSync
	}
	w.fenceSeq++
	seq := w.fenceSeq
	w.unlock()
	if a&NoStore == 0 || w.cfg.Shared {
		w.dropDirect(w.rank)
	}
	w.settled()
	w.publish(w.lay.rankLine(w.rank)+fenceAt, seq)
	if c := w.awaitFence(seq); c != OK {
		return c
	}
	if a&NoPrecede == 0 && !w.noPut || w.cfg.Shared {
		w.dropDirect(w.rank)
	}
	w.lock()
	w.fence, w.noPut = a&NoSucceed == 0, a&NoPut != 0
	w.setOpenAll(w.fence)
	w.unlock()
	return OK
}

// awaitFence returns when all members have entered fence seq. One line per
// member, so that each has one writer; the first look takes them all at once.
func (w *Window) awaitFence(seq uint64) Class {
	if !w.coherent {
		w.v.Invalidate(w.at(w.lay.rankLine(0)), w.n*line)
	}
	x := waiter{w: w}
	for r := range w.n {
		at := w.lay.rankLine(r) + fenceAt
		if int64(w.v.Peek64(w.at(at))-seq) >= 0 {
			continue
		}
		for int64(w.look(at)-seq) < 0 {
			if c := x.wait(); c != OK {
				return c
			}
		}
	}
	return OK
}

// Lock begins an access epoch towards one target (MPI_Win_lock). It returns when
// the lock is held. Errors: ErrRank, ErrLockType, ErrAssert, ErrSync, ErrLost.
func (w *Window) Lock(t LockType, target int, a Assert) Class {
	switch {
	case t > LockExclusive:
		return ErrLockType
	case a&^NoCheck != 0:
		return ErrAssert
	case target == ProcNull:
		return OK
	case target < 0 || target >= w.n:
		return ErrRank
	}
	h := shared
	switch {
	case a&NoCheck != 0:
		h = unchecked
	case t == LockExclusive:
		h = exclusive
	}
	w.lock()
	if w.all || w.held[target] != unlocked || w.pscw.access || !w.idleFence() {
		w.unlock()
		return ErrSync
	}
	w.held[target] = h // before waiting: another thread must not lock it too
	w.locks++
	w.unlock()
	c := w.acquire(target, h)
	w.lock()
	if c == OK {
		w.setOpen(target, true)
	} else {
		w.held[target] = unlocked
		w.locks--
	}
	w.unlock()
	return c
}

func (w *Window) acquire(target int, h held) (c Class) {
	switch h {
	case shared:
		c = w.enterShared(target)
	case exclusive:
		c = w.enterExclusive(target)
	}
	if c == OK {
		w.dropSegment(target)
	}
	return c
}

func (w *Window) release(target int, h held) {
	w.dropSegment(target)
	switch h {
	case shared:
		w.leaveShared(target)
	case exclusive:
		w.leave(target, epochLock)
	default:
		w.settle()
	}
}

// Unlock ends the epoch of Lock: all operations are complete at the target.
func (w *Window) Unlock(target int) Class {
	switch {
	case target == ProcNull:
		return OK
	case target < 0 || target >= w.n:
		return ErrRank
	}
	w.lock()
	h := w.held[target]
	if w.all || h == unlocked || w.fast[target].closed() {
		w.unlock()
		return ErrSync
	}
	w.setOpen(target, false)
	w.unlock()
	w.release(target, h)
	w.lock()
	w.held[target] = unlocked
	w.locks--
	w.unlock()
	return OK
}

// LockAll begins an access epoch towards all members with a shared lock on each.
func (w *Window) LockAll(a Assert) Class {
	if a&^NoCheck != 0 {
		return ErrAssert
	}
	h := shared
	if a&NoCheck != 0 {
		h = unchecked
	}
	w.lock()
	if w.all || w.locks > 0 || w.pscw.access || !w.idleFence() {
		w.unlock()
		return ErrSync
	}
	w.all, w.locks = true, w.n
	w.unlock()
	for r := range w.n {
		if c := w.acquire(r, h); c != OK {
			for ; r > 0; r-- {
				w.release(r-1, h)
			}
			w.lock()
			w.all, w.locks = false, 0
			w.unlock()
			return c
		}
	}
	w.lock()
	for r := range w.n {
		w.held[r] = h
	}
	w.setOpenAll(true)
	w.unlock()
	return OK
}

// UnlockAll ends the epoch of LockAll.
func (w *Window) UnlockAll() Class {
	w.lock()
	if !w.all || w.fast[0].closed() {
		w.unlock()
		return ErrSync
	}
	w.setOpenAll(false)
	w.unlock()
	for r := range w.n {
		w.release(r, w.held[r])
	}
	w.lock()
	clear(w.held)
	w.all, w.locks = false, 0
	w.unlock()
	return OK
}

// Flush completes all operations on the target, there too. A lock of this rank
// must cover it (ErrSync).
func (w *Window) Flush(target int) Class {
	c := w.FlushLocal(target)
	if c == OK && target != ProcNull {
		w.settle()
	}
	return c
}

// FlushAll is Flush of every target that is locked.
func (w *Window) FlushAll() Class {
	c := w.FlushLocalAll()
	if c == OK {
		w.settle()
	}
	return c
}

// FlushLocal completes operations on the target so far that their buffers can be
// used again. They always can.
func (w *Window) FlushLocal(target int) Class {
	switch {
	case target == ProcNull:
		return OK
	case target < 0 || target >= w.n:
		return ErrRank
	case !w.Passive(target):
		return ErrSync
	}
	return OK
}

// FlushLocalAll is FlushLocal of every target that is locked.
func (w *Window) FlushLocalAll() Class {
	w.lock()
	defer w.unlock()
	if w.locks == 0 {
		return ErrSync
	}
	return OK
}

// Sync makes direct stores of this process visible and later direct loads fresh:
// in its own segment, and in all segments if they are shared.
func (w *Window) Sync() Class {
	w.dropDirect(w.rank)
	w.v.FullFence()
	return OK
}
