/* A window of argv[1] bytes per rank, used in every way by turns. Prints its memory
 * model, by which a test sees who carries it, and "ok". With a second argument rank
 * 1 is killed with rank 0's part locked, and rank 0 wants the lock. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, flag, *model;
	char *base, out = 'x', in = 0;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Aint bytes = argc > 1 ? atol(argv[1]) : 4096;
	MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
	if (argc > 2) {
		if (rank == 1) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
			MPI_Barrier(MPI_COMM_WORLD);
			usleep(200000); /* until the other has left the barrier, too */
			kill(getpid(), SIGKILL);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		puts("locked");
	}
	MPI_Win_fence(0, win);
	MPI_Put(&out, 1, MPI_CHAR, (rank + 1) % size, bytes - 1, 1, MPI_CHAR, win);
	MPI_Win_fence(0, win);
	MPI_Get(&in, 1, MPI_CHAR, (rank + 1) % size, bytes - 1, 1, MPI_CHAR, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	if (rank == 0)
		printf("%s %s\n", *model == MPI_WIN_SEPARATE ? "separate" : "unified", in == 'x' ? "ok" : "wrong");
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
