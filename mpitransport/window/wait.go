package window

import (
	"runtime"
	"time"

	"cmpi/flush"
)

// LostAfter is how long a wait lasts before the window asks whether all members
// are alive, and how often it asks from then on. So a wait for a dead member ends
// with ErrLost after 1 to 2 seconds.
const LostAfter = time.Second

// waiter paces one wait.
type waiter struct {
	w     *Window
	spins int
	looks int
	asked time.Time // when liveness was asked last, or the wait began
}

// clockEvery is how many looks pass between two looks at the clock: a clock
// costs as much as a few looks, and a nap of 50 µs must not multiply to seconds.
const clockEvery = 64

// wait lets some time pass. ErrLost: a member has died.
func (x *waiter) wait() Class {
	x.spins = x.w.idle(x.spins)
	if x.looks++; x.looks%clockEvery != 0 {
		return OK
	}
	now := time.Now()
	switch {
	case x.asked.IsZero():
		x.asked = now
	case now.Sub(x.asked) >= x.w.patience:
		x.asked = now
		if !x.w.allAlive() {
			return ErrLost
		}
	}
	return OK
}

func (w *Window) allAlive() bool {
	if w.cfg.Alive == nil {
		return true
	}
	for i := range w.cfg.Members {
		if i != w.rank && !w.cfg.Alive(w.cfg.Members[i].World) {
			return false
		}
	}
	return true
}

// The window's own waiting: a line comes over in 0.1 µs, so half a microsecond
// of pauses catches a partner that is about to answer; then others may run.
const (
	pauses = 32
	yields = 2000
	nap    = 50 * time.Microsecond
)

func (w *Window) idle(spins int) int {
	if w.cfg.Idle != nil {
		return w.cfg.Idle(spins)
	}
	switch {
	case spins < pauses:
		flush.Pause()
	case spins < yields:
		runtime.Gosched()
	default:
		time.Sleep(nap)
	}
	return spins + 1
}
