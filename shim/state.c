// The state that decides where a call goes (see shim.h).

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"
#include "_cgo_export.h"

struct cmpi_state cmpi_state;
_Atomic(struct cmpi_comm_page *) cmpi_comm_pages[4][1 << 14];

// The helper holds the engine for one pass over the rings, some hundred
// nanoseconds, unless the kernel has put it aside; then the CPU is better given
// to it.
void cmpi_wait_for_helper(void)
{
	for (int spins = 0;; spins++) {
		int32_t in_host = CMPI_IN_HOST;
		if (atomic_compare_exchange_weak(&cmpi_state.owner, &in_host, CMPI_OWNED))
			return;
		if (spins >= 100)
			sched_yield();
	}
}

void cmpi_pass(void)
{
	// A call of the host's costs some 200 ns, one into Go half as much.
	static _Thread_local unsigned calls;
	if (++calls % 8 != 0)
		return;
	int32_t depth = cmpi_own_begin();
	goProgress();
	cmpi_own_end(depth);
}

// Puts a communicator into the table, or takes it out (c NULL). The caller
// holds Go's lock on the communicators. 0, or -1 when there is no memory.
int cmpi_table_set(int32_t handle, struct cmpi_comm *c)
{
	uint32_t h = (uint32_t)handle;
	_Atomic(struct cmpi_comm_page *) *place = &cmpi_comm_pages[h >> 30][(h >> 12) & 0x3fff];
	struct cmpi_comm_page *page = atomic_load_explicit(place, memory_order_relaxed);
	if (page == NULL) {
		if (c == NULL)
			return 0;
		page = calloc(1, sizeof *page);
		if (page == NULL)
			return -1;
		atomic_store_explicit(place, page, memory_order_release);
	}
	atomic_store_explicit(&page->comm[h & (CMPI_PAGE - 1)], c, memory_order_release);
	return 0;
}

void cmpi_last_words(const char *fn, int class)
{
	char text[MPICH_MAX_ERROR_STRING + 1];
	int len = 0, rank = -1;
	if (cmpi_host.Error_string(class, text, &len) != MPICH_SUCCESS)
		snprintf(text, sizeof text, "error class %d", class);
	cmpi_host.Comm_rank(MPICH_COMM_WORLD, &rank);
	fprintf(stderr, "cmpi: rank %d: %s: %s\n", rank, fn, text);
}

int cmpi_raise(const char *fn, int comm, int class)
{
	int handler = MPICH_ERRHANDLER_NULL;
	if (cmpi_host.Comm_get_errhandler(comm, &handler) == MPICH_SUCCESS) {
		if (handler == MPICH_ERRORS_ARE_FATAL || handler == MPICH_ERRORS_ABORT)
			cmpi_last_words(fn, class);
		else if (handler != MPICH_ERRORS_RETURN)
			cmpi_host.Errhandler_free(&handler);
	}
	cmpi_host.Comm_call_errhandler(comm, class);
	return class;
}
