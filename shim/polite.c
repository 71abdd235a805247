// Ranks that wait in the host let others run.
//
// The host MPI waits by asking for progress in a loop without end. Where more
// ranks than processors share a machine, each then waits for whole time slices of
// the others: a barrier of 8 ranks on 2 processors takes 30 ms. MPICH's ch4:ucx
// device asks UCX, by a function that we stand in front of: while a blocking
// host call finds nothing to do, it gives the processor away. Our own waits and
// calls that only poll have their own manners (mpitransport/progress.go).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "shim.h"

// How often in a row nothing is found before the processor is offered to
// others, and before the rank sleeps: a rank that has just used up its time slice
// gets the processor back at once when it only offers it.
enum { BEFORE_YIELD = 8, BEFORE_NAP = 100 };

// Shorter than a rank's turn, longer than the kernel needs to switch twice.
static const struct timespec nap = {0, 50 * 1000};

_Thread_local unsigned cmpi_idle;

typedef unsigned progress_function(void *worker);

// UCX's own function: behind us in the search order, or in a library that was
// opened for its users only.
static progress_function *find_progress(void)
{
	static _Atomic(void *) found;
	void *p = atomic_load_explicit(&found, memory_order_relaxed);
	if (__builtin_expect(p != NULL, 1))
		return (progress_function *)p;
	p = dlsym(RTLD_NEXT, "ucp_worker_progress");
	if (p == NULL) {
		void *library = dlopen("libucp.so.0", RTLD_NOLOAD | RTLD_LAZY);
		if (library != NULL) {
			p = dlsym(library, "ucp_worker_progress");
			dlclose(library); // NOLOAD has only raised the count of its users
		}
	}
	if (p == NULL) {
		fprintf(stderr, "cmpi: the UCX of this program has no ucp_worker_progress; run it without LD_PRELOAD of libcmpi.so\n");
		abort();
	}
	atomic_store_explicit(&found, p, memory_order_relaxed);
	return (progress_function *)p;
}

static int in_host(void)
{
	return cmpi_threaded() ? atomic_load_explicit(&cmpi_state.in_host, memory_order_relaxed) > 0 : cmpi_state.depth > 0;
}

unsigned ucp_worker_progress(void *worker)
{
	unsigned done = find_progress()(worker);
	if (__builtin_expect(!atomic_load_explicit(&cmpi_state.crowded, memory_order_relaxed), 1))
		return done;
	if (done != 0 || !in_host()) {
		cmpi_idle = 0;
		return done;
	}
	if (++cmpi_idle > BEFORE_NAP)
		nanosleep(&nap, NULL);
	else if (cmpi_idle > BEFORE_YIELD)
		sched_yield();
	return done;
}
