// Command vm runs the library on real kernels: two virtual machines, emulated by
// QEMU, that have nothing in common but one memory device.
//
//	                 this machine
//	+-------------------------------------------------+
//	|  guest a                         guest b        |
//	|  Debian's kernel                 Debian's kernel|
//	|  /dev/dax0.0                     /dev/dax0.0    |
//	|      |                               |          |
//	|      +------- one file, 512 MiB -----+          |
//	|      eth1 -------- ssh, MPICH ------ eth1       |
//	+-------------------------------------------------+
//
//	go run ./tests/vm                    both devices, some minutes each
//	go run ./tests/vm --device nvdimm    a persistent-memory module
//	go run ./tests/vm --device cxl       a CXL type-3 device
//	go test ./tests/vm -vm               the same as a test
//
// Both guests have this machine's files as their root, read-only under an overlay
// in memory, so that programs, libraries and tools are the ones that are here. There
// are two boot ids, two page caches, two process tables, and no atomic instruction
// works between the guests, as between two hosts on a CXL pool.
//
// main says what is run and counts, machine.go what this machine must offer,
// kernel.go makes what the guests boot, guest.go starts and commands them, device.go
// knows the two devices, steps.go is the list of what is tried.
package main
