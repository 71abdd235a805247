/* The executor of generated programs: an MPI program like any other. It reads a
 * file of cases (package program, encode.go), executes them one after the other,
 * a barrier between them, and logs what every operation did (package model,
 * record.go) for others to judge. It judges nothing itself. */
#ifndef EXECUTOR_H
#define EXECUTOR_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* ---- program.c: the file of cases ------------------------------------------ */

/* The kinds of operations, as in package program. */
enum kind {
    SEND, ISEND, SEND_INIT, RECV, IRECV, RECV_INIT, SENDRECV, SENDRECV_REPLACE, ISENDRECV, ISENDRECV_REPLACE, START,
    PROBE, IPROBE, PROBE_RECV, IPROBE_RECV, MPROBE, IMPROBE, MRECV, IMRECV,
    WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, GET_STATUS,
    CANCEL, FREE, BARRIER, IBARRIER, MAKE_FRESH, SLEEP, CANCEL_REST, DRAIN, FREE_REST, FREE_FRESH
};

/* Communicators, likewise. */
enum { WORLD, COPY, REVERSED, PARITY, INTER, FRESH, COMMS };

/* Flags of an operation, likewise. */
enum { LARGE_COUNT = 1, BOTTOM = 2, FREE_TYPE = 4 };

/* Constructors of datatypes, likewise. */
enum { CELL, CONTIGUOUS, VECTOR, HVECTOR, INDEXED, HINDEXED, INDEXED_BLOCK, STRUCT, SUBARRAY, RESIZED, DUPLICATE };

/* How a message lies in memory: count elements of a type, which is written from
 * the outside in: kind, number of arguments, arguments, inner type. */
struct layout {
    int count;
    const int32_t *type;
};

struct half {
    int peer, tag, cells;
    struct layout layout;
};

struct op {
    int kind, comm, mode, msg, handle, until, tries, micros, count, flags;
    struct half send, recv;
    int nslots, nmsgs;
    const int32_t *slots, *msgs;
};

struct list {
    int n;
    struct op *ops;
};

/* What one rank does in one case. */
struct program {
    int number;
    uint64_t key;
    int nmembers;
    const int32_t *members;
    int nslots, nhandles, attach;
    struct list *threads; /* as many as the run has */
    struct list epilogue;
};

struct run {
    int ranks, threads, level, cases;
    const int32_t *next;
    const int32_t *words; /* the file */
    size_t size;
};

/* Reads the file; ends the process if it can't. */
void run_open(struct run *run, const char *path);

/* Takes the next case's part for a rank. */
void run_next(struct run *run, int rank, struct program *p);
void program_free(struct program *p, int threads);

/* ---- types.c: layouts ------------------------------------------------------- */

/* A piece of memory: len bytes at offset off. */
struct piece {
    ptrdiff_t off;
    size_t len;
};

/* The pieces of a message in the order of its data. */
struct pieces {
    size_t n, room;
    struct piece *list;
};

/* The cell of the running case. */
void cell_make(const struct program *p);
void cell_free(void);
MPI_Datatype cell_type(void);
size_t cell_size(void);
int cell_members(void);

/* Makes MPI's type for a layout's element, and lists what a whole message of the
 * layout occupies, by rules of our own. *type is the cell's for CELL. */
void layout_make(const struct layout *l, MPI_Datatype *type, struct pieces *pieces);

/* ---- buffer.c: memory of a message -------------------------------------------- */

struct buffer {
    struct buffer *next;
    int thread, op;        /* of the operation that it belongs to */
    unsigned char *memory; /* with room on both sides that nobody may write */
    size_t total;
    void *base; /* what MPI gets, with the type below */
    MPI_Datatype type;
    int count, derived;
    size_t bytes; /* of data */
    struct pieces pieces;
    uint64_t sum; /* of the memory when the message was there; 0: not yet */
};

struct buffer *buffer_make(const struct layout *l, int thread, int op, int flags);

/* Fills it with the data of a message. */
void buffer_fill(struct buffer *b, uint64_t key, int msg);

/* Looks at n received bytes: which message they are of (-1: no data), the first
 * wrong byte (-1: none), and whether anything else was written. whole: the rest
 * of the buffer counts as something else. */
void buffer_check(struct buffer *b, uint64_t key, size_t n, int whole, int *msg, int *bad, int *dirty);

/* Makes it as if nothing had ever been received. */
void buffer_clear(struct buffer *b);

/* Whether the memory is still what it was at buffer_check. */
int buffer_same(const struct buffer *b);

/* The case's buffers. */
extern struct buffer *buffers;
void buffers_free(void);

/* ---- log.c -------------------------------------------------------------------- */

struct record {
    int32_t run_case, thread, op, item, class, source, tag, msg, bad;
    uint32_t flags;
    int64_t bytes, t0, t1;
};
_Static_assert(sizeof(struct record) == 64, "as package model says");

enum { ITEM_OP = -1, ITEM_RECV = -2, ITEM_PROBE = -3, ITEM_LATE = -4 };
enum { FOUND = 1, CANCELLED = 2, PEEK = 4, DIRTY = 8, ELEMENTS = 16, STRAY = 32 };
enum { EPILOGUE_THREAD = -1 };

void log_open(const char *path);
void log_add(const struct record *r);

/* Says in the log where this rank is, for whoever watches. */
void log_case(int number);
void log_at(int thread, int op);
int64_t now(void);

/* ---- ops.c ---------------------------------------------------------------------- */

/* The communicators; FRESH is made and freed by operations. */
extern MPI_Comm comms[COMMS];

void ops_begin(const struct program *p, int number);
void ops_run(const struct list *list, int thread);
/* Reports buffers that have changed since their messages were complete. */
void ops_late(void);
void ops_end(void);

/* ---- executor.c ------------------------------------------------------------------ */

/* Ends the job: the executor itself is at fault, or memory is short. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
void *need(size_t n);

#endif
