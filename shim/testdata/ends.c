// Ends in the way that the argument says, while messages are under way and the
// other ranks wait.
#include "check.h"
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	enum { BIG = 1 << 20 };
	char *big = calloc(BIG, 1);
	MPI_Request r;

	begin(&argc, &argv);
	MPI_Isend(big, BIG, MPI_BYTE, (rank + 1) % size, 5, MPI_COMM_WORLD, &r);
	const char *how = argv[1];
	if (rank == 0) {
		signal(SIGSEGV, SIG_DFL); // UCX has put its own handler there
		if (strcmp(how, "segv") == 0)
			raise(SIGSEGV);
		else if (strcmp(how, "abort") == 0)
			abort();
		else if (strcmp(how, "kill") == 0)
			raise(SIGKILL);
		else if (strcmp(how, "exit") == 0)
			_exit(3);
		else if (strcmp(how, "mpi_abort") == 0)
			MPI_Abort(MPI_COMM_WORLD, 5);
		else if (strcmp(how, "fatal") == 0)
			MPI_Send(big, 1, MPI_BYTE, size, 0, MPI_COMM_WORLD);
	}
	MPI_Recv(big, BIG, MPI_BYTE, (rank + size - 1) % size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return 0;
}
