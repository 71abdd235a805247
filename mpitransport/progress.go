package mpitransport

import (
	"fmt"
	"os"
	"time"

	"cmpi/flush"
)

const (
	// bellEvery is how many passes lie between two looks at a bell. A look costs a
	// cache miss at worst; a ring is announced once in its life.
	bellEvery = 16
	// reapEvery is how many passes lie between two looks at the staging
	// blocks that wait for their receivers.
	reapEvery = 64
	// reapPerLook is how many blocks such a look takes in, each a cache miss.
	reapPerLook = 16
	// trimEvery is how many passes lie between two looks for pool memory to
	// give back.
	trimEvery = 1 << 12
	// spinLimit is how many empty passes a rank with a processor of its own
	// makes before it yields: about 20 µs, longer than a reply takes.
	spinLimit = 1000
	// yieldLimit is how many more it yields before it sleeps between passes:
	// a rank that has waited this long (tens of ms) isn't in a hurry, and what
	// it waits for may need the processor.
	yieldLimit = 20000
	// crowdedLimit is the same where ranks share processors, about 1 ms. A rank
	// that has used up its time slice isn't helped by others that yield: they
	// all come before it again, for tens of ms.
	crowdedLimit = 300
	napTime      = 50 * time.Microsecond
)

// Progress makes one pass over everything that can move, and reports whether
// anything did.
func (e *Endpoint) Progress() bool {
	e.lock()
	moved := e.progress()
	e.unlock()
	return moved
}

func (e *Endpoint) progress() (moved bool) {
	e.passes++
	for i := 0; i < e.in.hot; i++ {
		moved = e.pollPeer(e.in.peers[i]) || moved
	}
	if len(e.in.peers) > e.in.hot {
		if i := e.in.nextCold(); e.pollPeer(e.in.peers[i]) {
			e.in.heat(i)
			moved = true
		}
	}
	if e.passes%bellEvery == 0 && len(e.in.peers) < e.size-1 && len(e.bells.list) > 0 {
		moved = e.listen() || moved
	}
	if e.sending > 0 {
		moved = e.pushQueues() || moved
	}
	if len(e.singleIn) > 0 || len(e.singleOut) > 0 {
		moved = e.stepSingles() || moved
	}
	if e.passes%trimEvery == 0 {
		e.media(func(m *medium) { m.segs.trim() })
	}
	if len(e.stagedIn) > 0 || len(e.stagedOut) > 0 || len(e.blocks) > 0 {
		moved = e.stepStaged() || moved
	}
	return moved
}

func (e *Endpoint) pushQueues() (moved bool) {
	for i, left := 0, e.sending; i < len(e.peers) && left > 0; i++ {
		if p := &e.peers[i]; !p.idle() {
			moved = e.pushQueue(p) || moved
			left--
		}
	}
	return moved
}

func (e *Endpoint) stepSingles() (moved bool) {
	for i := 0; i < len(e.singleIn); {
		ended, some := e.stepSingleIn(e.singleIn[i])
		moved = moved || some
		if ended {
			e.singleIn = removeAt(e.singleIn, i)
		} else {
			i++
		}
	}
	for i := 0; i < min(len(e.singleOut), descWindow); {
		ended, some := e.stepSingleOut(e.singleOut[i])
		moved = moved || some
		if ended {
			e.singleOut = removeAt(e.singleOut, i)
		} else {
			i++
		}
	}
	if n := len(e.singleOut); n > descWindow && !moved {
		// Receives may match in another order: bring the rest into the window
		// in turn.
		r := e.singleOut[0]
		e.singleOut = append(removeAt(e.singleOut, 0), r)
	}
	return moved
}

func (e *Endpoint) stepStaged() (moved bool) {
	for i := 0; i < len(e.stagedIn); {
		f := e.stagedIn[i]
		before := f.got
		if e.stepStagedIn(f) {
			e.stagedIn = removeAt(e.stagedIn, i)
			moved = true
			continue
		}
		moved = moved || f.got > before
		i++
	}
	for i := 0; i < len(e.stagedOut); {
		r := e.stagedOut[i]
		moved = e.stepStagedOut(r) || moved
		if r.block == nil {
			e.stagedOut = removeAt(e.stagedOut, i)
		} else {
			i++
		}
	}
	if len(e.blocks) > 0 && e.passes%reapEvery == 0 {
		e.reap(reapPerLook)
	}
	return moved
}

// removeAt removes element i and keeps the order of the others.
func removeAt[T any](s []T, i int) []T {
	var zero T
	copy(s[i:], s[i+1:])
	s[len(s)-1] = zero
	return s[:len(s)-1]
}

// Wait makes progress until r is done.
func (e *Endpoint) Wait(r *Request) {
	for spins := 0; !r.done.Load(); {
		if e.step(r) {
			spins = 0
		} else {
			spins = e.idle(spins)
		}
	}
}

// step is one pass in the interest of r: mostly the ring that r's message will
// come through, every few passes everything.
func (e *Endpoint) step(r *Request) bool {
	e.lock()
	e.want = r
	var moved bool
	if p := r.peer; p != nil && r.kind == recvRequest && p.in != nil && e.passes%wholeEvery != 0 && e.quiet() {
		e.passes++
		moved = e.pollPeer(p)
	} else {
		moved = e.progress()
	}
	e.want = nil
	e.unlock()
	return moved
}

// quiet reports that nothing but incoming rings needs a pass.
func (e *Endpoint) quiet() bool {
	return e.sending == 0 && len(e.singleIn) == 0 && len(e.singleOut) == 0 && len(e.stagedIn) == 0 && len(e.stagedOut) == 0
}

// wholeEvery is how often a receive from one source looks at the others: often
// enough to serve them, seldom enough not to delay its own message.
const wholeEvery = 4

// Idle is the politeness of a waiting rank, called after a pass that moved
// nothing: spin, then yield the processor, then sleep a little. spins counts
// those passes; the new count is returned.
func (e *Endpoint) Idle(spins int) int { return e.idle(spins) }

func (e *Endpoint) idle(spins int) int {
	switch spins++; {
	case spins > yieldLimit || e.oversub && spins > crowdedLimit:
		e.countWait(napped)
		osSleep(napTime)
	case e.oversub || spins > spinLimit:
		e.countWait(yielded)
		osYield()
	default:
		e.countWait(paused)
		flush.Pause()
	}
	return spins
}

// Warn prints one line for the user; replaced by programs that show messages
// elsewhere.
var Warn = func(line string) { fmt.Fprintln(os.Stderr, line) }

func warn(format string, args ...any) { Warn("cmpi: " + fmt.Sprintf(format, args...)) }
