package main

// #include "shim.h"
import "C"

// goIdup wraps the host's request for a nonblocking duplicate of c into one of
// ours, which makes our entry when the host has finished (comms.c).
//
//export goIdup
func goIdup(c *C.struct_cmpi_comm, newcomm, handle *C.int) C.int {
	defer rescue()
	cm := commOf(c)
	context := cm.childContext()
	duplicate := int32(*newcomm)
	r := newComposite(cm.handle)
	r.host = int32(*handle)
	r.onHost = func() int32 { return adopt(duplicate, context) }
	*handle = C.int(r.publish())
	return success
}
