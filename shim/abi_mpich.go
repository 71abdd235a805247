package main

// #include "abi_mpich.h"
import "C"

import (
	"unsafe"

	"cmpi/mpitransport"
)

// status is MPI_Status of the MPICH ABI (struct cmpi_status).
type status struct {
	countLo            uint32
	countHiAndCanceled uint32
	source, tag, err   int32
}

// The Go view must be the C one; a difference makes an array of negative length.
var (
	_ [unsafe.Sizeof(status{}) - C.sizeof_struct_cmpi_status]struct{}
	_ [C.sizeof_struct_cmpi_status - unsafe.Sizeof(status{})]struct{}
	_ [-(C.CMPI_ANY_SOURCE - mpitransport.AnySource)]struct{}
	_ [-(C.CMPI_ANY_TAG - mpitransport.AnyTag)]struct{}
	_ [-(C.CMPI_PROC_NULL - mpitransport.ProcNull)]struct{}
)

const (
	commNull      = C.CMPI_COMM_NULL
	commWorld     = C.CMPI_COMM_WORLD
	commSelf      = C.CMPI_COMM_SELF
	requestNull   = C.CMPI_REQUEST_NULL
	messageNull   = C.CMPI_MESSAGE_NULL
	messageNoProc = C.CMPI_MESSAGE_NO_PROC
	undefined     = C.CMPI_UNDEFINED

	success     = C.CMPI_SUCCESS
	errBuffer   = C.CMPI_ERR_BUFFER
	errType     = C.CMPI_ERR_TYPE
	errOther    = C.CMPI_ERR_OTHER
	errInStatus = C.CMPI_ERR_IN_STATUS
	errRequest  = C.CMPI_ERR_REQUEST
	errNoMem    = C.CMPI_ERR_NO_MEM

	// statusIgnore is MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE.
	statusIgnore = 1
	statusSize   = C.sizeof_struct_cmpi_status

	bsendOverhead = C.CMPI_BSEND_OVERHEAD
)

var classNumbers = map[mpitransport.Class]int32{
	mpitransport.OK:          C.CMPI_SUCCESS,
	mpitransport.ErrCount:    C.CMPI_ERR_COUNT,
	mpitransport.ErrTag:      C.CMPI_ERR_TAG,
	mpitransport.ErrRank:     C.CMPI_ERR_RANK,
	mpitransport.ErrTruncate: C.CMPI_ERR_TRUNCATE,
	mpitransport.ErrRequest:  C.CMPI_ERR_REQUEST,
	mpitransport.ErrInternal: C.CMPI_ERR_INTERN,
	mpitransport.ErrOther:    C.CMPI_ERR_OTHER,
	mpitransport.ErrNoMem:    C.CMPI_ERR_NO_MEM,
	mpitransport.ErrPending:  C.CMPI_ERR_PENDING,
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
