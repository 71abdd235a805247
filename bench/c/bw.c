/*
 * Bandwidth: rank 0 sends a window of messages with MPI_Isend, rank 1 has
 * posted the receives and answers with 4 bytes when all are there. MB/s
 * (10^6 bytes) per message size. Method of osu_bw: all messages of a window
 * use the same buffers.
 */
#include "bench.h"

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 1000, .warmup = 20, .window = 64};
    MPI_Request *req;
    char answer[4] = "";

    bench_init(&b, &argc, &argv, 1);
    if (b.size != 2)
        bench_fail("bw needs exactly 2 ranks");
    req = malloc((size_t)b.window * sizeof *req);
    if (!req)
        bench_fail("out of memory");
    if (b.rank == 0)
        printf("# bandwidth, window %d\n%-10s%20s\n", b.window, "# Size", "Bandwidth (MB/s)");

    for (long n = b.min; n <= b.max; n = bench_next(n)) {
        long warmup = bench_scale(b.warmup, n), rounds = bench_scale(b.iterations, n);
        double start = 0, seconds;

        MPI_Barrier(MPI_COMM_WORLD);
        for (long i = -warmup; i < rounds; i++) {
            if (i == 0)
                start = MPI_Wtime();
            for (int w = 0; w < b.window; w++) {
                if (b.rank == 0)
                    MPI_Isend(b.send, (int)n, MPI_CHAR, 1, 100, MPI_COMM_WORLD, &req[w]);
                else
                    MPI_Irecv(b.recv, (int)n, MPI_CHAR, 0, 100, MPI_COMM_WORLD, &req[w]);
            }
            MPI_Waitall(b.window, req, MPI_STATUSES_IGNORE);
            if (b.rank == 0)
                MPI_Recv(answer, 4, MPI_CHAR, 1, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else
                MPI_Send(answer, 4, MPI_CHAR, 0, 101, MPI_COMM_WORLD);
        }
        seconds = MPI_Wtime() - start;
        if (b.rank == 0) {
            printf("%-10ld%20.4f\n", n, (double)n * (double)rounds * b.window / seconds / 1e6);
            fflush(stdout);
        }
    }
    free(req);
    bench_finish(&b);
    return 0;
}
