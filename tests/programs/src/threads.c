/* MPI_THREAD_MULTIPLE: the threads of every rank exchange messages of random
 * size with their counterparts on both neighbours, at the same time, blocking
 * and nonblocking.
 *
 * threads: per rank; rounds; bytes: of the largest message. */
#include <pthread.h>

#include "common.h"

static long rounds;
static size_t most;

static size_t size_of(int from, int thread, long round) { return key4(from, thread, round, 1) % (most + 1); }
static uint64_t key_of(int from, int thread, long round) { return key4(from, thread, round, 2); }

static void *exchange(void *arg) {
    int thread = (int)(intptr_t)arg;
    unsigned char *out = need(most), *in = need(most + 64);
    for (long r = 0; r < rounds; r++) {
        int distance = 1 + (int)(r % (world_size > 1 ? world_size - 1 : 1));
        int to = (world_rank + distance) % world_size, from = (world_rank + world_size - distance) % world_size;
        int tag = thread * 1000 + (int)(r % 1000);
        size_t n = size_of(world_rank, thread, r), expected = size_of(from, thread, r);
        MPI_Status status;
        MPI_Request requests[2];
        memset(in, UNTOUCHED, expected + 64);
        fill(out, n, key_of(world_rank, thread, r));
        switch (r % 3) {
        case 0:
            MPI_Sendrecv(out, (int)n, MPI_BYTE, to, tag, in, (int)most + 64, MPI_BYTE, from, tag, MPI_COMM_WORLD,
                         &status);
            break;
        case 1:
            MPI_Irecv(in, (int)most + 64, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[0]);
            MPI_Issend(out, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[1]);
            MPI_Wait(&requests[0], &status);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            break;
        default: {
            MPI_Message message;
            MPI_Isend(out, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[0]);
            MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(in, (int)most + 64, MPI_BYTE, &message, &status);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        }
        check_status(&status, from, tag, expected, "message between threads");
        check(in, expected, key_of(from, thread, r), "message between threads");
        check_untouched(in + expected, 64, "message between threads");
    }
    free(in);
    free(out);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t ids[64];
    start_threaded(argc, argv, "threads", 2, MPI_THREAD_MULTIPLE);
    int threads = (int)option("threads", 4);
    rounds = option("rounds", world_size <= 2 ? 60 : 12);
    most = (size_t)option("bytes", 30000);
    EXPECT(threads >= 1 && threads <= 64, "%d threads", threads);
    for (int i = 0; i < threads; i++) {
        EXPECT(pthread_create(&ids[i], NULL, exchange, (void *)(intptr_t)i) == 0, "can't start a thread");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    return finish();
}
