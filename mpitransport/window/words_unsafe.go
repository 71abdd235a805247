package window

import (
	"sync/atomic"
	"unsafe"

	"cmpi/flush"
)

// at is the address of an offset in the window's object.
func (w *Window) at(off int64) unsafe.Pointer { return unsafe.Add(w.base, off) }

// segment is the address of a member's segment in this process.
func (w *Window) segment(rank int) unsafe.Pointer {
	if w.lay.elsewhere {
		return unsafe.Add(w.v.Base(), w.lay.segments[rank])
	}
	return w.at(w.lay.segments[rank])
}

func word64(p unsafe.Pointer) *uint64 { return (*uint64)(p) }

// publish stores a word of a line that this rank or its domain writes alone, and
// makes it visible to all, after everything that was written before.
func (w *Window) publish(off int64, x uint64) {
	if w.coherent {
		atomic.StoreUint64(word64(w.at(off)), x)
		return
	}
	w.v.Store64(w.at(off), x)
}

// look is a fresh look at a word that another writes.
func (w *Window) look(off int64) uint64 {
	if w.coherent {
		return atomic.LoadUint64(word64(w.at(off)))
	}
	return w.v.Load64(w.at(off))
}

// add adds to a word that members of this domain share, and makes the sum
// visible to all before any later load.
func (w *Window) add(off int64, x int64) {
	p := w.at(off)
	atomic.AddInt64((*int64)(p), x)
	if !w.coherent {
		w.v.WriteBack(p, word)
		w.v.FullFence()
	}
}

// settle makes all data that this rank has stored visible before any later load
// or store of its own: what a flush promises.
func (w *Window) settle() {
	if w.known && !w.pending {
		return
	}
	w.settled()
	if !w.coherent && w.v.Mode() == flush.Flush {
		// A get invalidates before it loads, which orders it; so a fence among
		// the stores is enough. (It costs half of a full one.)
		w.v.Fence()
		return
	}
	w.v.FullFence()
}

// settled notes that all data is visible, or about to be.
func (w *Window) settled() {
	if w.known {
		w.pending = false
	}
}

// stored notes that this rank has changed data that others must see.
func (w *Window) stored() {
	if w.known {
		w.pending = true
	}
}

// dropDirect writes back what this process has stored directly to segments that
// it may store to on behalf of a rank's epoch, and drops what it has cached, so
// that later loads are fresh. For windows of several domains only.
func (w *Window) dropDirect(rank int) {
	switch {
	case w.coherent:
	case w.cfg.Shared:
		w.v.Invalidate(w.at(w.lay.data), int(w.lay.total-w.lay.data))
	case rank == w.rank:
		w.v.Invalidate(w.segment(rank), int(w.cfg.Members[rank].Size))
	}
}

// dropSegment is dropDirect for one target: its segment if it can have been
// accessed directly.
func (w *Window) dropSegment(rank int) {
	if !w.coherent && (w.cfg.Shared || rank == w.rank) {
		w.v.Invalidate(w.segment(rank), int(w.cfg.Members[rank].Size))
	}
}
