/* Messages to oneself, on MPI_COMM_WORLD and MPI_COMM_SELF, and messages
 * without bytes. */
#include "common.h"

/* A message of n bytes to oneself, in every order of sending and receiving. */
static void to_self(MPI_Comm comm, int me, size_t n) {
    unsigned char *out = need(n), *in = need(n + 64);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    uint64_t key = key4(n, world_rank, 0, 0);
    fill(out, n, key);
    for (int way = 0; way < 6; way++) {
        int source = way % 2 == 0 ? me : MPI_ANY_SOURCE, tag = 10 + way;
        memset(in, UNTOUCHED, n + 64);
        switch (way) {
        case 0:
        case 1:
            MPI_Irecv(in, (int)n + 64, MPI_BYTE, source, tag, comm, &requests[0]);
            MPI_Isend(out, (int)n, MPI_BYTE, me, tag, comm, &requests[1]);
            MPI_Waitall(2, requests, statuses);
            break;
        case 2:
            MPI_Issend(out, (int)n, MPI_BYTE, me, tag, comm, &requests[1]);
            MPI_Irecv(in, (int)n + 64, MPI_BYTE, source, tag, comm, &requests[0]);
            MPI_Waitall(2, requests, statuses);
            break;
        case 3:
            MPI_Isend(out, (int)n, MPI_BYTE, me, tag, comm, &requests[1]);
            MPI_Probe(source, MPI_ANY_TAG, comm, &statuses[1]);
            check_status(&statuses[1], me, tag, n, "probe of a message to oneself");
            MPI_Recv(in, (int)n, MPI_BYTE, source, tag, comm, &statuses[0]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            break;
        case 4:
            MPI_Sendrecv(out, (int)n, MPI_BYTE, me, tag, in, (int)n, MPI_BYTE, source, tag, comm, &statuses[0]);
            break;
        default:
            MPI_Irecv(in, (int)n, MPI_BYTE, source, MPI_ANY_TAG, comm, &requests[0]);
            MPI_Rsend(out, (int)n, MPI_BYTE, me, tag, comm);
            MPI_Wait(&requests[0], &statuses[0]);
        }
        check_status(&statuses[0], me, tag, n, "message to oneself");
        check(in, n, key, "message to oneself");
        check_untouched(in + n, 64, "message to oneself");
    }
    memcpy(in, out, n);
    MPI_Sendrecv_replace(in, (int)n, MPI_BYTE, me, 1, me, 1, comm, &statuses[0]);
    check_status(&statuses[0], me, 1, n, "MPI_Sendrecv_replace with oneself");
    check(in, n, key, "MPI_Sendrecv_replace with oneself");
    free(in);
    free(out);
}

/* Empty messages keep their order and their tags. */
static void empty(long messages) {
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Request *requests = need(sizeof *requests * (size_t)messages);
    char byte = 'x';
    for (long i = 0; i < messages; i++) {
        if (i % 3 == 2) {
            MPI_Issend(NULL, 0, MPI_DOUBLE, right, (int)i, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Isend(&byte, 0, MPI_BYTE, right, (int)i, MPI_COMM_WORLD, &requests[i]);
        }
    }
    for (long i = 0; i < messages; i++) {
        MPI_Status status;
        MPI_Recv(i % 2 == 0 ? NULL : &byte, i % 2, MPI_BYTE, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check_status(&status, left, (int)i, 0, "empty message");
    }
    EXPECT(byte == 'x', "an empty message wrote a byte");
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {0, 1, 56, 57, 5000, 70000, 4 << 20};
    start(argc, argv, "self", 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        to_self(MPI_COMM_WORLD, world_rank, sizes[i]);
        to_self(MPI_COMM_SELF, 0, sizes[i]);
    }
    empty(option("messages", 500));
    return finish();
}
