package main

// #include <stdlib.h>
// #include "comms.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"cmpi/mpitransport"
)

// comm is a communicator that we carry.
type comm struct {
	c        *C.struct_cmpi_comm // what the C files see of it; C memory
	engine   *mpitransport.Comm
	handle   int32 // the host's
	context  uint64
	children uint64 // communicators made of it so far; under the registry's lock
	parts    partTable
}

// comms are all communicators that we carry, by the index that the C side and
// the host's attribute hold. Looking one up takes no lock.
var comms struct {
	sync.Mutex
	list atomic.Pointer[[]atomic.Pointer[comm]]
	used int32   // entries that have ever been used are below it
	free []int32 // of these
}

// maxComms is far more than MPICH has context ids for.
const maxComms = 1 << 16

func commOf(c *C.struct_cmpi_comm) *comm {
	return (*comms.list.Load())[c.index].Load()
}

func initComms() {
	list := make([]atomic.Pointer[comm], maxComms)
	comms.list.Store(&list)
	comms.used, comms.free = 0, nil
}

//export goNextContext
func goNextContext() C.uint64_t {
	defer rescue()
	return C.uint64_t(endpoint.NextContextID())
}

// goAdopt makes the entry of a communicator of which the members have agreed
// that we carry it. The arrays hold ranks in MPI_COMM_WORLD.
//
//export goAdopt
func goAdopt(handle C.int, context C.uint64_t, rank C.int, local *C.int, nlocal C.int, remote *C.int, nremote C.int) C.int {
	defer rescue()
	c := (*C.struct_cmpi_comm)(C.calloc(1, C.sizeof_struct_cmpi_comm))
	if c == nil {
		return errNoMem
	}
	comms.Lock()
	defer comms.Unlock()
	if comms.used == maxComms && len(comms.free) == 0 {
		C.free(unsafe.Pointer(c))
		return errOther
	}
	index := comms.used
	if n := len(comms.free); n > 0 {
		index = comms.free[n-1]
	}
	c.handle, c.index, c.context = C.int32_t(handle), C.int32_t(index), context
	cm := &comm{c: c, handle: int32(handle), context: uint64(context),
		engine: endpoint.NewComm(uint64(context), int(rank), ranks(local, nlocal), ranks(remote, nremote))}
	if C.cmpi_comm_tie(handle, C.int(index)) != success {
		endpoint.FreeComm(cm.engine)
		C.free(unsafe.Pointer(c))
		return errOther
	}
	cm.useFast()
	if index == comms.used {
		comms.used++
	} else {
		comms.free = comms.free[:len(comms.free)-1]
	}
	(*comms.list.Load())[index].Store(cm)
	if C.cmpi_table_set(c.handle, c) != 0 {
		return errNoMem
	}
	return success
}

// ranks copies an array of ranks out of C memory, nil for nil.
func ranks(p *C.int, n C.int) []int32 {
	if p == nil {
		return nil
	}
	return append(make([]int32, 0, n), unsafe.Slice((*int32)(unsafe.Pointer(p)), int(n))...)
}

// goCommGone forgets the communicator with this index: the host has freed it.
//
//export goCommGone
func goCommGone(index C.int) {
	defer rescue()
	comms.Lock()
	defer comms.Unlock()
	slot := &(*comms.list.Load())[index]
	cm := slot.Load()
	if cm == nil {
		return // already forgotten when our part ended
	}
	slot.Store(nil)
	C.cmpi_table_set(cm.c.handle, nil)
	endpoint.FreeComm(cm.engine)
	cm.parts.free()
	cm.dropFast()
	C.free(unsafe.Pointer(cm.c))
	comms.free = append(comms.free, int32(index))
}

// forgetComms takes all communicators off the table: what remains of the
// program is the host's.
func forgetComms() {
	list := (*comms.list.Load())[:comms.used]
	for i := range list {
		if list[i].Load() != nil {
			goCommGone(C.int(i))
		}
	}
}

const (
	// childContexts marks the context ids that follow from a parent's: bit 31 of
	// the running number that NextContextID hands out; no job makes two
	// thousand million communicators in the other way.
	childContexts = 1 << 31
	contextMask   = 1<<56 - 1 // the width of a context id (package ringq)
)

// goChildContext is the context id of the next communicator that all members of
// c make. They do so in the same order, so it needs no message. It mixes the
// parent's id and the number to 55 bits, so that among n live communicators of a
// rank two meet with a probability below n²/2^56: for ten thousand, once in
// 10^9 jobs.
//
//export goChildContext
func goChildContext(c *C.struct_cmpi_comm) C.uint64_t {
	defer rescue()
	cm := commOf(c)
	comms.Lock()
	cm.children++
	x := mixContext(cm.context, cm.children)
	comms.Unlock()
	return C.uint64_t(x)
}

// mixContext makes a context id of another one and a number.
func mixContext(context, number uint64) uint64 {
	x := context*0x9e3779b97f4a7c15 + number
	// The finalizer of splitmix64: every bit of x reaches every bit of the result.
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x^x>>31)&contextMask | childContexts
}

// adopt takes the host's communicator over under a context id that is known.
func adopt(handle int32, context uint64) int32 {
	return int32(C.cmpi_adopt(C.int(handle), C.uint64_t(context)))
}
