/* A message of every interesting size goes round the ring of ranks: all sizes
 * within the first lines, at addresses of every alignment, and those around the
 * limits of what comes behind.
 *
 * laps: times round per size. */
#include "common.h"

enum { EVERY = 130 }; /* sizes from 0 */

int main(int argc, char **argv) {
    static const size_t sizes[] = {448, 1023, 4096, 8191, 8192, 16385, 65536, 65537, 262144, 1048576, 1048577};
    start(argc, argv, "ring", 2);
    long laps = option("laps", world_size <= 4 ? 3 : 1);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    unsigned char *memory = need((1 << 21) + 128);
    for (size_t s = 0; s < EVERY + sizeof sizes / sizeof *sizes; s++) {
        size_t n = s < EVERY ? s : sizes[s - EVERY];
        unsigned char *buf = memory + s * 7 % 64;
        for (long lap = 0; lap < laps; lap++) {
            int tag = (int)(s * 100 + lap % 100);
            uint64_t key = key4(s, lap, 0, 0);
            MPI_Status status;
            if (world_rank == 0) {
                fill(buf, n, key);
                MPI_Send(buf, (int)n, MPI_BYTE, right, tag, MPI_COMM_WORLD);
            }
            memset(buf, UNTOUCHED, n + 64);
            MPI_Recv(buf, 1 << 21, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status);
            check_status(&status, left, tag, n, "ring");
            check(buf, n, key, "ring");
            check_untouched(buf + n, 64, "ring");
            if (world_rank != 0) {
                MPI_Send(buf, (int)n, MPI_BYTE, right, tag, MPI_COMM_WORLD);
            }
        }
    }
    free(memory);
    return finish();
}
