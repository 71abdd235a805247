/*
 * Latency of one one-sided operation and its completion, in microseconds, per
 * size. Method of osu_put_latency, osu_get_latency, osu_acc_latency,
 * osu_get_acc_latency, osu_fop_latency and osu_cas_latency:
 *
 *   flush  rank 0 holds a shared lock; operation and MPI_Win_flush are timed
 *   lock   lock, operation, unlock by rank 0
 *   fence  the ranks take turns; half of a round of two fences
 *   pscw   the ranks take turns between post/wait and start/complete; half of
 *          a round
 *
 * Under flush and lock rank 1 does nothing but wait in a barrier.
 */
#include "rma.h"

static void passive(struct bench *b, enum op op, enum sync sync, long n, MPI_Win win)
{
    if (sync == LOCK)
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    rma_do(op, b, n, 1, 0, win);
    if (sync == LOCK)
        MPI_Win_unlock(1, win);
    else
        MPI_Win_flush(1, win);
}

static void by_fence(struct bench *b, enum op op, long n, MPI_Win win)
{
    for (int turn = 0; turn < 2; turn++) {
        if (turn == b->rank)
            rma_do(op, b, n, 1 - b->rank, 0, win);
        MPI_Win_fence(0, win);
    }
}

static void by_pscw(struct bench *b, enum op op, long n, MPI_Group peer, MPI_Win win)
{
    for (int turn = 0; turn < 2; turn++) {
        if (turn == b->rank) {
            MPI_Win_start(peer, 0, win);
            rma_do(op, b, n, 1 - b->rank, 0, win);
            MPI_Win_complete(win);
        } else {
            MPI_Win_post(peer, 0, win);
            MPI_Win_wait(win);
        }
    }
}

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 20000, .warmup = 500, .window = 1, .sync = "flush", .op = "put"};

    bench_init(&b, &argc, &argv, 1);
    enum op op = rma_choice(b.op, op_names, OPS);
    enum sync sync = rma_choice(b.sync, sync_names, SYNCS);
    if (b.size != 2)
        bench_fail("rma_latency needs exactly 2 ranks");
    if (op >= FOP)
        b.min = b.max = 8;
    if ((op == ACC || op == GET_ACC) && b.min < 4)
        b.min = 4;
    if (b.max < 16) { /* compare-and-swap takes two operands */
        free(b.send);
        b.send = bench_buffer(16, 'a');
    }
    MPI_Win win = rma_window((size_t)b.max);
    MPI_Group peer = rma_group(1 - b.rank);
    if (b.rank == 0)
        printf("# %s latency under %s\n%-10s%20s\n", b.op, b.sync, "# Size", "Latency (us)");

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
            if (sync == FENCE)
                by_fence(&b, op, n, win);
            else if (sync == PSCW)
                by_pscw(&b, op, n, peer, win);
            else if (b.rank == 0)
                passive(&b, op, sync, n, win);
        }
        double seconds = MPI_Wtime() - start;
        if (sync == FENCE)
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        else if (sync == FLUSH && b.rank == 0)
            MPI_Win_unlock(1, win);
        if (b.rank == 0) {
            printf("%-10ld%20.3f\n", n, seconds * 1e6 / (double)rounds / (sync == FENCE || sync == PSCW ? 2 : 1));
            fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&peer);
    MPI_Win_free(&win);
    bench_finish(&b);
    return 0;
}
