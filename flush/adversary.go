package flush

import (
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// The adversary does what caches and write buffers are allowed to do unasked:
// evict a dirty line early, prefetch a clean one (which from then on is stale),
// and let queued writes overtake each other. It is driven by the seed alone.

// chance reports whether an adversarial act happens now.
func (e *emulator) chance() bool { return e.chaos > 0 && e.rng.IntN(100) < e.chaos }

// yieldEvery is after how many touched lines a host stands still for the others:
// odd, and about as many as one step of a protocol touches, so that it happens
// between any two of its primitives. Hosts otherwise run for milliseconds on end.
const yieldEvery = 7

// emulators is how many hosts this process plays.
var emulators atomic.Int32

// standStill lets the other hosts run.
func standStill() {
	if emulators.Load() > 1 {
		runtime.Gosched()
		return
	}
	// They are other processes. Go's scheduler would hand the thread of a C program
	// to another one and back, for ten times as long as all the rest takes.
	syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}

// disturb notes that line is being touched and lets the adversary act.
func (e *emulator) disturb(line uintptr) {
	e.recent[e.next%recentLines] = line
	e.next++
	if e.chaos > 0 && e.next%yieldEvery == 0 {
		standStill()
	}
	for range maxActs {
		if !e.chance() {
			return
		}
		e.act(e.victim())
	}
}

// victim returns a recently touched line or, as the hardware prefetchers do,
// the other half of its 128-byte pair or the next one.
func (e *emulator) victim() uintptr {
	line := e.recent[e.rng.IntN(recentLines)]
	switch e.rng.IntN(4) {
	case 0:
		line ^= LineSize
	case 1:
		line += LineSize
	}
	if line >= e.size {
		line = 0
	}
	return line
}

// act does one thing to a line that is not the caller's wish.
func (e *emulator) act(line uintptr) {
	switch e.rng.IntN(3) {
	case 0: // a write-back of any line overtakes the older ones
		if len(e.queue) > 0 {
			e.land(e.pick())
		}
	case 1: // the line is evicted: if dirty, written back with nobody asking
		e.landLine(line)
		e.evict(line)
	case 2: // the line, if clean, is dropped and prefetched again
		if e.isClean(line) {
			e.landLine(line)
			e.fetch(line)
		}
	}
}

// isClean reports whether the caller has stored nothing to the line since it
// last agreed with memory or the queue.
func (e *emulator) isClean(line uintptr) bool {
	return loadLine(e.cache, line) == loadLine(e.clean, line)
}
