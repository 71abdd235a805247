package mpitransport

import "unsafe"

// Comm is what the engine knows of a communicator: who its members are, and
// the messages that wait for each other under its context id.
type Comm struct {
	ctx    uint64
	rank   int32
	local  []int32 // rank → world rank
	remote []int32 // ranks messages go to and come from → world rank (= local in an intracommunicator)
	peers  []*peer // remote rank → peer
	from   []int32 // world rank → remote rank, -1 for others

	posted postedQueue
	unexp  unexpectedQueue
	fast   *FastComm
}

// NewComm makes a communicator known to the engine. ctx must be the same on
// all members and on no other communicator of the job (NextContextID). local
// gives the world rank of each rank; remote is the other group of an
// intercommunicator, nil for an intracommunicator. Messages that arrived
// before are found.
func (e *Endpoint) NewComm(ctx uint64, rank int, local, remote []int32) *Comm {
	e.lock()
	defer e.unlock()
	c := &Comm{ctx: ctx, rank: int32(rank), local: local, remote: remote, fast: new(FastComm)}
	c.posted.waiting, c.unexp.waiting = &c.fast.Waiting, &c.fast.Waiting
	if remote == nil {
		c.remote = local
	}
	c.from = make([]int32, e.size)
	for i := range c.from {
		c.from[i] = -1
	}
	c.peers = make([]*peer, len(c.remote))
	for r, w := range c.remote {
		c.from[w] = int32(r)
		c.peers[r] = &e.peers[w]
	}
	c.posted.bySource = make([]postedList, len(c.remote))
	c.unexp.bySource = make([]messageList, len(c.remote))
	e.comms[ctx] = c
	if early := e.orphans[ctx]; early != nil {
		delete(e.orphans, ctx)
		for _, m := range early {
			e.adoptOrphan(c, m)
		}
	}
	return c
}

// NewTwin makes a communicator of the same members as c.
func (e *Endpoint) NewTwin(c *Comm, ctx uint64) *Comm {
	remote := c.remote
	if len(c.local) > 0 && len(remote) == len(c.local) && &remote[0] == &c.local[0] {
		remote = nil
	}
	return e.NewComm(ctx, int(c.rank), c.local, remote)
}

// FreeComm forgets a communicator. Receives that are posted on it complete as
// usual (MPI-4.0 section 7.4.3): until then it stays known. Messages that
// nobody will receive are dropped.
func (e *Endpoint) FreeComm(c *Comm) {
	e.lock()
	defer e.unlock()
	e.freed = append(e.freed, c)
	keep := e.freed[:0]
	for _, c := range e.freed {
		if c.posted.empty() {
			e.forget(c)
		} else {
			keep = append(keep, c)
		}
	}
	clear(e.freed[len(keep):])
	e.freed = keep
}

// forget drops a communicator that nothing is posted on, with the messages
// that came for it; their senders get their staging blocks back.
func (e *Endpoint) forget(c *Comm) {
	for m := c.unexp.all.head; m != nil; m = m.nextAny {
		if m.kind == msgStaged {
			e.tellConsumed(&inflow{peer: m.peer, block: m.peer.medium.at(int64(m.rts.off)), gen: uint16(m.rts.gen), got: m.total})
		}
	}
	delete(e.comms, c.ctx)
	if e.lastComm == c {
		e.lastComm = nil
	}
}

// Rank is the caller's rank in the communicator.
func (c *Comm) Rank() int { return int(c.rank) }

// Size is the number of ranks of the local group.
func (c *Comm) Size() int { return len(c.local) }

// RemoteSize is the number of ranks that messages can be exchanged with.
func (c *Comm) RemoteSize() int { return len(c.remote) }

// Members gives the world rank of each rank that messages can be exchanged
// with. The slice is the communicator's own.
func (c *Comm) Members() []int32 { return c.remote }

// Context is the communicator's context id.
func (c *Comm) Context() uint64 { return c.ctx }

// NextContextID makes a context id that no other call in this job returns:
// the world rank of the caller beside a running number.
func (e *Endpoint) NextContextID() uint64 {
	e.lock()
	e.contexts++
	id := uint64(e.rank)<<contextRankShift | e.contexts
	e.unlock()
	return id
}

// Context ids that need no agreement. The running numbers of a rank begin behind
// them.
const (
	// WorldContext is the id of the communicator of all ranks.
	WorldContext = 1
	selfNumber   = 2
)

// SelfContext is the id of the communicator of this rank alone.
func (e *Endpoint) SelfContext() uint64 { return uint64(e.rank)<<contextRankShift | selfNumber }

// contextRankShift leaves 2^32 communicators to each of 2^24 leaders.
const contextRankShift = 32

// commOf finds the communicator of a context id, nil when it isn't known here
// (yet).
func (e *Endpoint) commOf(ctx uint64) *Comm {
	if c := e.lastComm; c != nil && c.ctx == ctx {
		return c
	}
	c := e.comms[ctx]
	if c != nil {
		e.lastComm = c
	}
	return c
}

// postedList is a list of posted receives in the order they were posted.
type postedList struct{ head, tail *Request }

func (l *postedList) push(r *Request) {
	r.list, r.prev, r.next = l, l.tail, nil
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.next = r
	}
	l.tail = r
}

func (l *postedList) remove(r *Request) {
	if r.prev == nil {
		l.head = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		l.tail = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.list, r.prev, r.next = nil, nil, nil
}

// postedQueue holds a communicator's posted receives: one list per source and
// one for AnySource, ordered among each other by seq.
type postedQueue struct {
	waiting  *uint64 // FastComm's count
	bySource []postedList
	any      postedList
	seq      uint64
}

func (q *postedQueue) empty() bool {
	if q.any.head != nil {
		return false
	}
	for i := range q.bySource {
		if q.bySource[i].head != nil {
			return false
		}
	}
	return true
}

func (q *postedQueue) push(r *Request) {
	q.seq++
	*q.waiting++
	r.seq = q.seq
	if r.rank == AnySource {
		q.any.push(r)
	} else {
		q.bySource[r.rank].push(r)
	}
}

// match takes out the receive that was posted first among those that match
// (MPI-4.0 section 3.5, order).
func (q *postedQueue) match(src, tag int32) *Request {
	r := firstTag(q.bySource[src].head, tag)
	if q.any.head != nil {
		if a := firstTag(q.any.head, tag); a != nil && (r == nil || a.seq < r.seq) {
			r = a
		}
	}
	if r != nil {
		q.remove(r)
	}
	return r
}

func (q *postedQueue) remove(r *Request) {
	*q.waiting--
	r.list.remove(r)
}

func firstTag(r *Request, tag int32) *Request {
	for r != nil && r.tag != tag && r.tag != AnyTag {
		r = r.next
	}
	return r
}

// Message is one that has arrived, or begun to, before its receive. It is in
// its communicator's unexpected queue, or was taken out by Mprobe.
type Message struct {
	comm  *Comm
	peer  *peer
	src   int32 // rank in comm; world rank while comm isn't known
	tag   int32
	kind  msgKind
	total int64
	ack   uint32 // request id to acknowledge, EagerSync
	sync  bool

	data   []byte // eager payload, total bytes
	got    int64  // of which arrived
	waiter *Request
	rts    rts // Bulk, Single

	// Places in the list of its source and in the list of all.
	next, prev       *Message
	nextAny, prevAny *Message
}

// Status is what a probe tells of the message.
func (m *Message) Status() Status {
	return Status{Source: m.src, Tag: m.tag, Bytes: m.total}
}

type messageList struct{ head, tail *Message }

// unexpectedQueue holds messages in the order they arrived, per source and
// over all sources.
type unexpectedQueue struct {
	waiting  *uint64 // FastComm's count
	bySource []messageList
	all      messageList
}

func (q *unexpectedQueue) push(m *Message) {
	l := &q.bySource[m.src]
	m.prev, m.next = l.tail, nil
	if l.tail == nil {
		l.head = m
	} else {
		l.tail.next = m
	}
	l.tail = m
	m.prevAny, m.nextAny = q.all.tail, nil
	if q.all.tail == nil {
		q.all.head = m
	} else {
		q.all.tail.nextAny = m
	}
	q.all.tail = m
	*q.waiting++
}

func (q *unexpectedQueue) remove(m *Message) {
	l := &q.bySource[m.src]
	if m.prev == nil {
		l.head = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		l.tail = m.prev
	} else {
		m.next.prev = m.prev
	}
	if m.prevAny == nil {
		q.all.head = m.nextAny
	} else {
		m.prevAny.nextAny = m.nextAny
	}
	if m.nextAny == nil {
		q.all.tail = m.prevAny
	} else {
		m.nextAny.prevAny = m.prevAny
	}
	m.next, m.prev, m.nextAny, m.prevAny = nil, nil, nil, nil
	*q.waiting--
}

// find is the first message that a receive with these arguments matches.
func (q *unexpectedQueue) find(src, tag int32) *Message {
	if src == AnySource {
		m := q.all.head
		for m != nil && tag != AnyTag && m.tag != tag {
			m = m.nextAny
		}
		return m
	}
	m := q.bySource[src].head
	for m != nil && tag != AnyTag && m.tag != tag {
		m = m.next
	}
	return m
}

// ptrAt is the address n bytes behind p.
func ptrAt(p unsafe.Pointer, n int64) unsafe.Pointer { return unsafe.Add(p, n) }
