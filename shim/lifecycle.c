// MPI_Init, MPI_Finalize.

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim.h"
#include "lifecycle.h"
#include "_cgo_export.h"

// Under a host whose ABI we don't speak, only the launcher's environment says
// which rank this is.
static int first_rank_by_environment(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *rank = getenv(names[i]);
		if (rank != NULL)
			return strcmp(rank, "0") == 0;
	}
	return 1;
}

static int is_set(const char *name)
{
	const char *value = getenv(name);
	return value != NULL && strcmp(value, "1") == 0;
}

int MPI_Finalize(void);

// The host is up. All ranks decide together whether we carry the job.
static void begin(void)
{
	const char *why;
	if (cmpi_active())
		return;
	if (cmpi_host_resolve(&why) == 0) {
		if (goInit()) {
			NATIVE(Finalize)(); // in good order, so that the launcher loses no output
			exit(1);
		}
		return;
	}
	if (is_set("CMPI_DISABLE"))
		return;
	int require = is_set("CMPI_REQUIRE");
	if (first_rank_by_environment())
		fprintf(stderr, "cmpi: %s; %s\n", why,
		        require ? "stopping because CMPI_REQUIRE=1" : "running on the host MPI alone");
	if (require)
		exit(1);
}

int MPI_Init(void *argc, void *argv)
{
	int rc = NATIVE(Init)(argc, argv);
	if (rc == MPICH_SUCCESS)
		begin();
	return rc;
}
PROFILED(Init);

int MPI_Init_thread(void *argc, void *argv, int required, int *provided)
{
	int rc = NATIVE(Init_thread)(argc, argv, required, provided);
	if (rc == MPICH_SUCCESS)
		begin();
	return rc;
}
PROFILED(Init_thread);

// The host first deletes the attributes of MPI_COMM_SELF, the last made first.
// Callbacks of the program may still communicate; ours comes after them and
// ends our part (comms.c).
int MPI_Finalize(void)
{
	return BLOCKING(NATIVE(Finalize)());
}
PROFILED(Finalize);

// ---- what Go needs of the host while it starts ---------------------------------------

int cmpi_world(int *rank, int *size, int *threaded)
{
	int rc, level = 0;
	if ((rc = cmpi_host.Comm_rank(MPICH_COMM_WORLD, rank)) || (rc = cmpi_host.Comm_size(MPICH_COMM_WORLD, size)) ||
	    (rc = cmpi_host.Query_thread(&level)))
		return rc;
	*threaded = level == MPICH_THREAD_MULTIPLE;
	return MPICH_SUCCESS;
}

// Waits for a nonblocking collective operation of the host's. Its blocking
// ones spin: where ranks share processors, each then waits for whole time slices
// of the others (8 ranks on 2 cores: 30 ms for each agreement). Yielding alone
// doesn't help a rank that has just used up its own slice.
static int finish(int rc, int request)
{
	const struct timespec nap = {0, 50 * 1000};
	for (int looks = 0, done = 0; rc == MPICH_SUCCESS; looks++) {
		rc = cmpi_host.Test(&request, &done, MPICH_STATUS_IGNORE);
		if (done)
			break;
		if (looks < 10)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
	return rc;
}

int cmpi_world_bcast(void *buf, int n, int root)
{
	int request, rc = cmpi_host.Ibcast(buf, n, MPICH_BYTE, root, MPICH_COMM_WORLD, &request);
	return finish(rc, request);
}

int cmpi_world_allgather(const void *mine, int n, void *all)
{
	int request, rc = cmpi_host.Iallgather(mine, n, MPICH_BYTE, all, n, MPICH_BYTE, MPICH_COMM_WORLD, &request);
	return finish(rc, request);
}

static int barrier(void)
{
	int request, rc = cmpi_host.Ibarrier(MPICH_COMM_WORLD, &request);
	return finish(rc, request);
}

int cmpi_world_barrier(void)
{
	return BLOCKING(barrier());
}

void cmpi_world_abort(int code)
{
	cmpi_host.Abort(MPICH_COMM_WORLD, code);
}

extern char **environ;

const char *cmpi_environ(int i)
{
	return environ[i];
}

// A probe that finds nothing makes MPICH make progress, but not one of
// MPI_COMM_SELF, which it looks up in a list. On MPI_COMM_WORLD the host has no
// messages.
void cmpi_poke(void)
{
	int flag;
	cmpi_host.Iprobe(MPICH_ANY_SOURCE, MPICH_ANY_TAG, MPICH_COMM_WORLD, &flag, MPICH_STATUS_IGNORE);
}
