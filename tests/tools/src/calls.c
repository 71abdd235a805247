/* Calls every function of functions.h, counts its own calls, and verifies all
 * data. In MPI_Finalize's place it prints per rank "made RANK Name=count ..." and,
 * on rank 0, "OK calls". Ranks stand in a ring: each sends to the right and
 * receives from the left. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions.h"

static long made[FUNCTION_COUNT];

/* A call that the tool is to see. */
#define CALL(name, ...) (made[name]++, MPI_##name(__VA_ARGS__))

enum { LONGEST = 300000 }; /* ints: by every protocol of the library */
static int out[LONGEST], in[LONGEST], more[LONGEST];
static int rank, size, left, right;
static MPI_Comm ring;

static void fail(const char *what, long n)
{
    fprintf(stderr, "FAIL calls: rank %d: %s, %ld\n", rank, what, n);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* The message that a rank sends in the current step. */
static int step;
static int element(int sender, int i) { return sender * 1000003 + step * 10007 + i; }

static void prepare(int n)
{
    step++;
    for (int i = 0; i < n; i++) {
        out[i] = element(rank, i);
        in[i] = more[i] = -1;
    }
}

static void check(const int *data, int n)
{
    for (int i = 0; i < n; i++)
        if (data[i] != element(left, i))
            fail("wrong data in a message of this length", n);
}

static void check_status(const MPI_Status *status, int tag, int n)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    if (status->MPI_SOURCE != left || status->MPI_TAG != tag || count != n)
        fail("wrong status of a message of this length", n);
}

static void blocking(int n)
{
    MPI_Status status;
    MPI_Message message;
    int flag;

    prepare(n);
    CALL(Sendrecv, out, n, MPI_INT, right, 1, in, n, MPI_INT, left, 1, ring, &status);
    check_status(&status, 1, n);
    check(in, n);

    CALL(Sendrecv_replace, out, n, MPI_INT, right, 2, left, 2, ring, &status);
    check_status(&status, 2, n);
    check(out, n);

    for (int turn = 0; turn < 2; turn++) { /* even ranks send first */
        prepare(n);
        for (int half = 0; half < 2; half++) {
            if (half == rank % 2)
                turn == 0 ? CALL(Send, out, n, MPI_INT, right, 3, ring) : CALL(Ssend, out, n, MPI_INT, right, 3, ring);
            else
                CALL(Recv, in, n, MPI_INT, left, 3, ring, &status);
        }
        check_status(&status, 3, n);
        check(in, n);
    }

    prepare(n);
    MPI_Request request;
    CALL(Isend, out, n, MPI_INT, right, 4, ring, &request);
    CALL(Probe, MPI_ANY_SOURCE, 4, ring, &status);
    check_status(&status, 4, n);
    do
        CALL(Iprobe, left, MPI_ANY_TAG, ring, &flag, &status);
    while (!flag);
    CALL(Mprobe, left, 4, ring, &message, &status);
    CALL(Mrecv, in, n, MPI_INT, &message, &status);
    check_status(&status, 4, n);
    check(in, n);
    CALL(Wait, &request, MPI_STATUS_IGNORE);

    prepare(n);
    CALL(Irecv, in, n, MPI_INT, left, 5, ring, &request);
    CALL(Barrier, ring);
    CALL(Rsend, out, n, MPI_INT, right, 5, ring);
    CALL(Wait, &request, &status);
    check_status(&status, 5, n);
    check(in, n);

    /* The tool doesn't see what goes by the PMPI_ names. */
    prepare(n);
    PMPI_Sendrecv(out, n, MPI_INT, right, 6, in, n, MPI_INT, left, 6, ring, MPI_STATUS_IGNORE);
    check(in, n);
}

/* The ways to complete the four requests of one step. */
static void complete(int way, MPI_Request *requests)
{
    int index, flag = 0, done, indices[4];
    switch (way) {
    case 0:
        CALL(Waitall, 4, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        for (int i = 0; i < 4; i++)
            CALL(Waitany, 4, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 2:
        for (int i = 0; i < 4; i += done)
            CALL(Waitsome, 4, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    case 3:
        for (int i = 0; i < 4; i++)
            do
                CALL(Test, &requests[i], &flag, MPI_STATUS_IGNORE);
            while (!flag);
        break;
    case 4:
        while (!flag)
            CALL(Testall, 4, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 5:
        for (int i = 0; i < 4; i += flag)
            CALL(Testany, 4, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case 6:
        for (int i = 0; i < 4; i += done)
            CALL(Testsome, 4, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    case 7:
        for (int i = 3; i >= 0; i--)
            CALL(Wait, &requests[i], MPI_STATUS_IGNORE);
        break;
    }
}

static void nonblocking(int n)
{
    for (int way = 0; way < 8; way++) {
        MPI_Request requests[4];
        prepare(n);
        CALL(Irecv, in, n, MPI_INT, left, 7, ring, &requests[0]);
        CALL(Irecv, more, n, MPI_INT, left, 8, ring, &requests[1]);
        CALL(Isend, out, n, MPI_INT, right, 7, ring, &requests[2]);
        CALL(Issend, out, n, MPI_INT, right, 8, ring, &requests[3]);
        complete(way, requests);
        check(in, n);
        check(more, n);
    }

    MPI_Request requests[2];
    CALL(Recv_init, in, n, MPI_INT, left, 9, ring, &requests[0]);
    CALL(Send_init, out, n, MPI_INT, right, 9, ring, &requests[1]);
    for (int round = 0; round < 3; round++) {
        prepare(n);
        if (round == 0)
            for (int i = 0; i < 2; i++)
                CALL(Start, &requests[i]);
        else
            CALL(Startall, 2, requests);
        CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
        check(in, n);
    }
    for (int i = 0; i < 2; i++)
        CALL(Request_free, &requests[i]);

    /* A request of the host's beside one of ours. */
    prepare(n);
    CALL(Ibarrier, ring, &requests[0]);
    CALL(Irecv, in, n, MPI_INT, left, 10, ring, &requests[1]);
    CALL(Send, out, n > 100 ? 100 : n, MPI_INT, right, 10, ring); /* short enough to be buffered everywhere */
    CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
    check(in, n > 100 ? 100 : n);
}

static void others(void)
{
    int value = rank, sum;
    MPI_Request request;
    MPI_Status status;

    CALL(Bcast, &value, 1, MPI_INT, size - 1, ring);
    CALL(Allreduce, &rank, &sum, 1, MPI_INT, MPI_SUM, ring);
    if (value != size - 1 || sum != size * (size - 1) / 2)
        fail("wrong result of a collective", value);

    enum { LENGTH = 1000, BUFFER = LENGTH * sizeof(int) + MPI_BSEND_OVERHEAD };
    void *buffer = malloc(BUFFER);
    prepare(LENGTH);
    MPI_Buffer_attach(buffer, BUFFER);
    CALL(Bsend, out, LENGTH, MPI_INT, right, 11, ring);
    CALL(Recv, in, LENGTH, MPI_INT, left, 11, ring, &status);
    check_status(&status, 11, LENGTH);
    check(in, LENGTH);
    int length;
    MPI_Buffer_detach(&buffer, &length);
    free(buffer);

    CALL(Irecv, in, 1, MPI_INT, left, 12, ring, &request); /* nobody sends it */
    CALL(Cancel, &request);
    CALL(Wait, &request, &status);
    int cancelled;
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled)
        fail("a receive was not cancelled", 0);
}

int main(int argc, char **argv)
{
    MPI_Comm dup;
    if (argc > 1) { /* the other way to begin */
        int provided;
        CALL(Init_thread, &argc, &argv, MPI_THREAD_FUNNELED, &provided);
    } else {
        CALL(Init, &argc, &argv);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    CALL(Comm_dup, MPI_COMM_WORLD, &dup);
    CALL(Comm_split, dup, 0, rank, &ring);

    static const int lengths[] = {0, 1, 7, 1000, 20000, LONGEST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        blocking(lengths[i]);
        nonblocking(lengths[i]);
    }
    others();

    CALL(Comm_free, &ring);
    CALL(Comm_free, &dup);
    made[Finalize]++;
    print_counts("made", rank, made);
    static const char ok[] = "OK calls\n"; /* in one piece, too */
    if (rank == 0 && write(STDOUT_FILENO, ok, sizeof ok - 1) < 0)
        return 1;
    return MPI_Finalize();
}
