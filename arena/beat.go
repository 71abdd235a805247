package arena

import (
	"hash/fnv"
	"time"

	"golang.org/x/sys/unix"
)

// Signs of life. What a dead process has left may be freed, what a living one has
// may not, so they must be told apart.
//
// Inside a kernel: a process that owns objects holds a lock on a byte of the
// pool's file that stands for it. The kernel drops it when the process ends, and
// that can be seen from every pid namespace.
//
// Among hosts: such a process writes the time into its host's beat line, about
// once a second. A host whose line stands still has no process that owns
// anything, or is down or cut off.

const (
	// beatEvery is the time between two beats.
	beatEvery = time.Second
	// SilentAfter is how old, by the clocks of both hosts, the last beat of a host
	// is at least that is worth being watched for SilentWatch. Only the latter
	// decides: clocks may differ.
	SilentAfter = time.Minute
	SilentWatch = 4 * beatEvery
)

// pledge says, before this process owns its first object, that it lives.
func (a *Arena) pledge() {
	if a.cfg.Private || a.pledged {
		return
	}
	a.pledged = true
	// Where the lock can't be had, the owner's life is unknown to other pid
	// namespaces, and nothing of its is ever freed from there.
	_, _ = a.back.lockByte(unix.F_RDLCK, ownerByteFor(a.cfg.Owner))
	a.beatStop, a.beatDone = make(chan struct{}), make(chan struct{})
	a.beat(a.host.entry)
	go a.beats(a.host.entry)
}

// beats gives signs of life until the arena is closed.
func (a *Arena) beats(entry int) {
	defer close(a.beatDone)
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-a.beatStop:
			return
		case <-ticker.C:
		}
		if c, ok := a.readClaim(entry); !ok || c.host != a.cfg.HostID {
			// Taken for dead: our objects are gone, others may use their space.
			if a.cfg.Evicted != nil {
				a.cfg.Evicted()
			}
			return
		}
		a.beat(entry)
	}
}

func (a *Arena) beat(entry int) {
	a.store(hostLine(entry, lineBeat), uint64(time.Now().UnixNano()))
}

// endBeats returns when beats has ended.
func (a *Arena) endBeats() {
	if a.beatStop != nil {
		close(a.beatStop)
		<-a.beatDone
		a.beatStop = nil
	}
}

// ownerByteFor is the byte of the file that stands for an owner.
func ownerByteFor(o Owner) int64 {
	var b [20]byte
	le.PutUint32(b[0:], o.PID)
	le.PutUint32(b[4:], o.PIDNS)
	le.PutUint64(b[8:], o.Start)
	le.PutUint32(b[16:], o.UID)
	h := fnv.New64a()
	h.Write(b[:])
	return ownerByte + int64(h.Sum64()%uint64(ownerBytes))
}

// elsewhere says what is known of an owner of this kernel in a pid namespace
// that we can't see into.
func (a *Arena) elsewhere(s *slot) Life {
	o := Owner{PID: s.pid, PIDNS: s.pidns, Start: s.start, UID: s.uid}
	self := a.cfg.Owner
	self.Host = o.Host
	if o == self {
		return Alive // our own lock doesn't stand in our way
	}
	switch held, err := a.back.heldByte(ownerByteFor(o)); {
	case err != nil:
		return Unknown
	case held:
		return Alive
	}
	return Dead
}

// Silent gives the hosts, other than this one, whose last sign of life is at
// least SilentAfter old, so that they may be gone. It takes no lock and no time.
func (a *Arena) Silent() (list []HostInfo) {
	now := time.Now()
	for _, h := range a.hosts() {
		// A beat from the future is of a clock that is wrong, and says nothing.
		if age := now.Sub(time.Unix(0, max(h.Since, h.Beat))); !h.Self && (age >= SilentAfter || age < -SilentAfter) {
			list = append(list, h)
		}
	}
	return list
}

// Watch returns after SilentWatch with those of the hosts that gave no sign of
// life meanwhile: none of their processes owns anything, or they are down or cut
// off.
func (a *Arena) Watch(hosts []HostInfo) (silent []HostInfo) {
	if len(hosts) == 0 {
		return nil
	}
	time.Sleep(SilentWatch)
	now := map[[16]byte]HostInfo{}
	for _, h := range a.hosts() {
		now[h.ID] = h
	}
	for _, h := range hosts {
		if n, ok := now[h.ID]; ok && n.Beat == h.Beat && n.Since == h.Since {
			silent = append(silent, h)
		}
	}
	return silent
}
