// Package programs holds plain MPI programs, in C and Fortran, that verify every
// byte they receive, and the test that runs them: natively, and over the
// library in each coherence mode.
//
// The programs know nothing of the library; build.sh makes them with the host
// MPI's compilers. What each one does stands at the top of its source. They
// share a convention: rank 0 prints "OK name" and nothing else is printed, or
// the rank that noticed a mistake prints a line "FAIL name: ..." and the job
// ends with an exit code other than 0. Arguments such as bytes=1000 or seed=7
// scale the work; the defaults take a second.
//
//	go test ./tests/programs                       a selection, minutes
//	go test ./tests/programs -full -timeout 30m    every program, mode and number of ranks
//	go test ./tests/programs -run '/traffic/flush'
//
// Variables CMPI_* that are set reach the programs, so that one run can try
// another ring, pool or seed.
package programs
