/* More ranks than processors: a rank that waits leaves the processor to those
 * that have something to do, in receives and in what another part of MPI serves.
 * Rank 0 keeps the others waiting; how much processor time that costs them is
 * judged.
 *
 * wait: milliseconds. polite=0: don't judge, MPICH alone spins. */
#define _GNU_SOURCE /* for cpu_set_t */
#include "common.h"

static double processor_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void receive(void) {
    char byte = 1;
    if (world_rank == 0) {
        for (int i = 1; i < world_size; i++) {
            MPI_Send(&byte, 1, MPI_CHAR, i, 0, MPI_COMM_WORLD);
        }
    } else {
        MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void request(void) {
    MPI_Request r;
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void duplicate(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
}

static const struct way {
    const char *name;
    void (*wait)(void);
} ways[] = {{"MPI_Recv", receive}, {"MPI_Barrier", barrier}, {"MPI_Ibarrier", request}, {"MPI_Comm_dup", duplicate}};

int main(int argc, char **argv) {
    start(argc, argv, "crowd", 2);
    double seconds = 1e-3 * option("wait", 300);
    cpu_set_t processors;
    EXPECT(sched_getaffinity(0, sizeof processors, &processors) == 0, "sched_getaffinity");
    int crowded = world_size > CPU_COUNT(&processors);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), used = processor_time();
        if (world_rank == 0) {
            struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (time_t)seconds))};
            nanosleep(&t, NULL);
        }
        ways[i].wait();
        begin = MPI_Wtime() - begin;
        used = processor_time() - used;
        /* With nothing to do but to wait, ranks that spin share the processors
         * evenly, and use all of them. */
        double fair = begin * CPU_COUNT(&processors) / world_size;
        if (crowded && option("polite", 1) && world_rank != 0) {
            EXPECT(used < 0.7 * fair, "%s: %.0f ms of processor time in %.0f ms", ways[i].name, 1e3 * used, 1e3 * begin);
        }
    }
    return finish();
}
