package mpitransport

import (
	"runtime"
	"testing"
	"time"
)

// TestLockCollect: a thread that waits for the engine must not keep the garbage
// collector waiting, for which the one that has it may wait.
func TestLockCollect(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	e := &Endpoint{threaded: true, oversub: true}
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 10 {
			waits, through := make(chan bool), make(chan bool)
			e.lock()
			go func() {
				runtime.LockOSThread() // as a thread of the application
				close(waits)
				e.lock()
				e.unlock()
				close(through)
			}()
			<-waits
			runtime.GC()
			e.unlock()
			<-through
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the collector waits for a thread that waits for the engine")
	}
}
