package main

// #include <stdlib.h>
// #include "shim.h"
// #include "win.h"
import "C"

import (
	"fmt"
	"math"
	"sync"
	"unsafe"

	"cmpi/mpitransport"
	"cmpi/mpitransport/window"
)

// win is a window that we carry.
type win struct {
	c       *C.struct_cmpi_win // what the C files see of it; C memory
	targets unsafe.Pointer     // the window's FastTargets; C memory too
	engine  *window.Window
	comm    *mpitransport.Comm // of the members, for nobody else
}

// wins are all windows that we carry, by index.
var wins table[win]

// winsLock is held to change the C side's table.
var winsLock sync.Mutex

func winOf(w *C.struct_cmpi_win) *win { return wins.get(uint32(w.index)) }

// ---- making -------------------------------------------------------------------------

// proposal is what each member tells the others of its part of a new window. All
// members have the same architecture, so it travels as it lies in memory.
type proposal struct {
	name     uint64 // rank 0's: a number that no other window of the job has
	size     int64
	offset   int64 // of memory that is there, in the pool
	dispUnit int32
	flavor   int32 // which function makes it, as MPI_WIN_CREATE_FLAVOR has it
	flags    uint32
}

const (
	proposalNoncontig = 1 << iota // info key alloc_shared_noncontig
	proposalRefused               // memory or arguments that only the host knows
)

// agree tells the members' proposals to all. ok is false if the host must carry
// the window; all members find the same.
func agree(ec *mpitransport.Comm, mine proposal) (all []proposal, ok bool) {
	all = make([]proposal, ec.Size())
	if gather(ec, unsafe.Pointer(&mine), unsafe.Pointer(&all[0]), int64(unsafe.Sizeof(mine))) != mpitransport.OK {
		return nil, false
	}
	ok = true
	for i := range all {
		ok = ok && all[i].flags&proposalRefused == 0 && all[i].flavor == all[0].flavor
	}
	return all, ok
}

// newWindow makes a window of the members of ec; nil if the pool has no room, or
// some member's arguments are not to be had. All members find the same.
func newWindow(ec *mpitransport.Comm, mine proposal, fast func() []window.FastTarget) *window.Window {
	all, ok := agree(ec, mine)
	if !ok {
		return nil
	}
	ranks := ec.Members()
	pool, domain := theJob.pool, endpoint.Domain
	if all[0].flavor != C.MPICH_WIN_FLAVOR_CREATE && endpoint.AllNear(ranks) {
		pool, domain = theJob.near, func(int32) int32 { return ranks[0] }
	}
	shared := all[0].flavor == C.MPICH_WIN_FLAVOR_SHARED
	c := window.Config{
		Arena:      pool,
		Name:       fmt.Sprintf("j/%s/w/%x", theJob.name, all[0].name),
		Rank:       ec.Rank(),
		Members:    make([]window.Member, len(all)),
		Contiguous: shared,
		Shared:     shared,
		Threaded:   *stateThreaded != 0,
		Barrier:    func() error { return barrier(ec) },
		Idle:       idle,
		Alive:      endpoint.Alive,
		Fault:      func(err error) { say("rank %d: window: %v", endpoint.Rank(), err) },
		Fast:       fast(),
	}
	if all[0].flavor == C.MPICH_WIN_FLAVOR_CREATE {
		c.Segments = make([]int64, len(all))
	}
	for i, p := range all {
		if c.Segments != nil {
			c.Segments[i] = p.offset
		}
		c.Members[i] = window.Member{World: ranks[i], Domain: domain(ranks[i]), Size: p.size, DispUnit: p.dispUnit}
		c.Contiguous = c.Contiguous && p.flags&proposalNoncontig == 0
	}
	w, class := window.Create(c)
	if class != window.OK {
		return nil
	}
	return w
}

// makeWin makes a window of the members of a communicator that is its own from
// now on; nil if it can't be ours. All members find the same.
func makeWin(ec *mpitransport.Comm, mine proposal) *C.struct_cmpi_win {
	n := ec.Size()
	cw := (*C.struct_cmpi_win)(C.calloc(1, C.sizeof_struct_cmpi_win))
	targets := C.calloc(C.size_t(n), C.sizeof_struct_cmpi_target)
	locked := C.calloc(C.size_t(n), 1)
	if cw == nil || targets == nil || locked == nil {
		mine.flags |= proposalRefused
	}
	w := newWindow(ec, mine, func() []window.FastTarget {
		return unsafe.Slice((*window.FastTarget)(targets), n)
	})
	if w == nil {
		endpoint.FreeComm(ec)
		C.free(targets)
		C.free(locked)
		C.free(unsafe.Pointer(cw))
		return nil
	}
	base, size, unit := w.Base(w.Rank())
	cw.ranks, cw.locked = C.uint32_t(n), (*C.uint8_t)(locked)
	cw.base, cw.size, cw.unit = base, C.intptr_t(size), C.int(unit)
	cw.flavor, cw.model = C.int(mine.flavor), C.MPICH_WIN_SEPARATE
	if w.Unified() {
		cw.model = C.MPICH_WIN_UNIFIED
	}
	if theJob.fast && *stateThreaded == 0 && counting.table == nil { // operations are counted in Go
		cw.targets = (*C.struct_cmpi_target)(targets)
	}
	cw.index = C.int32_t(wins.add(&win{cw, targets, w, ec}, nil))
	return cw
}

// goWinMake makes the window of all members of a communicator, still without a
// handle; base is the memory that MPI_Win_create was given. NULL: the host must carry it. Collective.
//
//export goWinMake
func goWinMake(c *C.struct_cmpi_comm, flavor C.int, base unsafe.Pointer, size, unit C.intptr_t, noncontig C.int) *C.struct_cmpi_win {
	defer rescue()
	cm := commOf(c)
	context := uint64(goChildContext(c))
	mine := proposal{name: endpoint.NextContextID(), size: int64(size), dispUnit: int32(unit), flavor: int32(flavor)}
	if noncontig != 0 {
		mine.flags |= proposalNoncontig
	}
	if size < 0 || unit <= 0 || unit > math.MaxInt32 {
		mine.flags |= proposalRefused
	}
	if flavor == C.MPICH_WIN_FLAVOR_CREATE && size > 0 {
		var ok bool
		if mine.offset, ok = pooledAt(base, int64(size)); !ok {
			mine.flags |= proposalRefused
		}
	}
	w := makeWin(endpoint.NewComm(context, cm.engine.Rank(), cm.engine.Members(), nil), mine)
	if w != nil && flavor == C.MPICH_WIN_FLAVOR_CREATE {
		w.base = base
	}
	return w
}

// goWinPublish gives a window its handle. Collective. The members leave it close
// together: coarray Fortran sets what it has allocated right after the
// constructor, as though nobody could have put something there before.
//
//export goWinPublish
func goWinPublish(w *C.struct_cmpi_win, handle C.int) C.int {
	defer rescue()
	winsLock.Lock()
	w.handle = C.int32_t(handle)
	full := C.cmpi_win_table_set(w.handle, w) != 0
	winsLock.Unlock()
	if full {
		return errNoMem
	}
	if barrier(winOf(w).comm) != nil {
		return C.MPICH_ERR_OTHER
	}
	return success
}

// goWinFree ends the window; the C side keeps what it knows until goWinDrop.
// Collective.
//
//export goWinFree
func goWinFree(w *C.struct_cmpi_win) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Free()))
}

// goWinDrop forgets a window that was freed, or whose host's window could not be
// made.
//
//export goWinDrop
func goWinDrop(w *C.struct_cmpi_win) {
	defer rescue()
	winsLock.Lock()
	defer winsLock.Unlock()
	x := winOf(w)
	wins.put(uint32(w.index))
	endpoint.FreeComm(x.comm)
	if w.handle != 0 {
		C.cmpi_win_table_set(w.handle, nil)
	}
	C.free(x.targets)
	C.free(unsafe.Pointer(w.locked))
	C.free(unsafe.Pointer(w))
}

// ---- what a window tells of itself -----------------------------------------------------

//export goWinQuery
func goWinQuery(w *C.struct_cmpi_win, rank C.int, size *C.intptr_t, unit *C.int, base *C.uintptr_t) C.int {
	defer rescue()
	e := winOf(w).engine
	if rank != window.ProcNull && (rank < 0 || int(rank) >= e.Size()) {
		return C.int(winNumber(window.ErrRank))
	}
	p, n, u := e.Base(int(rank))
	*size, *unit, *base = C.intptr_t(n), C.int(u), C.uintptr_t(uintptr(p))
	return success
}

// ---- synchronisation -------------------------------------------------------------------

// idle is what a window does while it waits: our two-sided side goes on, and the
// host's if it must.
func idle(spins int) int {
	w := waiter{spins}
	w.step()
	return w.spins
}

// assertions translates MPI_MODE_*.
func assertions(mpi C.int) window.Assert {
	var a window.Assert
	for _, x := range [...]struct {
		mpi C.int
		a   window.Assert
	}{
		{C.MPICH_MODE_NOCHECK, window.NoCheck}, {C.MPICH_MODE_NOSTORE, window.NoStore}, {C.MPICH_MODE_NOPUT, window.NoPut},
		{C.MPICH_MODE_NOPRECEDE, window.NoPrecede}, {C.MPICH_MODE_NOSUCCEED, window.NoSucceed},
	} {
		if mpi&x.mpi != 0 {
			mpi &^= x.mpi
			a |= x.a
		}
	}
	if mpi != 0 {
		a = math.MaxUint8 // none that a window knows
	}
	return a
}

//export goWinFence
func goWinFence(w *C.struct_cmpi_win, assert C.int) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Fence(assertions(assert))))
}

// group is a copy of a C array of ranks.
func group(n C.int, ranks *C.int) []int {
	g := make([]int, n)
	for i, r := range handles((*int32)(unsafe.Pointer(ranks)), int(n)) {
		g[i] = int(r)
	}
	return g
}

//export goWinPost
func goWinPost(w *C.struct_cmpi_win, n C.int, ranks *C.int, assert C.int) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Post(group(n, ranks), assertions(assert))))
}

//export goWinStart
func goWinStart(w *C.struct_cmpi_win, n C.int, ranks *C.int, assert C.int) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Start(group(n, ranks), assertions(assert))))
}

//export goWinComplete
func goWinComplete(w *C.struct_cmpi_win) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Complete()))
}

//export goWinWait
func goWinWait(w *C.struct_cmpi_win) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Wait()))
}

//export goWinTest
func goWinTest(w *C.struct_cmpi_win, flag *C.int) C.int {
	defer rescue()
	done, class := winOf(w).engine.Test()
	*flag = truth(done)
	if !done {
		idle(0)
		polled()
	}
	return C.int(winNumber(class))
}

//export goWinLock
func goWinLock(w *C.struct_cmpi_win, kind, rank, assert C.int) C.int {
	defer rescue()
	t := window.LockType(math.MaxUint8) // none
	switch kind {
	case C.MPICH_LOCK_SHARED:
		t = window.LockShared
	case C.MPICH_LOCK_EXCLUSIVE:
		t = window.LockExclusive
	}
	return C.int(winNumber(winOf(w).engine.Lock(t, int(rank), assertions(assert))))
}

//export goWinUnlock
func goWinUnlock(w *C.struct_cmpi_win, rank C.int) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Unlock(int(rank))))
}

//export goWinLockAll
func goWinLockAll(w *C.struct_cmpi_win, assert C.int) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.LockAll(assertions(assert))))
}

//export goWinUnlockAll
func goWinUnlockAll(w *C.struct_cmpi_win) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.UnlockAll()))
}

// goWinPass lets things go on elsewhere. The result says whether ranks share
// processors.
//
//export goWinPass
func goWinPass() C.int {
	defer rescue()
	endpoint.Progress()
	polled()
	return truth(endpoint.Oversubscribed())
}

//export goWinFlush
func goWinFlush(w *C.struct_cmpi_win, rank C.int) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Flush(int(rank))))
}

//export goWinFlushLocal
func goWinFlushLocal(w *C.struct_cmpi_win, rank C.int) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.FlushLocal(int(rank))))
}

//export goWinFlushAll
func goWinFlushAll(w *C.struct_cmpi_win) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.FlushAll()))
}

//export goWinFlushLocalAll
func goWinFlushLocalAll(w *C.struct_cmpi_win) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.FlushLocalAll()))
}

//export goWinSync
func goWinSync(w *C.struct_cmpi_win) C.int {
	defer rescue()
	return C.int(winNumber(winOf(w).engine.Sync()))
}

// ---- errors ------------------------------------------------------------------------------

var winNumbers = [...]int32{
	window.OK:          C.MPICH_SUCCESS,
	window.ErrArg:      C.MPICH_ERR_ARG,
	window.ErrNoMem:    C.MPICH_ERR_NO_MEM,
	window.ErrCount:    C.MPICH_ERR_COUNT,
	window.ErrRank:     C.MPICH_ERR_RANK,
	window.ErrGroup:    C.MPICH_ERR_GROUP,
	window.ErrType:     C.MPICH_ERR_TYPE,
	window.ErrOp:       C.MPICH_ERR_OP,
	window.ErrTruncate: C.MPICH_ERR_TRUNCATE,
	window.ErrDisp:     C.MPICH_ERR_DISP,
	window.ErrRange:    C.MPICH_ERR_RMA_RANGE,
	window.ErrSync:     C.MPICH_ERR_RMA_SYNC,
	window.ErrLockType: C.MPICH_ERR_LOCKTYPE,
	window.ErrAssert:   C.MPICH_ERR_ASSERT,
	window.ErrLost:     C.MPICH_ERR_OTHER,
	window.ErrCorrupt:  C.MPICH_ERR_INTERN,
	window.ErrOther:    C.MPICH_ERR_OTHER,
}

// winNumber is a window's error class as this ABI numbers it.
func winNumber(c window.Class) int32 { return winNumbers[c] }
