package main

// #include <stdlib.h>
// #include "fast.h"
import "C"

import (
	"unsafe"

	"cmpi/mpitransport"
)

// The Go side of the fast path (fast.h): memory that both sides see.

// fast is the state of the rings with every rank of the job, in C memory;
// empty when there is no fast path.
var fast []mpitransport.FastPeer

// looks is how often a receive looks at its ring before it enters Go, with a
// pause of 10 to 40 ns after each.
const looks = 50

// makeFast makes the state for a job of size ranks; nil without memory, which
// only costs speed.
func makeFast(size int) []mpitransport.FastPeer {
	p := C.calloc(C.size_t(size), C.sizeof_struct_cmpi_fast_peer)
	if p == nil {
		return nil
	}
	fast = unsafe.Slice((*mpitransport.FastPeer)(p), size)
	return fast
}

func freeFast() {
	if fast != nil {
		C.free(unsafe.Pointer(unsafe.SliceData(fast)))
		fast = nil
	}
}

// useFast lets the fast path work on cm.
func (cm *comm) useFast() {
	if fast == nil {
		return
	}
	C.cmpi_fast.looks = looks
	if endpoint.Oversubscribed() {
		C.cmpi_fast.looks = 1
	}
	members := cm.engine.Members()
	p := C.calloc(C.size_t(len(members)), C.size_t(unsafe.Sizeof(uintptr(0))))
	if p == nil {
		return
	}
	peers := unsafe.Slice((**mpitransport.FastPeer)(p), len(members))
	for i, w := range members {
		peers[i] = &fast[w]
	}
	cm.engine.UseFast((*mpitransport.FastComm)(unsafe.Pointer(&cm.c.waiting)))
	cm.c.npeers = C.uint32_t(len(members))
	cm.c.peers = (**C.struct_cmpi_fast_peer)(p)
}

// dropFast gives back what useFast took.
func (cm *comm) dropFast() {
	cm.engine.UseFast(new(mpitransport.FastComm)) // pending operations still count
	C.free(unsafe.Pointer(cm.c.peers))
}

// fastRequests are the receives that the fast path may note.
func fastRequests() []mpitransport.FastRequest {
	return unsafe.Slice((*mpitransport.FastRequest)(unsafe.Pointer(&C.cmpi_fast.request[0])), mpitransport.FastRequests)
}

// fastComm is the communicator of a request of the fast path's, which from now
// on is the engine's.
func fastComm(id C.uint32_t) *comm {
	cm := (*comms.list.Load())[C.cmpi_fast.request[id].comm].Load()
	owners.set(uint32(id), cm.handle)
	return cm
}

//export goPostFast
func goPostFast(id C.uint32_t) {
	defer rescue()
	endpoint.PostFast(uint32(id), fastComm(id).engine)
}

//export goAdoptFast
func goAdoptFast(id C.uint32_t) {
	defer rescue()
	endpoint.AdoptFast(uint32(id), fastComm(id).engine)
}
