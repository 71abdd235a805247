/*
 * cmpi.h - messages between processes through a shared pool, without an MPI.
 *
 * A job is a number of processes, the ranks 0 to size-1, that were told the same
 * pool and the same job name. They may run on one host or on several that share
 * the pool (a CXL device, or a file in shared memory). Each calls cmpi_init
 * first and cmpi_finalize last. Link with -lcmpi (pkg-config cmpi).
 *
 *     cmpi_init(-1, 0, NULL, NULL);          // all from the environment
 *     if (cmpi_rank() == 0)
 *         cmpi_send("hello", 6, 1, 0);
 *     else if (cmpi_rank() == 1)
 *         cmpi_recv(buf, sizeof buf, 0, 0, NULL);
 *     cmpi_finalize();
 *
 * c/examples/cmpi_ring.c is a whole program.
 *
 * Rules of matching are MPI's: a message is received by the first receive that
 * names its source (or CMPI_ANY_SOURCE) and its tag (or CMPI_ANY_TAG), and two
 * messages from one rank to another that match the same receive are received in
 * the order in which they were sent.
 *
 * Every function but cmpi_rank, cmpi_size and the two that give texts returns
 * CMPI_OK or a CMPI_ERR_ code. They may be called from any thread, but from one
 * at a time. Buffers belong to the library until the operation has completed.
 *
 * Environment: CMPI_RANK, CMPI_SIZE, CMPI_POOL and CMPI_JOB stand in for
 * arguments of cmpi_init; CMPI_POOL_SIZE, CMPI_COHERENCE and the other settings
 * of the library are explained in the documentation.
 */
#ifndef CMPI_H
#define CMPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CMPI_ANY_SOURCE (-2) /* a receive or probe takes messages of all ranks */
#define CMPI_ANY_TAG (-1)    /* ... and of all tags */
#define CMPI_MAX_TAG 268435455 /* tags go from 0 to this, 2^28 - 1 */

enum {
	CMPI_OK = 0,
	CMPI_ERR_ARGUMENT = 1,    /* a rank, tag or address makes no sense */
	CMPI_ERR_STATE = 2,       /* before cmpi_init, after cmpi_finalize, or inside an MPI job */
	CMPI_ERR_SETTING = 3,     /* an environment variable makes no sense */
	CMPI_ERR_POOL = 4,        /* the pool can't be used */
	CMPI_ERR_TIMEOUT = 5,     /* the other ranks did not come */
	CMPI_ERR_TRUNCATED = 6,   /* the message is longer than the buffer; its beginning was received */
	CMPI_ERR_MEMORY = 7,      /* no memory, in the pool or of the process */
	CMPI_ERR_REQUEST = 8,     /* no such request */
	CMPI_ERR_CORRUPT = 9,     /* the peer's part of the pool makes no sense */
	CMPI_ERR_UNSUPPORTED = 10, /* not in this release */
	CMPI_ERR_SYNC = 11,       /* no access is open that allows the call, or one that forbids it */
	CMPI_ERR_RANGE = 12,      /* not inside the rank's part of the window */
	CMPI_ERR_LOST = 13        /* a rank that was waited for has died */
};

/* What a code means. Never NULL. */
const char *cmpi_strerror(int code);

/*
 * What went wrong in the last call that failed, one line, with names and a
 * remedy where there is one; "" before the first failure. Valid until the next
 * call of this library.
 */
const char *cmpi_last_error(void);

/*
 * Joins the job; returns when all its ranks have. rank -1, size 0, pool NULL and
 * job NULL mean the environment's value. job may stay unset, when the pool serves
 * no other job meanwhile. A pool file that does not exist is made (mode 0600,
 * CMPI_POOL_SIZE bytes); it stays when the job ends and may serve the next.
 *
 * CMPI_COHERENCE=auto (the default) means "coherent" for a file and "flush" for
 * a device; all ranks must use the same. Ranks that don't come within a minute
 * make the others fail with CMPI_ERR_TIMEOUT.
 */
int cmpi_init(int rank, int size, const char *pool, const char *job);

/*
 * Leaves the job; returns when all ranks do. Everything that was sent must have
 * been received. What this rank held of the pool is free again.
 */
int cmpi_finalize(void);

/* This process's rank and the number of ranks; -1 outside a job. */
int cmpi_rank(void);
int cmpi_size(void);

/* Returns when all ranks have called it. Messages keep moving meanwhile. */
int cmpi_barrier(void);

/* What is known of a message. Arguments of this type may be NULL. */
typedef struct cmpi_status {
	int source;
	int tag;
	size_t bytes; /* received; of a probe: in the message */
} cmpi_status;

/* Sends n bytes; returns when buf may be used again. */
int cmpi_send(const void *buf, size_t n, int dest, int tag);

/* Receives at most n bytes; returns when they are in buf. */
int cmpi_recv(void *buf, size_t n, int source, int tag, cmpi_status *status);

/* An operation under way. */
typedef uint32_t cmpi_request;
#define CMPI_REQUEST_NULL 0u

/* Starts a send or a receive; it ends by cmpi_wait or cmpi_test. */
int cmpi_isend(const void *buf, size_t n, int dest, int tag, cmpi_request *request);
int cmpi_irecv(void *buf, size_t n, int source, int tag, cmpi_request *request);

/*
 * Returns when the operation has completed, and sets *request to
 * CMPI_REQUEST_NULL; of that, returns at once. The code is the operation's own.
 */
int cmpi_wait(cmpi_request *request, cmpi_status *status);

/* The same if the operation has completed (*flag 1), else nothing (*flag 0). */
int cmpi_test(cmpi_request *request, int *flag, cmpi_status *status);

/* Waits until a message that matches can be received, and tells what it is. */
int cmpi_probe(int source, int tag, cmpi_status *status);

/* The same if there is one (*flag 1), else nothing (*flag 0). */
int cmpi_iprobe(int source, int tag, int *flag, cmpi_status *status);

/*
 * One-sided communication: windows of memory in the pool that all ranks load
 * from and store to, while their owners do something else.
 *
 * Each rank adds a part to a window. A part is reached by plain loads and stores
 * (cmpi_win_shared_query tells where it is), or by the operations below, which
 * name a rank and an offset in bytes in its part, and work at any distance.
 * Operations are allowed between calls that open and close access, in one of
 * MPI's three ways:
 *
 *     cmpi_win_fence(w);                 // all ranks together
 *     cmpi_put(buf, n, rank, 0, w);
 *     cmpi_win_fence(w);                 // everything is where it belongs
 *
 *     cmpi_win_lock(0, rank, w);         // one rank alone; the owner does nothing
 *     cmpi_put(buf, n, rank, 0, w);
 *     cmpi_win_flush(rank, w);           // it is there
 *     cmpi_win_unlock(rank, w);
 *
 *     cmpi_win_start(1, &owner, w);      // pairs and groups:
 *     cmpi_put(buf, n, owner, 0, w);     //   here ...
 *     cmpi_win_complete(w);
 *     cmpi_win_post(1, &origin, w);      //   ... and at the owner,
 *     cmpi_win_wait(w);                  //   after which it may read
 *
 * Elsewhere they return CMPI_ERR_SYNC, outside of a part CMPI_ERR_RANGE, and do
 * nothing. A rank that waits for one whose process has died gets CMPI_ERR_LOST
 * within two seconds, if both are of one host.
 *
 * Direct loads and stores. Between ranks whose caches are coherent, MPI's unified
 * model holds: a store is visible at once, cmpi_win_sync orders. Between others, a
 * store becomes visible by the storing rank's next synchronising call on the
 * window (fence, post, unlock, cmpi_win_sync), and a load is fresh after the
 * loading rank's (fence, wait, lock, cmpi_win_sync); and two ranks must not store
 * to one line of 64 bytes in between. Operations have no such limit.
 */
typedef struct cmpi_win *cmpi_win;
#define CMPI_WIN_NULL ((cmpi_win)0)

typedef enum {
	CMPI_SUM, CMPI_PROD, CMPI_MIN, CMPI_MAX,
	CMPI_BAND, CMPI_BOR, CMPI_BXOR, /* of integers */
	CMPI_REPLACE,
	CMPI_NO_OP /* only fetches */
} cmpi_op;
typedef enum { CMPI_INT32, CMPI_INT64, CMPI_UINT32, CMPI_UINT64, CMPI_FLOAT, CMPI_DOUBLE } cmpi_type;

/*
 * Makes a window to which this rank adds bytes (0 is allowed), at *base here.
 * The parts follow one another without a gap; their memory is zero. Collective.
 * CMPI_ERR_MEMORY, on all ranks: the pool has no room.
 */
int cmpi_win_allocate_shared(size_t bytes, void **base, cmpi_win *win);
/* Where a rank's part is in this process, and how long. */
int cmpi_win_shared_query(cmpi_win win, int rank, size_t *bytes, void **base);
/* Ends the window, which becomes CMPI_WIN_NULL. Collective. */
int cmpi_win_free(cmpi_win *win);

/* Copies n bytes to, or from, a rank's part. buf may be used again at once, or
 * has the data; a put is there after a synchronisation. */
int cmpi_put(const void *buf, size_t n, int rank, size_t offset, cmpi_win win);
int cmpi_get(void *buf, size_t n, int rank, size_t offset, cmpi_win win);

/*
 * Combines count elements into a rank's part, each atomically towards all other
 * operations of this kind, by whatever rank, on elements of the same type. The
 * second one fetches what was there (buf may be NULL with CMPI_NO_OP).
 */
int cmpi_accumulate(const void *buf, size_t count, cmpi_type type, cmpi_op op, int rank, size_t offset, cmpi_win win);
int cmpi_get_accumulate(const void *buf, void *result, size_t count, cmpi_type type, cmpi_op op, int rank, size_t offset, cmpi_win win);
/* Stores one element if what is there equals *compare; fetches what was there.
 * Integers only. */
int cmpi_compare_and_swap(const void *buf, const void *compare, void *result, cmpi_type type, int rank, size_t offset, cmpi_win win);

/* Ends what was begun and begins anew. Collective. */
int cmpi_win_fence(cmpi_win win);
/* Opens this rank's part to n ranks; wait (or test, when *flag is 1) returns when
 * they have all completed. */
int cmpi_win_post(int n, const int *ranks, cmpi_win win);
int cmpi_win_wait(cmpi_win win);
int cmpi_win_test(cmpi_win win, int *flag);
/* Opens access to the parts of n ranks, when these have posted, and ends it. */
int cmpi_win_start(int n, const int *ranks, cmpi_win win);
int cmpi_win_complete(cmpi_win win);
/* Opens and ends access to one rank's part, or to all; exclusive 1: with no other
 * rank inside, 0: with others that are content with that. */
int cmpi_win_lock(int exclusive, int rank, cmpi_win win);
int cmpi_win_unlock(int rank, cmpi_win win);
int cmpi_win_lock_all(cmpi_win win);
int cmpi_win_unlock_all(cmpi_win win);
/* Inside a lock: everything begun to a rank, or to all, is complete there. */
int cmpi_win_flush(int rank, cmpi_win win);
int cmpi_win_flush_all(cmpi_win win);
/* Orders direct loads and stores, see above. */
int cmpi_win_sync(cmpi_win win);

#ifdef __cplusplus
}
#endif

#endif
