// One-sided operations: those on a window of ours go to Go (rma.go), unless they
// are plain enough to be done here (rma.h); those on other windows go to the
// host. Each comes with its large-count twin.
//
// What an operation reads and writes at the origin is done with when the call
// returns, so that a request is one that is complete.

#include "shim.h"
#include "rma.h"
#include "_cgo_export.h"

#define BOTH(DEFINE, name, request) \
	DEFINE(name, int, request)      \
	DEFINE(name##_c, W, request)

// ---- put and get -----------------------------------------------------------------------------

enum { BLOCK, REQUEST };

#define PUT_GET(name, const_, count_t, fast, go)                                                                       \
	int MPI_##name(const_ void *buf, count_t count, W type, int rank, intptr_t disp, count_t tcount, W ttype, W win)  \
	{                                                                                                                  \
		struct cmpi_win *w = cmpi_owned_win(win);                                                                      \
		if (w == NULL)                                                                                                 \
			return NATIVE(name)(buf, count, type, rank, disp, tcount, ttype, win);                                     \
		if (fast(w, buf, count, type, rank, disp, tcount, ttype))                                                      \
			return MPICH_SUCCESS;                                                                                      \
		return OURS_WIN(name, w, go(w, buffer(buf), count, (int)type, rank, disp, tcount, (int)ttype, BLOCK));         \
	}                                                                                                                  \
	PROFILED(name);

PUT_GET(Put, const, int, cmpi_fast_put, goPut)
PUT_GET(Put_c, const, W, cmpi_fast_put, goPut)
PUT_GET(Get, , int, cmpi_fast_get, goGet)
PUT_GET(Get_c, , W, cmpi_fast_get, goGet)

// Operations on a window of ours are complete at once, and so is the request.
#define DONE(rc, request)                     \
	({                                        \
		int done_ = (rc);                     \
		if (done_ == MPICH_SUCCESS)           \
			*(request) = CMPI_FIRST_HANDLE;   \
		done_;                                \
	})

#define RPUT_RGET(name, const_, count_t, fast, go)                                                                     \
	int MPI_##name(const_ void *buf, count_t count, W type, int rank, intptr_t disp, count_t tcount, W ttype, W win,  \
	               int *request)                                                                                       \
	{                                                                                                                  \
		struct cmpi_win *w = cmpi_owned_win(win);                                                                      \
		if (w == NULL)                                                                                                 \
			return NATIVE(name)(buf, count, type, rank, disp, tcount, ttype, win, request);                            \
		if (cmpi_passive(w, rank) && fast(w, buf, count, type, rank, disp, tcount, ttype))                                  \
			return DONE(MPICH_SUCCESS, request);                                                                       \
		return DONE(OURS_WIN(name, w, go(w, buffer(buf), count, (int)type, rank, disp, tcount, (int)ttype, REQUEST)),  \
		            request);                                                                                          \
	}                                                                                                                  \
	PROFILED(name);

RPUT_RGET(Rput, const, int, cmpi_fast_put, goPut)
RPUT_RGET(Rput_c, const, W, cmpi_fast_put, goPut)
RPUT_RGET(Rget, , int, cmpi_fast_get, goGet)
RPUT_RGET(Rget_c, , W, cmpi_fast_get, goGet)

// ---- accumulate and its kin --------------------------------------------------------------------

// Both sides have the same predefined type and count.
#define SAME(count, type, tcount, ttype) ((count) == (tcount) && (int)(type) == (int)(ttype))

#define ACCUMULATE(name, count_t, unused)                                                                              \
	int MPI_##name(const void *buf, count_t count, W type, int rank, intptr_t disp, count_t tcount, W ttype, W op,    \
	               W win)                                                                                              \
	{                                                                                                                  \
		struct cmpi_win *w = cmpi_owned_win(win);                                                                      \
		if (w == NULL)                                                                                                 \
			return NATIVE(name)(buf, count, type, rank, disp, tcount, ttype, op, win);                                 \
		if (SAME(count, type, tcount, ttype) && buffer(buf) != NULL &&                                                 \
		    cmpi_fast_combine(w, buf, NULL, count, type, rank, disp, (int)op))                                              \
			return MPICH_SUCCESS;                                                                                      \
		return OURS_WIN(name, w, goAccumulate(w, buffer(buf), count, (int)type, rank, disp, tcount, (int)ttype,        \
		                                      (int)op, BLOCK));                                                        \
	}                                                                                                                  \
	PROFILED(name);

BOTH(ACCUMULATE, Accumulate, )

#define RACCUMULATE(name, count_t, unused)                                                                             \
	int MPI_##name(const void *buf, count_t count, W type, int rank, intptr_t disp, count_t tcount, W ttype, W op,    \
	               W win, int *request)                                                                                \
	{                                                                                                                  \
		struct cmpi_win *w = cmpi_owned_win(win);                                                                      \
		if (w == NULL)                                                                                                 \
			return NATIVE(name)(buf, count, type, rank, disp, tcount, ttype, op, win, request);                        \
		return DONE(OURS_WIN(name, w, goAccumulate(w, buffer(buf), count, (int)type, rank, disp, tcount, (int)ttype,   \
		                                           (int)op, REQUEST)),                                                 \
		            request);                                                                                          \
	}                                                                                                                  \
	PROFILED(name);

BOTH(RACCUMULATE, Raccumulate, )

#define GET_ACCUMULATE(name, count_t, unused)                                                                          \
	int MPI_##name(const void *buf, count_t count, W type, void *result, count_t rcount, W rtype, int rank,           \
	               intptr_t disp, count_t tcount, W ttype, W op, W win)                                                \
	{                                                                                                                  \
		struct cmpi_win *w = cmpi_owned_win(win);                                                                      \
		if (w == NULL)                                                                                                 \
			return NATIVE(name)(buf, count, type, result, rcount, rtype, rank, disp, tcount, ttype, op, win);          \
		if (((int)op == MPICH_NO_OP || (SAME(count, type, tcount, ttype) && buffer(buf) != NULL)) &&                   \
		    SAME(rcount, rtype, tcount, ttype) && buffer(result) != NULL &&                                            \
		    cmpi_fast_combine(w, buf, result, tcount, ttype, rank, disp, (int)op))                                          \
			return MPICH_SUCCESS;                                                                                      \
		return OURS_WIN(name, w, goGetAccumulate(w, buffer(buf), count, (int)type, buffer(result), rcount, (int)rtype, \
		                                         rank, disp, tcount, (int)ttype, (int)op, BLOCK));                     \
	}                                                                                                                  \
	PROFILED(name);

BOTH(GET_ACCUMULATE, Get_accumulate, )

#define RGET_ACCUMULATE(name, count_t, unused)                                                                         \
	int MPI_##name(const void *buf, count_t count, W type, void *result, count_t rcount, W rtype, int rank,           \
	               intptr_t disp, count_t tcount, W ttype, W op, W win, int *request)                                  \
	{                                                                                                                  \
		struct cmpi_win *w = cmpi_owned_win(win);                                                                      \
		if (w == NULL)                                                                                                 \
			return NATIVE(name)(buf, count, type, result, rcount, rtype, rank, disp, tcount, ttype, op, win, request); \
		return DONE(OURS_WIN(name, w, goGetAccumulate(w, buffer(buf), count, (int)type, buffer(result), rcount,        \
		                                              (int)rtype, rank, disp, tcount, (int)ttype, (int)op, REQUEST)),  \
		            request);                                                                                          \
	}                                                                                                                  \
	PROFILED(name);

BOTH(RGET_ACCUMULATE, Rget_accumulate, )

int MPI_Fetch_and_op(const void *buf, void *result, W type, int rank, intptr_t disp, W op, W win)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return NATIVE(Fetch_and_op)(buf, result, type, rank, disp, op, win);
	if (((int)op == MPICH_NO_OP || buffer(buf) != NULL) && buffer(result) != NULL &&
	    cmpi_fast_combine(w, buf, result, 1, type, rank, disp, (int)op))
		return MPICH_SUCCESS;
	return OURS_WIN(Fetch_and_op, w, goFetchAndOp(w, buffer(buf), buffer(result), (int)type, rank, disp, (int)op));
}
PROFILED(Fetch_and_op);

int MPI_Compare_and_swap(const void *buf, const void *compare, void *result, W type, int rank, intptr_t disp, W win)
{
	struct cmpi_win *w = cmpi_owned_win(win);
	if (w == NULL)
		return NATIVE(Compare_and_swap)(buf, compare, result, type, rank, disp, win);
	if (buffer(buf) != NULL && buffer(compare) != NULL && buffer(result) != NULL &&
	    cmpi_fast_swap(w, buf, compare, result, type, rank, disp))
		return MPICH_SUCCESS;
	return OURS_WIN(Compare_and_swap, w,
	                goCompareAndSwap(w, buffer(buf), buffer(compare), buffer(result), (int)type, rank, disp));
}
PROFILED(Compare_and_swap);
