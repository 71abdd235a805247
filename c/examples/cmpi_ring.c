/*
 * A token goes around all ranks, without any MPI library.
 *
 *     cc -o cmpi_ring cmpi_ring.c -lcmpi
 *     for r in 0 1 2 3; do ./cmpi_ring $r 4 /dev/shm/pool & done; wait
 *
 * Arguments: rank, number of ranks, pool, and optionally the number of rounds.
 * Without arguments they come from CMPI_RANK, CMPI_SIZE and CMPI_POOL.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cmpi.h>

/* Stops unless the call was successful. */
static void check(int code, const char *what)
{
	if (code == CMPI_OK)
		return;
	fprintf(stderr, "cmpi_ring: %s: %s (%s)\n", what, cmpi_strerror(code), cmpi_last_error());
	exit(1);
}

int main(int argc, char **argv)
{
	int rounds = argc > 4 ? atoi(argv[4]) : 1000;
	long token = 0;

	if (argc > 3)
		check(cmpi_init(atoi(argv[1]), atoi(argv[2]), argv[3], NULL), "cmpi_init");
	else
		check(cmpi_init(-1, 0, NULL, NULL), "cmpi_init");

	int rank = cmpi_rank(), size = cmpi_size();
	int right = (rank + 1) % size, left = (rank + size - 1) % size;

	for (int round = 0; round < rounds; round++) {
		cmpi_request receive;
		cmpi_status status;
		long next = -1;

		/* Each rank adds one. The receive is posted before the token leaves. */
		check(cmpi_irecv(&next, sizeof next, left, round, &receive), "cmpi_irecv");
		if (rank == 0)
			check(cmpi_send(&token, sizeof token, right, round), "cmpi_send");
		check(cmpi_wait(&receive, &status), "cmpi_wait");
		token = next + 1;
		if (rank != 0)
			check(cmpi_send(&token, sizeof token, right, round), "cmpi_send");
		if (status.source != left || status.tag != round || status.bytes != sizeof token) {
			fprintf(stderr, "cmpi_ring: rank %d: message from %d, tag %d, %zu bytes\n", rank, status.source, status.tag, status.bytes);
			return 1;
		}
	}
	check(cmpi_barrier(), "cmpi_barrier");
	if (rank == 0)
		printf("%d ranks, %d rounds: token %ld, want %ld\n", size, rounds, token, (long)rounds * size);
	check(cmpi_finalize(), "cmpi_finalize");
	return rank == 0 && token != (long)rounds * size;
}
