package main

import "C"

import (
	"sync"

	"cmpi/mpitransport"
)

// Buffered sends. Their data is copied to memory of our own, not to the buffer
// that the program attached; that buffer only limits how much may be under way,
// as the standard wants a program that exceeds it to be told (MPI_ERR_BUFFER).

// underWay is a buffered message that its receiver doesn't have yet.
type underWay struct {
	r    *mpitransport.Request
	size int64
}

var attached struct {
	sync.Mutex
	size int64 // of the program's buffer; 0 without one
	used int64
	list []underWay
}

// reap takes completed messages off the list.
func reap() {
	kept := attached.list[:0]
	for _, u := range attached.list {
		if u.r.Done() {
			endpoint.Release(u.r)
			attached.used -= u.size
		} else {
			kept = append(kept, u)
		}
	}
	attached.list = kept
}

// bsend sends a copy of x's data. The result is an MPI error class.
func bsend(x *transfer) int32 {
	n, err := x.t.Total(x.count)
	if err != nil {
		return number(mpitransport.ErrCount)
	}
	attached.Lock()
	defer attached.Unlock()
	need := n + bsendOverhead
	if attached.used+need > attached.size {
		endpoint.Progress()
		reap()
	}
	if x.rank != mpitransport.ProcNull && attached.used+need > attached.size {
		return errBuffer
	}
	if class := x.pack(); class != success {
		return class
	}
	r, cl := x.isend(mpitransport.Standard)
	if cl != mpitransport.OK {
		return number(cl)
	}
	if r.Done() {
		endpoint.Release(r)
		return success
	}
	attached.list = append(attached.list, underWay{r, need})
	attached.used += need
	return success
}

//export goBufferAttach
func goBufferAttach(size C.long) {
	defer rescue()
	attached.Lock()
	attached.size = int64(size)
	attached.Unlock()
}

// goBufferDetach waits until all buffered messages have left.
//
//export goBufferDetach
func goBufferDetach() {
	defer rescue()
	for w := (waiter{}); ; w.step() {
		attached.Lock()
		reap()
		left := len(attached.list)
		if left == 0 {
			attached.size = 0
		}
		attached.Unlock()
		if left == 0 {
			return
		}
	}
}
