/*
 * What starting costs: the longest time that a rank spends in MPI_Init, and the
 * largest resident memory of a rank after each has exchanged one small message
 * with each other. One line: ranks, milliseconds, MiB.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Resident memory of this process in MiB; 0 if the kernel does not say. */
static double resident(void)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    if (!f)
        return 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %lf", &kib) == 1)
            break;
    fclose(f);
    return kib / 1024;
}

int main(int argc, char **argv)
{
    double mine[2], worst[2], start = now();
    int rank, size;

    MPI_Init(&argc, &argv);
    mine[0] = (now() - start) * 1e3;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &(int){0}, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    mine[1] = resident();
    MPI_Reduce(mine, worst, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%-10s%20s%20s\n%-10d%20.3f%20.3f\n", "# Ranks", "MPI_Init (ms)", "resident (MiB)", size, worst[0], worst[1]);
    MPI_Finalize();
    return 0;
}
