// MPI_THREAD_MULTIPLE: each thread of a rank talks to its namesake on the other
// rank, and to any of them by wildcard; one polls the host meanwhile.
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300 };
static int peer;

static void *talk(void *arg)
{
	int me = (int)(long)arg, in[1000], out[1000];
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Request r[2];
		MPI_Status s[2];
		int n = i % 7 ? 1 : 1000;
		for (int k = 0; k < n; k++)
			out[k] = i + me * 1000 + rank;
		MPI_Irecv(in, n, MPI_INT, peer, me, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(out, n, MPI_INT, peer, me, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, s);
		CHECK(in[n - 1] == i + me * 1000 + peer && s[0].MPI_TAG == me);
		if (rank < peer) {
			MPI_Send(&i, 1, MPI_INT, peer, 100 + me, MPI_COMM_WORLD);
			MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 200 + me, MPI_COMM_WORLD, &s[0]);
		} else {
			MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 100 + me, MPI_COMM_WORLD, &s[0]);
			MPI_Send(&i, 1, MPI_INT, peer, 200 + me, MPI_COMM_WORLD);
		}
		CHECK(in[0] == i && s[0].MPI_SOURCE == peer);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	MPI_Request barrier;
	int provided, flag = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(provided == MPI_THREAD_MULTIPLE);
	peer = rank ^ 1;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, talk, (void *)i);
	MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
	while (!flag)
		MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	return end();
}
