/*
 * One-way latency: two ranks send one message back and forth; half of a round
 * trip is printed, in microseconds, per message size. Method of osu_latency.
 */
#include "bench.h"

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 50000, .warmup = 500, .window = 1};

    bench_init(&b, &argc, &argv, 1);
    if (b.size != 2)
        bench_fail("latency needs exactly 2 ranks");
    if (b.rank == 0)
        printf("# one-way latency\n%-10s%20s\n", "# Size", "Latency (us)");

    for (long n = b.min; n <= b.max; n = bench_next(n)) {
        long warmup = bench_scale(b.warmup, n), rounds = bench_scale(b.iterations, n);
        double start = 0;

        MPI_Barrier(MPI_COMM_WORLD);
        for (long i = -warmup; i < rounds; i++) {
            if (i == 0)
                start = MPI_Wtime();
            if (b.rank == 0) {
                MPI_Send(b.send, (int)n, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(b.recv, (int)n, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(b.recv, (int)n, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(b.send, (int)n, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            }
        }
        if (b.rank == 0) {
            printf("%-10ld%20.3f\n", n, (MPI_Wtime() - start) * 1e6 / (2.0 * (double)rounds));
            fflush(stdout);
        }
    }
    bench_finish(&b);
    return 0;
}
