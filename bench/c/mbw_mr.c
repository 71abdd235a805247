/*
 * Message rate: the lower half of the ranks sends windows of messages to the
 * upper half, pair by pair, all at once. Aggregate MB/s (10^6 bytes) and
 * messages per second per message size. Method of osu_mbw_mr.
 */
#include "bench.h"

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 1000, .warmup = 20, .window = 64};
    MPI_Request *req;
    char answer[4] = "";
    int pairs, sender, peer;

    bench_init(&b, &argc, &argv, 1);
    if (b.size < 2 || b.size % 2 != 0)
        bench_fail("mbw_mr needs an even number of ranks");
    pairs = b.size / 2;
    sender = b.rank < pairs;
    peer = sender ? b.rank + pairs : b.rank - pairs;
    req = malloc((size_t)b.window * sizeof *req);
    if (!req)
        bench_fail("out of memory");
    if (b.rank == 0)
        printf("# message rate, pairs %d, window %d\n%-10s%20s%20s\n", pairs, b.window, "# Size", "MB/s", "Messages/s");

    for (long n = b.min; n <= b.max; n = bench_next(n)) {
        long warmup = bench_scale(b.warmup, n), rounds = bench_scale(b.iterations, n);
        double start = 0, seconds, slowest;

        MPI_Barrier(MPI_COMM_WORLD);
        for (long i = -warmup; i < rounds; i++) {
            if (i == 0) {
                MPI_Barrier(MPI_COMM_WORLD);
                start = MPI_Wtime();
            }
            for (int w = 0; w < b.window; w++) {
                if (sender)
                    MPI_Isend(b.send, (int)n, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &req[w]);
                else
                    MPI_Irecv(b.recv, (int)n, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &req[w]);
            }
            MPI_Waitall(b.window, req, MPI_STATUSES_IGNORE);
            if (sender)
                MPI_Recv(answer, 4, MPI_CHAR, peer, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else
                MPI_Send(answer, 4, MPI_CHAR, peer, 101, MPI_COMM_WORLD);
        }
        seconds = MPI_Wtime() - start;
        MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (b.rank == 0) {
            double messages = (double)pairs * (double)rounds * b.window;
            printf("%-10ld%20.2f%20.2f\n", n, messages * (double)n / slowest / 1e6, messages / slowest);
            fflush(stdout);
        }
    }
    free(req);
    bench_finish(&b);
    return 0;
}
