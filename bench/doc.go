// Package bench measures MPI programs with and without the library, side by
// side, and says whether the project's targets are met.
//
// What is run (benchmarks.go) is a set of small unmodified C programs in bench/c
// with the method and output columns of the OSU micro-benchmarks, or the OSU
// programs themselves, and NetPIPE. How it is run (variants.go) is natively on
// MPICH and Open MPI, and over the library in several modes. Every benchmark is
// run in every variant before any is repeated, and the order rotates from one
// repetition to the next, so that a disturbance of the machine hits all alike.
// Ranks are bound to one core each.
//
//	Run ─▶ Report ─▶ WriteText      tables for people, and the targets
//	                 WriteMarkdown  the same for docs/performance.md
//	                 WriteJSON      every single value
//	                 WritePlots     latency and bandwidth over size
//
// The invariant: a value in a table is the median of values measured in this
// run by programs that ended well; a run that failed, or in which the library
// did not carry the messages, gives an error in the report and never a value.
package bench
