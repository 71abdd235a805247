/* A message arrives while its sender doesn't call MPI: after MPI_Isend the
 * sender sleeps, and the receiver must have the message before that sleep ends,
 * whether it posted the receive before or only later.
 *
 * MPI doesn't promise this; the library does.
 *
 * bytes: of the message; sleep: in milliseconds. */
#include "common.h"

int main(int argc, char **argv) {
    enum { READY, MESSAGE, AWAKE };
    start(argc, argv, "independent", 2);
    size_t bytes = (size_t)option("bytes", 1 << 20);
    useconds_t pause = (useconds_t)option("sleep", 300) * 1000;
    unsigned char *buf = need(bytes);
    for (int late = 0; late < 2 && partner() >= 0; late++) {
        MPI_Request request;
        uint64_t key = key4(late, world_rank & ~1, 0, 0);
        if (world_rank % 2 == 0) {
            fill(buf, bytes, key);
            MPI_Recv(NULL, 0, MPI_BYTE, partner(), READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Isend(buf, (int)bytes, MPI_BYTE, partner(), MESSAGE, MPI_COMM_WORLD, &request);
            usleep(pause);
            double awake = now();
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Send(&awake, 1, MPI_DOUBLE, partner(), AWAKE, MPI_COMM_WORLD);
            continue;
        }
        if (!late) {
            MPI_Irecv(buf, (int)bytes, MPI_BYTE, partner(), MESSAGE, MPI_COMM_WORLD, &request);
        }
        MPI_Send(NULL, 0, MPI_BYTE, partner(), READY, MPI_COMM_WORLD);
        if (late) {
            usleep(pause / 4);
            MPI_Irecv(buf, (int)bytes, MPI_BYTE, partner(), MESSAGE, MPI_COMM_WORLD, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        double arrived = now(), awake;
        check(buf, bytes, key, "message");
        MPI_Recv(&awake, 1, MPI_DOUBLE, partner(), AWAKE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(arrived < awake, "%s receive ended %.1f ms after the sender's sleep", late ? "late" : "posted",
               1e3 * (arrived - awake));
    }
    free(buf);
    return finish();
}
