package mpitransport

import (
	"sync/atomic"

	"cmpi/flush"
)

// Bells. A rank that opens a ring links it to its board; so that a receiver need
// not look at as many boards as there are ranks, those of one host have a bell in
// common, a number that each of them adds one to when it has opened a ring. A
// receiver looks at the bells, one every few passes, and at the boards behind one
// that has rung. The cost of a pass doesn't depend on the number of ranks, and a
// first message is found after some passes per host.
//
// The ranks of one bell are of one coherence domain and add by a CPU atomic, on a
// line that no other host writes. Where a rank can't know that this works (in
// emulate mode each has a cache of its own, in uncached memory atomics may not be
// had), it has a bell of its own.

// bell is a bell that this rank listens to.
type bell struct {
	medium *medium
	at     int64   // offset in the root object
	seen   uint64  // its number at the last look
	peers  []*peer // who ring it
}

// bells are all of them.
type bells struct {
	list []bell
	next int // the one to look at next
}

// bellOf gives the rank in whose line the bell of a rank lies.
func (e *Endpoint) bellOf(m *medium, rank int32) int32 {
	switch mode := m.view.Mode(); {
	case mode == flush.Coherent && m == e.near:
		return e.nearFirst
	case mode == flush.Coherent, mode == flush.Flush:
		return e.Domain(rank)
	}
	return rank
}

// findBells finds what this rank has to listen to.
func (e *Endpoint) findBells() {
	type key struct {
		m    *medium
		rank int32
	}
	index := map[key]int{}
	for r := range e.peers {
		p := &e.peers[r]
		k := key{p.medium, e.bellOf(p.medium, p.world)}
		if r == e.rank {
			e.ownBell[0] = bellAt(int(e.bellOf(e.pool, p.world)), e.size)
			if e.near != nil {
				e.ownBell[1] = bellAt(int(e.bellOf(e.near, p.world)), e.size)
			}
			continue
		}
		i, ok := index[k]
		if !ok {
			i = len(e.bells.list)
			index[k] = i
			e.bells.list = append(e.bells.list, bell{medium: k.m, at: bellAt(int(k.rank), e.size)})
		}
		e.bells.list[i].peers = append(e.bells.list[i].peers, p)
	}
}

// ring rings this rank's bell of m.
func (e *Endpoint) ring(m *medium) {
	at := e.ownBell[0]
	if m == e.near {
		at = e.ownBell[1]
	}
	p := m.rootAt(at)
	if m.coherent || m.view.Mode() == flush.Flush {
		atomic.AddUint64(word64(p), 1)
		m.view.WriteBack(p, 8)
		m.view.Fence()
		return
	}
	m.view.Store64(p, m.rings) // the only writer
}

// listen looks at the bell whose turn it is, and at the boards behind it if it
// has rung. It reports whether a ring to this rank was found.
func (e *Endpoint) listen() (found bool) {
	b := &e.bells.list[e.bells.next]
	if e.bells.next++; e.bells.next == len(e.bells.list) {
		e.bells.next = 0
	}
	n := b.medium.view.Load64(b.medium.rootAt(b.at))
	if n == b.seen {
		return false
	}
	b.seen = n
	for _, p := range b.peers {
		if p.in == nil {
			found = e.readBoard(p) || found
		}
	}
	return found
}
