// Windows that we carry, as the C files see them. Go has the rest (win.go).
#ifndef CMPI_WIN_H
#define CMPI_WIN_H

#include <string.h>

#include "shim.h"

// window.FastTarget (win_test.go compares them): one target of a window.
struct cmpi_target {
	char *base; // of its segment in this process
	int64_t size;
	int64_t unit;
	_Atomic uint32_t open; // CMPI_DIRECT: plain loads and stores are right; CMPI_EXACT: non-temporal stores of words
	uint32_t used;         // 1: we have used that
};
enum { CMPI_CLOSED, CMPI_GUARDED, CMPI_DIRECT, CMPI_EXACT };

_Static_assert(sizeof(struct cmpi_target) == 32 && offsetof(struct cmpi_target, used) == 28, "as win_test.go says");

struct cmpi_win {
	int32_t handle; // the host's window underneath, which has name, info, group and so on; 0 before and after
	int32_t index;  // of Go's entry
	uint32_t ranks;
	// Which targets a lock of ours covers, where the fast path may know it:
	// a flush needs one. 1 for each rank, and for all.
	uint8_t locked_all;
	uint8_t *locked;
	struct cmpi_target *targets; // by rank; NULL: no fast path

	// What MPI_Win_get_attr tells, in the types that MPI says.
	void *base;
	intptr_t size;
	int unit, flavor, model;
};

struct cmpi_win_page {
	_Atomic(struct cmpi_win *) win[CMPI_PAGE];
};
extern _Atomic(struct cmpi_win_page *) cmpi_win_pages[4][1 << 14];

// The window behind a handle, NULL when the host carries it. The table is like
// that of the communicators.
static inline struct cmpi_win *cmpi_owned_win(W win)
{
	uint32_t h = (uint32_t)win;
	struct cmpi_win_page *page =
		atomic_load_explicit(&cmpi_win_pages[h >> 30][(h >> 12) & 0x3fff], memory_order_acquire);
	if (page == NULL)
		return NULL;
	struct cmpi_win *w = atomic_load_explicit(&page->win[h & (CMPI_PAGE - 1)], memory_order_acquire);
	return w != NULL && (uint32_t)w->handle == h ? w : NULL;
}

// Whether a rank is one of the window's.
static inline int cmpi_within(const struct cmpi_win *w, int rank)
{
	return (uint32_t)rank < w->ranks;
}

// Puts a window into the table, or takes it out (w NULL). 0, or -1 when there is
// no memory. Go's lock on the windows is held.
int cmpi_win_table_set(int32_t handle, struct cmpi_win *w);

// Hands an error class to the error handler of a window, as the MPI standard
// wants it, and returns the class if that returns.
int cmpi_raise_win(const char *fn, int win, int class);

// A call into Go that gives an error class and concerns a window.
#define OURS_WIN(fn, w, call)                                            \
	({                                                                   \
		int32_t depth_ = cmpi_own_begin();                               \
		int rc_ = (call);                                                \
		cmpi_own_end(depth_);                                            \
		__builtin_expect(rc_ != 0, 0) ? cmpi_raise_win("MPI_" #fn, (w)->handle, rc_) : 0; \
	})

// Every so many operations that need no call into Go our side makes progress all
// the same, and gives other ranks the processor if they have to share it: a
// program may poll a window until another rank does something.
#define CMPI_WIN_PASS 64
void cmpi_win_pass(void);

static inline void cmpi_win_passing(void)
{
	static _Thread_local unsigned calls;
	if (__builtin_expect(++calls % CMPI_WIN_PASS == 0, 0))
		cmpi_win_pass();
}

#endif
