package arena

import (
	"runtime"
	"time"

	"cmpi/flush"
)

// waiter paces a wait for another process: pause, then yield, then sleep a
// little longer each time.
type waiter struct {
	deadline time.Time
	n        int
}

// A lock is held for some 5 µs when nothing large is allocated: half of that
// is worth pausing for, a sleep costs 60 µs at least.
const (
	pauses   = 32
	yields   = 64
	longest  = time.Millisecond
	firstNap = 20 * time.Microsecond
)

// wait returns false once the deadline has passed.
func (w *waiter) wait() bool {
	w.n++
	switch {
	case w.n <= pauses:
		flush.Pause()
	case w.n <= yields:
		runtime.Gosched()
	default:
		if time.Now().After(w.deadline) {
			return false
		}
		time.Sleep(min(firstNap*time.Duration(w.n-yields), longest))
	}
	return true
}
