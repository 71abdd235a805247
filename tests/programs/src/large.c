/* Large messages between pairs of ranks: blocking, synchronous, nonblocking,
 * both ways at once, and to a receiver who isn't ready.
 *
 * bytes: of each message. */
#include "common.h"

static size_t bytes;
static unsigned char *out, *in;

/* Makes the next message to peer, and a buffer that shows what arrives. */
static uint64_t prepare(int phase) {
    memset(in, UNTOUCHED, bytes + 64);
    fill(out, bytes, key4(phase, world_rank, 0, 0));
    return key4(phase, partner(), 0, 0);
}

static void verify(const MPI_Status *status, uint64_t key, int phase, const char *what) {
    check_status(status, partner(), phase, bytes, what);
    check(in, bytes, key, what);
    check_untouched(in + bytes, 64, what);
}

/* One way, then the other; the receiver comes late if told so. */
static void one_way(int phase, int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm), int late,
                    const char *what) {
    uint64_t key = prepare(phase);
    for (int turn = 0; turn < 2; turn++) {
        if (world_rank % 2 == turn) {
            send(out, (int)bytes, MPI_BYTE, partner(), phase, MPI_COMM_WORLD);
            continue;
        }
        MPI_Status status;
        if (late) {
            usleep(20000);
        }
        MPI_Recv(in, (int)bytes + 64, MPI_BYTE, partner(), phase, MPI_COMM_WORLD, &status);
        verify(&status, key, phase, what);
    }
}

static void both_ways(int phase, int receive_first, const char *what) {
    uint64_t key = prepare(phase);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == receive_first) {
            MPI_Irecv(in, (int)bytes + 64, MPI_BYTE, partner(), phase, MPI_COMM_WORLD, &requests[0]);
        } else {
            MPI_Isend(out, (int)bytes, MPI_BYTE, partner(), phase, MPI_COMM_WORLD, &requests[1]);
        }
    }
    MPI_Waitall(2, requests, statuses);
    verify(&statuses[0], key, phase, what);
}

int main(int argc, char **argv) {
    start(argc, argv, "large", 2);
    bytes = (size_t)option("bytes", world_size <= 4 ? 64 << 20 : 8 << 20);
    if (partner() >= 0) {
        out = need(bytes);
        in = need(bytes + 64);
        one_way(1, MPI_Send, 0, "MPI_Send");
        one_way(2, MPI_Ssend, 0, "MPI_Ssend");
        one_way(3, MPI_Send, 1, "MPI_Send to a late receiver");
        both_ways(4, 1, "MPI_Irecv, MPI_Isend");
        both_ways(5, 0, "MPI_Isend, MPI_Irecv");

        uint64_t key = prepare(6);
        MPI_Status status;
        MPI_Sendrecv(out, (int)bytes, MPI_BYTE, partner(), 6, in, (int)bytes + 64, MPI_BYTE, partner(), 6,
                     MPI_COMM_WORLD, &status);
        verify(&status, key, 6, "MPI_Sendrecv");
        free(in);
        free(out);
    }
    return finish();
}
