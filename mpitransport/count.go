package mpitransport

import (
	"sync/atomic"

	"cmpi/stats"
)

// Counting, for those who look on while the job runs (package stats). Without
// Config.Stats it is a branch that is never taken, here; in the fast path in C it
// is nothing (FastCounted).

// sentBy is how a message was sent.
type sentBy uint8

const (
	sentEager sentBy = iota
	sentStaged
	sentSingle
	sentStreamed
)

func (e *Endpoint) countSent(p *peer, by sentBy, bytes int64) {
	if e.cfg.Stats != nil {
		e.addSent(p, by, bytes)
	}
}

func (e *Endpoint) addSent(p *peer, by sentBy, bytes int64) {
	pair := &e.cfg.Stats.Pairs[p.world]
	t := [...]*stats.Traffic{&pair.Eager, &pair.Staged, &pair.Single, &pair.Streamed}[by]
	t.Count++
	t.Bytes += uint64(bytes)
}

func (e *Endpoint) countReceived(p *peer, bytes int64) {
	if e.cfg.Stats != nil {
		t := &e.cfg.Stats.Pairs[p.world].Received
		t.Count++
		t.Bytes += uint64(bytes)
	}
}

// countRank lets f count what is rare.
func (e *Endpoint) countRank(f func(*stats.Rank)) {
	if e.cfg.Stats != nil {
		f(e.cfg.Stats.Rank)
	}
}

// waitedBy is what a waiting rank does between two looks.
type waitedBy uint8

const (
	paused waitedBy = iota
	yielded
	napped
)

func (e *Endpoint) countWait(by waitedBy) {
	if e.cfg.Stats == nil {
		return
	}
	// Several threads may wait, each without the engine's lock.
	switch by {
	case paused:
		atomic.AddUint64(&e.cfg.Stats.Spins, 1)
	case yielded:
		atomic.AddUint64(&e.cfg.Stats.Yields, 1)
	default:
		atomic.AddUint64(&e.cfg.Stats.Naps, 1)
	}
}
