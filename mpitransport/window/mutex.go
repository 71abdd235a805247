package window

import (
	"sync/atomic"
	"unsafe"
)

// Mutual exclusion among the members of a window, of one target's epochs or
// updates. Two storeys:
//
//  1. among the members of a domain, a word that is compared and swapped;
//  2. among domains, a bakery in which each domain writes one line and nobody
//     else writes it, so that it needs no atomics, and which a domain that
//     finds nobody else there enters without drawing a ticket.
//
// The steps are numbered as in docs/rma.md and in package modelcheck, which
// explores them. A step of (2) looks at all domains' lines at once, so that
// their transfers overlap: alone, a domain enters with one line written and one
// round of looks, and leaves with one line written.

// States of a lock line: idle, choosing (and, if nobody else was there, inside),
// or a ticket.
const (
	idle     = 0
	choosing = 1
	// maxTicket: no honest domain gets there; refusing keeps sums from wrapping.
	maxTicket = 1 << 62
)

// enter returns when this rank is inside. alone says that, besides, nobody else
// had the lock shared when all could see that this rank was in. Errors: ErrLost,
// ErrCorrupt; then the rank is not inside.
func (w *Window) enter(target int, k lockKind) (alone bool, c Class) {
	local := word64(w.at(w.lay.localWord(w.domain, target, k)))
	x := waiter{w: w}
	for !atomic.CompareAndSwapUint64(local, 0, uint64(w.rank)+1) {
		if c := x.wait(); c != OK {
			return false, c
		}
	}
	if w.coherent {
		return k == updateLock || w.readers(target, w.domain) == 0, OK
	}
	alone, c = w.enterDomain(target, k, &x)
	if c != OK {
		w.publish(w.lay.lockLine(target, k, w.domain)+stateAt, idle)
		atomic.StoreUint64(local, 0)
	}
	return alone, c
}

// enterDomain is the second storey.
func (w *Window) enterDomain(target int, k lockKind, x *waiter) (alone bool, c Class) {
	own := w.lay.lockLine(target, k, w.domain) + stateAt
	w.v.Store64(w.at(own), choosing) // (1)
	w.v.FullFence()
	others, readers, top := w.lookAround(target, k) // (2)
	if !others {
		return readers == 0, OK // (3)
	}
	if top >= maxTicket {
		return false, ErrCorrupt
	}
	ticket := max(top, choosing) + 1
	w.v.Store64(w.at(own), ticket) // (4)
	w.v.FullFence()
	for d := range w.lay.domains { // (5)
		for d != w.domain && w.ahead(target, k, d, ticket) {
			if c := x.wait(); c != OK {
				return false, c
			}
		}
	}
	return false, OK
}

// lookAround takes one fresh look at the lines of all domains: is another one
// there, how many have the lock shared, and what is the largest ticket.
func (w *Window) lookAround(target int, k lockKind) (others bool, readers, top uint64) {
	first := w.at(w.lay.lockLine(target, k, 0))
	w.v.Invalidate(first, w.lay.domains*line)
	for d := range w.lay.domains {
		p := unsafe.Add(first, d*line)
		if d != w.domain {
			if s := w.v.Peek64(unsafe.Add(p, stateAt)); s != idle {
				others = true
				top = max(top, s)
			}
		}
		readers |= w.v.Peek64(unsafe.Add(p, readersAt))
	}
	return others, readers, top
}

// ahead says whether domain d goes first: it is choosing or, having found nobody
// there, inside; or its ticket comes before ours.
func (w *Window) ahead(target int, k lockKind, d int, ticket uint64) bool {
	s := w.v.Load64(w.at(w.lay.lockLine(target, k, d) + stateAt))
	return s != idle && (s < ticket || s == ticket && d < w.domain)
}

// leave lets the next one in. What was written inside is visible before.
func (w *Window) leave(target int, k lockKind) {
	if !w.coherent {
		w.v.Store64(w.at(w.lay.lockLine(target, k, w.domain)+stateAt), idle) // (6)
	}
	atomic.StoreUint64(word64(w.at(w.lay.localWord(w.domain, target, k))), 0)
}

// readers is how many members of domain d hold the target's epoch lock shared.
func (w *Window) readers(target, d int) uint64 {
	return w.look(w.lay.lockLine(target, epochLock, d) + readersAt)
}

// enterExclusive returns when nobody else has the target's epoch lock.
func (w *Window) enterExclusive(target int) Class {
	alone, c := w.enter(target, epochLock)
	if c != OK || alone {
		return c
	}
	x := waiter{w: w}
	for d := range w.lay.domains {
		for w.readers(target, d) != 0 {
			if c := x.wait(); c != OK {
				w.leave(target, epochLock)
				return c
			}
		}
	}
	return OK
}

// enterShared counts this rank in as a reader of the target. First it counts
// itself in and then looks for a writer, as a writer first says that it is there
// and then looks for readers; so one of two that meet sees the other. A reader
// that sees somebody steps back and queues like a writer.
func (w *Window) enterShared(target int) Class {
	count := w.lay.lockLine(target, epochLock, w.domain) + readersAt
	w.add(count, 1)
	if !w.writing(target) {
		return OK
	}
	w.add(count, -1)
	if _, c := w.enter(target, epochLock); c != OK {
		return c
	}
	w.add(count, 1)
	w.leave(target, epochLock)
	return OK
}

// writing says whether anybody is inside the target's epoch lock or on the way.
func (w *Window) writing(target int) bool {
	if atomic.LoadUint64(word64(w.at(w.lay.localWord(w.domain, target, epochLock)))) != 0 {
		return true
	}
	if w.coherent {
		return false
	}
	others, _, _ := w.lookAround(target, epochLock)
	return others
}

// leaveShared counts this rank out; what it wrote is visible before.
func (w *Window) leaveShared(target int) {
	w.v.Fence()
	w.add(w.lay.lockLine(target, epochLock, w.domain)+readersAt, -1)
}
