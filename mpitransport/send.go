package mpitransport

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"cmpi/mpitransport/datatype"
	"cmpi/ringq"
)

// Mode is a send mode of MPI (MPI-4.0 section 3.4). Buffered sends are
// Standard ones of a copy, made above the engine.
type Mode uint8

// The send modes.
const (
	Standard Mode = iota
	Sync
	Ready // treated as Standard, as the standard allows
)

// protocol is how a message's data travels.
type protocol uint8

const (
	protoEager  protocol = iota // through the ring, however long
	protoStaged                 // through a staging block
	protoSingle                 // copied by the kernel from process to process
)

// checkSend validates the arguments of a send.
func checkSend(c *Comm, count int64, dest, tag int32) Class {
	switch {
	case count < 0:
		return ErrCount
	case dest < 0 || int(dest) >= len(c.remote):
		return ErrRank
	case tag < 0 || tag > ringq.MaxTag:
		return ErrTag
	}
	return OK
}

// Isend starts a send of count elements of t at buf. A send that is complete
// when Isend returns shares one request, which is always done. To ProcNull
// nothing is sent.
func (e *Endpoint) Isend(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type, dest, tag int32, m Mode) (*Request, Class) {
	if dest == ProcNull {
		return e.completed, OK
	}
	if cl := checkSend(c, count, dest, tag); cl != OK {
		return nil, cl
	}
	e.lock()
	r, cl := e.isend(c, buf, count, t, dest, tag, m)
	e.unlock()
	return r, cl
}

func (e *Endpoint) isend(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type, dest, tag int32, m Mode) (*Request, Class) {
	p := c.peers[dest]
	off, n, contig := t.Contig(count)
	if contig && m != Sync && n <= p.medium.eager && int(p.world) != e.rank && p.idle() {
		if p.out == nil {
			if cl := e.openRing(p); cl != OK {
				return nil, cl
			}
		}
		h := ringq.Header{Kind: uint8(msgEager), Ctx: c.ctx, Tag: uint32(tag), Len: uint64(n)}
		src := unsafe.Add(buf, off)
		pushed, ok := p.out.Begin(h, src, int(n))
		if ok && pushed == int(n) {
			e.stats.Eager++
			e.countSent(p, sentEager, n)
			return e.completed, OK
		}
		r := e.newSend(c, buf, count, t, dest, tag, m)
		if r == nil {
			return nil, ErrNoMem
		}
		if ok {
			e.stats.Eager++
			e.countSent(p, sentEager, n)
			r.stage, r.proto, r.off = sendPushing, protoEager, int64(pushed)
		}
		e.enqueue(p, r)
		return r, OK
	}
	r := e.newSend(c, buf, count, t, dest, tag, m)
	if r == nil {
		return nil, ErrNoMem
	}
	if r.bytes > maxMessage {
		e.requests.put(r)
		return nil, ErrCount
	}
	if int(p.world) == e.rank {
		return e.sendSelf(c, r), OK
	}
	if cl := e.openRing(p); cl != OK {
		e.requests.put(r)
		return nil, cl
	}
	e.enqueue(p, r)
	e.pushQueue(p)
	if r.done.Load() {
		e.requests.put(r)
		return e.completed, OK
	}
	return r, OK
}

// Send sends and returns when the buffer may be used again.
func (e *Endpoint) Send(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type, dest, tag int32, m Mode) Class {
	r, cl := e.Isend(c, buf, count, t, dest, tag, m)
	if cl != OK || r == e.completed {
		return cl
	}
	e.Wait(r)
	cl = r.status.Err
	e.Release(r)
	return cl
}

func (e *Endpoint) newSend(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type, dest, tag int32, m Mode) *Request {
	r := e.requests.get()
	if r == nil {
		return nil
	}
	r.kind = sendRequest
	r.released = false
	r.comm, r.buf, r.count, r.typ = c, buf, count, t
	off, n, contig := t.Contig(count)
	r.contig = contig
	if contig {
		r.ptr, r.bytes = unsafe.Add(buf, off), n
	} else {
		r.ptr, r.bytes = nil, count*t.Size()
	}
	r.off, r.peer, r.rank, r.tag = 0, c.peers[dest], dest, tag
	r.mode, r.stage, r.acked, r.rescue, r.block, r.desc = m, sendQueued, false, false, nil, 0
	r.status = EmptyStatus
	return r
}

// idle reports that nothing waits to be pushed to the peer.
func (p *peer) idle() bool { return p.queue.head == nil && len(p.control) == 0 }

func (e *Endpoint) enqueue(p *peer, r *Request) {
	e.busy(p)
	p.queue.push(r)
}

// busy counts p among the peers that something waits for to be pushed to.
func (e *Endpoint) busy(p *peer) {
	if p.idle() {
		e.sending++
		p.fast.OutBusy |= FastBusy
	}
}

// control queues a message of the engine itself.
func (e *Endpoint) control(p *peer, kind msgKind, arg uint64) {
	if e.openRing(p) != OK {
		return
	}
	e.busy(p)
	p.control = append(p.control, controlMsg{kind, arg})
	e.pushQueue(p)
}

// pushQueue moves what waits for p into its ring as far as there is room, and
// reports whether anything moved.
func (e *Endpoint) pushQueue(p *peer) bool {
	moved := false
	for !p.idle() {
		if r := p.queue.head; r == nil || r.stage != sendPushing {
			if !e.pushControl(p, &moved) {
				return moved
			}
			if r == nil {
				continue
			}
		}
		pushed, some := e.pushSend(p, p.queue.head)
		moved = moved || some
		if !pushed {
			return moved
		}
	}
	e.sending--
	p.fast.OutBusy &^= FastBusy
	return moved
}

// pushControl sends the queued control messages; false when the ring is full.
func (e *Endpoint) pushControl(p *peer, moved *bool) bool {
	for len(p.control) > 0 {
		m := p.control[0]
		binary.LittleEndian.PutUint64(e.first[:], m.arg)
		h := ringq.Header{Kind: uint8(m.kind), Len: prefixLen}
		if _, ok := p.out.Begin(h, unsafe.Pointer(&e.first), prefixLen); !ok {
			return false
		}
		*moved = true
		p.control = p.control[:copy(p.control, p.control[1:])]
	}
	return true
}

// pushSend moves the send at the head of p's queue on. pushed means that its
// message is wholly in the ring and it has left the queue.
func (e *Endpoint) pushSend(p *peer, r *Request) (pushed, moved bool) {
	if r.stage == sendQueued {
		if !e.beginSend(p, r) {
			return false, false
		}
		moved = true
	}
	if p.out.Left() > 0 {
		n := e.pushData(p, r)
		moved = moved || n > 0
		if p.out.Left() > 0 {
			return false, moved
		}
	}
	p.queue.pop()
	r.stage = sendWaiting
	e.sendPushed(r)
	return true, true
}

// pushData pushes the next bytes of r's open message.
func (e *Endpoint) pushData(p *peer, r *Request) (pushed int) {
	if r.contig {
		pushed = p.out.More(ptrAt(r.ptr, r.off), int(r.bytes-r.off))
		r.off += int64(pushed)
		return pushed
	}
	for p.out.Left() > 0 {
		n := min(int64(len(e.scratch)), r.bytes-r.off)
		r.typ.Pack(unsafe.Pointer(&e.scratch[0]), r.buf, r.count, r.off, n)
		c := p.out.More(unsafe.Pointer(&e.scratch[0]), int(n))
		r.off += int64(c)
		pushed += c
		if int64(c) < n {
			break
		}
	}
	return pushed
}

// beginSend chooses the protocol of r, whose turn it is, and opens its message
// in the ring; false when the ring has no room.
func (e *Endpoint) beginSend(p *peer, r *Request) bool {
	h := ringq.Header{Ctx: r.comm.ctx, Tag: uint32(r.tag)}
	switch r.proto = e.chooseProtocol(p, r); r.proto {
	case protoStaged:
		h.Kind = uint8(msgStaged)
		r.block.rts().encode((*[rtsLen]byte)(e.first[:]))
		return e.beginRTS(p, r, h)
	case protoSingle:
		h.Kind = uint8(msgSingle)
		rts{total: uint64(r.bytes), off: uint64(r.desc), size: uint64(uintptr(r.ptr))}.encode((*[rtsLen]byte)(e.first[:]))
		return e.beginRTS(p, r, h)
	}
	// The first line is put together here: prefix, then what fits.
	prefix := 0
	h.Kind = uint8(msgEager)
	switch {
	case r.rescue:
		h.Kind = uint8(msgRescue)
		binary.LittleEndian.PutUint64(e.first[:], uint64(r.desc))
		prefix = prefixLen
	case r.mode == Sync:
		h.Kind = uint8(msgEagerSync)
		binary.LittleEndian.PutUint64(e.first[:], uint64(r.id))
		prefix = prefixLen
	}
	return e.beginEager(p, r, h, prefix)
}

// beginEager opens a message with prefix bytes, which stand in e.first, before
// r's data.
func (e *Endpoint) beginEager(p *peer, r *Request, h ringq.Header, prefix int) bool {
	h.Len = uint64(prefix) + uint64(r.bytes)
	n := min(int64(ringq.Inline-prefix), r.bytes)
	if n > 0 {
		r.typ.Pack(unsafe.Pointer(&e.first[prefix]), r.buf, r.count, 0, n)
	}
	if _, ok := p.out.Begin(h, unsafe.Pointer(&e.first), prefix+int(n)); !ok {
		return false
	}
	r.off = n
	r.stage = sendPushing
	if r.bytes > r.peer.medium.eager {
		e.stats.Streamed++
		e.countSent(p, sentStreamed, r.bytes)
	} else {
		e.stats.Eager++
		e.countSent(p, sentEager, r.bytes)
	}
	return true
}

func (e *Endpoint) beginRTS(p *peer, r *Request, h ringq.Header) bool {
	h.Len = rtsLen
	if _, ok := p.out.Begin(h, unsafe.Pointer(&e.first), rtsLen); !ok {
		return false
	}
	r.stage = sendPushing
	return true
}

// chooseProtocol decides how r's data travels and takes what that needs. A
// choice made in an earlier try, when the ring was full, stands.
func (e *Endpoint) chooseProtocol(p *peer, r *Request) protocol {
	if r.rescue {
		return protoEager
	}
	if r.block != nil {
		return protoStaged
	}
	if r.desc != 0 {
		return protoSingle
	}
	if r.bytes <= p.medium.eager {
		return protoEager
	}
	if r.contig && r.bytes >= e.cfg.SingleCopyMin && e.canSingle(p) && e.takeDesc(r) {
		return protoSingle
	}
	if e.takeBlock(r) {
		return protoStaged
	}
	// The pool is full: through the ring, piece by piece, as room comes.
	return protoEager
}

// sendPushed goes on with a send whose ring message is complete.
func (e *Endpoint) sendPushed(r *Request) {
	switch r.proto {
	case protoEager:
		if r.rescue {
			r.peer.medium.descs = append(r.peer.medium.descs, r.desc)
		}
		if r.mode != Sync || r.acked || r.rescue {
			e.complete(r)
		}
	case protoStaged:
		e.stats.Staged++
		e.countSent(r.peer, sentStaged, r.bytes)
		e.stagedOut = append(e.stagedOut, r)
		e.stepStagedOut(r)
		if r.block == nil {
			e.stagedOut = e.stagedOut[:len(e.stagedOut)-1]
		}
	case protoSingle:
		e.stats.Single++
		e.countSent(r.peer, sentSingle, r.bytes)
		e.singleOut = append(e.singleOut, r)
	}
}

// acknowledged ends the synchronous send whose receiver has matched it.
func (e *Endpoint) acknowledged(p *peer, id uint64) {
	r := e.lookupSync(p, id)
	if r == nil {
		e.breakPeer(p, "an acknowledgement of a send that does not wait for one")
		return
	}
	r.acked = true
	if r.stage == sendWaiting {
		e.complete(r)
	}
}

// lookupSync finds the synchronous send to p that an acknowledgement names. A
// request that was released by its owner still lives until it completes.
func (e *Endpoint) lookupSync(p *peer, id uint64) *Request {
	if id >= requestChunk*requestChunks {
		return nil
	}
	r := e.Lookup(uint32(id))
	if r == nil || r.kind != sendRequest || r.done.Load() || r.peer != p || r.mode != Sync || r.proto != protoEager || r.stage == sendQueued || r.acked {
		return nil
	}
	return r
}

// sendSelf delivers a message to this very rank: to a posted receive, else to
// the unexpected queue as a copy. A synchronous one completes when received.
func (e *Endpoint) sendSelf(c *Comm, r *Request) *Request {
	src := c.from[e.rank]
	m := e.newMessage(&Message{comm: c, peer: r.peer, src: src, tag: r.tag, kind: msgEager, total: r.bytes, got: r.bytes})
	if r.bytes > 0 {
		m.data = slices.Grow(m.data, int(r.bytes))[:r.bytes]
		r.typ.Pack(unsafe.Pointer(&m.data[0]), r.buf, r.count, 0, r.bytes)
	}
	e.stats.Eager++
	e.countSent(r.peer, sentEager, r.bytes)
	e.countReceived(r.peer, r.bytes)
	r.proto, r.stage = protoEager, sendWaiting
	if r.mode == Sync {
		m.sync, m.ack = true, r.id
	}
	if q := c.posted.match(src, r.tag); q != nil {
		e.deliver(m, q)
	} else {
		c.unexp.push(m)
	}
	if r.mode == Sync {
		return r
	}
	e.requests.put(r)
	return e.completed
}
