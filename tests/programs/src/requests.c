/* The rest of a request's life: persistent, buffered, cancelled, freed early,
 * asked about without ending, and matched before it is received. */
#include "common.h"

static int right, left;

/* Persistent requests of every kind, started one by one and together. */
static void persistent(size_t n, long rounds) {
    enum { KINDS = 4 };
    unsigned char *out[KINDS], *in[KINDS];
    MPI_Request requests[2 * KINDS];
    size_t space = n + MPI_BSEND_OVERHEAD;
    void *attached = need(space);
    int detached;
    MPI_Buffer_attach(attached, (int)space);
    for (int k = 0; k < KINDS; k++) {
        out[k] = need(n);
        in[k] = need(n);
        MPI_Recv_init(in[k], (int)n, MPI_BYTE, k % 2 ? left : MPI_ANY_SOURCE, k, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Send_init(out[0], (int)n, MPI_BYTE, right, 0, MPI_COMM_WORLD, &requests[KINDS]);
    MPI_Ssend_init(out[1], (int)n, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[KINDS + 1]);
    MPI_Bsend_init(out[2], (int)n, MPI_BYTE, right, 2, MPI_COMM_WORLD, &requests[KINDS + 2]);
    MPI_Rsend_init(out[3], (int)n, MPI_BYTE, right, 3, MPI_COMM_WORLD, &requests[KINDS + 3]);
    for (long r = 0; r < rounds; r++) {
        MPI_Status statuses[2 * KINDS];
        for (int k = 0; k < KINDS; k++) {
            fill(out[k], n, key4((uint64_t)r, (uint64_t)k, (uint64_t)world_rank, n));
            memset(in[k], UNTOUCHED, n);
        }
        MPI_Startall(KINDS, requests);
        MPI_Barrier(MPI_COMM_WORLD); /* for the ready send */
        for (int k = 0; k < KINDS; k++) {
            MPI_Start(&requests[KINDS + k]);
        }
        MPI_Waitall(2 * KINDS, requests, statuses);
        for (int k = 0; k < KINDS; k++) {
            EXPECT(requests[k] != MPI_REQUEST_NULL && requests[KINDS + k] != MPI_REQUEST_NULL,
                   "a persistent request is gone");
            check_status(&statuses[k], left, k, n, "persistent receive");
            check(in[k], n, key4((uint64_t)r, (uint64_t)k, (uint64_t)left, n), "persistent receive");
        }
        /* Inactive requests end at once, with an empty status. */
        MPI_Wait(&requests[r % KINDS], &statuses[0]);
        check_status(&statuses[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "inactive persistent receive");
    }
    for (int k = 0; k < 2 * KINDS; k++) {
        MPI_Request_free(&requests[k]);
        EXPECT(requests[k] == MPI_REQUEST_NULL, "a freed request is still there");
    }
    MPI_Buffer_detach(&attached, &detached);
    free(attached);
    for (int k = 0; k < KINDS; k++) {
        free(out[k]);
        free(in[k]);
    }
}

/* Buffered sends leave at once, whatever the receiver does; detaching waits. */
static void buffered(void) {
    enum { MESSAGES = 10, N = 20000 };
    size_t space = MESSAGES * (N + MPI_BSEND_OVERHEAD);
    void *attached = need(space);
    unsigned char *buf = need(N);
    int detached;
    MPI_Buffer_attach(attached, (int)space);
    for (int i = 0; i < MESSAGES; i++) {
        fill(buf, N, key4((uint64_t)i, 7, (uint64_t)world_rank, 0));
        if (i % 2) {
            MPI_Bsend(buf, N, MPI_BYTE, right, 10, MPI_COMM_WORLD);
        } else {
            MPI_Request request;
            MPI_Ibsend(buf, N, MPI_BYTE, right, 10, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Recv(buf, N, MPI_BYTE, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(buf, N, key4((uint64_t)i, 7, (uint64_t)left, 0), "buffered message");
    }
    MPI_Buffer_detach(&attached, &detached);
    EXPECT(detached == (int)space, "%d bytes detached, not %zu", detached, space);
    free(buf);
    free(attached);
}

/* A receive without a message can be cancelled; one that has it can't, or is
 * received as if nothing had been asked. */
static void cancelled(void) {
    int value = -1, flag, mine = world_rank;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, left, 20, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag && value == -1, "a receive without a message was not cancelled");
    MPI_Barrier(MPI_COMM_WORLD); /* nobody sends while another hasn't cancelled */
    /* The message that comes now is not lost in the cancelled receive. */
    MPI_Sendrecv(&mine, 1, MPI_INT, right, 20, &value, 1, MPI_INT, left, 20, MPI_COMM_WORLD, &status);
    EXPECT(value == left, "after a cancelled receive: %d, not %d", value, left);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(!flag, "a message was received and is called cancelled");

    value = -1;
    MPI_Irecv(&value, 1, MPI_INT, left, 21, MPI_COMM_WORLD, &request);
    MPI_Send(&mine, 1, MPI_INT, right, 21, MPI_COMM_WORLD);
    for (flag = 0; !flag;) {
        MPI_Request_get_status(request, &flag, &status);
    }
    check_status(&status, left, 21, sizeof value, "MPI_Request_get_status");
    EXPECT(request != MPI_REQUEST_NULL && value == left, "MPI_Request_get_status ended the request");
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(!flag, "a receive that had its message was cancelled");
}

/* Sends whose requests are freed at once arrive all the same. */
static void freed(size_t n) {
    enum { MESSAGES = 5 };
    unsigned char *out = need(n), *in = need(n);
    fill(out, n, key4(n, 9, (uint64_t)world_rank, 0));
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        MPI_Isend(out, (int)n, MPI_BYTE, right, 30, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < MESSAGES; i++) {
        memset(in, UNTOUCHED, n);
        MPI_Recv(in, (int)n, MPI_BYTE, left, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(in, n, key4(n, 9, (uint64_t)left, 0), "message of a freed request");
    }
    MPI_Barrier(MPI_COMM_WORLD); /* now the messages from out have been received */
    free(in);
    free(out);
}

/* Messages matched by MPI_Mprobe are received in any order, and no wildcard
 * takes them any more. */
static void matched(size_t n) {
    enum { MESSAGES = 4 };
    unsigned char *out[MESSAGES + 1], *in = need(n);
    MPI_Request requests[MESSAGES + 1], request;
    MPI_Message messages[MESSAGES];
    MPI_Status status;
    for (int i = 0; i <= MESSAGES; i++) {
        out[i] = need(n);
        fill(out[i], n, key4(n, (uint64_t)i, (uint64_t)world_rank, 11));
        MPI_Isend(out[i], (int)n, MPI_BYTE, right, 40, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Mprobe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &messages[i], &status);
        check_status(&status, left, 40, n, "MPI_Mprobe");
    }
    MPI_Recv(in, (int)n, MPI_BYTE, MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, n, key4(n, MESSAGES, (uint64_t)left, 11), "message behind matched ones");
    for (int i = MESSAGES - 1; i >= 0; i--) {
        memset(in, UNTOUCHED, n);
        if (i % 2) {
            MPI_Mrecv(in, (int)n, MPI_BYTE, &messages[i], &status);
        } else {
            MPI_Imrecv(in, (int)n, MPI_BYTE, &messages[i], &request);
            MPI_Wait(&request, &status);
        }
        EXPECT(messages[i] == MPI_MESSAGE_NULL, "a received message is still there");
        check_status(&status, left, 40, n, "matched message");
        check(in, n, key4(n, (uint64_t)i, (uint64_t)left, 11), "matched message");
    }
    MPI_Waitall(MESSAGES + 1, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i <= MESSAGES; i++) {
        free(out[i]);
    }
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A synchronous send doesn't end before its receive has begun: not within 30 ms
 * while the receiver waits for another message, which is sent only then. No
 * clock of one rank is compared with that of another. */
static void synchronous(void) {
    if (partner() < 0) {
        return;
    }
    if (world_rank % 2 == 0) {
        MPI_Request request;
        int done = 0;
        MPI_Issend(NULL, 0, MPI_BYTE, partner(), 50, MPI_COMM_WORLD, &request);
        for (double end = now() + 0.03; now() < end;) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            EXPECT(!done, "MPI_Issend ended before its receive began");
        }
        MPI_Send(NULL, 0, MPI_BYTE, partner(), 51, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, partner(), 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, partner(), 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(argc, argv, "requests", 2);
    long rounds = option("rounds", 10);
    right = (world_rank + 1) % world_size;
    left = (world_rank + world_size - 1) % world_size;
    persistent(100, rounds);
    persistent(200000, rounds);
    buffered();
    cancelled();
    freed(10);
    freed(1 << 20);
    matched(8);
    matched(300000);
    synchronous();
    return finish();
}
