package main

// #include "shim.h"
// #include "requests.h"
// #include "lifecycle.h"
import "C"

import (
	"unsafe"

	"cmpi/mpitransport"
)

// Functions on requests give their error as comm << 32 | class: C hands the
// class to that communicator's error handler (OURS_REQUESTS).

func packError(comm, class int32) uint64 {
	if class == success {
		return success
	}
	return uint64(uint32(comm))<<32 | uint64(uint32(class))
}

// raise is an error that the handler of comm has to hear; none for success.
func raise(comm, class int32) C.uint64_t { return C.uint64_t(packError(comm, class)) }

// raised is an error of the host's, of which it has told the handler.
func raised(rc int32) C.uint64_t { return C.uint64_t(uint32(rc)) }

//export goWait
func goWait(handle *C.int, status C.intptr_t) C.uint64_t {
	defer rescue()
	h := (*int32)(unsafe.Pointer(handle))
	r, ok := requestOf(*h)
	if !ok {
		return raise(commWorld, errRequest)
	}
	if r.inactive() {
		putStatus(uintptr(status), mpitransport.EmptyStatus)
		return success
	}
	if !r.done() {
		r.wait()
	}
	return finish(r, h, uintptr(status))
}

// finish ends a request that is done, for the functions that end one.
func finish(r request, h *int32, status uintptr) C.uint64_t {
	st := r.status()
	comm := int32(0)
	if st.Err != mpitransport.OK {
		comm = r.comm()
	}
	r.take(h)
	putStatus(status, st)
	return raise(comm, number(st.Err))
}

//export goTest
func goTest(handle, flag *C.int, status C.intptr_t) C.uint64_t {
	defer rescue()
	h := (*int32)(unsafe.Pointer(handle))
	r, ok := requestOf(*h)
	if !ok {
		return raise(commWorld, errRequest)
	}
	*flag = 1
	if r.inactive() {
		putStatus(uintptr(status), mpitransport.EmptyStatus)
		return success
	}
	if !r.done() {
		testPass()
		if !r.done() {
			*flag = 0
			return success
		}
	}
	return finish(r, h, uintptr(status))
}

// goProgress makes one pass for a program that polls the host.
//
//export goProgress
func goProgress() {
	defer rescue()
	if endpoint != nil {
		endpoint.Progress()
	}
}

// testPass is what a test function does before it says no.
func testPass() {
	endpoint.Progress()
	polled()
}

// polled counts polls that said no. The program may poll until something happens
// in the host, so now and then that makes progress as well.
func polled() {
	if tests++; tests%pokeEvery == 0 && hostRuns() {
		C.cmpi_poke()
	}
}

var tests uint // a rough count; threads may lose some

//export goRequestGetStatus
func goRequestGetStatus(handle C.int, flag *C.int, status C.intptr_t) C.uint64_t {
	defer rescue()
	r, ok := requestOf(int32(handle))
	if !ok {
		return raise(commWorld, errRequest)
	}
	*flag = 1
	if r.inactive() {
		putStatus(uintptr(status), mpitransport.EmptyStatus)
		return success
	}
	if !r.done() {
		testPass()
		if !r.done() {
			*flag = 0
			return success
		}
	}
	putStatus(uintptr(status), r.status())
	return success
}

//export goRequestFree
func goRequestFree(handle *C.int) C.uint64_t {
	defer rescue()
	r, ok := requestOf(int32(*handle))
	if !ok {
		return raise(commWorld, errRequest)
	}
	if r.engine != nil {
		endpoint.Release(r.engine)
	} else {
		r.comp.free()
	}
	*handle = requestNull
	return success
}

//export goCancel
func goCancel(handle C.int) C.uint64_t {
	defer rescue()
	r, ok := requestOf(int32(handle))
	switch {
	case !ok || r.inactive():
		return raise(commWorld, errRequest)
	case r.engine != nil:
		cancel(r.engine)
	default:
		for _, p := range r.comp.parts {
			cancel(p)
		}
	}
	return success
}

func cancel(r *mpitransport.Request) {
	if r != nil && !r.Done() {
		endpoint.Cancel(r)
	}
}

// array is an array of requests that holds some of ours.
type array struct {
	all      []int32
	statuses uintptr
	host     []int32 // copies of the host's
	where    []int   // and where they stand, ascending
	errs     []int32 // error class by position of the status; nil while there is none
	comm     int32   // whose handler hears of it: MPICH asks MPI_COMM_WORLD's for arrays; 0 if the host has told it
}

func newArray(n C.int, list *C.int, statuses C.intptr_t) array {
	a := array{all: handles((*int32)(unsafe.Pointer(list)), int(n)), statuses: uintptr(statuses)}
	for i, h := range a.all {
		if !isOurs(h) && h != requestNull {
			a.host, a.where = append(a.host, h), append(a.where, i)
		}
	}
	return a
}

// hostHandles is what the host's functions take.
func (a *array) hostHandles() (C.int, *C.int) {
	return C.int(len(a.host)), (*C.int)(unsafe.Pointer(unsafe.SliceData(a.host)))
}

// hostStatuses makes room for the host's statuses, nil if nobody wants them.
func (a *array) hostStatuses() ([]status, *C.struct_mpich_status) {
	if statusAt(a.statuses, 0) == nil {
		return nil, nil
	}
	s := make([]status, len(a.host))
	return s, (*C.struct_mpich_status)(unsafe.Pointer(unsafe.SliceData(s)))
}

// stale reports a handle of ours that stands for nothing.
func (a *array) stale() bool {
	for _, h := range a.all {
		if isOurs(h) {
			if _, ok := requestOf(h); !ok {
				return true
			}
		}
	}
	return false
}

// end completes request i, which is done or inactive, and puts its status at
// position out.
func (a *array) end(i, out int) {
	r, _ := requestOf(a.all[i])
	if r.inactive() {
		putStatus(element(a.statuses, out), mpitransport.EmptyStatus)
		return
	}
	st := r.status()
	if st.Err != mpitransport.OK {
		a.fail(out, number(st.Err), commWorld)
	}
	if r.comp != nil && r.comp.part != nil {
		putError(a.statuses, out, success) // as MPICH does for these alone, and its suite expects
	}
	r.take(&a.all[i])
	putStatus(element(a.statuses, out), st)
}

// endHosts puts the handle and the status that the host gave for the request at
// position i in place, the status at position out.
func (a *array) endHosts(i, out int, handle int32, st *status) {
	a.all[i] = handle
	if s := statusAt(a.statuses, out); s != nil {
		kept := s.err
		*s = *st
		s.err = kept
		if a.errs != nil {
			a.errs[out] = st.err
		}
	}
}

// fail notes an error in the status at position out. comm is 0 if the error
// handler has heard of it.
func (a *array) fail(out int, class, comm int32) {
	if a.errs == nil {
		a.errs, a.comm = make([]int32, len(a.all)), comm
	}
	a.errs[out] = class
}

// result is the return value of a function that has completed n requests. With
// an error in one, and only then, all statuses have their MPI_ERROR set.
func (a *array) result(n int) C.uint64_t {
	if a.errs == nil {
		return success
	}
	for out, class := range a.errs[:n] {
		putError(a.statuses, out, class)
	}
	return raise(a.comm, errInStatus)
}

// hostResult takes what the host said of its share. An error other than
// MPI_ERR_IN_STATUS ends the call.
func (a *array) hostResult(rc C.int) (stop bool) {
	if rc == errInStatus && a.errs == nil {
		a.errs, a.comm = make([]int32, len(a.all)), 0
	}
	return rc != success && rc != errInStatus
}

// goWaitall is Waitall with flag nil, else Testall.
//
//export goWaitall
func goWaitall(n C.int, list, flag *C.int, statuses C.intptr_t) C.uint64_t {
	defer rescue()
	a := newArray(n, list, statuses)
	if a.stale() {
		return raise(commWorld, errRequest)
	}
	if flag == nil {
		a.waitOurs()
	} else if *flag = truth(a.oursDone()); *flag == 0 {
		return success
	}
	if len(a.host) > 0 {
		if done, rc := a.endAllHosts(flag); !done {
			if rc == success {
				testPass() // ours in the array are done, but others may wait for us
			}
			return raised(rc)
		}
	}
	hosts := a.where
	for i, h := range a.all {
		switch {
		case len(hosts) > 0 && hosts[0] == i:
			hosts = hosts[1:]
		case h == requestNull:
			putStatus(element(a.statuses, i), mpitransport.EmptyStatus)
		default:
			a.end(i, i)
		}
	}
	return a.result(len(a.all))
}

// endAllHosts completes the host's share: waits for it with flag nil, else only
// if it is complete. done false: it isn't, or the host failed with rc.
func (a *array) endAllHosts(flag *C.int) (done bool, rc int32) {
	st, p := a.hostStatuses()
	count, first := a.hostHandles()
	var host C.int
	if flag == nil {
		host = C.cmpi_host_waitall(count, first, p)
	} else {
		host = C.cmpi_host_testall(count, first, flag, p)
		if host == success && *flag == 0 {
			return false, success
		}
	}
	if a.hostResult(host) {
		return false, int32(host)
	}
	for k, i := range a.where {
		var s *status
		if st != nil {
			s = &st[k]
		}
		a.endHosts(i, i, a.host[k], s)
	}
	return true, success
}

func (a *array) waitOurs() {
	for _, h := range a.all {
		if !isOurs(h) {
			continue
		}
		if r, _ := requestOf(h); !r.inactive() && !r.done() {
			r.wait()
		}
	}
}

// oursDone reports whether all of ours are, after a pass if that may help.
func (a *array) oursDone() bool {
	if a.noneLeft() {
		return true
	}
	testPass()
	return a.noneLeft()
}

// noneLeft reports whether all of ours are done or inactive.
func (a *array) noneLeft() bool {
	for _, h := range a.all {
		if !isOurs(h) {
			continue
		}
		if r, _ := requestOf(h); !r.inactive() && !r.done() {
			return false
		}
	}
	return true
}

// goWaitany is Waitany with flag nil, else Testany.
//
//export goWaitany
func goWaitany(n C.int, list, index, flag *C.int, status C.intptr_t) C.uint64_t {
	defer rescue()
	a := newArray(n, list, statusIgnore)
	if a.stale() {
		return raise(commWorld, errRequest)
	}
	for w, pass := (waiter{}), 0; ; pass++ {
		i, active, e := a.endAny(uintptr(status))
		if i >= 0 || e != success || !active || flag != nil && pass == 1 {
			*index = undefined
			if i >= 0 {
				*index = C.int(i)
			} else if !active {
				putStatus(uintptr(status), mpitransport.EmptyStatus)
			}
			if flag != nil {
				*flag = truth(i >= 0 || !active)
			}
			return e
		}
		if flag != nil {
			testPass()
		} else {
			w.step()
		}
	}
}

// endAny completes the first request that is done and gives its position, -1
// if there is none. active reports whether any request was.
func (a *array) endAny(status uintptr) (i int, active bool, e C.uint64_t) {
	for i, h := range a.all {
		if !isOurs(h) {
			continue
		}
		if r, _ := requestOf(h); !r.inactive() {
			active = true
			if r.done() {
				e := finish(r, &a.all[i], status)
				return i, true, raise(commWorld, int32(e)) // MPICH asks this handler for arrays
			}
		}
	}
	if len(a.host) == 0 {
		return -1, active, success
	}
	k, found := C.int(undefined), C.int(0)
	count, first := a.hostHandles()
	rc := C.cmpi_host_testany(count, first, &k, &found, C.intptr_t(status))
	if k < 0 || int(k) >= len(a.where) {
		// Found nothing: none is done, or (found) none is active.
		return -1, active || found == 0, raised(int32(rc))
	}
	a.all[a.where[k]] = a.host[k]
	return a.where[k], true, raised(int32(rc))
}

// goWaitsome is Waitsome, or Testsome when it must not wait.
//
//export goWaitsome
func goWaitsome(n C.int, list, outcount, indices *C.int, statuses C.intptr_t, wait C.int) C.uint64_t {
	defer rescue()
	a := newArray(n, list, statuses)
	if a.stale() {
		return raise(commWorld, errRequest)
	}
	out := unsafe.Slice((*int32)(unsafe.Pointer(indices)), int(n))
	for w, pass := (waiter{}), 0; ; pass++ {
		found, active, rc := a.endSome(out)
		if rc != success {
			return raised(rc)
		}
		switch {
		case found > 0:
			*outcount = C.int(found)
			return a.result(found)
		case !active:
			*outcount = undefined
			return success
		case wait == 0 && pass == 1:
			*outcount = 0
			return success
		case wait == 0:
			testPass()
		default:
			w.step()
		}
	}
}

// endSome completes all requests that are done and puts their positions into
// out. active reports whether any was, rc an error of the host's.
func (a *array) endSome(out []int32) (found int, active bool, rc int32) {
	for i, h := range a.all {
		if !isOurs(h) {
			continue
		}
		r, _ := requestOf(h)
		if r.inactive() {
			continue
		}
		active = true
		if r.done() {
			a.end(i, found)
			out[found] = int32(i)
			found++
		}
	}
	if len(a.host) == 0 {
		return found, active, success
	}
	st, p := a.hostStatuses()
	which := make([]C.int, len(a.host))
	var some C.int
	count, first := a.hostHandles()
	host := C.cmpi_host_testsome(count, first, &some, &which[0], p)
	if some == undefined {
		return found, active, success // all of them inactive
	}
	if a.hostResult(host) {
		return found, true, int32(host)
	}
	for k, j := range which[:some] {
		var s *status
		if st != nil {
			s = &st[k]
		}
		a.endHosts(a.where[j], found, a.host[j], s)
		out[found] = int32(a.where[j])
		found++
	}
	return found, true, success
}
