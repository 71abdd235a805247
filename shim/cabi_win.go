package main

// #include "win.h"
// #include "../c/include/cmpi.h"
import "C"

// Windows of C programs without an MPI (cabi_win.c).

// plainWindows is the first context id of windows; the messages of a window's
// making and end go under one each. Below are the communicators (plainContext).
const plainWindows = 1 << 32

// plainMade counts the windows made, as all ranks make them in the same order.
var plainMade uint64

//export goPlainWinMake
func goPlainWinMake(bytes C.intptr_t, w **C.struct_cmpi_win) C.int {
	defer rescue()
	const what = "cmpi_win_allocate_shared"
	if !inPlainJob() {
		return notInJob(what)
	}
	plainMade++
	id := plainWindows + plainMade
	ec := endpoint.NewComm(id, endpoint.Rank(), plain.comm.Members(), nil)
	made := makeWin(ec, proposal{name: id, size: int64(bytes), dispUnit: 1, flavor: C.MPICH_WIN_FLAVOR_SHARED})
	if made == nil {
		return failed(C.CMPI_ERR_MEMORY, "%s: the pool has no room for the window, or a rank has ended", what)
	}
	*w = made
	return C.CMPI_OK
}

// goPlainWindow checks that a call on a window may go on.
//
//export goPlainWindow
func goPlainWindow(w *C.struct_cmpi_win, what *C.char) C.int {
	defer rescue()
	switch {
	case !inPlainJob():
		return notInJob(C.GoString(what))
	case w == nil:
		return failed(C.CMPI_ERR_ARGUMENT, "%s: no window", C.GoString(what))
	}
	return C.CMPI_OK
}

var plainWinCodes = map[C.int]C.int{
	C.MPICH_ERR_RMA_SYNC:  C.CMPI_ERR_SYNC,
	C.MPICH_ERR_RMA_RANGE: C.CMPI_ERR_RANGE,
	C.MPICH_ERR_DISP:      C.CMPI_ERR_RANGE,
	C.MPICH_ERR_OTHER:     C.CMPI_ERR_LOST,
	C.MPICH_ERR_INTERN:    C.CMPI_ERR_CORRUPT,
}

// goPlainOutcome is the code for an error class of the MPI ABI.
//
//export goPlainOutcome
func goPlainOutcome(class C.int, what *C.char) C.int {
	defer rescue()
	code, ok := plainWinCodes[class]
	if !ok {
		code = C.CMPI_ERR_ARGUMENT
	}
	return failed(code, "%s: %s", C.GoString(what), C.GoString(C.cmpi_strerror(code)))
}
