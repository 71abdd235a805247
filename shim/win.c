// Windows: constructors, what a window tells of itself, synchronisation.
//
// A window is ours if MPI_Win_allocate or MPI_Win_allocate_shared makes it, on a
// communicator of ours, and the pool has room for it; or if MPI_Win_create makes it
// on memory that MPI_Alloc_mem has given all members out of the pool. All members
// find the same (win.go). A window of no bytes is then made in the host, so that
// names, info, groups, attributes and error handlers are the host's, and its
// handle is the program's. All other windows are the host's altogether.

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"
#include "rma.h"
#include "_cgo_export.h"

_Atomic(struct cmpi_win_page *) cmpi_win_pages[4][1 << 14];

int cmpi_win_table_set(int32_t handle, struct cmpi_win *w)
{
	uint32_t h = (uint32_t)handle;
	_Atomic(struct cmpi_win_page *) *place = &cmpi_win_pages[h >> 30][(h >> 12) & 0x3fff];
	struct cmpi_win_page *page = atomic_load_explicit(place, memory_order_relaxed);
	if (page == NULL) {
		if (w == NULL)
			return 0;
		page = calloc(1, sizeof *page);
		if (page == NULL)
			return -1;
		atomic_store_explicit(place, page, memory_order_release);
	}
	atomic_store_explicit(&page->win[h & (CMPI_PAGE - 1)], w, memory_order_release);
	return 0;
}

int cmpi_raise_win(const char *fn, int win, int class)
{
	int handler = MPICH_ERRHANDLER_NULL;
	if (cmpi_host.Win_get_errhandler(win, &handler) == MPICH_SUCCESS) {
		if (handler == MPICH_ERRORS_ARE_FATAL || handler == MPICH_ERRORS_ABORT)
			cmpi_last_words(fn, class);
		else if (handler != MPICH_ERRORS_RETURN)
			cmpi_host.Errhandler_free(&handler);
	}
	cmpi_host.Win_call_errhandler(win, class);
	return class;
}

void cmpi_win_pass(void)
{
	int32_t depth = cmpi_own_begin();
	int crowded = goWinPass();
	cmpi_own_end(depth);
	if (crowded)
		sched_yield();
}

// ---- constructors --------------------------------------------------------------------

static int wants_noncontig(int info)
{
	char value[8] = "";
	int flag = 0;
	return info != MPICH_INFO_NULL &&
	       cmpi_host.Info_get(info, "alloc_shared_noncontig", sizeof value - 1, value, &flag) == MPICH_SUCCESS &&
	       flag && strcmp(value, "true") == 0;
}

// Makes our window with its host's underneath; NULL with *rc 0 when the host must
// carry it altogether.
static struct cmpi_win *make(struct cmpi_comm *c, int flavor, void *base, intptr_t size, intptr_t unit, int info, int *win, int *rc)
{
	int inter = 1;
	*rc = MPICH_SUCCESS;
	if (c == NULL || cmpi_host.Comm_test_inter(c->handle, &inter) != MPICH_SUCCESS || inter)
		return NULL;
	int noncontig = flavor == MPICH_WIN_FLAVOR_SHARED && wants_noncontig(info);
	int32_t depth = cmpi_own_begin();
	struct cmpi_win *w = goWinMake(c, flavor, base, size, unit, noncontig);
	cmpi_own_end(depth);
	if (w == NULL)
		return NULL;
	*rc = BLOCKING(cmpi_host.Win_create(NULL, 0, 1, info, c->handle, win));
	depth = cmpi_own_begin();
	if (*rc == MPICH_SUCCESS)
		*rc = goWinPublish(w, *win);
	else
		goWinDrop(w);
	cmpi_own_end(depth);
	return *rc == MPICH_SUCCESS ? w : NULL;
}

#define ALLOCATE(name, unit_t, flavor)                                                                \
	int MPI_##name(intptr_t size, unit_t unit, W info, W comm, void *base, int *win)                  \
	{                                                                                                 \
		int rc;                                                                                       \
		struct cmpi_win *w = make(cmpi_owned(comm), flavor, NULL, size, unit, (int)info, win, &rc);        \
		if (w == NULL && rc == MPICH_SUCCESS)                                                         \
			return ASYNC(BLOCKING(NATIVE(name)(size, unit, info, comm, base, win)));                  \
		if (w != NULL)                                                                                \
			memcpy(base, &w->base, sizeof w->base); /* a void **, which MPI declares as void * */     \
		return rc;                                                                                    \
	}                                                                                                 \
	PROFILED(name);

ALLOCATE(Win_allocate, int, MPICH_WIN_FLAVOR_ALLOCATE)
ALLOCATE(Win_allocate_c, intptr_t, MPICH_WIN_FLAVOR_ALLOCATE)
ALLOCATE(Win_allocate_shared, int, MPICH_WIN_FLAVOR_SHARED)
ALLOCATE(Win_allocate_shared_c, intptr_t, MPICH_WIN_FLAVOR_SHARED)

#define CREATE(name, unit_t)                                                                                        \
	int MPI_##name(void *base, intptr_t size, unit_t unit, W info, W comm, int *win)                                \
	{                                                                                                               \
		int rc;                                                                                                     \
		if (make(cmpi_owned(comm), MPICH_WIN_FLAVOR_CREATE, base, size, unit, (int)info, win, &rc) == NULL &&       \
		    rc == MPICH_SUCCESS)                                                                                    \
			return ASYNC(BLOCKING(NATIVE(name)(base, size, unit, info, comm, win)));                                \
		return rc;                                                                                                  \
	}                                                                                                               \
	PROFILED(name);

CREATE(Win_create, int)
CREATE(Win_create_c, intptr_t)

// Memory for windows. What the pool has no room for comes from the host.

int MPI_Alloc_mem(intptr_t size, W info, void *base)
{
	uintptr_t at = 0;
	if (cmpi_active()) {
		int32_t depth = cmpi_own_begin();
		at = goAllocMem(size);
		cmpi_own_end(depth);
	}
	if (at == 0)
		return NATIVE(Alloc_mem)(size, info, base);
	memcpy(base, &at, sizeof at); // a void **, which MPI declares as void *
	return MPICH_SUCCESS;
}
PROFILED(Alloc_mem);

int MPI_Free_mem(void *base)
{
	if (cmpi_active()) {
		int32_t depth = cmpi_own_begin();
		int ours = goFreeMem((uintptr_t)base);
		cmpi_own_end(depth);
		if (ours)
			return MPICH_SUCCESS;
	}
	return NATIVE(Free_mem)(base);
}
PROFILED(Free_mem);

int MPI_Win_free(int *win)
{
	struct cmpi_win *w = cmpi_owned_win(*win);
	if (w == NULL)
		return BLOCKING(NATIVE(Win_free)(win));
	int rc = OURS_WIN(Win_free, w, goWinFree(w));
	if (rc != MPICH_SUCCESS)
		return rc;
	// The program's attribute callbacks run now, and may ask for ours.
	rc = BLOCKING(NATIVE(Win_free)(win));
	int32_t depth = cmpi_own_begin();
	goWinDrop(w);
	cmpi_own_end(depth);
	return rc;
}
PROFILED(Win_free);

// ---- what a window tells of itself -------------------------------------------------------

// The value of a predefined attribute in MPI's C convention; NULL for another key.
static void *attribute(struct cmpi_win *w, int key)
{
	switch (key) {
	case MPICH_WIN_BASE: return w->base;
	case MPICH_WIN_SIZE: return &w->size;
	case MPICH_WIN_DISP_UNIT: return &w->unit;
	case MPICH_WIN_CREATE_FLAVOR: return &w->flavor;
	case MPICH_WIN_MODEL: return &w->model;
	}
	return NULL;
}

static int predefined(int key)
{
	return key == MPICH_WIN_BASE || key == MPICH_WIN_SIZE || key == MPICH_WIN_DISP_UNIT ||
	       key == MPICH_WIN_CREATE_FLAVOR || key == MPICH_WIN_MODEL;
}

int MPI_Win_get_attr(W win, int key, void *value, int *flag)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL || !predefined(key))
		return NATIVE(Win_get_attr)(win, key, value, flag);
	void *found = attribute(w, key);
	memcpy(value, &found, sizeof found);
	*flag = 1;
	return MPICH_SUCCESS;
}
PROFILED(Win_get_attr);

// What MPICH's Fortran bindings call instead. Fortran's keys are the C ones plus
// one, and it wants the values, not where they stand.
int MPII_Win_get_attr(W win, int key, void *value, int *flag, int kind)
{
	static _Atomic(int (*)(W, int, void *, int *, int)) host;
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL || !predefined(key - 1)) {
		int (*f)(W, int, void *, int *, int) = atomic_load_explicit(&host, memory_order_relaxed);
		if (f == NULL) {
			f = (int (*)(W, int, void *, int *, int))cmpi_host_symbol("MPII_Win_get_attr");
			atomic_store_explicit(&host, f, memory_order_relaxed);
		}
		return f(win, key, value, flag, kind);
	}
	intptr_t x = 0;
	switch (key - 1) {
	case MPICH_WIN_BASE: x = (intptr_t)w->base; break;
	case MPICH_WIN_SIZE: x = w->size; break;
	case MPICH_WIN_DISP_UNIT: x = w->unit; break;
	case MPICH_WIN_CREATE_FLAVOR: x = w->flavor; break;
	case MPICH_WIN_MODEL: x = w->model; break;
	}
	memcpy(value, &x, sizeof x);
	*flag = 1;
	return MPICH_SUCCESS;
}

#define SHARED_QUERY(name, unit_t)                                                         \
	int MPI_##name(W win, int rank, intptr_t *size, unit_t *unit, void *base)              \
	{                                                                                      \
		struct cmpi_win *w = cmpi_owned_win(win);                                          \
		if (w == NULL)                                                                     \
			return NATIVE(name)(win, rank, size, unit, base);                              \
		int small = 0;                                                                     \
		uintptr_t at = 0;                                                                  \
		int rc = OURS_WIN(Win_shared_query, w, goWinQuery(w, rank, size, &small, &at));    \
		if (rc == MPICH_SUCCESS) {                                                         \
			*unit = small;                                                                 \
			memcpy(base, &at, sizeof at);                                                  \
		}                                                                                  \
		return rc;                                                                         \
	}                                                                                      \
	PROFILED(name);

SHARED_QUERY(Win_shared_query, int)
SHARED_QUERY(Win_shared_query_c, intptr_t)

// ---- synchronisation ------------------------------------------------------------------------

int MPI_Win_fence(int assert, W win)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return BLOCKING(NATIVE(Win_fence)(assert, win));
	return OURS_WIN(Win_fence, w, goWinFence(w, assert));
}
PROFILED(Win_fence);

// The group's members as ranks of the window's group. *ranks is freed by the caller.
static int members(int group, int win, int **ranks, int *n)
{
	int of_win = MPICH_GROUP_NULL, rc, *own = NULL;
	*ranks = NULL;
	*n = 0;
	if ((rc = cmpi_host.Group_size(group, n)) || (rc = cmpi_host.Win_get_group(win, &of_win)))
		return rc;
	own = malloc((*n + 1) * sizeof *own); // + 1: never a malloc of 0
	*ranks = malloc((*n + 1) * sizeof **ranks);
	if (own == NULL || *ranks == NULL) {
		rc = MPICH_ERR_NO_MEM;
	} else {
		for (int i = 0; i < *n; i++)
			own[i] = i;
		rc = cmpi_host.Group_translate_ranks(group, *n, own, of_win, *ranks);
	}
	free(own);
	cmpi_host.Group_free(&of_win);
	return rc;
}

#define GROUP_SYNC(name, go)                                                      \
	int MPI_##name(W group, int assert, W win)                                    \
	{                                                                             \
		struct cmpi_win *w = cmpi_owned_win(win);                                 \
		if (w == NULL)                                                            \
			return BLOCKING(NATIVE(name)(group, assert, win));                    \
		int *ranks, n, rc = members((int)group, (int)win, &ranks, &n);            \
		if (rc == MPICH_SUCCESS)                                                  \
			rc = OURS_WIN(name, w, go(w, n, ranks, assert));                      \
		free(ranks);                                                              \
		return rc;                                                                \
	}                                                                             \
	PROFILED(name);

GROUP_SYNC(Win_post, goWinPost)
GROUP_SYNC(Win_start, goWinStart)

#define SYNC(name, go)                                  \
	int MPI_##name(W win)                               \
	{                                                   \
		struct cmpi_win *w = cmpi_owned_win(win);       \
		if (w == NULL)                                  \
			return BLOCKING(NATIVE(name)(win));         \
		return OURS_WIN(name, w, go(w));                \
	}                                                   \
	PROFILED(name);

SYNC(Win_complete, goWinComplete)
SYNC(Win_wait, goWinWait)

int MPI_Win_test(W win, int *flag)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return POLLING(NATIVE(Win_test)(win, flag));
	return OURS_WIN(Win_test, w, goWinTest(w, flag));
}
PROFILED(Win_test);

int MPI_Win_lock(int type, int rank, int assert, W win)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return BLOCKING(NATIVE(Win_lock)(type, rank, assert, win));
	int rc = OURS_WIN(Win_lock, w, goWinLock(w, type, rank, assert));
	if (rc == MPICH_SUCCESS && cmpi_within(w, rank))
		w->locked[rank] = 1;
	return rc;
}
PROFILED(Win_lock);

int MPI_Win_unlock(int rank, W win)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return BLOCKING(NATIVE(Win_unlock)(rank, win));
	if (cmpi_within(w, rank))
		w->locked[rank] = 0;
	return OURS_WIN(Win_unlock, w, goWinUnlock(w, rank));
}
PROFILED(Win_unlock);

int MPI_Win_lock_all(int assert, W win)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return BLOCKING(NATIVE(Win_lock_all)(assert, win));
	int rc = OURS_WIN(Win_lock_all, w, goWinLockAll(w, assert));
	if (rc == MPICH_SUCCESS)
		w->locked_all = 1;
	return rc;
}
PROFILED(Win_lock_all);

int MPI_Win_unlock_all(W win)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return BLOCKING(NATIVE(Win_unlock_all)(win));
	w->locked_all = 0;
	return OURS_WIN(Win_unlock_all, w, goWinUnlockAll(w));
}
PROFILED(Win_unlock_all);

// A program may repeat any of these until another rank has done something.

#define FLUSH(name, go)                                  \
	int MPI_##name(int rank, W win)                      \
	{                                                    \
		struct cmpi_win *w = cmpi_owned_win(win);        \
		if (w == NULL)                                   \
			return BLOCKING(NATIVE(name)(rank, win));    \
		cmpi_win_passing();                              \
		if (cmpi_fast_flush(w, rank))                         \
			return MPICH_SUCCESS;                        \
		return OURS_WIN(name, w, go(w, rank));           \
	}                                                    \
	PROFILED(name);

FLUSH(Win_flush, goWinFlush)
FLUSH(Win_flush_local, goWinFlushLocal)

#define FLUSH_ALL(name, go)                          \
	int MPI_##name(W win)                            \
	{                                                \
		struct cmpi_win *w = cmpi_owned_win(win);    \
		if (w == NULL)                               \
			return BLOCKING(NATIVE(name)(win));      \
		cmpi_win_passing();                          \
		return OURS_WIN(name, w, go(w));             \
	}                                                \
	PROFILED(name);

FLUSH_ALL(Win_flush_all, goWinFlushAll)
FLUSH_ALL(Win_flush_local_all, goWinFlushLocalAll)
FLUSH_ALL(Win_sync, goWinSync)
