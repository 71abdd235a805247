package mpitransport

import (
	"fmt"
	"unsafe"

	"cmpi/flush"
	"cmpi/ringq"
	"cmpi/stats"
)

// peer is what this rank knows of another rank of the job.
type peer struct {
	fast   *FastPeer
	world  int32
	info   rankInfo
	medium *medium // through which the two talk

	// Towards the peer.
	out     ringq.Producer // nil until this rank first talks to it
	ring    int64          // offset of that ring
	queue   sendQueue      // sends that wait for the ring; the head may be open in it
	control []controlMsg   // short messages of the engine's own, sent before the queue goes on
	outErr  Class          // why no ring could be made, OK if none was tried
	single  singleState

	// From the peer.
	in     ringq.Consumer // nil until the peer has opened a ring to this rank
	flow   inflow         // the message that is open in it
	broken bool           // it sent bytes that make no sense; nothing more is read
	seen   uint64         // rings of the peer's board that were looked at
	last   int64          // offset of the last of them
}

// controlMsg is a short message of the engine itself: a header and 8 bytes.
type controlMsg struct {
	kind msgKind
	arg  uint64
}

// sendQueue is a queue of sends to one peer, in MPI order.
type sendQueue struct{ head, tail *Request }

func (q *sendQueue) push(r *Request) {
	r.next = nil
	if q.tail == nil {
		q.head = r
	} else {
		q.tail.next = r
	}
	q.tail = r
}

func (q *sendQueue) pop() {
	r := q.head
	q.head = r.next
	if q.head == nil {
		q.tail = nil
	}
	r.next = nil
}

// inbound is the order in which incoming rings are looked at: the first hot
// ones in every pass, of the others one. A ring becomes hot when a message is
// found in it, so that the cost of a pass doesn't grow with silent peers.
type inbound struct {
	peers []*peer
	hot   int // how many of peers are hot
	cold  int // the cold one to look at next
	evict int // the hot one to make room next
}

// hotRings is how many rings every pass looks at: the partners of a typical
// stencil.
const hotRings = 8

func (in *inbound) add(p *peer) {
	in.peers = append(in.peers, p)
	in.heat(len(in.peers) - 1)
}

// heat makes the ring at index i one of the hot ones.
func (in *inbound) heat(i int) {
	if i < in.hot {
		return
	}
	if in.hot < hotRings {
		in.peers[in.hot], in.peers[i] = in.peers[i], in.peers[in.hot]
		in.hot++
		return
	}
	in.evict = (in.evict + 1) % hotRings
	in.peers[in.evict], in.peers[i] = in.peers[i], in.peers[in.evict]
}

// nextCold is the index of the cold ring whose turn it is, -1 without any.
func (in *inbound) nextCold() int {
	n := len(in.peers) - in.hot
	if n == 0 {
		return -1
	}
	in.cold = (in.cold + 1) % n
	return in.hot + in.cold
}

// ringKey sets one ordered pair of ranks of one job apart from all others.
func (e *Endpoint) ringKey(src, dst int32) uint64 {
	// The multipliers are odd and unrelated, so that neighbours differ in the
	// high bits, which are what a line's word keeps.
	return (e.epoch ^ uint64(src)*0x9e3779b97f4a7c15 ^ uint64(dst)*0xc2b2ae3d27d4eb4f) * 0xff51afd7ed558ccd
}

// openRing makes the ring to p and announces it on this rank's board.
func (e *Endpoint) openRing(p *peer) Class {
	if p.out != nil || p.outErr != OK {
		return p.outErr
	}
	c := ringq.Config{Kind: e.cfg.Ring, Lines: e.cfg.RingLines, SeqBits: e.cfg.SeqBits, Key: e.ringKey(int32(e.rank), p.world)}
	m := p.medium
	off, err := m.segs.alloc(ringRegionAt + int64(c.Size()))
	if err != nil {
		p.outErr = ErrNoMem
		warn("no room in the pool for a ring to rank %d: %v; a larger CMPI_POOL_SIZE or a smaller CMPI_RING_LINES helps", p.world, err)
		return ErrNoMem
	}
	at := m.at(off)
	clear(unsafe.Slice((*byte)(at), ringRegionAt+c.Size()))
	m.view.WriteBack(at, ringRegionAt+c.Size())
	m.view.Fence()
	if m.coherent {
		c.State = &p.fast.Out
	}
	if p.out, err = ringq.NewProducer(m.view, unsafe.Add(at, ringRegionAt), c); err != nil {
		p.outErr = ErrOther
		warn("ring to rank %d: %v", p.world, err)
		return ErrOther
	}
	h := ringHeader{magic: ringMagic, src: uint32(e.rank), dst: uint32(p.world), lines: uint32(c.Lines),
		seqBits: uint16(c.SeqBits), kind: uint16(c.Kind), key: c.Key}
	l := h.encode(e.epoch)
	m.view.PutLine(at, unsafe.Pointer(&l))
	m.view.Fence()
	m.announce(e.rank, e.size, off)
	e.ring(m)
	p.ring = off
	e.stats.RingsOut++
	e.countRank(func(r *stats.Rank) { r.RingsOut++ })
	return OK
}

// readBoard looks whether p has opened rings since the last look, and opens
// those that lead here. It reports whether there was one.
func (e *Endpoint) readBoard(p *peer) bool {
	m := p.medium
	count := m.view.Load64(m.rootAt(boardAt(int(p.world), e.size)))
	if count == p.seen || p.broken {
		return false
	}
	found := false
	// At most as many as there are ranks: the links are untrusted.
	for n := 0; p.seen < count && n < e.size; n++ {
		var off uint64
		if p.last == 0 {
			off = m.view.Load64(m.rootAt(boardFirst(int(p.world), e.size)))
		} else {
			off = m.view.Load64(m.at(p.last + ringNextAt))
		}
		if !m.contains(off, ringRegionAt+line) {
			e.breakPeer(p, "a ring at offset %d outside the pool", off)
			return found
		}
		mine, err := e.openInRing(p, int64(off))
		if err != nil {
			e.breakPeer(p, "%v", err)
			return found
		}
		found = found || mine
		p.last = int64(off)
		p.seen++
	}
	return found
}

// openInRing opens the ring at off if it leads to this rank.
func (e *Endpoint) openInRing(p *peer, off int64) (mine bool, err error) {
	m := p.medium
	var l [line]byte
	if !m.getFresh(&l, m.at(off), e.epoch) {
		return false, fmt.Errorf("a ring at offset %d without a header", off)
	}
	h := decodeRingHeader(&l)
	if h.magic != ringMagic || h.src != uint32(p.world) {
		return false, fmt.Errorf("a ring at offset %d with a bad header", off)
	}
	if h.dst != uint32(e.rank) || p.in != nil {
		return false, nil
	}
	if h.lines > maxRingLines || h.kind > uint16(ringq.Cell) {
		return false, fmt.Errorf("a ring of %d lines", h.lines)
	}
	c := ringq.Config{Kind: ringq.Kind(h.kind), Lines: int(h.lines), SeqBits: int(h.seqBits), Key: h.key}
	if !m.contains(uint64(off), uint64(ringRegionAt+c.Size())) {
		return false, fmt.Errorf("a ring of %d lines beyond the pool's end", h.lines)
	}
	region := m.at(off + ringRegionAt)
	// What this rank's cache holds of the region is older than the ring.
	m.view.Invalidate(region, c.Size())
	if m.coherent {
		c.State = &p.fast.In
	}
	in, err := ringq.NewConsumer(m.view, region, c)
	if err != nil {
		return false, err
	}
	p.in = in
	e.in.add(p)
	e.stats.RingsIn++
	e.countRank(func(r *stats.Rank) { r.RingsIn++ })
	return true, nil
}

// maxRingLines bounds what a ring's header may claim (64 GiB of lines).
const maxRingLines = 1 << 30

// breakPeer stops reading from a peer that wrote nonsense and fails the
// receives that name it.
func (e *Endpoint) breakPeer(p *peer, format string, args ...any) {
	if p.broken {
		return
	}
	p.broken = true
	p.fast.InBusy |= FastBusy
	e.stats.Broken++
	e.countRank(func(r *stats.Rank) { r.Broken++ })
	warn("rank %d wrote %s; nothing more is received from it", p.world, fmt.Sprintf(format, args...))
	if r := p.flow.req; r != nil {
		e.fail(r, ErrInternal)
	}
	p.flow = inflow{}
	for _, c := range e.comms {
		rank := c.from[p.world]
		if rank < 0 {
			continue
		}
		for l := &c.posted.bySource[rank]; l.head != nil; {
			r := l.head
			c.posted.remove(r)
			e.fail(r, ErrInternal)
		}
	}
}

func (e *Endpoint) fail(r *Request, c Class) {
	r.status = Status{Source: r.rank, Tag: r.tag, Err: c}
	e.complete(r)
}

// scratchSize holds the largest chunk that is packed or skipped at once: a
// whole number of ring lines' payload near 16 KiB, so that it stays in the
// first-level cache beside its source.
const scratchSize = 292 * flush.LinePayload
