/*
 * Message rate of ranks whose threads all communicate (MPI_THREAD_MULTIPLE):
 * each thread of a lower rank sends windows of messages to its namesake in the
 * upper half; the thread's number is the tag. Aggregate MB/s (10^6 bytes) and
 * messages per second per message size. Method of osu_mbw_mr in every thread.
 */
#include "bench.h"

#include <pthread.h>

enum { THREADS = 4, ANSWER = 1000 /* tags from here on are answers */ };

struct worker {
    pthread_t thread;
    struct bench *b;
    pthread_barrier_t *barrier;
    long bytes;
    int number, peer, sender;
    double seconds;
};

static void *work(void *p)
{
    struct worker *w = p;
    struct bench *b = w->b;
    long warmup = bench_scale(b->warmup, w->bytes), rounds = bench_scale(b->iterations, w->bytes);
    MPI_Request *req = malloc((size_t)b->window * sizeof *req);
    char *send = b->send + w->number * b->max, *recv = b->recv + w->number * b->max;
    char answer[4] = "";
    double start = 0;

    if (!req)
        bench_fail("out of memory");
    for (long i = -warmup; i < rounds; i++) {
        if (i == 0) {
            pthread_barrier_wait(w->barrier);
            start = MPI_Wtime();
        }
        for (int j = 0; j < b->window; j++) {
            if (w->sender)
                MPI_Isend(send, (int)w->bytes, MPI_CHAR, w->peer, w->number, MPI_COMM_WORLD, &req[j]);
            else
                MPI_Irecv(recv, (int)w->bytes, MPI_CHAR, w->peer, w->number, MPI_COMM_WORLD, &req[j]);
        }
        MPI_Waitall(b->window, req, MPI_STATUSES_IGNORE);
        if (w->sender)
            MPI_Recv(answer, 4, MPI_CHAR, w->peer, ANSWER + w->number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(answer, 4, MPI_CHAR, w->peer, ANSWER + w->number, MPI_COMM_WORLD);
    }
    w->seconds = MPI_Wtime() - start;
    free(req);
    return NULL;
}

int main(int argc, char **argv)
{
    struct bench b = {.min = 1, .max = 4 << 20, .iterations = 250, .warmup = 5, .window = 64, .threads = THREADS};
    struct worker workers[THREADS];
    pthread_barrier_t barrier;
    int pairs, sender;

    bench_init(&b, &argc, &argv, THREADS);
    if (b.size < 2 || b.size % 2 != 0)
        bench_fail("rate_threads needs an even number of ranks");
    pairs = b.size / 2;
    sender = b.rank < pairs;
    pthread_barrier_init(&barrier, NULL, THREADS);
    if (b.rank == 0)
        printf("# message rate, pairs %d, threads %d, window %d\n%-10s%20s%20s\n", pairs, THREADS, b.window, "# Size",
               "MB/s", "Messages/s");

    for (long n = b.min; n <= b.max; n = bench_next(n)) {
        double seconds = 0, slowest;

        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.b = &b, .barrier = &barrier, .bytes = n, .number = i, .sender = sender,
                                         .peer = sender ? b.rank + pairs : b.rank - pairs};
            if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
                bench_fail("no thread can be made");
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
            seconds = workers[i].seconds > seconds ? workers[i].seconds : seconds;
        }
        MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (b.rank == 0) {
            double messages = (double)pairs * THREADS * (double)bench_scale(b.iterations, n) * b.window;
            printf("%-10ld%20.2f%20.2f\n", n, messages * (double)n / slowest / 1e6, messages / slowest);
            fflush(stdout);
        }
    }
    pthread_barrier_destroy(&barrier);
    bench_finish(&b);
    return 0;
}
