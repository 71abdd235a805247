/*
 * Gets or puts of many pairs at once: the first half of the ranks are origins,
 * the second half targets, as in the cMPI paper's extension of the OSU
 * micro-benchmarks to any number of origins and targets. Columns: bandwidth of
 * all pairs and number of transfers per second with a window of transfers
 * before each flush, and the mean time of one transfer with its flush.
 */
#include "rma.h"

/* The time of rounds of window transfers each, of the slowest origin. */
static double timed(struct bench *b, enum op op, long n, long rounds, int window, int target, MPI_Win win)
{
    double start, seconds, slowest;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (target >= 0) {
        for (long i = 0; i < rounds; i++) {
            for (int w = 0; w < window; w++)
                rma_do(op, b, n, target, (MPI_Aint)w * n, win);
            MPI_Win_flush(target, win);
        }
    }
    seconds = MPI_Wtime() - start;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 1000, .warmup = 20, .window = 64, .sync = "flush", .op = "get"};

    bench_init(&b, &argc, &argv, 1);
    enum op op = rma_choice(b.op, op_names, GET + 1);
    if (rma_choice(b.sync, sync_names, SYNCS) != FLUSH || b.size % 2 != 0)
        bench_fail("rma_multi needs an even number of ranks and knows flush alone");
    int pairs = b.size / 2, target = b.rank < pairs ? b.rank + pairs : -1;
    MPI_Win win = rma_window((size_t)b.max * (size_t)b.window);
    MPI_Win_lock_all(0, win);
    if (b.rank == 0)
        printf("# %s, pairs %d, window %d\n%-10s%20s%20s%20s\n", b.op, pairs, b.window, "# Size", "MB/s", "Messages/s",
               "Latency (us)");

    for (long n = b.min; n <= b.max; n = bench_next(n)) {
        long warmup = bench_scale(b.warmup, n), rounds = bench_scale(b.iterations, n);
        double many, single, transfers = (double)pairs * (double)rounds * b.window;

        timed(&b, op, n, warmup, b.window, target, win);
        many = timed(&b, op, n, rounds, b.window, target, win);
        single = timed(&b, op, n, 10 * rounds, 1, target, win);
        if (b.rank == 0) {
            printf("%-10ld%20.2f%20.2f%20.3f\n", n, transfers * (double)n / many / 1e6, transfers / many,
                   single * 1e6 / (10.0 * (double)rounds));
            fflush(stdout);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    bench_finish(&b);
    return 0;
}
