/*
 * Works until it is stopped from outside, or for argv[2] seconds: what the
 * survivors of a fault are doing.
 *
 *   endless MODE SECONDS
 *
 *   p2p   messages around a ring, short and long
 *   rma   puts, gets and locks on the next rank's window
 *   fence puts between fences
 *   wait  every rank but 0 receives a message that nobody sends; rank 0 computes
 *
 * Rank 0 prints "started" when all ranks are at work.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 256 << 10 };

static int rank, size, next, before;
static char out[LONG], in[LONG];

static void ring(long round)
{
    int n = round % 16 == 0 ? LONG : 64;

    MPI_Sendrecv(out, n, MPI_CHAR, next, 1, in, n, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void locks(MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    MPI_Put(out, LONG, MPI_CHAR, next, 0, LONG, MPI_CHAR, win);
    MPI_Win_flush(next, win);
    MPI_Get(in, LONG, MPI_CHAR, next, 0, LONG, MPI_CHAR, win);
    MPI_Win_unlock(next, win);
}

static void fences(MPI_Win win)
{
    MPI_Put(out, LONG, MPI_CHAR, next, 0, LONG, MPI_CHAR, win);
    MPI_Win_fence(0, win);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    time_t end = time(NULL) + (argc > 2 ? atol(argv[2]) : 0);
    MPI_Win win;
    char *base;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Win_allocate(LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    ring(0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("started");
        fflush(stdout);
    }
    for (long round = 0; time(NULL) < end; round++) {
        if (strcmp(mode, "p2p") == 0) {
            ring(round);
        } else if (strcmp(mode, "rma") == 0) {
            locks(win);
        } else if (strcmp(mode, "fence") == 0) {
            fences(win);
        } else if (strcmp(mode, "wait") == 0) {
            if (rank == 0)
                usleep(1000);
            else
                MPI_Recv(in, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            fprintf(stderr, "endless: no mode \"%s\"\n", mode);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    MPI_Abort(MPI_COMM_WORLD, 3); /* the ranks are not in step */
    return 3;
}
