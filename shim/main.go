// Package main is libcmpi.so: the library that is preloaded into unmodified MPI
// programs, and that C programs can link to without any MPI (c/include/cmpi.h).
//
//	program ── MPI_Send ──▶ p2p.c ─ whose communicator is it?
//	                          ├─ the host's ─▶ PMPI_Send of the MPI library underneath
//	                          └─ ours ───────▶ goSend (p2p.go) ─▶ mpitransport
//
// The C files define the MPI functions, each under its MPI_ and its PMPI_ name.
// They decide where a call goes without entering Go. The Go files translate
// handles, statuses, datatypes and errors between the MPI library's ABI
// (abi_mpich.h, abi_mpich.go) and the engine; they move no data themselves.
//
//	host.c         finding the host MPI library's functions
//	state.c        who drives the engine; table of our communicators; errors
//	signals.c      a crashing program dies as it does without us
//	lifecycle.c    MPI_Init, MPI_Finalize
//	p2p.c          sends, receives, probes
//	complete.c     waits, tests and other functions on requests
//	comms.c        communicator constructors
//	types.c        how the host's datatypes were made
//	passthrough.c  host functions that we only have to keep moving beside
//	polite.c       ranks that wait in the host let others run
//	win.c          windows and their memory: constructors, attributes, synchronisation
//	rma.c, rma.h   one-sided operations, and those that need no call into Go
//	cabi.c         the interfaces for C programs without an MPI, cmpi.h
//	cabi_win.c     windows in cmpi.h
//	cxlshm.c       and cxl_shm.h
//
// The one invariant: all members of a communicator give the same answer to
// "whose is it?", and it never changes while the communicator lives (package
// documentation of the decision: comms.c and init.go).
//
// Other invariants. No Go panic crosses into C: every exported function defers
// rescue. An MPI error handler, which may never return, is called from C when
// no Go frame is on the stack. A status address may be the constant 1 and
// therefore travels as an integer, never as a Go pointer.
package main

/*
#cgo CFLAGS: -O2 -Wall -Wextra -Wno-unused-parameter -std=gnu11 -fvisibility=default
#cgo LDFLAGS: -ldl
*/
import "C"

func main() {}
