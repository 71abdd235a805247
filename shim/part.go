package main

// #include "shim.h"
import "C"

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"cmpi/mpitransport"
	"cmpi/ringq"
)

// Partitioned communication (MPI-4.0 section 4.2). The partitions of a send travel
// as one message when the last of them is ready, so that sender and receiver may
// cut the data differently without telling each other how.
//
// The k-th Psend_init to a rank with a tag belongs to the k-th Precv_init there
// with that tag, and all transfers of the one go to the other, in whatever order
// the requests are started. No message is needed to say so: both sides count, and
// the number is a part of what the messages match by. They match nothing else, as
// they travel in communicators of their own that the program doesn't see.

const (
	// partBits of the tag and as many of the number are the tag that a message has
	// on its way (28 bits, ringq.MaxTag). What is above them chooses the hidden
	// communicator, so that a program with few of either has one.
	partBits = 14
	partMask = 1<<partBits - 1
	// partChannels is how many partitioned requests of one direction with the same
	// partner, tag and communicator there can be at a time. The numbers wrap there.
	partChannels = 1 << 20
	// partContexts sets the hidden communicators apart from the children, which
	// are counted from 1.
	partContexts = 1 << 40
)

// partitions is what a partitioned request has beside a persistent one.
type partitions struct {
	cm *comm
	x  transfer // of all partitions together
	partChannel

	ready []atomic.Bool // by partition of a send
	left  atomic.Int64  // how many are not ready
	sent  atomic.Bool   // the message is under way: parts[0] of the request
}

// partKey names the pairs among which partitioned requests are counted.
type partKey struct {
	rank, tag int32
	receive   bool
}

// partChannel is one of these pairs.
type partChannel struct {
	partKey
	number uint32
}

// partTable is what a communicator knows of its partitioned requests.
type partTable struct {
	sync.Mutex
	made   map[partKey]uint32            // requests made so far
	live   map[partChannel]bool          // those not freed
	hidden map[uint64]*mpitransport.Comm // by the high bits of tag and channel
}

// join gives the next request of a key its channel; false if too many are alive.
func (t *partTable) join(cm *comm, key partKey) (partChannel, *mpitransport.Comm, bool) {
	t.Lock()
	defer t.Unlock()
	if t.made == nil {
		t.made = map[partKey]uint32{}
		t.live = map[partChannel]bool{}
		t.hidden = map[uint64]*mpitransport.Comm{}
	}
	c := partChannel{key, t.made[key] % partChannels}
	if t.live[c] {
		return c, nil, false
	}
	t.made[key]++
	t.live[c] = true
	high := uint64(key.tag>>partBits)*(partChannels>>partBits) + uint64(c.number>>partBits)
	h := t.hidden[high]
	if h == nil {
		h = endpoint.NewTwin(cm.engine, mixContext(cm.context, partContexts+high))
		t.hidden[high] = h
	}
	return c, h, true
}

func (t *partTable) leave(c partChannel) {
	t.Lock()
	defer t.Unlock()
	delete(t.live, c)
}

// free forgets the hidden communicators.
func (t *partTable) free() {
	t.Lock()
	defer t.Unlock()
	for _, h := range t.hidden {
		endpoint.FreeComm(h)
	}
	clear(t.hidden)
}

//export goPartInit
func goPartInit(c *C.struct_cmpi_comm, buf unsafe.Pointer, n C.int, count C.intptr_t, typ, rank, tag, receive C.int, handle *C.int) C.int {
	defer rescue()
	if n < 0 {
		return errArg
	}
	if count < 0 || n > 0 && int64(count) > maxCount/int64(n) {
		return C.int(number(mpitransport.ErrCount))
	}
	x, class := newTransfer(c, buf, count*C.intptr_t(n), typ, rank, tag)
	if class != success {
		return C.int(class)
	}
	cm := x.cm
	switch { // no wildcards
	case x.rank != mpitransport.ProcNull && (x.rank < 0 || int(x.rank) >= cm.engine.RemoteSize()):
		return C.int(number(mpitransport.ErrRank))
	case x.tag < 0 || x.tag > ringq.MaxTag:
		return C.int(number(mpitransport.ErrTag))
	}
	p := &partitions{cm: cm, ready: make([]atomic.Bool, n)}
	p.partKey = partKey{x.rank, x.tag, receive != 0}
	engine := cm.engine
	if x.rank != mpitransport.ProcNull {
		var ok bool
		if p.partChannel, engine, ok = cm.parts.join(cm, p.partKey); !ok {
			say("rank %d: more than %d partitioned requests with rank %d and tag %d at a time", endpoint.Rank(), partChannels, x.rank, x.tag)
			return errOther
		}
		x.tag = x.tag&partMask | int32(p.number&partMask)<<partBits
	}
	p.x = x
	p.x.cm = &comm{engine: engine}
	r := newComposite(cm.handle)
	r.persistent, r.active, r.part = true, false, p
	r.restart = (*composite).startPartitions
	*handle = C.int(r.publish())
	return success
}

// maxCount keeps products of counts and sizes far from overflow.
const maxCount = 1 << 62

// startPartitions makes a partitioned request active.
func (c *composite) startPartitions() int32 {
	p := c.part
	if p.receive {
		r, cl := p.x.irecv()
		c.parts[0] = r
		return number(cl)
	}
	for i := range p.ready {
		p.ready[i].Store(false)
	}
	p.sent.Store(false)
	p.left.Store(int64(len(p.ready)))
	if len(p.ready) == 0 {
		return c.sendPartitions()
	}
	return success
}

// sendPartitions sends what is ready altogether.
func (c *composite) sendPartitions() int32 {
	r, cl := c.part.x.isend(mpitransport.Standard)
	if cl == mpitransport.OK {
		c.parts[0] = r
		c.part.sent.Store(true)
	}
	return number(cl)
}

// underWay reports whether all that is left to do is the engine's.
func (p *partitions) underWay() bool { return p.receive || p.sent.Load() }

// status is the one of the program's view: its own tag.
func (p *partitions) status(st mpitransport.Status) mpitransport.Status {
	if st.Tag != mpitransport.AnyTag {
		st.Tag = p.tag
	}
	return st
}

// pready marks one partition; several threads may do so at a time.
func (c *composite) pready(i int) int32 {
	p := c.part
	if i < 0 || i >= len(p.ready) || !p.ready[i].CompareAndSwap(false, true) {
		return errArg
	}
	if p.left.Add(-1) == 0 {
		return c.sendPartitions()
	}
	return success
}

// partitionsOf finds a partitioned request of one direction.
func partitionsOf(handle C.int, receive bool) *composite {
	r, ok := requestOf(int32(handle))
	if !ok || r.comp == nil || r.comp.part == nil || r.comp.part.receive != receive {
		return nil
	}
	return r.comp
}

//export goPready
func goPready(handle, low, high C.int) C.uint64_t {
	defer rescue()
	return markReady(handle, low <= high, func(yield func(int32) bool) {
		for i := low; i <= high && yield(int32(i)); i++ {
		}
	})
}

//export goPreadyList
func goPreadyList(handle, n C.int, list *C.int) C.uint64_t {
	defer rescue()
	return markReady(handle, true, slices.Values(handles((*int32)(unsafe.Pointer(list)), int(n))))
}

// markReady marks partitions of a send in progress; ok says whether the program has
// named them properly.
func markReady(handle C.int, ok bool, list iter.Seq[int32]) C.uint64_t {
	r := partitionsOf(handle, false)
	switch {
	case r == nil || !r.active:
		return raise(commWorld, errRequest)
	case !ok:
		return raise(r.comm, errArg)
	}
	for i := range list {
		if class := r.pready(int(i)); class != success {
			return raise(r.comm, class)
		}
	}
	return success
}

// goParrived says yes when all has come. Like a test of an inactive request, it does
// so between two transfers.
//
//export goParrived
func goParrived(handle, partition C.int, flag *C.int) C.uint64_t {
	defer rescue()
	r := partitionsOf(handle, true)
	if r == nil {
		return raise(commWorld, errRequest)
	}
	if partition < 0 || int(partition) >= len(r.part.ready) {
		return raise(r.comm, errArg)
	}
	if r.active && !r.done() {
		testPass()
	}
	*flag = truth(!r.active || r.done())
	return success
}
