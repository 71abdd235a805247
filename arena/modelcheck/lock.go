package modelcheck

import "fmt"

// Lock is the pool lock among hosts, with hosts that join while others use it
// and processes that die and are followed by another process of their host. In
// the critical section a host increments a counter, which shows whether it sees
// what the holder before it wrote.
type Lock struct {
	Hosts   int   // 2 or 3
	Joined  uint8 // bit set of those that have an entry that the others know; the rest join first
	Rounds  uint8 // acquisitions per host; Endless: no limit
	Tickets uint8 // states with a ticket beyond it are not followed (at most 7)
	Crashes uint8 // processes that die in the lock, at any step
	Broken  LockFault
}

// Endless rounds: the hosts come back for ever.
const Endless = 255

// LockFault is a step that a variant leaves out.
type LockFault uint8

// The variants of Lock.
const (
	LockSound LockFault = iota
	LockNoChoosing
	LockNoInvalidateTickets
	LockNoWriteBackTicket
	LockNoRecheckOfClaims
	LockNoInvalidateData
	LockNoWriteBackData
	LockInheritsAnyTicket
	LockNoFlushByHeir
)

// Lines: a lock word and the Y register per host, the claims word, the data.
const (
	lineWord   = 0
	lineY      = MaxHosts
	lineClaims = 2 * MaxHosts
	lineData   = 2*MaxHosts + 1
)

// Values of a lock word: idle, choosing, tickets 2…7, the same + held.
const (
	idle     = 0
	choosing = 1
	held     = 8
)

// dataMod: the counter counts modulo 4, enough to tell a lost update.
const dataMod = 4

// LockState is a state of Lock.
type LockState struct {
	mem     Memory
	host    [MaxHosts]lockHost
	data    uint8 // what the counter should be
	crashes uint8
}

// lockHost is what a host's process knows.
type lockHost struct {
	pc     uint8
	j      uint8 // loop variable
	ticket uint8
	peers  uint8 // bit set
	claims uint8 // claims word that peers belongs to
	rounds uint8 // left to do
}

// Steps. A Store64 is two (store, flush), a Load64 is two (invalidate, load).
const (
	lsJoinY = iota
	lsJoinYFlush
	lsJoinClaims
	lsJoinClaimsFlush
	lsIdle
	lsChoosing // (1)
	lsChoosingFlush
	lsClaims // (2)
	lsClaimsLoad
	lsPeer
	lsPeerLoad
	lsMax // (3)
	lsMaxLoad
	lsTicket // (4)
	lsTicketFlush
	lsRecheck // (5)
	lsRecheckLoad
	lsWait // (6)
	lsWaitLoad
	lsHold // (7)
	lsHoldFlush
	lsData // critical section
	lsDataLoad
	lsDataFlush // (8)
	lsRelease   // (9)
	lsReleaseFlush
)

// unknown is a claims value that no host writes.
const unknown = 15

func (l Lock) peeked() (set uint8) {
	switch l.Broken {
	case LockNoInvalidateTickets:
		set = 1<<lineWord | 2<<lineWord | 4<<lineWord
	case LockNoInvalidateData:
		set = 1 << lineData
	}
	return set
}

// Initial: the joined hosts know one another, nobody wants anything yet.
func (l Lock) Initial() (s LockState) {
	for h := range l.Hosts {
		p := &s.host[h]
		p.rounds = l.Rounds
		if l.Joined>>h&1 == 0 {
			p.pc, p.claims = lsJoinY, unknown
			continue
		}
		p.pc, p.peers = lsIdle, l.Joined&^(1<<h)
		s.mem.shared[lineY+h] = 1
	}
	s.mem.Cached(l.Hosts, l.peeked())
	return s
}

// Next lets each host take a step, each process in the lock die, and each dirty
// line be evicted.
func (l Lock) Next(s LockState, emit func(string, LockState)) {
	for h := range l.Hosts {
		if s.host[h].ticket <= l.Tickets {
			l.step(s, h, emit)
		}
		if p := s.host[h]; s.crashes < l.Crashes && p.pc > lsIdle {
			t := s
			t.crashes++
			t.host[h] = lockHost{pc: lsIdle, rounds: p.rounds, claims: unknown}
			emit(fmt.Sprintf("host %d: the process dies, another follows", h), t)
		}
		for line := range MaxLines {
			if s.mem.dirty[h][line] != 0 {
				t := s
				t.mem.Flush(h, line)
				emit(fmt.Sprintf("host %d: cache evicts %s", h, lineName(line)), t)
			}
		}
	}
}

func lineName(line int) string {
	switch {
	case line < lineY:
		return fmt.Sprintf("word %d", line)
	case line < lineClaims:
		return fmt.Sprintf("Y %d", line-lineY)
	case line == lineClaims:
		return "claims"
	}
	return "data"
}

// step is the algorithm; compare arena's enter and leave.
func (l Lock) step(s LockState, h int, emit func(string, LockState)) {
	p := s.host[h]
	j := int(p.j)
	// to emits the step to pc, with p and m as they are then.
	to := func(what string, pc uint8, m Memory) {
		t := s
		t.mem = m
		p.pc = pc
		t.host[h] = p
		emit(fmt.Sprintf("host %d: %s", h, what), t)
	}
	m := s.mem
	store := func(line int, v uint8, what string, pc uint8) {
		m.Store(h, line, v)
		to(what, pc, m)
	}
	flush := func(line int, skip bool, pc uint8) {
		if !skip {
			m.Flush(h, line)
		}
		to("write back "+lineName(line), pc, m)
	}
	invalidate := func(line int, skip bool, pc uint8) {
		if !skip {
			m.Invalidate(h, line)
		}
		to("invalidate "+lineName(line), pc, m)
	}
	load := func(line int, then func(v uint8, after Memory, what string)) {
		was := p
		m.Load(h, line, l.peeked(), func(v uint8, after Memory) {
			p = was
			then(v, after, fmt.Sprintf("%s is %d", lineName(line), v))
		})
	}
	stalePeek := l.Broken == LockNoInvalidateTickets
	own := lineWord + h

	switch p.pc {
	case lsJoinY:
		store(lineY+h, 1, "set own Y", lsJoinYFlush)
	case lsJoinYFlush:
		flush(lineY+h, false, lsJoinClaims)
	case lsJoinClaims:
		store(lineClaims, uint8(h+1), "claims = own token", lsJoinClaimsFlush)
	case lsJoinClaimsFlush:
		flush(lineClaims, false, lsIdle)

	case lsIdle:
		if p.rounds == 0 {
			return
		}
		word := m.shared[own]
		if d := m.dirty[h][own]; d != 0 {
			word = d - 1
		}
		switch inherit := word >= held || l.Broken == LockInheritsAnyTicket && word > choosing; {
		case inherit: // repairs what its predecessor left, here: flushes, and is done
			if l.Broken != LockNoFlushByHeir {
				m.Flush(h, lineData)
			}
			to("finds that its predecessor died inside, repairs", lsRelease, m)
		case l.Broken == LockNoChoosing:
			to("wants the lock", lsClaims, m)
		default:
			to("wants the lock", lsChoosing, m)
		}
	case lsChoosing: // (1)
		store(own, choosing, "(1) choosing", lsChoosingFlush)
	case lsChoosingFlush:
		flush(own, l.Broken == LockNoWriteBackTicket, lsClaims)
	case lsClaims: // (2)
		invalidate(lineClaims, false, lsClaimsLoad)
	case lsClaimsLoad:
		load(lineClaims, func(v uint8, after Memory, what string) {
			p.j, p.ticket = 0, choosing
			if v == p.claims {
				to("(2) "+what, lsMax, after)
				return
			}
			p.claims, p.peers = v, 0
			to("(2) "+what+", looks for new hosts", lsPeer, after)
		})
	case lsPeer:
		if j == l.Hosts {
			p.j = 0
			to("knows its peers", lsMax, m)
			return
		}
		invalidate(lineY+j, false, lsPeerLoad)
	case lsPeerLoad:
		load(lineY+j, func(v uint8, after Memory, what string) {
			if v != 0 && j != h {
				p.peers |= 1 << j
			}
			p.j++
			to("(2) "+what, lsPeer, after)
		})
	case lsMax: // (3)
		for j < l.Hosts && p.peers>>j&1 == 0 {
			j++
		}
		if p.j = uint8(j); j == l.Hosts {
			p.j = 0
			p.ticket++
			to("has chosen", lsTicket, m)
			return
		}
		invalidate(lineWord+j, stalePeek, lsMaxLoad)
	case lsMaxLoad:
		load(lineWord+j, func(v uint8, after Memory, what string) {
			p.ticket = max(p.ticket, v&^held)
			p.j++
			to("(3) "+what, lsMax, after)
		})
	case lsTicket: // (4)
		store(own, p.ticket, fmt.Sprintf("(4) ticket %d", p.ticket), lsTicketFlush)
	case lsTicketFlush:
		next := uint8(lsRecheck)
		if l.Broken == LockNoRecheckOfClaims {
			next = lsWait
		}
		flush(own, l.Broken == LockNoWriteBackTicket, next)
	case lsRecheck: // (5)
		invalidate(lineClaims, false, lsRecheckLoad)
	case lsRecheckLoad:
		load(lineClaims, func(v uint8, after Memory, what string) {
			if v == p.claims {
				to("(5) "+what+", still", lsWait, after)
			} else {
				p.ticket = 0
				to("(5) "+what+", again", lsChoosing, after)
			}
		})
	case lsWait: // (6)
		for j < l.Hosts && p.peers>>j&1 == 0 {
			j++
		}
		if p.j = uint8(j); j == l.Hosts {
			p.j = 0
			to("is first", lsHold, m)
			return
		}
		invalidate(lineWord+j, stalePeek, lsWaitLoad)
	case lsWaitLoad:
		load(lineWord+j, func(v uint8, after Memory, what string) {
			w := v &^ held
			if v == idle || w > choosing && (w > p.ticket || w == p.ticket && j > h) {
				p.j++
			}
			to("(6) "+what, lsWait, after)
		})
	case lsHold: // (7)
		store(own, p.ticket|held, "(7) holding", lsHoldFlush)
	case lsHoldFlush:
		p.ticket = 0
		flush(own, false, lsData)
	case lsData:
		invalidate(lineData, l.Broken == LockNoInvalidateData, lsDataLoad)
	case lsDataLoad:
		load(lineData, func(v uint8, after Memory, what string) {
			before := s
			s.data = (s.data + 1) % dataMod
			if v != before.data {
				s.data = stale
			}
			after.Store(h, lineData, (v+1)%dataMod)
			to(what+", adds 1", lsDataFlush, after)
			s = before
		})
	case lsDataFlush: // (8)
		flush(lineData, l.Broken == LockNoWriteBackData, lsRelease)
	case lsRelease: // (9)
		store(own, idle, "(9) idle", lsReleaseFlush)
	case lsReleaseFlush:
		if p.rounds != Endless {
			p.rounds--
		}
		flush(own, false, lsIdle)
	}
}

// stale marks a state in which a holder saw an old counter.
const stale = 255

// Bad: two hosts inside, or one that misses what another wrote.
func (l Lock) Bad(s LockState) string {
	if s.data == stale {
		return "the holder saw old data"
	}
	inside := 0
	for h := range l.Hosts {
		if pc := s.host[h].pc; pc >= lsData && pc < lsReleaseFlush {
			inside++
		}
	}
	if inside > 1 {
		return fmt.Sprintf("%d hosts are in the critical section", inside)
	}
	return ""
}

// Done: nobody is in the lock or has rounds to do (with Endless: is in the
// lock). A host whose ticket ran out of the model counts, as it isn't followed.
func (l Lock) Done(s LockState) bool {
	for h := range l.Hosts {
		if s.host[h].ticket > l.Tickets {
			return true
		}
	}
	for h := range l.Hosts {
		if p := s.host[h]; p.pc != lsIdle || p.rounds != 0 && l.Rounds != Endless {
			return false
		}
	}
	return true
}
