package mpitransport

import (
	"unsafe"

	"cmpi/ringq"
)

// What a C fast path above the engine needs to send and receive a message of
// one line without entering Go, in coherent mode only: the rings' positions,
// which it may advance by a line at a time, and flags that tell when it must
// leave the matter to the engine. Both sides run on the thread that owns the
// engine, so nothing here is atomic. The shim's fast.h mirrors these layouts
// (checked by a test there).

// FastPeer is the state of the two rings between this rank and another.
type FastPeer struct {
	Out     ringq.LineState // Out.Lines is nil until there is a ring
	In      ringq.LineState // likewise
	OutBusy uint64          // FastBusy: sends or control messages wait for the ring
	InBusy  uint64          // FastBusy: a message is being read, or the peer is broken
}

// Bits of OutBusy and InBusy. Whatever is set, the plain fast path leaves the
// message to others. So one that counts what it does needs nothing of the other's
// time: where only FastCounted is set, the one may go on that counts.
const (
	FastBusy    = 1
	FastCounted = 2
)

// FastComm is the state of a communicator.
type FastComm struct {
	// Waiting is how many posted receives and unexpected messages there are:
	// while there is one, matching is the engine's.
	Waiting uint64
}

// FastRequests is how many receive requests a fast path may hold; they have
// the ids 1 to FastRequests-1.
const FastRequests = requestChunk

// States of a FastRequest.
const (
	FastFree   = iota // may be taken by the fast path
	FastLazy          // wanted by the program, not yet known to the engine
	FastDone          // received by the fast path, not yet waited for
	FastEngine        // the engine's; it sets FastFree when the request is released
)

// FastRequest is a receive of contiguous data that the fast path has noted.
// Receives are posted in the order in which they were noted before anything
// else is asked of the engine.
type FastRequest struct {
	State  uint32
	Source int32
	Tag    int32
	Comm   int32 // for the owner of the fast path
	Buf    unsafe.Pointer
	Size   uint64 // of the buffer, bytes
	Bytes  uint64 // FastDone: received
}

// fastRequest gives the engine's request with one of the fast path's ids.
func (e *Endpoint) fastRequest(id uint32, c *Comm) (*Request, *FastRequest) {
	r, f := &e.requests.chunks[0].Load()[id], &e.cfg.FastRequests[id]
	f.State = FastEngine
	e.initRecv(r)
	r.fast = f
	r.comm, r.rank, r.tag, r.buf, r.count, r.typ = c, f.Source, f.Tag, f.Buf, int64(f.Size), nil
	r.contig, r.ptr, r.bytes = true, f.Buf, int64(f.Size)
	r.done.Store(false)
	r.live.Store(true)
	return r, f
}

// PostFast posts the lazy receive id on c.
func (e *Endpoint) PostFast(id uint32, c *Comm) {
	r, f := e.fastRequest(id, c)
	e.post(r, f.Source, f.Tag)
}

// AdoptFast takes over a receive that the fast path has completed.
func (e *Endpoint) AdoptFast(id uint32, c *Comm) {
	r, f := e.fastRequest(id, c)
	r.status = Status{Source: f.Source, Tag: f.Tag, Bytes: int64(f.Bytes)}
	r.done.Store(true)
}

// UseFast moves the communicator's fast state to memory that C can see.
func (c *Comm) UseFast(f *FastComm) {
	f.Waiting = c.fast.Waiting
	c.fast = f
	c.posted.waiting, c.unexp.waiting = &f.Waiting, &f.Waiting
}

// FastKind is the kind byte of the messages that the fast path may send and
// receive.
const FastKind = uint8(msgEager)
