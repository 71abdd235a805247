/* A profiling tool: counts the calls of some MPI functions and prints, in
 * MPI_Finalize, one line per rank with those that were called. It is preloaded
 * or linked in front of everything else that defines MPI functions.
 *
 * Every function has its C name here. The mpi_f08 binding of MPICH calls PMPI_
 * functions for all that have no choice buffer, so those have their Fortran
 * names here too, as real tools do it; should a binding call the C name after
 * all, the call is still counted once.
 *
 * At the end rank 0 collects the counts by point-to-point messages of the tool's
 * own, through PMPI_ names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions.h"

static long calls[FUNCTION_COUNT];

static void report(void)
{
    int rank, size;
    MPI_Comm own;
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    PMPI_Comm_rank(own, &rank);
    PMPI_Comm_size(own, &size);
    if (rank != 0) {
        PMPI_Send(calls, FUNCTION_COUNT, MPI_LONG, 0, 0, own);
    } else {
        print_counts("seen", 0, calls);
        for (int r = 1; r < size; r++) {
            long theirs[FUNCTION_COUNT];
            PMPI_Recv(theirs, FUNCTION_COUNT, MPI_LONG, r, 0, own, MPI_STATUS_IGNORE);
            print_counts("seen", r, theirs);
        }
    }
    PMPI_Comm_free(&own);
}

/* MPI_Finalize, or its Fortran form, begins. */
static void finish(void)
{
    calls[Finalize]++;
    report();
}

int MPI_Finalize(void)
{
    if (calls[Finalize] == 0)
        finish();
    return PMPI_Finalize();
}

/* ---- C ------------------------------------------------------------------------- */

#define SEE(name, params, ...)          \
    int MPI_##name params               \
    {                                   \
        calls[name]++;                  \
        return PMPI_##name(__VA_ARGS__); \
    }

SEE(Init, (int *argc, char ***argv), argc, argv)
SEE(Init_thread, (int *argc, char ***argv, int required, int *provided), argc, argv, required, provided)
SEE(Comm_dup, (MPI_Comm c, MPI_Comm *n), c, n)
SEE(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *n), c, color, key, n)
SEE(Comm_free, (MPI_Comm *c), c)

#define SEE_SEND(name)                                                                                     \
    SEE(name, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), b, n, t, to, tag, c)
#define SEE_ISEND(name)                                                                                    \
    SEE(name, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),         \
        b, n, t, to, tag, c, r)
#define SEE_IRECV(name)                                                                                    \
    SEE(name, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),             \
        b, n, t, from, tag, c, r)

SEE_SEND(Send)
SEE_SEND(Ssend)
SEE_SEND(Rsend)
SEE_SEND(Bsend)
SEE_ISEND(Isend)
SEE_ISEND(Issend)
SEE_ISEND(Send_init)
SEE_IRECV(Irecv)
SEE_IRECV(Recv_init)
SEE(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s), b, n, t, from, tag, c, s)
SEE(Sendrecv, (const void *b, int n, MPI_Datatype t, int to, int tag, void *in, int nin, MPI_Datatype tin, int from,
               int intag, MPI_Comm c, MPI_Status *s), b, n, t, to, tag, in, nin, tin, from, intag, c, s)
SEE(Sendrecv_replace, (void *b, int n, MPI_Datatype t, int to, int tag, int from, int intag, MPI_Comm c,
                       MPI_Status *s), b, n, t, to, tag, from, intag, c, s)
SEE(Start, (MPI_Request *r), r)
SEE(Startall, (int n, MPI_Request *r), n, r)
SEE(Probe, (int from, int tag, MPI_Comm c, MPI_Status *s), from, tag, c, s)
SEE(Iprobe, (int from, int tag, MPI_Comm c, int *flag, MPI_Status *s), from, tag, c, flag, s)
SEE(Mprobe, (int from, int tag, MPI_Comm c, MPI_Message *m, MPI_Status *s), from, tag, c, m, s)
SEE(Mrecv, (void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Status *s), b, n, t, m, s)
SEE(Wait, (MPI_Request *r, MPI_Status *s), r, s)
SEE(Waitall, (int n, MPI_Request *r, MPI_Status *s), n, r, s)
SEE(Waitany, (int n, MPI_Request *r, int *i, MPI_Status *s), n, r, i, s)
SEE(Waitsome, (int n, MPI_Request *r, int *out, int *i, MPI_Status *s), n, r, out, i, s)
SEE(Test, (MPI_Request *r, int *flag, MPI_Status *s), r, flag, s)
SEE(Testall, (int n, MPI_Request *r, int *flag, MPI_Status *s), n, r, flag, s)
SEE(Testany, (int n, MPI_Request *r, int *i, int *flag, MPI_Status *s), n, r, i, flag, s)
SEE(Testsome, (int n, MPI_Request *r, int *out, int *i, MPI_Status *s), n, r, out, i, s)
SEE(Request_free, (MPI_Request *r), r)
SEE(Cancel, (MPI_Request *r), r)
SEE(Barrier, (MPI_Comm c), c)
SEE(Ibarrier, (MPI_Comm c, MPI_Request *r), c, r)
SEE(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), b, n, t, root, c)
SEE(Allreduce, (const void *in, void *out, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), in, out, n, t, o, c)

/* ---- Fortran 2008 ---------------------------------------------------------------- */

/* All arguments are addresses; one that the program leaves out is NULL. */
typedef void *P;

static void *next(const char *name)
{
    void *p = dlsym(RTLD_NEXT, name);
    if (p == NULL) {
        fprintf(stderr, "prof: there is no %s\n", name);
        abort();
    }
    return p;
}

#define PARAMS_1 P a
#define PARAMS_2 PARAMS_1, P b
#define PARAMS_3 PARAMS_2, P c
#define PARAMS_4 PARAMS_3, P d
#define PARAMS_5 PARAMS_4, P e
#define PARAMS_6 PARAMS_5, P f
#define ARGS_1 a
#define ARGS_2 ARGS_1, b
#define ARGS_3 ARGS_2, c
#define ARGS_4 ARGS_3, d
#define ARGS_5 ARGS_4, e
#define ARGS_6 ARGS_5, f

#define F08(n, name, symbol)                                            \
    void symbol(PARAMS_##n);                                            \
    void symbol(PARAMS_##n)                                             \
    {                                                                   \
        long before = calls[name];                                      \
        ((__typeof__(symbol) *)next(#symbol))(ARGS_##n);                \
        if (calls[name] == before) /* it went to the PMPI_ name */      \
            calls[name]++;                                              \
    }

F08(1, Init, mpi_init_f08_)
F08(3, Init_thread, mpi_init_thread_f08_)
F08(3, Comm_dup, mpi_comm_dup_f08_)
F08(5, Comm_split, mpi_comm_split_f08_)
F08(2, Comm_free, mpi_comm_free_f08_)
F08(2, Start, mpi_start_f08_)
F08(3, Startall, mpi_startall_f08_)
F08(5, Probe, mpi_probe_f08_)
F08(6, Iprobe, mpi_iprobe_f08_)
F08(6, Mprobe, mpi_mprobe_f08_)
F08(3, Wait, mpi_wait_f08_)
F08(4, Waitall, mpi_waitall_f08_)
F08(5, Waitany, mpi_waitany_f08_)
F08(6, Waitsome, mpi_waitsome_f08_)
F08(4, Test, mpi_test_f08_)
F08(5, Testall, mpi_testall_f08_)
F08(6, Testany, mpi_testany_f08_)
F08(6, Testsome, mpi_testsome_f08_)
F08(2, Request_free, mpi_request_free_f08_)
F08(2, Cancel, mpi_cancel_f08_)
F08(2, Barrier, mpi_barrier_f08_)
F08(3, Ibarrier, mpi_ibarrier_f08_)

void mpi_finalize_f08_(P ierror);
void mpi_finalize_f08_(P ierror)
{
    finish();
    ((__typeof__(mpi_finalize_f08_) *)next("mpi_finalize_f08_"))(ierror);
}
