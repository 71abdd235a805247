/* Messages move while the program is inside calls that another part of MPI
 * serves: a rank waits in a collective, and its peer joins only after a large
 * or synchronous send to it has ended. If nobody moves the message there, the
 * two wait for ever.
 *
 * bytes: of each message, more than any buffer between the ranks holds. */
#include "common.h"

static size_t bytes;
static unsigned char *out, *in;

/* The collectives in which rank 0 waits. */
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void ibarrier(void) {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce(void) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == world_size, "MPI_Allreduce says %d", sum);
}

static void broadcast(void) {
    int value = world_rank == world_size - 1 ? 4711 : 0;
    MPI_Bcast(&value, 1, MPI_INT, world_size - 1, MPI_COMM_WORLD);
    EXPECT(value == 4711, "MPI_Bcast says %d", value);
}

static void split(void) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &comm);
    MPI_Comm_free(&comm);
}

static void duplicate(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

static void window(void) {
    MPI_Win win;
    int cell = 0;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_free(&win);
}

/* Requests of both kinds in one array, all but the host's complete at once. */
static void polled(void) {
    int sent = 1, received = 0, done = 0;
    MPI_Request requests[3];
    MPI_Irecv(&received, 1, MPI_INT, world_rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, world_rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    while (!done) {
        MPI_Testall(3, requests, &done, MPI_STATUSES_IGNORE);
    }
    EXPECT(received == 1, "MPI_Testall: received %d", received);
}

static const struct collective {
    const char *name;
    void (*call)(void);
} collectives[] = {
    {"MPI_Barrier", barrier},   {"MPI_Ibarrier", ibarrier},   {"MPI_Allreduce", allreduce}, {"MPI_Bcast", broadcast},
    {"MPI_Comm_split", split},  {"MPI_Comm_dup", duplicate},  {"MPI_Win_create", window},
    {"MPI_Testall", polled},
};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

/* The last rank ends its send to rank 0, who waits in the collective already,
 * before it joins. */
static void send_then_join(int k, int synchronous) {
    const struct collective *c = &collectives[k];
    uint64_t key = key4(k, synchronous, 0, 0);
    size_t n = synchronous ? 100 : bytes;
    if (world_rank == 0) {
        MPI_Request request;
        MPI_Status status;
        memset(in, UNTOUCHED, n);
        MPI_Irecv(in, (int)n, MPI_BYTE, world_size - 1, k, MPI_COMM_WORLD, &request);
        c->call();
        MPI_Wait(&request, &status);
        check_status(&status, world_size - 1, k, n, c->name);
        check(in, n, key, c->name);
    } else {
        if (world_rank == world_size - 1) {
            usleep(2000);
            fill(out, n, key);
            (synchronous ? MPI_Ssend : MPI_Send)(out, (int)n, MPI_BYTE, 0, k, MPI_COMM_WORLD);
        }
        c->call();
    }
}

/* Everybody has a large send under way while all are in the collective, and
 * posts the receive only afterwards. */
static void pending_sends(int k) {
    const struct collective *c = &collectives[k];
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Request request;
    fill(out, bytes, key4(k, 2, world_rank, 0));
    MPI_Isend(out, (int)bytes, MPI_BYTE, right, k, MPI_COMM_WORLD, &request);
    c->call();
    MPI_Recv(in, (int)bytes, MPI_BYTE, left, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, bytes, key4(k, 2, left, 0), c->name);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(argc, argv, "progress", 2);
    bytes = (size_t)option("bytes", 3 << 20);
    out = need(bytes);
    in = need(bytes);
    for (int k = 0; k < COLLECTIVES; k++) {
        send_then_join(k, 0);
        send_then_join(k, 1);
        pending_sends(k);
    }
    free(in);
    free(out);
    return finish();
}
