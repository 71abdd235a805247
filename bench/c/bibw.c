/*
 * Bidirectional bandwidth: both ranks post a window of receives, then send a
 * window. MB/s (10^6 bytes) of both directions together per message size.
 * Method of osu_bibw.
 */
#include "bench.h"

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 1000, .warmup = 20, .window = 64};
    MPI_Request *sends, *recvs;

    bench_init(&b, &argc, &argv, 1);
    if (b.size != 2)
        bench_fail("bibw needs exactly 2 ranks");
    sends = malloc((size_t)b.window * sizeof *sends);
    recvs = malloc((size_t)b.window * sizeof *recvs);
    if (!sends || !recvs)
        bench_fail("out of memory");
    if (b.rank == 0)
        printf("# bidirectional bandwidth, window %d\n%-10s%20s\n", b.window, "# Size", "Bandwidth (MB/s)");

    for (long n = b.min; n <= b.max; n = bench_next(n)) {
        long warmup = bench_scale(b.warmup, n), rounds = bench_scale(b.iterations, n);
        int peer = 1 - b.rank;
        double start = 0, seconds;

        MPI_Barrier(MPI_COMM_WORLD);
        for (long i = -warmup; i < rounds; i++) {
            if (i == 0)
                start = MPI_Wtime();
            for (int w = 0; w < b.window; w++)
                MPI_Irecv(b.recv, (int)n, MPI_CHAR, peer, 10, MPI_COMM_WORLD, &recvs[w]);
            for (int w = 0; w < b.window; w++)
                MPI_Isend(b.send, (int)n, MPI_CHAR, peer, 10, MPI_COMM_WORLD, &sends[w]);
            MPI_Waitall(b.window, sends, MPI_STATUSES_IGNORE);
            MPI_Waitall(b.window, recvs, MPI_STATUSES_IGNORE);
        }
        seconds = MPI_Wtime() - start;
        if (b.rank == 0) {
            printf("%-10ld%20.2f\n", n, 2.0 * (double)n * (double)rounds * b.window / seconds / 1e6);
            fflush(stdout);
        }
    }
    free(sends);
    free(recvs);
    bench_finish(&b);
    return 0;
}
