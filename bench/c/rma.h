/*
 * What the one-sided benchmark programs share: the operations and the ways to
 * synchronise, by name. Windows are made by MPI_Win_allocate, as OSU's are by
 * default.
 */
#ifndef BENCH_RMA_H
#define BENCH_RMA_H

#include "bench.h"

enum op { PUT, GET, ACC, GET_ACC, FOP, CAS, OPS };
static const char *const op_names[OPS] = {"put", "get", "acc", "get_acc", "fop", "cas"};

enum sync { FLUSH, LOCK, FENCE, PSCW, SYNCS };
static const char *const sync_names[SYNCS] = {"flush", "lock", "fence", "pscw"};

/* The index of a name among n. */
static inline int rma_choice(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    bench_fail("no such operation or synchronisation");
    return -1;
}

/* A window of bytes per rank; its memory has been touched. */
static inline MPI_Win rma_window(size_t bytes)
{
    MPI_Win win;
    char *base;

    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Win_unlock(0, win);
    MPI_Win_fence(0, win);
    memset(base, 'c', bytes);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    return win;
}

/* One operation on n bytes at offset at of a target's window. Accumulate sums
 * 4-byte integers as OSU does; single elements are of 8 bytes. */
static inline void rma_do(enum op op, struct bench *b, long n, int target, MPI_Aint at, MPI_Win win)
{
    switch (op) {
    case PUT: MPI_Put(b->send, (int)n, MPI_CHAR, target, at, (int)n, MPI_CHAR, win); break;
    case GET: MPI_Get(b->recv, (int)n, MPI_CHAR, target, at, (int)n, MPI_CHAR, win); break;
    case ACC: MPI_Accumulate(b->send, (int)n / 4, MPI_INT, target, at, (int)n / 4, MPI_INT, MPI_SUM, win); break;
    case GET_ACC:
        MPI_Get_accumulate(b->send, (int)n / 4, MPI_INT, b->recv, (int)n / 4, MPI_INT, target, at, (int)n / 4, MPI_INT,
                           MPI_SUM, win);
        break;
    case FOP: MPI_Fetch_and_op(b->send, b->recv, MPI_INT64_T, target, at, MPI_SUM, win); break;
    case CAS: MPI_Compare_and_swap(b->send, b->send + 8, b->recv, MPI_INT64_T, target, at, win); break;
    default: break;
    }
}

/* The group of one rank of MPI_COMM_WORLD. */
static inline MPI_Group rma_group(int rank)
{
    MPI_Group world, one;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &one);
    MPI_Group_free(&world);
    return one;
}

#endif
