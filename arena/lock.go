package arena

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The pool lock: at most one thread of one process of one host holds it. It is
// built in three storeys, each of which needs the one before.
//
//  1. In a process, a sync.Mutex.
//  2. In a kernel, an open-file-description lock on a byte of the pool's file
//     that belongs to the host id. The kernel drops it when its holder dies.
//  3. Among hosts, Lamport's bakery over one lock line per host, written by
//     that host only, so it needs no atomic read-modify-write.
//
// A host gets its line the first time that it uses a pool, with the splitter of
// Moir and Anderson (claimHost), and announces it in the claims word, so that
// the others look at the lines of hosts that exist, not at 64.
//
// The steps are numbered as in docs/arena.md and in package modelcheck, which
// explores them.

// A lock word: idle, choosing, or a ticket, with holding set while its host is
// in the critical section.
const (
	idle      = 0
	choosing  = 1
	holding   = uint64(1) << 63
	maxTicket = uint64(1) << 62 // no honest host gets there; refusing keeps sums from wrapping
)

// Lines of a host's entry.
const (
	lineX = iota
	lineY
	lineClaim
	lineLock
	lineBeat // time of the last sign of life, ns since 1970; 0: none yet
)

func hostLine(entry, line int) int64 {
	return hostsOff + int64(entry*hostLines+line)*lineSize
}

// host is this process's knowledge of the host table.
type host struct {
	entry  int    // our own; -1: not looked for yet
	known  bool   // peers and claims are valid
	claims uint64 // claims word that peers belongs to
	peers  []int  // other entries in use, ascending
}

// hostByteFor is the byte of the file that stands for a host id.
func hostByteFor(id [16]byte) int64 {
	return hostByte + int64(hostTag(id)%uint64(hostBytes))
}

// withLock runs f under the pool lock, after repairing what a dead holder left.
func (a *Arena) withLock(f func() error) error {
	return a.withRawLock(func() error {
		if err := a.repair(); err != nil {
			return err
		}
		return f()
	})
}

// withRawLock runs f under the pool lock. What a dead holder left is still there.
func (a *Arena) withRawLock(f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	// Another process of this host may be waiting for a dead host to be buried.
	limit := 2*a.cfg.LockTimeout + a.cfg.BuryAfter
	ok, err := a.back.lockByteWait(unix.F_WRLCK, a.hostByte, time.Now().Add(limit))
	if err != nil {
		return err
	}
	if !ok {
		return faultf(ErrLockTimeout, "held by another process of this host for %v", limit)
	}
	defer a.back.unlockByte(a.hostByte)
	if err := a.enter(time.Now().Add(a.cfg.LockTimeout)); err != nil {
		return err
	}
	defer a.leave()
	a.alloc.forget()
	return f()
}

// enter is the third storey. Our own file lock is held.
func (a *Arena) enter(deadline time.Time) error {
	if err := a.ensureHost(); err != nil {
		return err
	}
	own := hostLine(a.host.entry, lineLock)
	if a.load(own)&holding != 0 {
		// A process of this host died in the critical section. Its ticket still
		// keeps the others out, so we are in; but this host's caches may hold
		// lines that it wrote and never wrote back.
		a.dropCached(a.meta, controlOff, a.geo.lazyOff-controlOff)
		a.inherited = true
		return nil
	}
	a.inherited = false
	var ticket uint64
	for {
		a.store(own, choosing) // (1)
		a.refreshPeers()       // (2)
		ticket = choosing
		for _, j := range a.host.peers { // (3)
			w := a.load(hostLine(j, lineLock)) &^ holding
			if w >= maxTicket {
				a.store(own, idle)
				return faultf(ErrCorrupt, "ticket of %s", a.hostName(j))
			}
			ticket = max(ticket, w)
		}
		ticket++
		a.store(own, ticket)                    // (4)
		if a.load(claimsOff) == a.host.claims { // (5)
			break
		}
		if time.Now().After(deadline) { // hosts join once each: someone misbehaves
			a.store(own, idle)
			return faultf(ErrLockTimeout, "hosts keep joining")
		}
	}
	var v vigil
	for _, j := range a.host.peers { // (6)
		w := waiter{deadline: deadline}
		for a.ahead(j, ticket) {
			if w.wait() {
				continue
			}
			if deadline = a.watchOver(&v, ticket); time.Now().After(deadline) {
				a.store(own, idle)
				return faultf(ErrLockTimeout, "held by %s for %v", a.hostName(j), a.cfg.LockTimeout)
			}
			w.deadline = deadline
		}
	}
	a.store(own, ticket|holding) // (7)
	return nil
}

// ahead says whether we must wait for peer j: it is choosing, or its ticket
// comes before ours.
func (a *Arena) ahead(j int, ticket uint64) bool {
	w := a.load(hostLine(j, lineLock))
	if w == idle || w == choosing {
		return w == choosing
	}
	w &^= holding
	return w < ticket || w == ticket && j < a.host.entry
}

// vigil is a wait for hosts that are in front of us in the pool lock and may be
// dead.
type vigil struct {
	since time.Time
	dead  map[int]post // by entry: those that have given no sign of life since
}

// post is what is seen of a host in the pool lock.
type post struct{ lock, beat uint64 }

func (a *Arena) post(j int) post {
	return post{a.load(hostLine(j, lineLock)), a.load(hostLine(j, lineBeat))}
}

// watchOver says how long to go on waiting, once Config.LockTimeout has passed. Who is
// ahead and gives no sign of life for Config.BuryAfter is buried: its part in the lock
// is cleared, as its only writer is dead. What it began in the pool is repaired by the
// next holder; its objects stay until it is evicted. We beat meanwhile, even if we own
// nothing, so that those who wait behind us don't take us for dead.
func (a *Arena) watchOver(v *vigil, ticket uint64) (deadline time.Time) {
	now := time.Now()
	if a.cfg.BuryAfter <= 0 {
		return now.Add(-1)
	}
	a.beat(a.host.entry)
	if v.dead == nil {
		v.since, v.dead = now, map[int]post{}
		for _, j := range a.host.peers {
			if a.ahead(j, ticket) {
				v.dead[j] = a.post(j)
				if a.cfg.Delayed != nil {
					a.cfg.Delayed(a.hostName(j), a.cfg.BuryAfter)
				}
			}
		}
	}
	went := false
	for j, seen := range v.dead {
		if p := a.post(j); p != seen {
			delete(v.dead, j) // alive
			went = went || p.lock != seen.lock
		}
	}
	switch {
	case went: // or buried by another host; whoever is still in front of us has just begun
		*v = vigil{}
		return now.Add(a.cfg.LockTimeout)
	case len(v.dead) == 0:
		return now.Add(-1)
	case now.Sub(v.since) < a.cfg.BuryAfter:
		return now.Add(min(beatEvery, a.cfg.BuryAfter/4))
	}
	for j := range v.dead {
		a.store(hostLine(j, lineLock), idle)
	}
	a.fence()
	*v = vigil{}
	return now.Add(a.cfg.LockTimeout)
}

// leave gives the lock up: all that was written is visible first.
func (a *Arena) leave() {
	a.fence()                                       // (8)
	a.store(hostLine(a.host.entry, lineLock), idle) // (9)
}

// refreshPeers looks for hosts that joined since the last time.
func (a *Arena) refreshPeers() {
	now := a.load(claimsOff)
	if a.host.known && now == a.host.claims {
		return
	}
	a.host.peers = a.host.peers[:0]
	for j := range hostSlots {
		if j != a.host.entry && a.load(hostLine(j, lineY)) != 0 {
			a.host.peers = append(a.host.peers, j)
		}
	}
	a.host.known, a.host.claims = true, now
}

// readClaim reads who owns an entry of the host table.
func (a *Arena) readClaim(entry int) (c claim, ok bool) {
	var b [lineSize]byte
	a.read(b[:], hostLine(entry, lineClaim))
	ok = c.decode(&b)
	return c, ok
}

// ensureHost makes sure that we own an entry: it re-checks the one that we
// know, finds the one that another process of this host claimed, or claims one.
func (a *Arena) ensureHost() error {
	if a.host.entry >= 0 {
		if c, ok := a.readClaim(a.host.entry); ok && c.host == a.cfg.HostID {
			return nil
		}
		a.host = host{entry: -1} // evicted, while we were taken for dead
	}
	for j := range hostSlots {
		if c, ok := a.readClaim(j); ok && c.host == a.cfg.HostID {
			a.host.entry = j
			return nil
		}
	}
	return a.claimHost()
}

// claimHost wins an entry of the host table with a splitter per entry. X and Y
// are registers that any host without an entry may write. At most one host gets
// past both looks: the last one to write X before the first write of Y was
// complete. No assumption on timing. Entries that several hosts tried for at the
// same moment may stay unowned; everyone moves on to the next of its own probe
// sequence.
func (a *Arena) claimHost() error {
	token := randomWord()
	h := hostTag(a.cfg.HostID)
	step := int(h>>32) | 1 // odd: visits all 64 entries
	for i := range hostSlots {
		j := (int(h%hostSlots) + i*step) % hostSlots
		if j < 0 {
			j += hostSlots
		}
		if a.load(hostLine(j, lineY)) != 0 {
			continue
		}
		a.store(hostLine(j, lineX), token)
		if a.load(hostLine(j, lineY)) != 0 {
			continue
		}
		a.store(hostLine(j, lineY), token)
		if a.load(hostLine(j, lineX)) != token {
			continue
		}
		name, _ := os.Hostname()
		c := claim{host: a.cfg.HostID, at: time.Now().UnixNano(), name: name}
		var b [lineSize]byte
		c.encode(&b)
		// Announced first: should we die in between, the entry has no owner. The
		// other way round, the next process of this host would take an entry that
		// the other hosts don't look at.
		a.store(claimsOff, token)
		a.write(hostLine(j, lineClaim), b[:])
		a.fence()
		a.host.entry = j
		return nil
	}
	return faultf(ErrHostsFull, "%d of them", hostSlots)
}

// hostName describes the owner of an entry for an error message.
func (a *Arena) hostName(entry int) string {
	if c, ok := a.readClaim(entry); ok {
		return fmt.Sprintf("host %s (%s)", c.name, formatID(c.host))
	}
	return fmt.Sprintf("the host of entry %d", entry)
}
