package main

// #include "abi_mpich.h"
import "C"

import (
	"unsafe"

	"cmpi/mpitransport"
)

// status is MPI_Status of the MPICH ABI (struct mpich_status).
type status struct {
	countLo            uint32
	countHiAndCanceled uint32
	source, tag, err   int32
}

// The Go view must be the C one; a difference makes an array of negative length.
var (
	_ [unsafe.Sizeof(status{}) - C.sizeof_struct_mpich_status]struct{}
	_ [C.sizeof_struct_mpich_status - unsafe.Sizeof(status{})]struct{}
	_ [-(C.MPICH_ANY_SOURCE - mpitransport.AnySource)]struct{}
	_ [-(C.MPICH_ANY_TAG - mpitransport.AnyTag)]struct{}
	_ [-(C.MPICH_PROC_NULL - mpitransport.ProcNull)]struct{}
)

const (
	commNull      = C.MPICH_COMM_NULL
	commWorld     = C.MPICH_COMM_WORLD
	commSelf      = C.MPICH_COMM_SELF
	requestNull   = C.MPICH_REQUEST_NULL
	messageNull   = C.MPICH_MESSAGE_NULL
	messageNoProc = C.MPICH_MESSAGE_NO_PROC
	undefined     = C.MPICH_UNDEFINED

	success     = C.MPICH_SUCCESS
	errBuffer   = C.MPICH_ERR_BUFFER
	errType     = C.MPICH_ERR_TYPE
	errArg      = C.MPICH_ERR_ARG
	errOther    = C.MPICH_ERR_OTHER
	errInStatus = C.MPICH_ERR_IN_STATUS
	errRequest  = C.MPICH_ERR_REQUEST
	errNoMem    = C.MPICH_ERR_NO_MEM

	// statusIgnore is MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE.
	statusIgnore = 1
	statusSize   = C.sizeof_struct_mpich_status

	bsendOverhead = C.MPICH_BSEND_OVERHEAD
)

var classNumbers = map[mpitransport.Class]int32{
	mpitransport.OK:          C.MPICH_SUCCESS,
	mpitransport.ErrCount:    C.MPICH_ERR_COUNT,
	mpitransport.ErrTag:      C.MPICH_ERR_TAG,
	mpitransport.ErrRank:     C.MPICH_ERR_RANK,
	mpitransport.ErrTruncate: C.MPICH_ERR_TRUNCATE,
	mpitransport.ErrRequest:  C.MPICH_ERR_REQUEST,
	mpitransport.ErrInternal: C.MPICH_ERR_INTERN,
	mpitransport.ErrOther:    C.MPICH_ERR_OTHER,
	mpitransport.ErrNoMem:    C.MPICH_ERR_NO_MEM,
	mpitransport.ErrPending:  C.MPICH_ERR_PENDING,
}

// number is the error class as this ABI numbers it.
func number(c mpitransport.Class) int32 {
	if c == mpitransport.OK {
		return success
	}
	if n, ok := classNumbers[c]; ok {
		return n
	}
	return errOther
}

// putStatus fills the MPI_Status at address p, if the program wants it. The
// MPI_ERROR field is left alone: only functions that complete several requests
// set it (MPI-4.0 section 3.2.5), see putError.
func putStatus(p uintptr, st mpitransport.Status) {
	s := statusAt(p, 0)
	if s == nil {
		return
	}
	s.countLo = uint32(st.Bytes)
	s.countHiAndCanceled = uint32(st.Bytes>>32) << 1
	if st.Cancelled {
		s.countHiAndCanceled |= 1
	}
	s.source, s.tag = st.Source, st.Tag
}

func putError(p uintptr, i int, class int32) {
	if s := statusAt(p, i); s != nil {
		s.err = class
	}
}

// element is the address of element i of the array of statuses at p.
func element(p uintptr, i int) uintptr {
	if p == 0 || p == statusIgnore {
		return p
	}
	return p + uintptr(i)*statusSize
}
