package main

// #include <stdint.h>
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"cmpi/arena"
)

// pooled is the memory that MPI_Alloc_mem has given out of the pool: an object for
// each piece, so that windows can be made on it that others reach.
var pooled struct {
	sync.Mutex
	objects []*arena.Object
	count   uint64 // pieces given out so far
}

// goAllocMem gives the address of a new piece, 0 if there is no room for it.
//
//export goAllocMem
func goAllocMem(size C.intptr_t) C.uintptr_t {
	defer rescue()
	if size <= 0 {
		return 0
	}
	pooled.Lock()
	defer pooled.Unlock()
	pooled.count++
	o, err := theJob.pool.Create(fmt.Sprintf("j/%s/m/%x/%x", theJob.name, endpoint.Rank(), pooled.count), int64(size))
	if err != nil {
		return 0
	}
	pooled.objects = append(pooled.objects, o)
	return C.uintptr_t(uintptr(o.Addr()))
}

// goFreeMem takes a piece back; 0 if it isn't one.
//
//export goFreeMem
func goFreeMem(at C.uintptr_t) C.int {
	defer rescue()
	pooled.Lock()
	defer pooled.Unlock()
	for i, o := range pooled.objects {
		if uintptr(o.Addr()) == uintptr(at) {
			last := len(pooled.objects) - 1
			pooled.objects[i] = pooled.objects[last]
			pooled.objects = pooled.objects[:last]
			if err := o.Destroy(); err != nil {
				say("rank %d: memory could not be given back: %v", endpoint.Rank(), err)
			}
			return 1
		}
	}
	return 0
}

// freePooled takes back what the program has not.
func freePooled() {
	pooled.Lock()
	defer pooled.Unlock()
	for _, o := range pooled.objects {
		_ = o.Destroy() // it goes with the job anyway
	}
	pooled.objects = nil
}

// pooledAt is where size bytes at an address lie in the pool, if they belong to one
// piece.
func pooledAt(base unsafe.Pointer, size int64) (offset int64, ok bool) {
	pooled.Lock()
	defer pooled.Unlock()
	for _, o := range pooled.objects {
		// Both are addresses of this process, perhaps of unlike memory.
		if d := int64(uintptr(base)) - int64(uintptr(o.Addr())); d >= 0 && d <= o.Size() && size <= o.Size()-d {
			return o.Offset() + d, true
		}
	}
	return 0, false
}
