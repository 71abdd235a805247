/* Partitioned communication: pairs of requests by the order of their
 * initialisation, whatever order they are started in; data that sender and
 * receiver cut differently; partitions made ready one by one, in ranges, in lists
 * and by several threads; nothing mixes with ordinary messages. */
#include <pthread.h>

#include "common.h"

static int right, left;

/* Makes the partitions from first on in steps ready. */
struct worker {
    MPI_Request request;
    int first, step, n;
};

static void *make_ready(void *arg) {
    struct worker *w = arg;
    for (int i = w->first; i < w->n; i += w->step) {
        MPI_Pready(i, w->request);
    }
    return NULL;
}

/* Makes all partitions ready in one of several ways. */
static void ready(MPI_Request request, int n, int way) {
    int *list = need(sizeof *list * (size_t)n);
    switch (way) {
    case 0: /* backwards */
        for (int i = n - 1; i >= 0; i--) {
            MPI_Pready(i, request);
        }
        break;
    case 1:
        MPI_Pready_range(n / 2, n - 1, request);
        if (n > 1) {
            MPI_Pready_range(0, n / 2 - 1, request);
        }
        break;
    case 2: /* odd ones first */
        for (int i = 0; i < n; i++) {
            list[i] = i < n / 2 ? 2 * i + 1 : 2 * (i - n / 2);
        }
        MPI_Pready_list(n, list, request);
        break;
    default: {
        enum { THREADS = 3 };
        pthread_t threads[THREADS];
        struct worker workers[THREADS];
        for (int t = 0; t < THREADS; t++) {
            workers[t] = (struct worker){request, t, THREADS, n};
            pthread_create(&threads[t], NULL, make_ready, &workers[t]);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(threads[t], NULL);
        }
    }
    }
    free(list);
}

/* Messages of spart × rpart × unit bytes around the ring, which both sides cut
 * differently. */
static void cut(int spart, int rpart, int unit, long rounds) {
    size_t n = (size_t)spart * (size_t)rpart * (size_t)unit;
    unsigned char *out = need(n), *in = need(n + 64);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Psend_init(out, spart, (MPI_Count)rpart * unit, MPI_BYTE, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, rpart, (MPI_Count)spart * unit, MPI_BYTE, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (long round = 0; round < rounds; round++) {
        int flag;
        memset(in, UNTOUCHED, n + 64);
        MPI_Startall(2, requests);
        if (round % 2 == 0) {
            MPI_Parrived(requests[1], 0, &flag); /* either answer is right */
            MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
            EXPECT(!flag, "a partitioned send is complete before a partition was ready");
        }
        fill(out, n, key4(n, world_rank, round, 0));
        ready(requests[0], spart, (int)round % 4);
        if (round % 3 == 1) {
            for (int i = rpart - 1; i >= 0; i--) {
                for (flag = 0; !flag;) {
                    MPI_Parrived(requests[1], i, &flag);
                }
            }
            check(in, n, key4(n, left, round, 0), "partitions that have arrived");
        }
        MPI_Waitall(2, requests, statuses);
        check_status(&statuses[1], left, 3, n, "partitioned receive");
        check(in, n, key4(n, left, round, 0), "partitioned receive");
        check_untouched(in + n, 64, "partitioned receive");
        EXPECT(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a partitioned request is gone");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(in);
    free(out);
}

/* Many requests with one tag: the k-th of the one side belongs to the k-th of the
 * other. An ordinary receive of anything gets none of it. */
static void pairs(MPI_Comm comm, int to, int from, int n) {
    MPI_Request *sends = need(sizeof *sends * (size_t)n), *recvs = need(sizeof *recvs * (size_t)n), ordinary;
    int(*out)[4] = need(sizeof *out * (size_t)n), (*in)[4] = need(sizeof *in * (size_t)n), word = -1, me = world_rank;
    MPI_Status status;
    MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &ordinary);
    for (int k = 0; k < n; k++) {
        MPI_Psend_init(out[k], 2, 2, MPI_INT, to, 7, comm, MPI_INFO_NULL, &sends[k]);
        MPI_Precv_init(in[k], 4, 1, MPI_INT, from, 7, comm, MPI_INFO_NULL, &recvs[k]);
    }
    for (int round = 0; round < 3; round++) {
        memset(in, 0xff, sizeof *in * (size_t)n);
        for (int i = 0; i < n; i++) { /* the one side forwards, the other backwards */
            MPI_Start(&sends[n - 1 - i]);
            MPI_Start(&recvs[i]);
        }
        for (int i = 0; i < n; i++) {
            int k = round == 1 ? i : (i * 5 + 2) % n;
            for (int j = 0; j < 4; j++) {
                out[k][j] = 1000000 * world_rank + 1000 * k + 10 * round + j;
            }
            MPI_Pready_range(0, 1, sends[k]);
        }
        MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
        MPI_Waitall(n, recvs, MPI_STATUSES_IGNORE);
        for (int k = 0; k < n; k++) {
            for (int j = 0; j < 4; j++) {
                EXPECT(in[k][j] == 1000000 * left + 1000 * k + 10 * round + j, "pair %d of %d got %d in round %d", k, n,
                       in[k][j], round);
            }
        }
    }
    for (int k = 0; k < n; k++) {
        MPI_Request_free(&sends[k]);
        MPI_Request_free(&recvs[k]);
    }
    MPI_Send(&me, 1, MPI_INT, to, 7, comm);
    MPI_Wait(&ordinary, &status);
    EXPECT(word == left && status.MPI_SOURCE == from && status.MPI_TAG == 7, "an ordinary receive got %d", word);
    free(out);
    free(in);
    free(sends);
    free(recvs);
}

/* Requests that are made, used once and freed leave nothing behind. */
static void often(long n) {
    int tag_ub = *(int *)({
        void *v;
        int flag;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &v, &flag);
        v;
    });
    for (long i = 0; i < n; i++) {
        long out[2] = {i, world_rank}, in[2] = {-1, -1};
        MPI_Request requests[2];
        MPI_Psend_init(out, 2, 1, MPI_LONG, right, tag_ub, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(in, 1, 2, MPI_LONG, left, tag_ub, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 1, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(in[0] == i && in[1] == left, "request %ld got %ld of rank %ld", i, in[0], in[1]);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
}

/* A column of a matrix as each partition. */
static void columns(void) {
    enum { ROWS = 50, COLUMNS = 12 };
    static int out[ROWS][COLUMNS], in[ROWS][COLUMNS];
    MPI_Datatype column, spaced;
    MPI_Request requests[2];
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Psend_init(out, COLUMNS, 1, spaced, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, COLUMNS / 3, 3, spaced, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Type_free(&column);
    MPI_Type_free(&spaced);
    MPI_Startall(2, requests);
    for (int c = 0; c < COLUMNS; c++) {
        for (int r = 0; r < ROWS; r++) {
            out[r][c] = world_rank * 10000 + r * 100 + c;
        }
        MPI_Pready(c, requests[0]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            EXPECT(in[r][c] == left * 10000 + r * 100 + c, "row %d, column %d is %d", r, c, in[r][c]);
        }
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* To and from nobody. */
static void nobody(void) {
    MPI_Request none[2];
    MPI_Psend_init(NULL, 3, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &none[0]);
    MPI_Precv_init(NULL, 2, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &none[1]);
    MPI_Startall(2, none);
    MPI_Pready_range(0, 2, none[0]);
    MPI_Waitall(2, none, MPI_STATUSES_IGNORE);
    MPI_Request_free(&none[0]);
    MPI_Request_free(&none[1]);
}

int main(int argc, char **argv) {
    start_threaded(argc, argv, "partitioned", 2, MPI_THREAD_MULTIPLE);
    right = (world_rank + 1) % world_size;
    left = (world_rank + world_size - 1) % world_size;

    cut(1, 1, 8, 4);
    cut(4, 16, 1, 12);
    cut(64, 3, 100, 8);
    cut(7, 512, (int)option("unit", 1000), 5);
    pairs(MPI_COMM_WORLD, right, left, (int)option("pairs", 51));
    MPI_Comm again;
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    pairs(again, right, left, 3);
    MPI_Comm_free(&again);
    often(option("often", 1500));
    columns();

    if (option("null", 1)) {
        nobody();
    }
    return finish();
}
