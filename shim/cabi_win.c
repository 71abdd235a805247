// The one-sided part of c/include/cmpi.h, on the same windows as MPI's: the handle
// is what the C files know of a window, and elements and operations have the
// numbers of the MPI ABI, so that rma.h and the Go functions serve both.

#include "rma.h"
#include "../c/include/cmpi.h"
#include "_cgo_export.h"

// Handles of predefined datatypes, by cmpi_type; sizes are in them.
static const int types[] = {
	[CMPI_INT32] = 0x4c000439, [CMPI_INT64] = 0x4c00083a, [CMPI_UINT32] = 0x4c00043d,
	[CMPI_UINT64] = 0x4c00083e, [CMPI_FLOAT] = 0x4c00040a, [CMPI_DOUBLE] = 0x4c00080b,
};

static const int ops[] = {
	[CMPI_SUM] = MPICH_SUM, [CMPI_PROD] = MPICH_PROD, [CMPI_MIN] = MPICH_MIN, [CMPI_MAX] = MPICH_MAX,
	[CMPI_BAND] = MPICH_BAND, [CMPI_BOR] = MPICH_BOR, [CMPI_BXOR] = MPICH_BXOR,
	[CMPI_REPLACE] = MPICH_REPLACE, [CMPI_NO_OP] = MPICH_NO_OP,
};

#define COUNT(array) (sizeof array / sizeof *array)

// A call that gives an MPI error class, as a code of this interface.
#define CALL(what, w, call)                                              \
	({                                                                   \
		int rc_ = goPlainWindow(w, what);                                \
		if (rc_ == CMPI_OK && (rc_ = (call)) != MPICH_SUCCESS)           \
			rc_ = goPlainOutcome(rc_, what);                             \
		rc_;                                                             \
	})

#define REFUSE(what) goPlainOutcome(MPICH_ERR_ARG, what)

int cmpi_win_allocate_shared(size_t bytes, void **base, cmpi_win *win)
{
	if (base == NULL || win == NULL || bytes > INT64_MAX)
		return REFUSE("cmpi_win_allocate_shared");
	int rc = goPlainWinMake((intptr_t)bytes, win);
	if (rc == CMPI_OK)
		*base = (*win)->base;
	return rc;
}

int cmpi_win_shared_query(cmpi_win win, int rank, size_t *bytes, void **base)
{
	intptr_t size = 0;
	int unit;
	uintptr_t at = 0;
	if (bytes == NULL || base == NULL || rank < 0)
		return REFUSE("cmpi_win_shared_query");
	int rc = CALL("cmpi_win_shared_query", win, goWinQuery(win, rank, &size, &unit, &at));
	if (rc == CMPI_OK) {
		*bytes = (size_t)size;
		*base = (void *)at;
	}
	return rc;
}

int cmpi_win_free(cmpi_win *win)
{
	if (win == NULL)
		return REFUSE("cmpi_win_free");
	int rc = CALL("cmpi_win_free", *win, goWinFree(*win));
	if (rc == CMPI_OK) {
		goWinDrop(*win);
		*win = CMPI_WIN_NULL;
	}
	return rc;
}

// ---- operations ------------------------------------------------------------------------------

int cmpi_put(const void *buf, size_t n, int rank, size_t offset, cmpi_win win)
{
	if (win != NULL && cmpi_fast_put(win, buf, (int64_t)n, MPICH_BYTE, rank, (intptr_t)offset, (int64_t)n, MPICH_BYTE))
		return CMPI_OK;
	if (n > INT64_MAX || rank < 0)
		return REFUSE("cmpi_put");
	return CALL("cmpi_put", win, goPut(win, (void *)buf, (intptr_t)n, MPICH_BYTE, rank, (intptr_t)offset, (intptr_t)n, MPICH_BYTE, 0));
}

int cmpi_get(void *buf, size_t n, int rank, size_t offset, cmpi_win win)
{
	if (win != NULL && cmpi_fast_get(win, buf, (int64_t)n, MPICH_BYTE, rank, (intptr_t)offset, (int64_t)n, MPICH_BYTE))
		return CMPI_OK;
	if (n > INT64_MAX || rank < 0)
		return REFUSE("cmpi_get");
	return CALL("cmpi_get", win, goGet(win, buf, (intptr_t)n, MPICH_BYTE, rank, (intptr_t)offset, (intptr_t)n, MPICH_BYTE, 0));
}

int cmpi_accumulate(const void *buf, size_t count, cmpi_type type, cmpi_op op, int rank, size_t offset, cmpi_win win)
{
	if ((size_t)type >= COUNT(types) || (size_t)op >= COUNT(ops) || count > INT64_MAX || rank < 0)
		return REFUSE("cmpi_accumulate");
	int t = types[type], o = ops[op];
	if (win != NULL && buf != NULL && cmpi_fast_combine(win, buf, NULL, (int64_t)count, t, rank, (intptr_t)offset, o))
		return CMPI_OK;
	return CALL("cmpi_accumulate", win, goAccumulate(win, (void *)buf, (intptr_t)count, t, rank, (intptr_t)offset, (intptr_t)count, t, o, 0));
}

int cmpi_get_accumulate(const void *buf, void *result, size_t count, cmpi_type type, cmpi_op op, int rank, size_t offset, cmpi_win win)
{
	if ((size_t)type >= COUNT(types) || (size_t)op >= COUNT(ops) || count > INT64_MAX || rank < 0)
		return REFUSE("cmpi_get_accumulate");
	int t = types[type], o = ops[op];
	if (win != NULL && (buf != NULL || op == CMPI_NO_OP) && result != NULL &&
	    cmpi_fast_combine(win, buf, result, (int64_t)count, t, rank, (intptr_t)offset, o))
		return CMPI_OK;
	return CALL("cmpi_get_accumulate", win, goGetAccumulate(win, (void *)buf, (intptr_t)count, t, result, (intptr_t)count, t, rank, (intptr_t)offset, (intptr_t)count, t, o, 0));
}

int cmpi_compare_and_swap(const void *buf, const void *compare, void *result, cmpi_type type, int rank, size_t offset, cmpi_win win)
{
	if ((size_t)type >= COUNT(types) || buf == NULL || compare == NULL || result == NULL || rank < 0)
		return REFUSE("cmpi_compare_and_swap");
	int t = types[type];
	if (win != NULL && cmpi_fast_swap(win, buf, compare, result, t, rank, (intptr_t)offset))
		return CMPI_OK;
	return CALL("cmpi_compare_and_swap", win, goCompareAndSwap(win, (void *)buf, (void *)compare, result, t, rank, (intptr_t)offset));
}

// ---- synchronisation -----------------------------------------------------------------------

int cmpi_win_fence(cmpi_win win)
{
	return CALL("cmpi_win_fence", win, goWinFence(win, 0));
}

int cmpi_win_post(int n, const int *ranks, cmpi_win win)
{
	if (n < 0 || (ranks == NULL && n > 0))
		return REFUSE("cmpi_win_post");
	return CALL("cmpi_win_post", win, goWinPost(win, n, (int *)ranks, 0));
}

int cmpi_win_wait(cmpi_win win)
{
	return CALL("cmpi_win_wait", win, goWinWait(win));
}

int cmpi_win_test(cmpi_win win, int *flag)
{
	if (flag == NULL)
		return REFUSE("cmpi_win_test");
	return CALL("cmpi_win_test", win, goWinTest(win, flag));
}

int cmpi_win_start(int n, const int *ranks, cmpi_win win)
{
	if (n < 0 || (ranks == NULL && n > 0))
		return REFUSE("cmpi_win_start");
	return CALL("cmpi_win_start", win, goWinStart(win, n, (int *)ranks, 0));
}

int cmpi_win_complete(cmpi_win win)
{
	return CALL("cmpi_win_complete", win, goWinComplete(win));
}

int cmpi_win_lock(int exclusive, int rank, cmpi_win win)
{
	if (rank < 0)
		return REFUSE("cmpi_win_lock");
	int type = exclusive ? MPICH_LOCK_EXCLUSIVE : MPICH_LOCK_SHARED;
	int rc = CALL("cmpi_win_lock", win, goWinLock(win, type, rank, 0));
	if (rc == CMPI_OK)
		win->locked[rank] = 1;
	return rc;
}

int cmpi_win_unlock(int rank, cmpi_win win)
{
	if (rank < 0)
		return REFUSE("cmpi_win_unlock");
	if (win != NULL && cmpi_within(win, rank))
		win->locked[rank] = 0;
	return CALL("cmpi_win_unlock", win, goWinUnlock(win, rank));
}

int cmpi_win_lock_all(cmpi_win win)
{
	int rc = CALL("cmpi_win_lock_all", win, goWinLockAll(win, 0));
	if (rc == CMPI_OK)
		win->locked_all = 1;
	return rc;
}

int cmpi_win_unlock_all(cmpi_win win)
{
	if (win != NULL)
		win->locked_all = 0;
	return CALL("cmpi_win_unlock_all", win, goWinUnlockAll(win));
}

int cmpi_win_flush(int rank, cmpi_win win)
{
	if (rank < 0)
		return REFUSE("cmpi_win_flush");
	if (win != NULL && cmpi_fast_flush(win, rank)) {
		cmpi_win_passing();
		return CMPI_OK;
	}
	return CALL("cmpi_win_flush", win, goWinFlush(win, rank));
}

int cmpi_win_flush_all(cmpi_win win)
{
	return CALL("cmpi_win_flush_all", win, goWinFlushAll(win));
}

int cmpi_win_sync(cmpi_win win)
{
	return CALL("cmpi_win_sync", win, goWinSync(win));
}
