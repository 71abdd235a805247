/*
 * The program of `make demo`: an ordinary MPI program. It sends messages of
 * many sizes around a ring of all ranks and checks every byte, then measures a
 * ping-pong between the first two. It prints one line per result:
 *
 *   verified MESSAGES BYTES
 *   latency MICROSECONDS      one way, 8 bytes
 *   bandwidth MB_PER_SECOND   1 MiB messages, windows of 16
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LARGEST = 1 << 20, /* sizes are powers of four up to this */
    LAPS = 8,          /* each size goes around with this many contents */
    LATENCY_BYTES = 8,
    LATENCY_ROUNDS = 50000,
    WINDOW = 16,
    BANDWIDTH_ROUNDS = 40,
};

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "demo: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* The byte at index i of the message that rank sends in a lap. */
static unsigned char content(int rank, int lap, long i)
{
    return (unsigned char)(i * 31 + i / 251 + rank * 7 + lap * 13);
}

/* Every rank sends to the next and receives from the previous one. */
static void ring(int rank, int size, unsigned char *out, unsigned char *in)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    long messages = 0, bytes = 0, total[2];

    for (long n = 1; n <= LARGEST; n *= 4) {
        for (int lap = 0; lap < LAPS; lap++) {
            MPI_Request req;
            MPI_Status status;
            int count;

            for (long i = 0; i < n; i++)
                out[i] = content(rank, lap, i);
            MPI_Irecv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, lap, MPI_COMM_WORLD, &req);
            MPI_Send(out, (int)n, MPI_BYTE, next, lap, MPI_COMM_WORLD);
            MPI_Wait(&req, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            must(count == n && status.MPI_SOURCE == previous, "wrong length or sender");
            for (long i = 0; i < n; i++)
                must(in[i] == content(previous, lap, i), "wrong byte");
            messages++;
            bytes += n;
        }
    }
    long mine[2] = {messages, bytes};
    MPI_Reduce(mine, total, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("verified %ld %ld\n", total[0], total[1]);
}

static void latency(int rank, unsigned char *out, unsigned char *in)
{
    double start = 0;

    for (int i = -LATENCY_ROUNDS / 10; i < LATENCY_ROUNDS; i++) {
        if (i == 0)
            start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(out, LATENCY_BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(in, LATENCY_BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, LATENCY_BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, LATENCY_BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0)
        printf("latency %.3f\n", (MPI_Wtime() - start) * 1e6 / (2.0 * LATENCY_ROUNDS));
}

static void bandwidth(int rank, unsigned char *buf)
{
    MPI_Request req[WINDOW];
    double start = 0;

    for (int i = -BANDWIDTH_ROUNDS / 10; i < BANDWIDTH_ROUNDS; i++) {
        if (i == 0)
            start = MPI_Wtime();
        for (int w = 0; w < WINDOW; w++) {
            if (rank == 0)
                MPI_Isend(buf, LARGEST, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[w]);
            else
                MPI_Irecv(buf, LARGEST, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[w]);
        }
        MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("bandwidth %.1f\n", (double)LARGEST * WINDOW * BANDWIDTH_ROUNDS / (MPI_Wtime() - start) / 1e6);
}

int main(int argc, char **argv)
{
    int rank, size;
    unsigned char *out = calloc(1, LARGEST), *in = calloc(1, LARGEST);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(size >= 2, "needs at least 2 ranks");
    must(out && in, "out of memory");
    ring(rank, size, out, in);
    if (rank < 2) {
        latency(rank, out, in);
        bandwidth(rank, in);
    }
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
