/* Known traffic between two ranks, for the counters; then it waits until the file
 * named by its argument is gone. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { MEDIUM = 40000, ROUNDS = 10 };

int main(int argc, char **argv)
{
	static char buf[MEDIUM];
	long *base, one = 1, old;
	int rank;
	MPI_Win win;
	MPI_Request r;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	int peer = 1 - rank;
	for (int i = 0; i < ROUNDS; i++) { /* 2 messages of 8 bytes each way */
		if (rank == 0)
			MPI_Send(buf, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
		MPI_Recv(buf, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(buf, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
		MPI_Irecv(buf, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &r);
		MPI_Send(buf, 8, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	MPI_Sendrecv_replace(buf, MEDIUM, MPI_BYTE, peer, 2, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

	MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_lock_all(0, win);
	MPI_Put(buf, 5, MPI_BYTE, peer, 1, 5, MPI_BYTE, win);
	MPI_Get(buf, 3, MPI_BYTE, peer, 1, 3, MPI_BYTE, win);
	MPI_Accumulate(&one, 1, MPI_LONG, peer, 2, 1, MPI_LONG, MPI_SUM, win);
	MPI_Fetch_and_op(&one, &old, MPI_LONG, peer, 2, MPI_SUM, win);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		puts("counted");
		fflush(stdout);
		while (access(argv[1], F_OK) == 0)
			nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
	}
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
