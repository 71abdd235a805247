package mpitransport

import (
	"encoding/binary"
	"unsafe"

	"cmpi/flush"
	"cmpi/mpitransport/datatype"
	"cmpi/ringq"
	"cmpi/stats"
)

// checkRecv validates the arguments of a receive or probe.
func checkRecv(c *Comm, count int64, src, tag int32) Class {
	switch {
	case count < 0:
		return ErrCount
	case src != AnySource && (src < 0 || int(src) >= len(c.remote)):
		return ErrRank
	case tag != AnyTag && (tag < 0 || tag > ringq.MaxTag):
		return ErrTag
	}
	return OK
}

// nullStatus is the status of a receive from ProcNull (MPI-4.0 section 3.10).
var nullStatus = Status{Source: ProcNull, Tag: AnyTag}

// Irecv posts a receive of at most count elements of t at buf.
func (e *Endpoint) Irecv(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type, src, tag int32) (*Request, Class) {
	if src != ProcNull {
		if cl := checkRecv(c, count, src, tag); cl != OK {
			return nil, cl
		}
	}
	e.lock()
	r, cl := e.irecv(c, buf, count, t, src, tag)
	e.unlock()
	return r, cl
}

func (e *Endpoint) irecv(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type, src, tag int32) (*Request, Class) {
	r := e.newRecv(c, buf, count, t)
	if r == nil {
		return nil, ErrNoMem
	}
	if src == ProcNull {
		r.status = nullStatus
		r.done.Store(true)
		return r, OK
	}
	e.post(r, src, tag)
	return r, OK
}

// post gives r the message that is there for it, or puts it into the posted
// queue.
func (e *Endpoint) post(r *Request, src, tag int32) {
	c := r.comm
	r.rank, r.tag = src, tag
	if c.unexp.all.head != nil {
		if m := c.unexp.find(src, tag); m != nil {
			c.unexp.remove(m)
			e.deliver(m, r)
			return
		}
	}
	if src != AnySource {
		if r.peer = c.peers[src]; r.peer.broken {
			e.fail(r, ErrInternal)
			return
		}
	}
	c.posted.push(r)
}

// Recv receives and returns when the message is in the buffer. st may be nil.
func (e *Endpoint) Recv(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type, src, tag int32, st *Status) Class {
	r, cl := e.Irecv(c, buf, count, t, src, tag)
	if cl != OK {
		return cl
	}
	if !r.done.Load() {
		e.Wait(r)
	}
	cl = r.status.Err
	if st != nil {
		*st = r.status
	}
	e.Release(r)
	return cl
}

func (e *Endpoint) newRecv(c *Comm, buf unsafe.Pointer, count int64, t *datatype.Type) *Request {
	r := e.requests.get()
	if r == nil {
		return nil
	}
	e.initRecv(r)
	r.comm, r.buf, r.count, r.typ = c, buf, count, t
	off, n, contig := t.Contig(count)
	r.contig = contig
	if contig {
		r.ptr, r.bytes = unsafe.Add(buf, off), n
	} else {
		r.ptr, r.bytes = nil, count*t.Size()
	}
	return r
}

// initRecv makes r a fresh receive request.
func (e *Endpoint) initRecv(r *Request) {
	r.kind = recvRequest
	r.released = false
	r.peer, r.list, r.status = nil, nil, Status{}
}

// received ends a receive whose message had total bytes.
func (e *Endpoint) received(r *Request, total int64) {
	r.status.Bytes = total
	if total > r.bytes {
		r.status.Bytes = r.bytes
		r.status.Err = ErrTruncate
	}
	e.complete(r)
}

// store puts n bytes at src, which stand at from in the message, into r's
// buffer; those beyond its end are dropped.
func (r *Request) store(src unsafe.Pointer, from, n int64) {
	n = min(n, r.bytes-from)
	if n <= 0 {
		return
	}
	if r.contig {
		copy(unsafe.Slice((*byte)(ptrAt(r.ptr, from)), n), unsafe.Slice((*byte)(src), n))
		return
	}
	r.typ.Unpack(r.buf, src, r.count, from, n)
}

// deliver hands a message that is out of its queue to the receive r.
func (e *Endpoint) deliver(m *Message, r *Request) {
	r.status.Source, r.status.Tag = m.src, m.tag
	if m.sync {
		m.sync = false
		e.acknowledge(m)
	}
	switch m.kind {
	case msgStaged:
		e.startStaged(r, m)
	case msgSingle:
		e.startSingle(r, m)
	default:
		if m.got < m.total {
			m.waiter = r // readFlow goes on from here
			return
		}
		if m.total > 0 {
			r.store(unsafe.Pointer(&m.data[0]), 0, m.total)
		}
		e.received(r, m.total)
	}
	e.freeMessage(m)
}

// keptBuffer is the largest buffer that stays with a free Message, bytes: what
// eager messages need.
const keptBuffer = DefaultEagerLimit

// newMessage makes a copy of m to be kept, with room for data from earlier use.
func (e *Endpoint) newMessage(m *Message) *Message {
	u := e.messages
	if u == nil {
		u = new(Message)
	} else {
		e.messages = u.next
	}
	data := u.data[:0]
	*u = *m
	u.data = data
	return u
}

// freeMessage takes back a message that has been delivered. One that never was
// kept is left to the caller.
func (e *Endpoint) freeMessage(m *Message) {
	if m == &e.arriving {
		return
	}
	data := m.data
	if cap(data) > keptBuffer {
		data = nil
	}
	*m = Message{data: data, next: e.messages}
	e.messages = m
}

// acknowledge tells the sender of a synchronous eager message that it was
// matched.
func (e *Endpoint) acknowledge(m *Message) {
	if int(m.peer.world) != e.rank {
		e.control(m.peer, msgAck, uint64(m.ack))
		return
	}
	if r := e.Lookup(m.ack); r != nil {
		e.complete(r)
	}
}

// pollPeer takes what has arrived in p's ring; true if anything had.
func (e *Endpoint) pollPeer(p *peer) (moved bool) {
	if p.broken {
		return false
	}
	if p.flow.req != nil || p.flow.msg != nil {
		if moved = e.readFlow(p); p.flow.req != nil || p.flow.msg != nil {
			return moved
		}
	}
	// A bounded number of messages, so that one busy peer doesn't keep the
	// others waiting.
	for range pollBatch {
		if p.broken || !p.in.Poll(&e.header) {
			return moved
		}
		moved = true
		e.stats.Received++
		if !e.arrive(p, &e.header) {
			return true
		}
		// What the caller waits for has come; one more look at the ring would
		// be a cache miss, in flush mode a flush and a miss, on its way back.
		if e.want != nil && e.want.done.Load() {
			return true
		}
	}
	return true
}

const pollBatch = 32

// arrive deals with the message whose header was just read; false when its
// data is still on the way, or the peer broken.
func (e *Endpoint) arrive(p *peer, h *ringq.Header) bool {
	if msgKind(h.Kind) == msgEager {
		// The common case: a receive is posted.
		if c := e.commOf(h.Ctx); c != nil {
			if src := c.from[p.world]; src >= 0 {
				if r := c.posted.match(src, int32(h.Tag)); r != nil {
					r.status.Source, r.status.Tag = src, int32(h.Tag)
					e.countReceived(p, int64(h.Len))
					return e.flowTo(p, r, int64(h.Len))
				}
			}
		}
	}
	m := &e.arriving
	*m = Message{kind: msgKind(h.Kind), peer: p, tag: int32(h.Tag), total: int64(h.Len)}
	switch m.kind {
	case msgEager:
	case msgEagerSync, msgRescue, msgAck:
		arg, ok := e.readPrefix(p, h)
		if !ok {
			return false
		}
		m.total -= prefixLen
		switch m.kind {
		case msgAck:
			p.in.End()
			e.acknowledged(p, arg)
			return !p.broken
		case msgRescue:
			return e.rescued(p, int64(arg), m.total)
		}
		m.kind, m.sync, m.ack = msgEager, true, uint32(arg)
	case msgStaged, msgSingle:
		if !e.readRTS(p, h, m) {
			return false
		}
	default:
		e.breakPeer(p, "a message of unknown kind %d", h.Kind)
		return false
	}
	e.countReceived(p, m.total)
	return e.place(p, h.Ctx, m)
}

// place brings m to its receive or, copied, to the unexpected queue.
func (e *Endpoint) place(p *peer, ctx uint64, m *Message) bool {
	c := e.commOf(ctx)
	if c == nil {
		return e.placeOrphan(p, ctx, m)
	}
	m.comm = c
	if m.src = c.from[p.world]; m.src < 0 {
		e.breakPeer(p, "a message on a communicator it is not in")
		return false
	}
	r := c.posted.match(m.src, m.tag)
	if r == nil {
		u := e.newMessage(m)
		c.unexp.push(u)
		e.countRank(func(r *stats.Rank) { r.Unexpected++ })
		return e.keep(p, u)
	}
	if m.kind != msgEager {
		e.deliver(m, r)
		return !p.broken
	}
	r.status.Source, r.status.Tag = m.src, m.tag
	if m.sync {
		e.acknowledge(m)
	}
	return e.flowTo(p, r, m.total)
}

// placeOrphan keeps a message of a communicator that this rank has not made
// yet: its constructor is collective, but nobody waits for the last member.
func (e *Endpoint) placeOrphan(p *peer, ctx uint64, m *Message) bool {
	u := e.newMessage(m)
	u.src = p.world
	e.countRank(func(r *stats.Rank) { r.Unexpected++ })
	e.orphans[ctx] = append(e.orphans[ctx], u)
	return e.keep(p, u)
}

// adoptOrphan moves a message to the communicator that it came too early for.
func (e *Endpoint) adoptOrphan(c *Comm, m *Message) {
	if m.src = c.from[m.src]; m.src < 0 {
		e.breakPeer(m.peer, "a message on a communicator it is not in")
		return
	}
	m.comm = c
	c.unexp.push(m)
}

// keep stores the data of the unexpected message u.
func (e *Endpoint) keep(p *peer, u *Message) bool {
	if u.kind != msgEager {
		return true
	}
	e.open(p, inflow{msg: u, total: u.total})
	e.readFlow(p)
	return p.flow.msg == nil && !p.broken
}

// grow makes room in m.data behind the got bytes that are there and says how
// much, at most left. The message's length is untrusted, so memory follows the
// data that has really come.
func (m *Message) grow(got, left int64) int64 {
	// The ring gives whole lines, so less than a line of room is none.
	if room := int64(len(m.data)) - got; room >= min(left, flush.LinePayload) {
		return min(left, room)
	}
	size := min(got+left, max(2*got, keptBuffer))
	if size <= int64(cap(m.data)) {
		m.data = m.data[:size]
	} else {
		d := make([]byte, size)
		copy(d, m.data[:got])
		m.data = d
	}
	return min(left, size-got)
}

// flowTo reads the open message of p into r.
func (e *Endpoint) flowTo(p *peer, r *Request, total int64) bool {
	if r.contig && total <= r.bytes {
		got := int64(0)
		if total > 0 {
			got = int64(p.in.Read(r.ptr, int(total)))
		}
		if got == total {
			p.in.End()
			r.status.Bytes = total
			e.complete(r)
			return true
		}
		e.open(p, inflow{req: r, total: total, got: got})
		return false
	}
	e.open(p, inflow{req: r, total: total})
	e.readFlow(p)
	return p.flow.req == nil
}

// open notes where the rest of p's open message goes.
func (e *Endpoint) open(p *peer, f inflow) {
	p.flow = f
	p.fast.InBusy |= FastBusy
}

// readFlow goes on reading p's open message; true if anything moved.
func (e *Endpoint) readFlow(p *peer) bool {
	f := &p.flow
	start := f.got
	for f.got < f.total {
		var n int
		switch left := f.total - f.got; {
		case f.msg != nil:
			room := f.msg.grow(f.got, left)
			n = p.in.Read(unsafe.Pointer(&f.msg.data[f.got]), int(room))
			f.msg.got += int64(n)
		case f.req.contig && f.total <= f.req.bytes:
			n = p.in.Read(ptrAt(f.req.ptr, f.got), int(left))
		default:
			n = p.in.Read(unsafe.Pointer(&e.scratch[0]), int(min(left, int64(len(e.scratch)))))
			f.req.store(unsafe.Pointer(&e.scratch[0]), f.got, int64(n))
		}
		if n == 0 {
			return f.got > start
		}
		f.got += int64(n)
	}
	p.in.End()
	done := *f
	p.flow = inflow{}
	p.fast.InBusy &^= FastBusy
	if done.req != nil {
		e.received(done.req, done.total)
	} else if m := done.msg; m.waiter != nil {
		r := m.waiter
		m.waiter = nil
		e.deliver(m, r)
	}
	return true
}

// readPrefix takes the first 8 bytes of the open message.
func (e *Endpoint) readPrefix(p *peer, h *ringq.Header) (uint64, bool) {
	if h.Len < prefixLen || p.in.Read(unsafe.Pointer(&e.first), prefixLen) != prefixLen {
		e.breakPeer(p, "a message of kind %d and %d bytes", h.Kind, h.Len)
		return 0, false
	}
	return binary.LittleEndian.Uint64(e.first[:]), true
}

// readRTS takes an announcement and checks what it points to.
func (e *Endpoint) readRTS(p *peer, h *ringq.Header, m *Message) bool {
	if h.Len != rtsLen || p.in.Read(unsafe.Pointer(&e.first), rtsLen) != rtsLen {
		e.breakPeer(p, "an announcement of %d bytes", h.Len)
		return false
	}
	p.in.End()
	m.rts = decodeRTS((*[rtsLen]byte)(e.first[:]))
	m.total = int64(m.rts.total)
	ok := m.rts.total <= maxMessage
	if m.kind == msgStaged {
		ok = ok && m.rts.size > 0 && m.rts.size <= p.medium.hi && p.medium.contains(m.rts.off, blockDataAt+m.rts.size)
	} else {
		ok = ok && p.medium.coherent && p.medium.contains(m.rts.off, descSize)
	}
	if !ok {
		e.breakPeer(p, "an announcement of %d bytes at offset %d", m.rts.total, m.rts.off)
	}
	return ok
}

// rescued reads a message that could not be copied from the sender's memory.
func (e *Endpoint) rescued(p *peer, desc, total int64) bool {
	for i, r := range e.rescues {
		if r.desc == desc && r.from == p && r.total == total {
			e.rescues = append(e.rescues[:i], e.rescues[i+1:]...)
			return e.flowTo(p, r, total)
		}
	}
	e.breakPeer(p, "data that nobody asked for")
	return false
}
