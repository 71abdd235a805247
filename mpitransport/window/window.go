// Package window is MPI one-sided communication over the pool: a window is one
// object of the arena, and an operation of the origin is loads and stores (and,
// between hosts, flushes) in it. The target's processor takes no part. The
// callers are the shim, which knows MPI handles, and tests.
//
// # Layout
//
//	0          4096 …                                            data …
//	┌────────┬───────────┬────────────┬─────────┬───────────────┬──────────────┐
//	│ header │ rank      │ lock lines │ domain  │ post/complete │ segments of  │
//	│        │ lines     │ per target │ lines   │ rows          │ ranks 0, 1 … │
//	└────────┴───────────┴────────────┴─────────┴───────────────┴──────────────┘
//	  rank 0   one writer  one writer   one        one writer
//	           each: the   each: a      domain     each: the
//	           rank        domain       each       rank
//
// Layout.go has the offsets. They follow from Config alone, which all members
// know; nothing read from the pool decides where a byte is read or written.
//
// # Invariant
//
// A line of the control area has one writer, a rank or a coherence domain. A
// byte of the data area is changed between domains only (1) in whole lines, (2)
// by a store that changes no other byte of its line, or (3) under the mutual
// exclusion of its line. Docs/rma.md says why that is right, and what each
// synchronization writes back and drops.
//
// # Coherent windows
//
// If all members are of one coherence domain, plain loads and stores and CPU
// atomics do everything, and a fast path outside this package may do the same:
// see FastTarget.
package window

import (
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport/datatype"
)

// ProcNull as a target rank makes an operation succeed and do nothing.
const ProcNull = -1

// Member is what all members know of one of them.
type Member struct {
	// World names the process to Config.Alive.
	World int32
	// Domain is its coherence domain: members with equal numbers see each
	// other's plain stores and atomics. In emulate mode a domain is a View, so
	// each process is one of its own.
	Domain int32
	// Size is the length of its segment in bytes, 0 included.
	Size int64
	// DispUnit scales target displacements, in bytes, > 0.
	DispUnit int32
}

// Config says what window to make. All members must give the same Name,
// Members, Contiguous, Segments, Shared and LineWrites.
type Config struct {
	Arena *arena.Arena
	// Name of the pool object, unique among the objects in the pool.
	Name string
	// Rank is the caller's own in the window's group, an index of Members.
	Rank    int
	Members []Member
	// Contiguous makes segments follow one another without a gap, as
	// MPI_Win_allocate_shared does by default. Otherwise each starts on a page.
	Contiguous bool
	// Segments are where the members' segments lie, in bytes from the start of the
	// pool, if they are not to lie in the window's own object (MPI_Win_create on
	// memory of MPI_Alloc_mem); no two may share a line. Nil otherwise.
	Segments []int64
	// Shared says that members load and store in each other's segments
	// directly (MPI_Win_allocate_shared): synchronization then covers them.
	Shared bool
	// LineWrites says that the memory takes writes of whole lines only, or that
	// nobody knows: pieces of a line are then written under mutual exclusion.
	// Always so in emulate mode, and where the CPU has no suitable stores.
	LineWrites bool
	// Threaded lets several threads use the window at one time.
	Threaded bool
	// Barrier returns when all members have called it.
	Barrier func() error
	// Idle is called after each look that was in vain, with the number of
	// looks so far; it pauses, yields or makes progress, and returns the next
	// number. Nil means a policy of the window's own.
	Idle func(spins int) int
	// Alive says whether a process still runs; when in doubt, true. It is asked
	// once a wait has lasted LostAfter. Nil means that nobody ever dies.
	Alive func(world int32) bool
	// Fault is told of an error of the pool that the classes of this package don't tell
	// apart, or that doesn't hinder the caller. Nil means that nobody wants to know.
	Fault func(error)
	// Fast is where the state that a fast path shares with the window lies, one
	// per member; nil for memory of the window's own.
	Fast []FastTarget
}

// FastTarget is what a fast path outside of Go needs to know of one target. The
// window writes it, except Used. All fields are fixed but Open and Used.
type FastTarget struct {
	Base     uintptr // address of the target's segment in this process
	Size     int64   // bytes
	DispUnit int64   // bytes
	// Open says whether an access epoch of this rank covers the target:
	// Closed, Guarded, Direct or Exact. With Direct, a put is a copy to Base+disp, a
	// get one from there, and an aligned integer of 1, 2, 4 or 8 bytes is
	// accumulated with CPU atomics; the fast path checks bounds. A flush then
	// is a full memory fence (store before later load). With Exact, 4 or 8 aligned
	// bytes are put by one non-temporal store, and a flush then is a store fence.
	Open uint32
	// Used must be set to 1 by whoever moves data by way of Open: it tells a
	// fence whether it ends an epoch with operations in it.
	Used uint32
}

// Values of FastTarget.Open.
const (
	Closed  = 0 // operations on the target are an error (ErrSync)
	Guarded = 1 // operations must go through the window's methods
	Direct  = 2 // plain loads, stores and CPU atomics are right
	Exact   = 3 // non-temporal stores of aligned words are right; else as Guarded
)

// LockType is that of MPI_Win_lock.
type LockType uint8

// The lock types.
const (
	LockShared LockType = iota
	LockExclusive
)

// Assert is a set of assertions of the synchronization calls (MPI-4.0 section
// 12.5.5).
type Assert uint8

// The assertions.
const (
	NoCheck Assert = 1 << iota
	NoStore
	NoPut
	NoPrecede
	NoSucceed
)

// Create makes a window. It is collective over the members, and they all return
// the same class: OK, ErrArg, ErrNoMem, or ErrOther when a barrier failed.
func Create(c Config) (*Window, Class) { return create(c) }

// Free ends the window; its memory is gone when it returns. It is collective.
// ErrSync: an epoch of this rank is open (the window stays).
func (w *Window) Free() Class { return w.free() }

// Base is where the segment of a rank lies in this process, its length and its
// displacement unit, as MPI_Win_shared_query tells them. ProcNull stands for the
// first rank with a segment that is not empty. An empty segment lies nowhere but
// where segments are contiguous, between its neighbours. No error: nil, 0, 0 for
// a rank that isn't one.
func (w *Window) Base(rank int) (base unsafe.Pointer, size int64, dispUnit int32) {
	if rank == ProcNull {
		rank = w.lay.firstSegment()
	}
	if rank < 0 || rank >= w.n {
		return nil, 0, 0
	}
	m := &w.cfg.Members[rank]
	if m.Size == 0 && !w.cfg.Contiguous {
		return nil, 0, m.DispUnit
	}
	return w.segment(rank), m.Size, m.DispUnit
}

// Rank is the caller's in the window's group, Size the number of members.
func (w *Window) Rank() int { return w.rank }

// Size is the number of members.
func (w *Window) Size() int { return w.n }

// Unified says whether public and private copies of the window are one
// (MPI_WIN_UNIFIED), as in coherent windows. Otherwise it has MPI's separate
// memory model, in which a program must not store to its segment while others
// put there, not even to other bytes.
func (w *Window) Unified() bool { return w.coherent }

// Passive reports whether a lock of this rank covers the target: request-based
// operations are allowed then (ErrSync otherwise).
func (w *Window) Passive(target int) bool {
	w.lock()
	defer w.unlock()
	return target == ProcNull || target >= 0 && target < w.n && w.held[target] != unlocked
}

// View is the way into the pool that the window uses.
func (w *Window) View() *flush.View { return w.v }

// Data is one side of an operation: count elements of a datatype at a buffer.
type Data struct {
	Buf   unsafe.Pointer
	Count int64
	Type  *datatype.Type
}

// Place is the target side: Count elements of a datatype at a displacement, in
// units of the target's DispUnit, from the start of its segment.
type Place struct {
	Rank  int
	Disp  int64
	Count int64
	Type  *datatype.Type
}
