// The shortest job.
#include "check.h"

int main(int argc, char **argv)
{
	int next;
	begin(&argc, &argv);
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &next, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
	if (rank == 0)
		printf("hello from %d\n", size);
	return 0;
}
