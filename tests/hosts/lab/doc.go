// Package lab makes hosts out of namespaces: several "machines" on one kernel
// that share nothing but a pool, for tests and measurements of what the library
// does between hosts.
//
//	head (network namespace)          h1                       h2
//	  mpiexec ── br0 ──────────── eth0, hostname, pids,    eth0, ...
//	  10.77.0.254                 /tmp /dev/shm /proc
//	                              boot id, ipc             10.77.0.2
//	                              /srv/h1/pool             /srv/h2/pool
//	                                   └───────── one file ─────┘
//
// A host is a process 1 in net, uts, ipc, pid and mount namespaces of its own,
// with its own /proc, /sys, /tmp and /dev/shm, its own host name and kernel boot
// id; everything else of the file system is this machine's. The pool is one file
// or device, seen at another path in each host. MPI programs are started by the
// mpiexec of the lab (Lab.Mpiexec), which runs in the head and reaches the hosts
// by a launcher script, as it would by ssh. Each host has its own part of the
// processors if there are enough. Slurm takes the place of mpiexec and script
// when it is asked for (Lab.StartSlurm).
//
// The ipc and the pid namespace matter: with network and name alone MPI
// libraries go on using shared memory between such hosts.
//
// Everything a lab has on this machine carries its name: a folder below Dir, its
// processes (by the variable CMPILAB in their environment), and the pool file if
// the lab made it. Network devices and mounts live in the namespaces and vanish
// with the processes. So Down, of a lab in any state, leaves nothing behind; and
// Up takes down the labs whose owners have ended without doing so.
//
// The invariant: no process is killed unless it carries a lab's name or was
// started by the lab itself, its start time being the recorded one.
package lab
