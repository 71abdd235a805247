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
	CMPI_ERR_UNSUPPORTED = 10 /* not in this release */
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
 * from and store to.
 *
 * These are declared so that programs can be written against them. In this
 * release every one of them returns CMPI_ERR_UNSUPPORTED.
 */
typedef struct cmpi_win *cmpi_win;

typedef enum { CMPI_SUM, CMPI_PROD, CMPI_MIN, CMPI_MAX, CMPI_BAND, CMPI_BOR, CMPI_BXOR, CMPI_REPLACE } cmpi_op;
typedef enum { CMPI_INT32, CMPI_INT64, CMPI_UINT32, CMPI_UINT64, CMPI_FLOAT, CMPI_DOUBLE } cmpi_type;

/* Makes a window to which this rank adds bytes, at *base here; collective. */
int cmpi_win_allocate_shared(size_t bytes, void **base, cmpi_win *win);
/* Where another rank's part is in this process, and how long. */
int cmpi_win_shared_query(cmpi_win win, int rank, size_t *bytes, void **base);
/* Ends the window; collective. */
int cmpi_win_free(cmpi_win *win);

/* Copies n bytes to, or from, a rank's part. Complete after a synchronisation. */
int cmpi_put(const void *buf, size_t n, int rank, size_t offset, cmpi_win win);
int cmpi_get(void *buf, size_t n, int rank, size_t offset, cmpi_win win);
/* Combines count elements into a rank's part, element by element atomically. */
int cmpi_accumulate(const void *buf, size_t count, cmpi_type type, cmpi_op op, int rank, size_t offset, cmpi_win win);

/* Ends what was begun and starts anew; collective. */
int cmpi_win_fence(cmpi_win win);
/* Opens and ends access to one rank's part. */
int cmpi_win_lock(int exclusive, int rank, cmpi_win win);
int cmpi_win_unlock(int rank, cmpi_win win);
/* Completes what was begun to a rank, at it. */
int cmpi_win_flush(int rank, cmpi_win win);

#ifdef __cplusplus
}
#endif

#endif
