// What the C files of the shim share: the state that decides where a call
// goes, the table of the communicators that we carry, and the way to the host
// MPI library's functions.
#ifndef CMPI_SHIM_H
#define CMPI_SHIM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "abi_mpich.h"

// A word in an argument register. Handles are declared as words because they
// are ints in one MPI's ABI and pointers in another's, and a stub must hand
// either of them on unharmed. Only after a communicator is known to be ours
// (and the host therefore known to have MPICH's ABI) is a handle read as int.
typedef intptr_t W;

// ---- the host MPI library --------------------------------------------------

// Finds a function of the host MPI library. Stops the process with one line
// when there is none.
void *cmpi_host_symbol(const char *name);

// Finds it or gives NULL.
void *cmpi_host_symbol_or_null(const char *name);

// The host's own version of an MPI function that this file has declared.
// Looked up when first called (two threads that look at the same time find the
// same).
#define NATIVE(fn)                                                                \
	({                                                                            \
		static _Atomic(void *) found_;                                            \
		void *p_ = atomic_load_explicit(&found_, memory_order_relaxed);           \
		if (__builtin_expect(p_ == NULL, 0)) {                                    \
			p_ = cmpi_host_symbol("PMPI_" #fn);                                   \
			atomic_store_explicit(&found_, p_, memory_order_relaxed);             \
		}                                                                         \
		(__typeof__(MPI_##fn) *)p_;                                               \
	})

// PMPI_fn is the same function: the host's Fortran bindings call either name,
// and a profiling library that is loaded before us calls PMPI_fn.
#define PROFILED(fn) extern __typeof__(MPI_##fn) PMPI_##fn __attribute__((alias("MPI_" #fn)))

// ---- who drives the engine ---------------------------------------------------

// The engine is not thread-safe below MPI_THREAD_MULTIPLE. Whoever holds it is
// in .state: the application's thread (also while it is outside MPI), nobody
// because that thread is inside a host call that may block, or the helper (a
// goroutine) that makes progress meanwhile. Under MPI_THREAD_MULTIPLE the
// engine has a lock of its own and only .in_host matters.
enum { CMPI_OWNED, CMPI_IN_HOST, CMPI_HELPER };

struct cmpi_state {
	_Atomic int32_t active;   // we carry communicators; set once, collectively
	_Atomic int32_t threaded; // MPI_THREAD_MULTIPLE
	_Atomic int32_t async;    // the program has something in the host that runs on its own
	_Atomic int32_t crowded;  // more ranks than processors share this machine
	_Atomic int32_t in_host;  // threaded: how many threads are inside the host
	_Atomic int32_t owner;    // else: CMPI_OWNED, CMPI_IN_HOST or CMPI_HELPER
	int32_t depth;            // else: how deeply host calls are nested
	int32_t shared_pool;      // CMPI_SHARED=pool
};
extern struct cmpi_state cmpi_state;

void cmpi_wait_for_helper(void);

static inline int cmpi_active(void)
{
	return atomic_load_explicit(&cmpi_state.active, memory_order_relaxed);
}

static inline int cmpi_threaded(void)
{
	return atomic_load_explicit(&cmpi_state.threaded, memory_order_relaxed);
}

// Receives that the fast path has noted and the engine doesn't know yet
// (fast.h), and what tells it.
extern uint32_t cmpi_fast_pending;
void cmpi_fast_hand_over(void);

// How often in a row this thread's wait in the host has found nothing (polite.c).
extern _Thread_local unsigned cmpi_idle __attribute__((tls_model("initial-exec")));

// Around a call into the host that may block.
static inline void cmpi_enter_host(void)
{
	if (!cmpi_active())
		return;
	if (__builtin_expect(cmpi_fast_pending != 0, 0))
		cmpi_fast_hand_over();
	cmpi_idle = 0;
	if (cmpi_threaded())
		atomic_fetch_add_explicit(&cmpi_state.in_host, 1, memory_order_relaxed);
	else if (cmpi_state.depth++ == 0)
		atomic_store_explicit(&cmpi_state.owner, CMPI_IN_HOST, memory_order_release);
}

// May be called when activity began or ended inside the call.
static inline void cmpi_leave_host(void)
{
	if (cmpi_threaded()) {
		if (atomic_load_explicit(&cmpi_state.in_host, memory_order_relaxed) > 0)
			atomic_fetch_sub_explicit(&cmpi_state.in_host, 1, memory_order_relaxed);
	} else if (cmpi_state.depth > 0 && --cmpi_state.depth == 0) {
		int32_t in_host = CMPI_IN_HOST;
		if (!atomic_compare_exchange_strong(&cmpi_state.owner, &in_host, CMPI_OWNED))
			cmpi_wait_for_helper();
	}
}

// Around a call into the engine. Normally two predictable branches; when the
// host has called back into the program (a user's reduction, an attribute
// callback, MPI-IO inside the host) and that calls us, the engine is taken
// back for the time of the call. Gives what cmpi_own_end wants.
static inline int32_t cmpi_own_begin(void)
{
	int32_t depth = cmpi_state.depth;
	if (__builtin_expect(depth != 0, 0)) {
		cmpi_state.depth = 1;
		cmpi_leave_host();
	}
	if (__builtin_expect(cmpi_fast_pending != 0, 0))
		cmpi_fast_hand_over();
	return depth;
}

static inline void cmpi_own_end(int32_t depth)
{
	if (__builtin_expect(depth != 0, 0) && cmpi_active()) { // else our part ended meanwhile
		cmpi_enter_host();
		cmpi_state.depth = depth;
	}
}

// A host call that may block.
#define BLOCKING(call)             \
	({                             \
		cmpi_enter_host();         \
		__typeof__(call) rc_ = (call); \
		cmpi_leave_host();         \
		rc_;                       \
	})

// A host call that starts something which goes on after it, perhaps only when
// the host is called again: a nonblocking operation, a window. From then on our
// own waits let the host make progress now and then.
#define ASYNC(call)                                                                     \
	({                                                                                  \
		if (atomic_load_explicit(&cmpi_state.async, memory_order_relaxed) == 0)         \
			atomic_store_explicit(&cmpi_state.async, 1, memory_order_relaxed);          \
		(call);                                                                         \
	})

// Every few calls that poll the host, our side makes progress too: the program
// may poll until something happens that another rank does only when it has got
// a message of ours.
void cmpi_pass(void);

// A host call that the program may repeat until it says yes.
#define POLLING(call)                                     \
	({                                                    \
		int rc_ = (call);                                 \
		if (__builtin_expect(cmpi_active(), 0))           \
			cmpi_pass();                                  \
		rc_;                                              \
	})

// ---- the communicators that we carry ------------------------------------------

struct cmpi_comm {
	int32_t handle; // the host's; 0 once freed
	int32_t index;  // of Go's entry
	uint64_t context;

	// For the fast path (fast.h): the peers by rank, NULL when there is no fast
	// path, and mpitransport.FastComm.
	struct cmpi_fast_peer **peers;
	uint32_t npeers;
	uint64_t waiting;
};

// handle → communicator, a radix tree over the bits of the handle. Pages are
// never freed, so that reading needs no lock.
#define CMPI_PAGE 4096
struct cmpi_comm_page {
	_Atomic(struct cmpi_comm *) comm[CMPI_PAGE];
};
extern _Atomic(struct cmpi_comm_page *) cmpi_comm_pages[4][1 << 14];

// The communicator behind a handle, NULL when the host carries it.
static inline struct cmpi_comm *cmpi_owned(W comm)
{
	uint32_t h = (uint32_t)comm;
	struct cmpi_comm_page *page =
		atomic_load_explicit(&cmpi_comm_pages[h >> 30][(h >> 12) & 0x3fff], memory_order_acquire);
	if (page == NULL)
		return NULL;
	struct cmpi_comm *c = atomic_load_explicit(&page->comm[h & (CMPI_PAGE - 1)], memory_order_acquire);
	return c != NULL && (uint32_t)c->handle == h ? c : NULL;
}

// ---- requests ------------------------------------------------------------------

#define CMPI_FIRST_HANDLE 0x2c000001u
#define CMPI_LAST_HANDLE 0x2fffffffu

// Whether a request or message handle was made by us.
static inline int cmpi_ours(int32_t handle)
{
	return (uint32_t)handle - CMPI_FIRST_HANDLE <= CMPI_LAST_HANDLE - CMPI_FIRST_HANDLE;
}

// Go dislikes addresses in the first page in its pointers. MPI_BOTTOM is 0; a
// program may hand over anything for an empty message.
static inline void *buffer(const void *buf)
{
	return (uintptr_t)buf < 4096 ? NULL : (void *)buf;
}

// ---- errors --------------------------------------------------------------------

// Hands an error class to the error handler of a communicator of the host's,
// as the MPI standard wants it, and returns the class if that returns. A fatal
// handler says its own lines; ours before it names the function.
int cmpi_raise(const char *fn, int comm, int class);

// What is to be said and done before a fatal error handler ends the job.
void cmpi_last_words(const char *fn, int class);

// A call into Go that gives an error class and concerns a communicator.
#define OURS(fn, comm, call)                                     \
	({                                                           \
		int32_t depth_ = cmpi_own_begin();                       \
		int rc_ = (call);                                        \
		cmpi_own_end(depth_);                                    \
		__builtin_expect(rc_ != 0, 0) ? cmpi_raise("MPI_" #fn, (comm), rc_) : 0; \
	})

// A call into Go about requests. It gives comm << 32 | class; comm 0 means that
// the host has called the error handler already.
#define OURS_REQUESTS(fn, call)                                  \
	({                                                           \
		int32_t depth_ = cmpi_own_begin();                       \
		uint64_t e_ = (call);                                    \
		cmpi_own_end(depth_);                                    \
		int rc_ = (int)(uint32_t)e_;                             \
		if (__builtin_expect((e_ >> 32) != 0, 0))                \
			rc_ = cmpi_raise("MPI_" #fn, (int)(e_ >> 32), rc_);  \
		rc_;                                                     \
	})

// ---- the host's functions that we call ourselves ---------------------------------

// Typed for MPICH's ABI; filled before anything else of this section is used.
#define CMPI_HOST_FUNCTIONS(F)                                                                   \
	F(Query_thread, (int *provided))                                                             \
	F(Abort, (int comm, int code))                                                               \
	F(Comm_rank, (int comm, int *rank))                                                          \
	F(Comm_size, (int comm, int *size))                                                          \
	F(Comm_test_inter, (int comm, int *flag))                                                    \
	F(Comm_group, (int comm, int *group))                                                        \
	F(Comm_remote_group, (int comm, int *group))                                                 \
	F(Group_size, (int group, int *size))                                                        \
	F(Group_translate_ranks, (int group, int n, const int *ranks, int other, int *others))       \
	F(Group_free, (int *group))                                                                  \
	F(Comm_create_keyval, (int (*copy)(int, int, void *, void *, void *, int *),                 \
	                       int (*gone)(int, int, void *, void *), int *keyval, void *extra))     \
	F(Comm_set_attr, (int comm, int keyval, void *value))                                        \
	F(Type_create_keyval, (int (*copy)(int, int, void *, void *, void *, int *),                 \
	                       int (*gone)(int, int, void *, void *), int *keyval, void *extra))     \
	F(Type_set_attr, (int type, int keyval, void *value))                                        \
	F(Type_size_x, (int type, long *size))                                                       \
	F(Type_get_extent_x, (int type, long *lb, long *extent))                                     \
	F(Type_get_envelope, (int type, int *ni, int *na, int *nt, int *combiner))                   \
	F(Type_get_contents, (int type, int ni, int na, int nt, int *i, long *a, int *t))            \
	F(Type_free, (int *type))                                                                    \
	F(Comm_get_errhandler, (int comm, int *handler))                                             \
	F(Comm_call_errhandler, (int comm, int code))                                                \
	F(Errhandler_free, (int *handler))                                                           \
	F(Error_string, (int code, char *text, int *len))                                            \
	F(Info_get, (int info, const char *key, int most, char *value, int *flag))                   \
	F(Win_create, (void *base, long size, int unit, int info, int comm, int *win))               \
	F(Win_get_group, (int win, int *group))                                                      \
	F(Win_get_errhandler, (int win, int *handler))                                               \
	F(Win_call_errhandler, (int win, int code))                                                  \
	F(Bcast, (void *buf, int count, int type, int root, int comm))                               \
	F(Allreduce, (const void *in, void *out, int count, int type, int op, int comm))             \
	F(Ibarrier, (int comm, int *request))                                                        \
	F(Ibcast, (void *buf, int count, int type, int root, int comm, int *request))                \
	F(Iallgather, (const void *in, int nin, int tin, void *out, int nout, int tout, int comm, int *request)) \
	F(Iprobe, (int source, int tag, int comm, int *flag, struct mpich_status *status))            \
	F(Wait, (int *request, struct mpich_status *status))                                          \
	F(Waitall, (int n, int *requests, struct mpich_status *statuses))                             \
	F(Test, (int *request, int *flag, struct mpich_status *status))                               \
	F(Testall, (int n, int *requests, int *flag, struct mpich_status *statuses))                  \
	F(Testany, (int n, int *requests, int *index, int *flag, struct mpich_status *status))        \
	F(Testsome, (int n, int *requests, int *outcount, int *indices, struct mpich_status *statuses)) \
	F(Start, (int *request))

// Large-count twins, NULL in a host older than MPI-4.
#define CMPI_HOST_FUNCTIONS_4(F)                                                                 \
	F(Type_get_envelope_c, (int type, long *ni, long *na, long *nc, long *nt, int *combiner))    \
	F(Type_get_contents_c, (int type, long ni, long na, long nc, long nt, int *i, long *a, long *c, int *t))

struct cmpi_host {
#define F(name, args) int (*name) args;
	CMPI_HOST_FUNCTIONS(F)
	CMPI_HOST_FUNCTIONS_4(F)
#undef F
};
extern struct cmpi_host cmpi_host;

// Looks the host over. 0: it has MPICH's ABI and cmpi_host is filled; else why
// may be shown to a person.
int cmpi_host_resolve(const char **why);

#endif
