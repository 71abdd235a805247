package main

// #include "shim.h"
import "C"

// goIdup wraps the host's request for a nonblocking duplicate of c into one of
// ours, which makes our entry under the given context id when the host has
// finished (comms.c).
//
//export goIdup
func goIdup(c *C.struct_cmpi_comm, context C.uint64_t, newcomm C.int, handle *C.int) C.int {
	defer rescue()
	r := newComposite(commOf(c).handle)
	r.host = int32(*handle)
	r.onHost = func() int32 { return adopt(int32(newcomm), uint64(context)) }
	*handle = C.int(r.publish())
	return success
}
