/*
 * One-sided bandwidth: rank 0 puts or gets a window of transfers and completes
 * them together. MB/s (10^6 bytes) per size. Method of osu_put_bw and
 * osu_get_bw: every transfer of a window has a place of its own at the target.
 */
#include "rma.h"

static void round_of(struct bench *b, enum op op, enum sync sync, long n, MPI_Group peer, MPI_Win win)
{
    if (b->rank == 1) {
        if (sync == FENCE) {
            MPI_Win_fence(0, win);
        } else if (sync == PSCW) {
            MPI_Win_post(peer, 0, win);
            MPI_Win_wait(win);
        }
        return;
    }
    if (sync == LOCK)
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    else if (sync == PSCW)
        MPI_Win_start(peer, 0, win);
    for (int w = 0; w < b->window; w++)
        rma_do(op, b, n, 1, (MPI_Aint)w * n, win);
    switch (sync) {
    case FLUSH: MPI_Win_flush(1, win); break;
    case LOCK: MPI_Win_unlock(1, win); break;
    case FENCE: MPI_Win_fence(0, win); break;
    default: MPI_Win_complete(win); break;
    }
}

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 1000, .warmup = 20, .window = 64, .sync = "flush", .op = "put"};

    bench_init(&b, &argc, &argv, 1);
    enum op op = rma_choice(b.op, op_names, GET + 1);
    enum sync sync = rma_choice(b.sync, sync_names, SYNCS);
    if (b.size != 2)
        bench_fail("rma_bw needs exactly 2 ranks");
    MPI_Win win = rma_window((size_t)b.max * (size_t)b.window);
    MPI_Group peer = rma_group(1 - b.rank);
    if (b.rank == 0)
        printf("# %s bandwidth under %s, window %d\n%-10s%20s\n", b.op, b.sync, b.window, "# Size", "Bandwidth (MB/s)");

    for (long n = b.min; n <= b.max; n = bench_next(n)) {
        long warmup = bench_scale(b.warmup, n), rounds = bench_scale(b.iterations, n);
        double start = 0;

        MPI_Barrier(MPI_COMM_WORLD);
        if (sync == FENCE)
            MPI_Win_fence(0, win);
        else if (sync == FLUSH && b.rank == 0)
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        for (long i = -warmup; i < rounds; i++) {
            if (i == 0)
                start = MPI_Wtime();
            round_of(&b, op, sync, n, peer, win);
        }
        double seconds = MPI_Wtime() - start;
        if (sync == FENCE)
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        else if (sync == FLUSH && b.rank == 0)
            MPI_Win_unlock(1, win);
        if (b.rank == 0) {
            printf("%-10ld%20.4f\n", n, (double)n * (double)rounds * b.window / seconds / 1e6);
            fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&peer);
    MPI_Win_free(&win);
    bench_finish(&b);
    return 0;
}
