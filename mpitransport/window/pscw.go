package window

import "sync/atomic"

// pscw is a rank's side of post, start, complete and wait. The flags of the
// paper (section 3.4) are set by one side and reset by the other, two writers for
// one line; here they are counters that one side alone advances, and the other
// remembers how far it has come.
type pscw struct {
	posted    []uint64 // by origin: exposure epochs begun towards it
	started   []uint64 // by target: access epochs begun
	completed []uint64 // by target: access epochs ended
	awaited   []uint64 // by origin: exposure epochs ended

	access  bool // between Start and Complete
	targets []int
	exposed bool // between Post and Wait
	origins []int
	assert  Assert // of Post
	seen    []bool // scratch of check
}

func (p *pscw) init(n int) {
	all := make([]uint64, 4*n)
	p.posted, p.started, p.completed, p.awaited = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:]
	p.seen = make([]bool, n)
}

// check says whether group names members, each once.
func (p *pscw) check(group []int) bool {
	clear(p.seen)
	for _, r := range group {
		if r < 0 || r >= len(p.seen) || p.seen[r] {
			return false
		}
		p.seen[r] = true
	}
	return true
}

// Post begins an exposure epoch: the members of group may access this rank's
// segment once they have called Start. It does not wait. NoStore and NoPut save
// flushes. Errors: ErrAssert, ErrGroup, ErrSync.
func (w *Window) Post(group []int, a Assert) Class {
	if a&^(NoCheck|NoStore|NoPut) != 0 {
		return ErrAssert
	}
	w.lock()
	defer w.unlock()
	p := &w.pscw
	switch {
	case p.exposed || !w.idleFence():
		return ErrSync
	case !p.check(group):
		return ErrGroup
	}
	p.exposed, p.assert = true, a
	p.origins = append(p.origins[:0], group...)
	if a&NoStore == 0 || w.cfg.Shared {
		w.dropDirect(w.rank)
	}
	for _, o := range group {
		p.posted[o]++
	}
	w.advance(w.lay.postWord(w.rank, 0), p.posted, group)
	return OK
}

// advance publishes the counters of group in a row of this rank's, after all
// that it wrote before.
func (w *Window) advance(row int64, counters []uint64, group []int) {
	if len(group) == 1 {
		w.publish(row+int64(group[0])*word, counters[group[0]])
		return
	}
	w.v.Fence()
	for _, r := range group {
		p := w.at(row + int64(r)*word)
		atomic.StoreUint64(word64(p), counters[r])
		if !w.coherent {
			w.v.WriteBack(p, word)
		}
	}
	w.v.Fence()
}

// Start begins an access epoch towards the members of group, and waits until each
// has posted. Errors: ErrAssert, ErrGroup, ErrSync, ErrLost.
func (w *Window) Start(group []int, a Assert) Class {
	if a&^NoCheck != 0 {
		return ErrAssert
	}
	w.lock()
	p := &w.pscw
	switch {
	case p.access || w.locks > 0 || !w.idleFence():
		w.unlock()
		return ErrSync
	case !p.check(group):
		w.unlock()
		return ErrGroup
	}
	p.access = true
	p.targets = append(p.targets[:0], group...)
	w.unlock()
	x := waiter{w: w}
	for _, t := range p.targets {
		for w.look(w.lay.postWord(t, w.rank)) <= p.started[t] {
			if c := x.wait(); c != OK {
				p.access = false
				return c
			}
		}
	}
	w.lock()
	for _, t := range p.targets {
		p.started[t]++
		w.setOpen(t, true)
		if w.cfg.Shared {
			w.dropSegment(t)
		}
	}
	w.unlock()
	return OK
}

// Complete ends the access epoch of Start: all operations are complete at the
// targets once these have returned from Wait. ErrSync: there is none.
func (w *Window) Complete() Class {
	w.lock()
	defer w.unlock()
	p := &w.pscw
	if !p.access {
		return ErrSync
	}
	for _, t := range p.targets {
		w.setOpen(t, false)
		if w.cfg.Shared {
			w.dropSegment(t)
		}
		p.completed[t]++
	}
	w.settled()
	w.advance(w.lay.completeWord(w.rank, 0), p.completed, p.targets)
	p.access = false
	return OK
}

// Wait ends the exposure epoch of Post when all its origins have completed.
// Errors: ErrSync, ErrLost.
func (w *Window) Wait() Class {
	x := waiter{w: w}
	for {
		if done, c := w.Test(); done || c != OK {
			return c
		}
		if c := x.wait(); c != OK {
			return c
		}
	}
}

// Test is Wait without waiting: false if an origin has not completed yet.
func (w *Window) Test() (bool, Class) {
	w.lock()
	defer w.unlock()
	p := &w.pscw
	if !p.exposed {
		return false, ErrSync
	}
	for len(p.origins) > 0 {
		last := len(p.origins) - 1
		o := p.origins[last]
		if w.look(w.lay.completeWord(o, w.rank)) <= p.awaited[o] {
			return false, OK
		}
		p.awaited[o]++
		p.origins = p.origins[:last]
	}
	if p.assert&NoPut == 0 || w.cfg.Shared {
		w.dropDirect(w.rank)
	}
	p.exposed = false
	return true, OK
}
