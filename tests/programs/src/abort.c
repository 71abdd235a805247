/* The last rank calls MPI_Abort while the others wait for a message that never
 * comes: the job ends with the given exit code, soon. Not one line is printed.
 *
 * code: the exit code. */
#include "common.h"

int main(int argc, char **argv) {
    start(argc, argv, "abort", 2);
    if (world_rank == world_size - 1) {
        usleep(100000);
        MPI_Abort(MPI_COMM_WORLD, (int)option("code", 42));
    }
    MPI_Recv(NULL, 0, MPI_BYTE, world_size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fail("a message arrived that nobody sent");
}
