// Package modelcheck explores the mutual exclusion of windows exhaustively, with
// the explorer and the memory without coherence of package arena/modelcheck:
// every interleaving of two or three coherence domains, each with a cache that
// the others do not snoop and whose dirty lines may be written back at any
// moment. The steps carry the numbers of package window's mutex.go and
// docs/rma.md. Variants with one step missing show that the explorer would
// notice.
package modelcheck

import (
	"fmt"

	"cmpi/arena/modelcheck"
)

// Lock is the epoch lock of one target: processes that take it exclusively add
// one to a counter inside, processes that take it shared look at the counter.
type Lock struct {
	Domains int // 2 or 3
	// Writers and Readers are bit sets of the domains that have a process which
	// takes the lock exclusively, and one which takes it shared.
	Writers, Readers uint8
	Rounds           uint8 // how often each process takes it; Endless: no limit
	Broken           Fault
}

// Endless rounds: the processes come back for ever.
const Endless = 255

// Fault is a step that a variant leaves out or does in a wrong way.
type Fault uint8

// The variants of Lock.
const (
	Sound Fault = iota
	NoWriteBackOfChoosing
	NoInvalidate
	NoWaitForChoosing
	AlwaysAlone
	AloneDespiteTickets
	NoWriteBackOfData
	NoWriteBackOfCount
	LookBeforeCounting
	NoLocalLook
	WriterIgnoresReaders
	NoSecondLookAtReaders
)

const (
	maxDomains = modelcheck.MaxHosts
	procs      = 2 // per domain: the one that takes the lock exclusively, and shared
	exclusive  = 0
	shared     = 1
	lineData   = maxDomains // lines 0 … are those of the domains
)

// A domain's line: the state (idle, choosing, ticket) and, in counted, whether
// its reader is counted in.
const (
	idle      = 0
	choosing  = 1
	maxTicket = 7
	counted   = 8
)

// State is a state of Lock.
type State struct {
	mem    modelcheck.Memory
	domain [maxDomains]domain
	data   uint8 // what the counter should be
}

// domain is what the processes of one domain share coherently, and themselves.
type domain struct {
	line  uint8 // what they have stored in their line
	local uint8 // the compared-and-swapped word: process + 1 that is inside
	proc  [procs]proc
}

type proc struct {
	pc     uint8
	j      uint8 // loop variable
	ticket uint8
	others bool // the look found another domain there
	seen   bool // the look found readers
	rounds uint8
}

// Steps.
const (
	pcRest = iota
	pcLocal
	pcChoosing // (1)
	pcChoosingBack
	pcDrop // (2)
	pcLook
	pcTicket // (4)
	pcTicketBack
	pcWaitDrop // (5)
	pcWaitLook
	pcReadersDrop
	pcReadersLook
	pcInside
	pcInsideLook
	pcInsideBack
	pcLeave // (6)
	pcLeaveBack
	pcLeaveLocal

	pcCount // readers
	pcCountBack
	pcCountLocal
	pcCountDrop
	pcCountLook
	pcUncount
	pcUncountBack
	pcRecount
	pcRecountBack
	pcShared
	pcSharedLook
	pcOut
	pcOutBack
)

// all lines may be looked at by two processes of a domain at one time, so what a
// cache may hold must be kept from one look to the next.
func (l Lock) peeked() uint8 {
	if l.Readers != 0 || l.Broken == NoInvalidate {
		return 1<<lineData - 1
	}
	return 0
}

// Initial: nobody wants anything yet.
func (l Lock) Initial() (s State) {
	for d := range l.Domains {
		for p, set := range [procs]uint8{exclusive: l.Writers, shared: l.Readers} {
			if set>>d&1 != 0 {
				s.domain[d].proc[p].rounds = l.Rounds
			}
		}
	}
	s.mem.Cached(l.Domains, l.peeked())
	return s
}

// Next lets each process take a step, and each dirty line be evicted.
func (l Lock) Next(s State, emit func(string, State)) {
	for d := range l.Domains {
		for p := range procs {
			if s.domain[d].proc[p].ticket <= maxTicket {
				l.step(s, d, p, emit)
			}
		}
		for line := range lineData + 1 {
			if s.mem.Dirty(d, line) {
				t := s
				t.mem.Flush(d, line)
				emit(fmt.Sprintf("domain %d: cache evicts line %d", d, line), t)
			}
		}
	}
}

func (l Lock) step(s State, d, who int, emit func(string, State)) {
	me := &s.domain[d].proc[who]
	dom := &s.domain[d]
	name := fmt.Sprintf("domain %d, %s: ", d, [procs]string{"writer", "reader"}[who])
	to := func(what string, pc uint8) {
		me.pc = pc
		emit(name+what, s)
	}
	// store changes the domain's own line, as an atomic of the domain does.
	store := func(v uint8, what string, pc uint8) {
		dom.line = v
		s.mem.Store(d, d, v)
		to(what, pc)
	}
	back := func(skip bool, pc uint8) {
		if !skip {
			s.mem.Flush(d, d)
		}
		to("writes its line back", pc)
	}
	load := func(line int, then func(v uint8)) {
		was := s
		s.mem.Load(d, line, l.peeked(), func(v uint8, after modelcheck.Memory) {
			s = was
			s.mem = after
			then(v)
		})
		s = was
	}
	// next moves j on to the next domain that isn't our own; false: no more.
	next := func() bool {
		if int(me.j) == d {
			me.j++
		}
		return int(me.j) < l.Domains
	}
	drop := func(line int) {
		if l.Broken != NoInvalidate {
			s.mem.Invalidate(d, line)
		}
	}
	state := func(v uint8) uint8 { return v &^ counted }

	switch me.pc {
	case pcRest:
		if me.rounds == 0 {
			return
		}
		if who == exclusive {
			to("wants the lock", pcLocal)
		} else if l.Broken == LookBeforeCounting {
			me.others, me.j = false, 0
			to("wants the lock", pcCountLocal)
		} else {
			to("wants the lock", pcCount)
		}

	// enter
	case pcLocal:
		if dom.local == 0 {
			dom.local = uint8(who) + 1
			to("is first in its domain", pcChoosing)
		}
	case pcChoosing: // (1)
		store(dom.line&counted|choosing, "(1) choosing", pcChoosingBack)
	case pcChoosingBack:
		me.j, me.others, me.ticket, me.seen = 0, false, choosing, dom.line&counted != 0
		back(l.Broken == NoWriteBackOfChoosing, pcDrop)
	case pcDrop: // (2)
		if next() {
			drop(int(me.j))
			me.j++
			to("(2) drops a line", pcDrop)
			return
		}
		me.j = 0
		to("(2) has dropped the lines", pcLook)
	case pcLook:
		if next() {
			load(int(me.j), func(v uint8) {
				me.j++
				me.others = me.others || state(v) != idle
				me.seen = me.seen || v&counted != 0
				me.ticket = max(me.ticket, state(v))
				if l.Broken == AloneDespiteTickets && state(v) > choosing {
					me.others = false
				}
				to(fmt.Sprintf("(2) sees %d", v), pcLook)
			})
			return
		}
		// The domain's own reader counts itself in before it looks for us.
		me.seen = me.seen || dom.line&counted != 0
		me.j = 0
		switch {
		case me.others && l.Broken != AlwaysAlone:
			me.ticket++
			to("finds others", pcTicket)
		case me.seen && l.Broken != WriterIgnoresReaders && who == exclusive:
			me.ticket = 0
			to("(3) finds readers only", pcReadersDrop)
		default:
			me.ticket = 0
			to("(3) is alone", pcInside)
		}
	case pcTicket: // (4)
		store(dom.line&counted|me.ticket, "(4) draws a ticket", pcTicketBack)
	case pcTicketBack:
		back(false, pcWaitDrop)
	case pcWaitDrop: // (5)
		if next() {
			drop(int(me.j))
			to("(5) drops a line", pcWaitLook)
			return
		}
		me.j, me.ticket = 0, 0
		if who == exclusive && l.Broken != WriterIgnoresReaders && l.Broken != NoSecondLookAtReaders {
			to("is first", pcReadersDrop)
		} else {
			to("is first", pcInside)
		}
	case pcWaitLook:
		load(int(me.j), func(v uint8) {
			w := state(v)
			ahead := w != idle && (w < me.ticket || w == me.ticket && int(me.j) < d)
			if l.Broken == NoWaitForChoosing && w == choosing {
				ahead = false
			}
			if !ahead {
				me.j++
			}
			to(fmt.Sprintf("(5) sees %d", v), pcWaitDrop)
		})
	case pcReadersDrop:
		if dom.line&counted != 0 {
			return // waits for the reader of its own domain
		}
		if next() {
			drop(int(me.j))
			to("drops a line", pcReadersLook)
			return
		}
		me.j = 0
		to("finds no reader", pcInside)
	case pcReadersLook:
		load(int(me.j), func(v uint8) {
			if v&counted == 0 {
				me.j++
			}
			to(fmt.Sprintf("sees %d", v), pcReadersDrop)
		})

	// inside
	case pcInside:
		if who == shared { // queued like a writer
			store(dom.line|counted, "counts itself in, inside", pcRecountBack)
			return
		}
		s.mem.Invalidate(d, lineData)
		to("drops the data", pcInsideLook)
	case pcInsideLook:
		load(lineData, func(v uint8) {
			if v != s.data {
				s.data = stale
			} else {
				s.data = (s.data + 1) % dataMod
				s.mem.Store(d, lineData, s.data)
			}
			to(fmt.Sprintf("the counter is %d, adds 1", v), pcInsideBack)
		})
	case pcInsideBack:
		if l.Broken != NoWriteBackOfData {
			s.mem.Flush(d, lineData)
		}
		to("writes the data back", pcLeave)
	case pcRecountBack:
		back(l.Broken == NoWriteBackOfCount, pcLeave)
	case pcLeave: // (6)
		store(dom.line&counted|idle, "(6) idle", pcLeaveBack)
	case pcLeaveBack:
		back(false, pcLeaveLocal)
	case pcLeaveLocal:
		dom.local = 0
		if who == shared {
			to("lets the next one in", pcShared)
			return
		}
		l.rest(me)
		to("lets the next one in", pcRest)

	// enterShared
	case pcCount:
		me.others, me.j = false, 0
		pc := uint8(pcCountBack)
		store(dom.line|counted, "counts itself in", pc)
	case pcCountBack:
		pc := uint8(pcCountLocal)
		if l.Broken == LookBeforeCounting {
			pc = pcShared
		}
		back(l.Broken == NoWriteBackOfCount, pc)
	case pcCountLocal:
		me.others = dom.local != 0 && l.Broken != NoLocalLook
		to("looks for a writer of its domain", pcCountDrop)
	case pcCountDrop:
		if next() {
			drop(int(me.j))
			me.j++
			to("drops a line", pcCountDrop)
			return
		}
		me.j = 0
		to("has dropped the lines", pcCountLook)
	case pcCountLook:
		if next() {
			load(int(me.j), func(v uint8) {
				me.j++
				me.others = me.others || state(v) != idle
				to(fmt.Sprintf("sees %d", v), pcCountLook)
			})
			return
		}
		me.j = 0
		switch {
		case me.others && l.Broken == LookBeforeCounting:
			to("somebody is there", pcLocal)
		case me.others:
			to("somebody is there", pcUncount)
		case l.Broken == LookBeforeCounting:
			to("nobody is there", pcCount)
		default:
			to("nobody is there", pcShared)
		}
	case pcUncount:
		store(dom.line&^counted, "counts itself out", pcUncountBack)
	case pcUncountBack:
		back(false, pcLocal)

	// inside, shared
	case pcShared:
		s.mem.Invalidate(d, lineData)
		to("drops the data", pcSharedLook)
	case pcSharedLook:
		load(lineData, func(v uint8) {
			if v != s.data {
				s.data = stale
			}
			to(fmt.Sprintf("the counter is %d", v), pcOut)
		})
	case pcOut:
		store(dom.line&^counted, "counts itself out", pcOutBack)
	case pcOutBack:
		l.rest(me)
		back(false, pcRest)
	}
}

func (l Lock) rest(p *proc) {
	rounds := p.rounds
	if l.Rounds != Endless {
		rounds--
	}
	*p = proc{rounds: rounds}
}

const (
	dataMod = 4   // the counter counts modulo 4, enough to tell a lost update
	stale   = 255 // marks a state in which somebody inside saw an old counter
)

// Bad: two inside of which one exclusively, or one that misses what another wrote.
func (l Lock) Bad(s State) string {
	if s.data == stale {
		return "one inside saw old data"
	}
	writers, readers := 0, 0
	for d := range l.Domains {
		if pc := s.domain[d].proc[exclusive].pc; pc >= pcInside && pc <= pcLeave {
			writers++
		}
		if pc := s.domain[d].proc[shared].pc; pc >= pcShared && pc <= pcOut {
			readers++
		}
	}
	if writers > 1 || writers > 0 && readers > 0 {
		return fmt.Sprintf("%d writers and %d readers are inside", writers, readers)
	}
	return ""
}

// Done: nobody is in the lock or has rounds to do (with Endless: is in the lock).
// A process whose ticket ran out of the model counts, as it isn't followed.
func (l Lock) Done(s State) bool {
	done := true
	for d := range l.Domains {
		for _, p := range s.domain[d].proc {
			if p.ticket > maxTicket {
				return true
			}
			if p.pc != pcRest || p.rounds != 0 && l.Rounds != Endless {
				done = false
			}
		}
	}
	return done
}
