package mpitransport

import (
	"sync/atomic"
	"unsafe"

	"cmpi/mpitransport/datatype"
)

// Status is what MPI_Status tells of a completed operation.
type Status struct {
	Source    int32 // rank in the communicator (remote group of an intercommunicator)
	Tag       int32
	Bytes     int64 // received into the buffer
	Err       Class
	Cancelled bool
}

// EmptyStatus is the status of a null or inactive request (MPI-4.0 section
// 3.7.3).
var EmptyStatus = Status{Source: AnySource, Tag: AnyTag}

type requestKind uint8

const (
	sendRequest requestKind = iota
	recvRequest
)

// sendStage says how far a send request has come.
type sendStage uint8

const (
	sendQueued  sendStage = iota // waits for its turn in the ring
	sendPushing                  // its message is open in the ring
	sendWaiting                  // pushed; waits for staging, an acknowledgement or the peer's copy
)

// Request is one nonblocking operation. The fields behind the first group
// belong to the engine and are touched under its lock only.
type Request struct {
	id   uint32
	done atomic.Bool // set last, when status is final
	live atomic.Bool
	fast *FastRequest // not nil: the request belongs to the fast path when free

	kind     requestKind
	released bool // the handle was given back before completion
	comm     *Comm
	buf      unsafe.Pointer // as the caller gave it
	count    int64
	typ      *datatype.Type
	ptr      unsafe.Pointer // first byte, when the data is one contiguous run
	contig   bool
	bytes    int64 // packed size of the buffer
	off      int64 // packed bytes moved so far
	peer     *peer
	rank     int32 // destination, source or AnySource
	tag      int32
	status   Status

	// Receives: place in the posted queue.
	seq        uint64
	next, prev *Request
	list       *postedList

	// Sends.
	mode   Mode
	stage  sendStage
	proto  protocol
	acked  bool
	block  *outBlock // staged
	rescue bool      // a single copy that the receiver refused

	// Single copy, both sides.
	desc int64 // offset of the descriptor

	// Single copy, receiver.
	from   *peer  // the sender
	src    uint64 // address of the data in its memory
	total  int64  // bytes of the message
	usable int64  // of which fit the buffer
}

// ID is a dense small index of the request, below 2^24; Lookup gives the
// request back.
func (r *Request) ID() uint32 { return r.id }

// Done reports completion. It doesn't advance anything: call Progress or Wait.
func (r *Request) Done() bool { return r.done.Load() }

// Status is the outcome; valid once Done.
func (r *Request) Status() Status { return r.status }

// IsSend reports whether the request is a send.
func (r *Request) IsSend() bool { return r.kind == sendRequest }

const (
	requestChunk  = 256
	requestChunks = 1 << 16 // 2^24 requests in all
)

// requestTable hands out requests in chunks that never move, so that an id can
// be looked up without the engine's lock.
type requestTable struct {
	chunks [requestChunks]atomic.Pointer[[requestChunk]Request]
	used   int
	free   *Request // linked by next
}

func (t *requestTable) get() *Request {
	if t.free == nil && !t.grow() {
		return nil
	}
	r := t.free
	t.free = r.next
	r.next = nil
	r.done.Store(false)
	r.live.Store(true)
	return r
}

func (t *requestTable) grow() bool {
	if t.used == requestChunks {
		return false
	}
	c := new([requestChunk]Request)
	for i := requestChunk - 1; i >= 0; i-- {
		c[i].id = uint32(t.used*requestChunk + i)
		c[i].next = t.free
		t.free = &c[i]
	}
	t.chunks[t.used].Store(c)
	t.used++
	return true
}

func (t *requestTable) put(r *Request) {
	// The next user finds no trace of this one; what only sends or receives
	// use is set by them.
	r.comm, r.buf, r.typ, r.ptr, r.peer, r.block, r.from = nil, nil, nil, nil, nil, nil, nil
	r.live.Store(false)
	if r.fast != nil {
		r.fast.State = FastFree
		return
	}
	r.next = t.free
	t.free = r
}

// Lookup gives back the request with this id, nil when there is none.
func (e *Endpoint) Lookup(id uint32) *Request {
	if id >= requestChunk*requestChunks {
		return nil
	}
	c := e.requests.chunks[id/requestChunk].Load()
	if c == nil {
		return nil
	}
	if r := &c[id%requestChunk]; r.live.Load() {
		return r
	}
	return nil
}

// Release gives a request back: at once when it is done, else as soon as it
// completes (MPI_Request_free, and after Wait or Test). The request that
// stands for all sends completed at once is never freed.
func (e *Endpoint) Release(r *Request) {
	if r == e.completed {
		return
	}
	e.lock()
	if r.done.Load() {
		e.requests.put(r)
	} else {
		r.released = true
	}
	e.unlock()
}

// complete ends r; its status is final.
func (e *Endpoint) complete(r *Request) {
	if r.released {
		r.released = false
		e.requests.put(r)
		return
	}
	r.done.Store(true)
}
