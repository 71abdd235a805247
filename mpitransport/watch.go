package mpitransport

import (
	"time"
)

// Signs of life. Every rank adds one to a number in its beat line of the root
// object, about once a second, from a goroutine of its own, whatever the program
// does. A rank whose number has stood still for Config.DeadAfter is dead: its
// host has lost power, or its way to the pool. A launcher may never learn of
// that, so the ranks themselves look at each other. A process of this kernel that
// merely doesn't run (a debugger holds it) is told by the kernel.
//
// The time is this rank's own, between two looks at which it was running itself:
// no clocks are compared, and a machine that was suspended as a whole finds
// nobody dead when it wakes up.

const (
	// beatEvery is the longest time between two beats.
	beatEvery = time.Second
	// beatsPerLimit is how many beats fit into Config.DeadAfter at least.
	beatsPerLimit = 5

	beatBits = 24
	beatMask = 1<<beatBits - 1
	// beatLeft in place of a number says that the rank has left the job.
	beatLeft = beatMask
)

// beatWord keys the number of a beat with the epoch, as an earlier job's number
// in the same memory is none.
func (e *Endpoint) beatWord(n uint64) uint64 { return e.epoch<<beatBits | n }

// beat publishes this rank's n-th sign of life.
func (e *Endpoint) beat(n uint64) {
	m := e.pool
	m.view.Store64(m.rootAt(beatAt(e.rank, e.size)), e.beatWord(n))
}

// sign is what one rank knows of another's life.
type sign struct {
	word  uint64
	since time.Time // when word was first seen
}

// watcher beats for this rank and looks at the others.
type watcher struct {
	stop chan struct{}
	done chan struct{}
}

// startWatch begins to give signs of life and to look for those of the others.
func (e *Endpoint) startWatch() {
	if e.cfg.DeadAfter <= 0 || e.size == 1 {
		return
	}
	e.watcher = &watcher{make(chan struct{}), make(chan struct{})}
	go e.watch(e.watcher)
}

// endWatch tells the others that no more signs of life will come. It returns
// when nothing touches the root object any more.
func (e *Endpoint) endWatch() {
	if e.watcher == nil {
		return
	}
	close(e.watcher.stop)
	<-e.watcher.done
	e.watcher = nil
	e.beat(beatLeft)
}

func (e *Endpoint) watch(w *watcher) {
	defer close(w.done)
	every := min(beatEvery, e.cfg.DeadAfter/beatsPerLimit)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	signs := make([]sign, e.size)
	var last time.Time
	for n := uint64(1); ; n++ {
		e.beat(n % beatLeft)
		now := time.Now()
		// Whoever has not run for so long can't say that others did not.
		awake := now.Sub(last) < 2*every
		last = now
		for r := range signs {
			if e.silent(int32(r), &signs[r], now, awake) {
				e.cfg.Dead(int32(r), now.Sub(signs[r].since))
				signs[r].since = now // if this rank goes on all the same
			}
		}
		select {
		case <-w.stop:
			return
		case <-ticker.C:
		}
	}
}

// silent takes a look at rank r and reports whether it is dead.
func (e *Endpoint) silent(r int32, s *sign, now time.Time, awake bool) bool {
	if int(r) == e.rank {
		return false
	}
	m := e.pool
	word := m.view.Load64(m.rootAt(beatAt(int(r), e.size)))
	if word != s.word || s.since.IsZero() || !awake {
		s.word, s.since = word, now
		return false
	}
	if word == e.beatWord(beatLeft) || now.Sub(s.since) < e.cfg.DeadAfter {
		return false
	}
	return !e.sameKernel(r) || !e.Alive(r)
}
