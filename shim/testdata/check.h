// Shared by the test programs: each prints "ok" from rank 0 if all ranks found
// everything as the MPI standard has it, and a line per fault else.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, faults;

#define CHECK(condition)                                                              \
	do {                                                                              \
		if (!(condition)) {                                                           \
			printf("%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition);     \
			faults++;                                                                 \
		}                                                                             \
	} while (0)

static void begin(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static int end(void)
{
	int all;
	MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	if (rank == 0 && all == 0)
		puts("ok");
	return all != 0;
}

static inline int count_of(MPI_Status *s, MPI_Datatype t)
{
	int n;
	MPI_Get_count(s, t, &n);
	return n;
}
