// Package tools tests that profiling tools work above the library. MPI's
// profiling interface lets a tool define MPI_Send and reach the real one as
// PMPI_Send; a tool that is preloaded in front of the library must see every call
// of the program once, and no call that the library makes for itself, and the
// program must compute what it computes without us.
//
// src/prof.c is such a tool, of the plainest kind: it counts calls and prints
// the counts in MPI_Finalize. The programs, in C and in Fortran with each of the
// three Fortran bindings, count for themselves what they call; both counts must
// be equal, on every rank:
//
//	made RANK Name=count ...    a program's own line
//	seen RANK Name=count ...    the tool's line
//
// The tool must come first in LD_PRELOAD ("prof.so:libcmpi.so"), or be linked
// into the program: whoever comes first sees the calls, and the library reaches
// its host by other ways than the names MPI_*.
package tools
