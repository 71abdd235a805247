/* Communicators, datatypes and requests are made and freed in a loop, with a
 * message through each: identifiers must not run out, memory must not grow.
 *
 * loops; grow: KiB that a process may grow by in the second half. */
#include <sys/resource.h>

#include "common.h"

static long resident_kib(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* One life of everything that can leak. */
static void once(long i) {
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    long out[3] = {i, -1, i + 1}, in[2] = {0};
    int cancelled;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(2, 1, 2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Irecv(in, 2, MPI_LONG, left, 1, comm, &requests[0]);
    MPI_Irecv(NULL, 0, MPI_BYTE, left, 2, comm, &requests[2]);
    MPI_Isend(out, 1, type, right, 1, comm, &requests[1]);
    MPI_Type_free(&type);
    MPI_Cancel(&requests[2]);
    MPI_Waitall(3, requests, statuses);
    MPI_Test_cancelled(&statuses[2], &cancelled);
    EXPECT(in[0] == i && in[1] == i + 1, "loop %ld: got %ld and %ld", i, in[0], in[1]);
    EXPECT(cancelled, "loop %ld: a receive without a sender was not cancelled", i);
    /* A send whose request is gone, on a communicator that is freed meanwhile,
       still arrives. */
    MPI_Isend(NULL, 0, MPI_BYTE, right, 3, comm, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(NULL, 0, MPI_BYTE, left, 3, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    start(argc, argv, "leak", 2);
    long loops = option("loops", world_size <= 2 ? 5000 : 400 / world_size), grow = option("grow", 16 << 10), half = 0;
    for (long i = 0; i < loops; i++) {
        if (i == loops / 2) {
            half = resident_kib();
        }
        once(i);
    }
    long grown = resident_kib() - half;
    EXPECT(grown <= grow, "grew by %ld KiB in %ld loops", grown, loops - loops / 2);
    return finish();
}
