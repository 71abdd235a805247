package main

// #include <stdlib.h>
// #include "../c/include/cmpi.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"cmpi/arena"
	"cmpi/flush"
	"cmpi/mpitransport"
	"cmpi/settings"
)

// plain is the job of a C program without an MPI. It has one communicator, of
// all ranks.
var plain struct {
	comm      *mpitransport.Comm
	lastError *C.char
}

// plainContext is the communicator's context id: NextContextID starts at one.
const plainContext = 0

var plainCodes = map[mpitransport.Class]C.int{
	mpitransport.OK:          C.CMPI_OK,
	mpitransport.ErrCount:    C.CMPI_ERR_ARGUMENT,
	mpitransport.ErrTag:      C.CMPI_ERR_ARGUMENT,
	mpitransport.ErrRank:     C.CMPI_ERR_ARGUMENT,
	mpitransport.ErrTruncate: C.CMPI_ERR_TRUNCATED,
	mpitransport.ErrRequest:  C.CMPI_ERR_REQUEST,
	mpitransport.ErrInternal: C.CMPI_ERR_CORRUPT,
	mpitransport.ErrNoMem:    C.CMPI_ERR_MEMORY,
}

// failed notes what went wrong for cmpi_last_error and gives the code back.
func failed(code C.int, format string, args ...any) C.int {
	C.free(unsafe.Pointer(plain.lastError))
	plain.lastError = C.CString(fmt.Sprintf(format, args...))
	return code
}

// outcome is the code of an engine call.
func outcome(cl mpitransport.Class, what string) C.int {
	if cl == mpitransport.OK {
		return C.CMPI_OK
	}
	code, ok := plainCodes[cl]
	if !ok {
		code = C.CMPI_ERR_ARGUMENT
	}
	return failed(code, "%s: %v", what, cl)
}

var emptyString = C.CString("")

//export goLastError
func goLastError() *C.char {
	defer rescue()
	if plain.lastError == nil {
		return emptyString
	}
	return plain.lastError
}

//export goPlainInit
func goPlainInit(rank, size C.int, pool, job *C.char) C.int {
	defer rescue()
	if endpoint != nil {
		return failed(C.CMPI_ERR_STATE, "cmpi_init inside a job")
	}
	s, err := settings.Parse(environ())
	if err != nil {
		return failed(C.CMPI_ERR_SETTING, "%v", err)
	}
	if rank >= 0 {
		s.Rank = int(rank)
	}
	if size > 0 {
		s.Size = int(size)
	}
	if pool != nil {
		s.Pool = C.GoString(pool)
	}
	if job != nil {
		s.Job = C.GoString(job)
	}
	if code := checkPlain(s); code != C.CMPI_OK {
		return code
	}
	restoreSignals()
	return joinPlain(s)
}

func checkPlain(s settings.Settings) C.int {
	switch {
	case s.Size < 1:
		return failed(C.CMPI_ERR_ARGUMENT, "the number of ranks is not known; give it to cmpi_init or set CMPI_SIZE")
	case s.Rank < 0 || s.Rank >= s.Size:
		return failed(C.CMPI_ERR_ARGUMENT, "rank %d is not below %d; give it to cmpi_init or set CMPI_RANK", s.Rank, s.Size)
	case s.Pool == "":
		return failed(C.CMPI_ERR_POOL, "the pool is not known; give it to cmpi_init or set CMPI_POOL")
	}
	return C.CMPI_OK
}

// plainCoherence is the mode: ranks of a file mostly share a kernel, those of a device
// perhaps not, and there is nobody to ask before the pool is open.
func plainCoherence(s settings.Settings) (flush.Mode, error) {
	if s.Coherence != settings.CoherenceAuto {
		return flush.ParseMode(string(s.Coherence))
	}
	if st, err := os.Stat(s.Pool); err == nil && st.Mode()&os.ModeDevice != 0 {
		return flush.Flush, nil
	}
	return flush.Coherent, nil
}

var errSeveralHosts = errors.New("the pool is a file and the ranks are on several hosts; set CMPI_COHERENCE=flush, or CMPI_COHERENCE=coherent if their caches are coherent with each other")

func severalHosts(e *mpitransport.Endpoint) bool {
	for r := range e.Size() {
		if e.Domain(int32(r)) != 0 {
			return true
		}
	}
	return false
}

func joinPlain(s settings.Settings) C.int {
	mode, err := plainCoherence(s)
	if err != nil {
		return failed(C.CMPI_ERR_SETTING, "%v", err)
	}
	if theJob.pool, err = arena.Open(poolConfig(s, mode)); err != nil {
		return failed(C.CMPI_ERR_POOL, "%v", err)
	}
	// What a rank of this host that died has left; another rank may be at it too.
	if _, err := theJob.pool.GC(); err != nil {
		closePool()
		return failed(C.CMPI_ERR_POOL, "%v", err)
	}
	job := s.Job
	if job == "" {
		job = "default"
	}
	theJob.name, theJob.fast = job, s.Fast
	// How many of the ranks run here is not known; the engine is polite if all do.
	c := engineConfig(s, s.Rank, s.Size, s.Size, job)
	c.Stats = startCounting(s, s.Rank, s.Size)
	e, err := mpitransport.New(c)
	if err != nil {
		stopCounting()
		closePool()
		if errors.Is(err, mpitransport.ErrTimeout) {
			return failed(C.CMPI_ERR_TIMEOUT, "%v; start all %d ranks with the same pool and job name", err, s.Size)
		}
		return failed(C.CMPI_ERR_POOL, "%v", err)
	}
	if s.Coherence == settings.CoherenceAuto && mode == flush.Coherent && severalHosts(e) {
		err := e.Finalize() // all ranks end here
		stopCounting()
		closePool()
		return failed(C.CMPI_ERR_SETTING, "%v", errors.Join(errSeveralHosts, err))
	}
	endpoint = e
	all := make([]int32, s.Size)
	for i := range all {
		all[i] = int32(i)
	}
	plain.comm = endpoint.NewComm(plainContext, s.Rank, all, nil)
	return C.CMPI_OK
}

// inPlainJob reports whether the C interface may be used now.
func inPlainJob() bool { return plain.comm != nil }

func notInJob(what string) C.int {
	return failed(C.CMPI_ERR_STATE, "%s outside a job; call cmpi_init first", what)
}

//export goPlainFinalize
func goPlainFinalize() C.int {
	defer rescue()
	if !inPlainJob() {
		return notInJob("cmpi_finalize")
	}
	err := endpoint.Finalize()
	plain.comm, endpoint = nil, nil
	stopCounting()
	closePool()
	if err != nil {
		return failed(C.CMPI_ERR_TIMEOUT, "%v", err)
	}
	return C.CMPI_OK
}

//export goPlainRank
func goPlainRank() C.int {
	defer rescue()
	if !inPlainJob() {
		return -1
	}
	return C.int(endpoint.Rank())
}

//export goPlainSize
func goPlainSize() C.int {
	defer rescue()
	if !inPlainJob() {
		return -1
	}
	return C.int(endpoint.Size())
}

//export goPlainBarrier
func goPlainBarrier() C.int {
	defer rescue()
	if !inPlainJob() {
		return notInJob("cmpi_barrier")
	}
	if err := endpoint.Barrier(); err != nil {
		return failed(C.CMPI_ERR_TIMEOUT, "%v", err)
	}
	return C.CMPI_OK
}

// Requests of the C interface are the engine's ids plus one: 0 is the null one.

func checkBuffer(buf unsafe.Pointer, n C.size_t, request *C.cmpi_request, what string) C.int {
	const maxBytes = 1<<63 - 1
	switch {
	case !inPlainJob():
		return notInJob(what)
	case request == nil || buf == nil && n > 0 || n > maxBytes:
		return failed(C.CMPI_ERR_ARGUMENT, "%s: invalid buffer or request address", what)
	}
	return C.CMPI_OK
}

//export goPlainIsend
func goPlainIsend(buf unsafe.Pointer, n C.size_t, dest, tag C.int, request *C.cmpi_request) C.int {
	defer rescue()
	if code := checkBuffer(buf, n, request, "send"); code != C.CMPI_OK {
		return code
	}
	if dest < 0 { // the engine knows a null process, this interface doesn't
		return outcome(mpitransport.ErrRank, "send")
	}
	r, cl := endpoint.Isend(plain.comm, buf, int64(n), byteType, int32(dest), int32(tag), mpitransport.Standard)
	if cl != mpitransport.OK {
		return outcome(cl, "send")
	}
	*request = C.cmpi_request(r.ID() + 1)
	return C.CMPI_OK
}

//export goPlainIrecv
func goPlainIrecv(buf unsafe.Pointer, n C.size_t, source, tag C.int, request *C.cmpi_request) C.int {
	defer rescue()
	if code := checkBuffer(buf, n, request, "receive"); code != C.CMPI_OK {
		return code
	}
	if source == mpitransport.ProcNull {
		return outcome(mpitransport.ErrRank, "receive")
	}
	r, cl := endpoint.Irecv(plain.comm, buf, int64(n), byteType, int32(source), int32(tag))
	if cl != mpitransport.OK {
		return outcome(cl, "receive")
	}
	*request = C.cmpi_request(r.ID() + 1)
	return C.CMPI_OK
}

func fillPlain(status *C.cmpi_status, st mpitransport.Status) {
	if status != nil {
		*status = C.cmpi_status{source: C.int(st.Source), tag: C.int(st.Tag), bytes: C.size_t(st.Bytes)}
	}
}

// goPlainWait is cmpi_wait with flag nil, else cmpi_test.
//
//export goPlainWait
func goPlainWait(request *C.cmpi_request, flag *C.int, status *C.cmpi_status) C.int {
	defer rescue()
	if !inPlainJob() {
		return notInJob("wait")
	}
	if request == nil {
		return failed(C.CMPI_ERR_ARGUMENT, "wait: no request address")
	}
	if flag != nil {
		*flag = 1
	}
	if *request == C.CMPI_REQUEST_NULL {
		fillPlain(status, mpitransport.EmptyStatus)
		return C.CMPI_OK
	}
	r := endpoint.Lookup(uint32(*request - 1))
	if r == nil {
		return failed(C.CMPI_ERR_REQUEST, "wait: no request %d", *request)
	}
	if flag == nil {
		endpoint.Wait(r)
	} else if !r.Done() {
		endpoint.Progress()
		if !r.Done() {
			*flag = 0
			return C.CMPI_OK
		}
	}
	st := r.Status()
	endpoint.Release(r)
	*request = C.CMPI_REQUEST_NULL
	fillPlain(status, st)
	return outcome(st.Err, "receive")
}

// goPlainProbe is cmpi_probe with flag nil, else cmpi_iprobe.
//
//export goPlainProbe
func goPlainProbe(source, tag C.int, flag *C.int, status *C.cmpi_status) C.int {
	defer rescue()
	if !inPlainJob() {
		return notInJob("probe")
	}
	if source == mpitransport.ProcNull {
		return outcome(mpitransport.ErrRank, "probe")
	}
	for w := (waiter{}); ; w.step() {
		st, found, cl := endpoint.Iprobe(plain.comm, int32(source), int32(tag))
		if cl != mpitransport.OK {
			return outcome(cl, "probe")
		}
		if found {
			fillPlain(status, st)
		}
		if flag != nil {
			*flag = truth(found)
		}
		if found || flag != nil {
			return C.CMPI_OK
		}
	}
}
