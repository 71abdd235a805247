package main

// #include "shim.h"
import "C"

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// How often the helper looks whether it is needed. A peer that depends on it
// waits a tick at first and not at all while something moves.
const (
	tickInHost  = time.Millisecond
	tickOutside = 5 * time.Millisecond // 200 short wake-ups a second
)

// helper makes progress for a rank whose thread is inside a host call that may
// block, so that no rank waits for ever for one that waits in the host.
type helper struct {
	stop chan struct{}
	done chan struct{}
}

func startHelper() *helper {
	h := &helper{stop: make(chan struct{}), done: make(chan struct{})}
	go h.run()
	return h
}

// end returns when the helper will touch nothing any more. Whoever calls it
// holds the engine.
func (h *helper) end() {
	close(h.stop)
	<-h.done
}

func (h *helper) run() {
	defer close(h.done)
	defer rescue()
	timer := time.NewTimer(tickOutside)
	defer timer.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-timer.C:
		}
		inHost := false
		for moved := true; moved; {
			inHost, moved = h.pass()
		}
		if inHost {
			timer.Reset(tickInHost)
		} else {
			timer.Reset(tickOutside)
		}
	}
}

// The words of cmpi_state that Go shares with the C side.
var (
	stateOwner    = (*int32)(unsafe.Pointer(&C.cmpi_state.owner))
	stateInHost   = (*int32)(unsafe.Pointer(&C.cmpi_state.in_host))
	stateThreaded = (*int32)(unsafe.Pointer(&C.cmpi_state.threaded))
	stateActive   = (*int32)(unsafe.Pointer(&C.cmpi_state.active))
	stateAsync    = (*int32)(unsafe.Pointer(&C.cmpi_state.async))
	stateCrowded  = (*int32)(unsafe.Pointer(&C.cmpi_state.crowded))
)

// pass makes one progress pass if no thread of the program can.
func (h *helper) pass() (inHost, moved bool) {
	if atomic.LoadInt32(stateThreaded) != 0 {
		if atomic.LoadInt32(stateInHost) == 0 {
			return false, false
		}
		return true, endpoint.Progress()
	}
	if !atomic.CompareAndSwapInt32(stateOwner, C.CMPI_IN_HOST, C.CMPI_HELPER) {
		return false, false
	}
	moved = endpoint.Progress()
	atomic.StoreInt32(stateOwner, C.CMPI_IN_HOST)
	return true, moved
}
