// Package hosts tests the library between hosts: those of package lab, each with
// its own kernel identity, network and processes, which share a pool.
//
//	go test ./tests/hosts                     a selection, a minute on two cores
//	go test ./tests/hosts -full -timeout 30m  every program in every mode
//
// The programs are those of tests/programs, which verify every byte; the library
// must say that it carries the job over the pool, and must leave the pool empty.
// What happens when a rank, a host, the launcher or the network fails is tried
// with src/endless.c.
//
// Root is needed; the tests are skipped elsewhere.
package hosts
