package main

// #include "shim.h"
// #include "requests.h"
// #include "lifecycle.h"
import "C"

import (
	"sync"
	"sync/atomic"

	"cmpi/mpitransport"
	"cmpi/mpitransport/datatype"
	"unsafe"
)

// Handles of ours, all from the range that MPICH never uses.
const (
	firstHandle  = C.CMPI_FIRST_HANDLE
	idsPerKind   = 1 << 24 // as many as the engine has request ids
	compositeIDs = 1 * idsPerKind
	messageIDs   = 2 * idsPerKind
	lastIDs      = 3 * idsPerKind
)

// request is what a request handle stands for: one of the engine's, or a
// composite.
type request struct {
	engine *mpitransport.Request
	comp   *composite
}

// requestOf finds the request of a handle of ours; false for a stale one.
func requestOf(handle int32) (request, bool) {
	id := uint32(handle) - firstHandle
	switch {
	case id < compositeIDs:
		r := endpoint.Lookup(id)
		return request{engine: r}, r != nil
	case id < messageIDs:
		c := composites.get(id - compositeIDs)
		return request{comp: c}, c != nil
	}
	return request{}, false
}

// isOurs reports whether a handle was made by us.
func isOurs(handle int32) bool {
	return uint32(handle)-firstHandle < lastIDs
}

// done reports completion; it doesn't wait. An inactive persistent request is
// not done.
func (r request) done() bool {
	if r.engine != nil {
		return r.engine.Done()
	}
	return r.comp.done()
}

// inactive reports a persistent request that was not started.
func (r request) inactive() bool { return r.comp != nil && !r.comp.active }

// comm is the handle of the communicator whose error handler hears of this
// request's error.
func (r request) comm() int32 {
	if r.engine != nil {
		return owners.get(r.engine.ID())
	}
	return r.comp.comm
}

// wait makes progress until the request is done.
func (r request) wait() {
	if r.engine != nil && !hostRuns() {
		endpoint.Wait(r.engine)
		return
	}
	for w := (waiter{}); !r.done(); {
		w.step()
	}
}

// status is that of a request that is done.
func (r request) status() mpitransport.Status {
	if r.engine != nil {
		return r.engine.Status()
	}
	return r.comp.status()
}

// take gives a done request back: it is freed, or, when persistent, becomes
// inactive. *handle follows.
func (r request) take(handle *int32) mpitransport.Status {
	st := r.status()
	if r.engine != nil {
		*handle = requestNull
		endpoint.Release(r.engine)
		return st
	}
	if r.comp.persistent {
		r.comp.release()
	} else {
		*handle = requestNull
		r.comp.free()
	}
	return st
}

// handleOf is the handle of an engine request that belongs to a communicator.
func handleOf(r *mpitransport.Request, cm *comm) int32 {
	id := r.ID()
	if !r.Done() || r.Status().Err != mpitransport.OK {
		owners.set(id, cm.handle)
	}
	return int32(firstHandle + id)
}

// owners remembers on which communicator each engine request was made. Chunks
// are made when first needed and never move.
var owners ownerTable

type ownerTable struct {
	chunks [idsPerKind / ownerChunk]atomic.Pointer[[ownerChunk]atomic.Int32]
}

const ownerChunk = 1 << 10

func (t *ownerTable) set(id uint32, comm int32) {
	c := t.chunks[id/ownerChunk].Load()
	for c == nil {
		t.chunks[id/ownerChunk].CompareAndSwap(nil, new([ownerChunk]atomic.Int32))
		c = t.chunks[id/ownerChunk].Load()
	}
	c[id%ownerChunk].Store(comm)
}

func (t *ownerTable) get(id uint32) int32 {
	if c := t.chunks[id/ownerChunk].Load(); c != nil {
		return c[id%ownerChunk].Load()
	}
	return commWorld
}

// composite is a request that the engine doesn't have as such: a persistent
// one, both halves of a Sendrecv, a nonblocking duplication of a communicator.
type composite struct {
	id         uint32
	comm       int32 // handle for errors
	persistent bool
	active     bool // persistent: started and not yet completed; others: always
	restart    func(*composite) int32
	part       *partitions // of a partitioned one

	parts   [2]*mpitransport.Request // the one that gives the status first
	result  mpitransport.Status      // when there are no parts
	host    int32                    // a request of the host's that must end first, requestNull if none
	onHost  func() int32             // what to do then
	hostErr int32
}

// newComposite makes an active request that is done when its parts are.
func newComposite(comm int32, parts ...*mpitransport.Request) *composite {
	c := &composite{comm: comm, active: true, host: requestNull, result: mpitransport.EmptyStatus}
	copy(c.parts[:], parts)
	return c
}

func (c *composite) handle() int32 { return int32(firstHandle + compositeIDs + c.id) }

func (c *composite) done() bool {
	if !c.active {
		return false
	}
	if c.host != requestNull {
		handle, flag := C.int(c.host), C.int(0)
		if rc := C.cmpi_host_test(&handle, &flag); rc != success {
			c.hostErr, flag = int32(rc), 1
		}
		if flag == 0 {
			return false
		}
		c.host = requestNull
		if c.hostErr == success {
			c.hostErr = c.onHost()
		}
	}
	if c.part != nil && !c.part.underWay() {
		return false
	}
	for _, p := range c.parts {
		if p != nil && !p.Done() {
			return false
		}
	}
	return true
}

func (c *composite) status() mpitransport.Status {
	st := c.result
	if c.hostErr != success {
		st.Err = mpitransport.ErrOther
	}
	for i, p := range c.parts {
		if p == nil {
			continue
		}
		s := p.Status()
		switch {
		case i == 0:
			st = s
		case st.Err == mpitransport.OK:
			st.Err = s.Err
		}
	}
	if c.part != nil {
		st = c.part.status(st)
	}
	return st
}

// release gives the parts back, at once or when they complete.
func (c *composite) release() {
	for i, p := range c.parts {
		if p != nil {
			endpoint.Release(p)
			c.parts[i] = nil
		}
	}
	c.active = false
}

// free gives back what a request holds that nobody will use any more.
func (c *composite) free() {
	c.release()
	if p := c.part; p != nil && p.rank != mpitransport.ProcNull {
		p.cm.parts.leave(p.partChannel)
	}
	composites.put(c.id)
}

// composites are all composite requests by id, messages all matched messages
// (Mprobe) by id.
var (
	composites table[composite]
	messages   table[message]
)

// message is a message handle of ours.
type message struct {
	engine *mpitransport.Message
	cm     *comm
}

// table gives things small numbers.
type table[T any] struct {
	sync.RWMutex
	things []*T
	free   []uint32
}

// add stores a thing; number, if not nil, hears its number before anyone else
// can.
func (t *table[T]) add(thing *T, number func(uint32)) uint32 {
	t.Lock()
	defer t.Unlock()
	id := uint32(len(t.things))
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.things = append(t.things, nil)
	}
	if number != nil {
		number(id)
	}
	t.things[id] = thing
	return id
}

func (t *table[T]) get(id uint32) *T {
	t.RLock()
	defer t.RUnlock()
	if int(id) >= len(t.things) {
		return nil
	}
	return t.things[id]
}

func (t *table[T]) put(id uint32) {
	t.Lock()
	defer t.Unlock()
	t.things[id] = nil
	t.free = append(t.free, id)
}

// publish gives a composite its handle.
func (c *composite) publish() int32 {
	composites.add(c, func(id uint32) { c.id = id })
	return c.handle()
}

// transfer are the arguments of a send or receive.
type transfer struct {
	cm    *comm
	buf   unsafe.Pointer
	count int64
	t     *datatype.Type
	rank  int32 // destination or source
	tag   int32
}

// waiter makes progress for something that it waits for.
type waiter struct{ spins int }

// pokeEvery is how many passes that moved nothing lie between two calls that
// let the host make progress. Such a call costs half a microsecond, a pass some
// ten nanoseconds.
const pokeEvery = 64

// step is one pass.
func (w *waiter) step() {
	if endpoint.Progress() {
		w.spins = 0
		return
	}
	w.spins = endpoint.Idle(w.spins)
	if w.spins%pokeEvery == 0 && hostRuns() {
		C.cmpi_poke()
	}
}

// hostRuns reports that the program has something in the host that goes on by
// itself and may need the host's progress while we wait.
func hostRuns() bool {
	return atomic.LoadInt32(stateAsync) != 0
}
