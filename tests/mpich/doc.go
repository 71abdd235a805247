// Command mpich runs the test suite of MPICH, natively and over the library,
// and compares test by test.
//
//	go run ./tests/mpich                                all directories, native and coherent
//	go run ./tests/mpich --modes native,flush --dirs pt2pt,comm
//	go run ./tests/mpich --only 'pt2pt/bsend' --modes native,coherent,flush,emulate -v
//	go test ./tests/mpich                               the quick selection, see quick_test.go
//
// It works from nothing: the suite's source is that of the installed mpich
// package, fetched with apt from private copies of the machine's package
// sources (apt.go), configured and built program by program as tests ask for
// them (suite.go). Every step leaves its result below the work folder and is not
// repeated.
//
//	testlist ─parse▶ Test ─┬▶ native ──▶ Outcome (kept) ─┐
//	                       └▶ each mode ▶ Outcome ───────┴▶ Class ▶ table, TAP, JUnit, JSON
//
// A test is a line of a directory's testlist; runner.go starts it as the suite's
// own runtests does and judge.go judges its output by the same rules. The
// library is preloaded into the test's processes only, never into mpiexec.
//
// The invariant: a test counts as passed over the library only in a mode in
// which a message was seen to travel through the pool (probe.go), and a test
// that passes natively and fails over the library is a difference unless
// known.txt has a reason for it. Any difference makes the exit status 1.
package main
