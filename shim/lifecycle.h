// The host's part in starting and ending (lifecycle.c); all over MPI_COMM_WORLD.
// Functions give 0 or a host error code.
#ifndef CMPI_LIFECYCLE_H
#define CMPI_LIFECYCLE_H

int cmpi_world(int *rank, int *size, int *threaded);
int cmpi_world_bcast(void *buf, int n, int root);
int cmpi_world_allgather(const void *mine, int n, void *all);
int cmpi_world_barrier(void);
void cmpi_world_abort(int code);

// The i-th string of the environment, NULL behind the last.
const char *cmpi_environ(int i);

// Lets the host make progress (one-sided traffic to this rank, nonblocking
// collectives). There is no MPI function for that alone; a probe on MPI_COMM_SELF
// is the cheapest that does it.
void cmpi_poke(void);

// Puts the signal dispositions back (signals.c).
void cmpi_restore_signals(void);

#endif
