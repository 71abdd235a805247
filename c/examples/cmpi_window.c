/*
 * A window in the pool, without any MPI library: all ranks draw tickets from one
 * counter, sign for them in each other's parts, and pass a line of text around.
 *
 *     cc -o cmpi_window cmpi_window.c -lcmpi
 *     for r in 0 1 2 3; do ./cmpi_window $r 4 /dev/shm/pool & done; wait
 *
 * Arguments: rank, number of ranks, pool, and optionally the number of tickets.
 * Without arguments they come from CMPI_RANK, CMPI_SIZE and CMPI_POOL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmpi.h>

/* A rank's part: a counter (only rank 0's counts), text, and a place to sign for
 * each of its tickets. */
struct part {
	int64_t counter;
	char pad[56]; /* the counter has a cache line of its own */
	char text[64];
	int64_t signatures[];
};

static int rank, size;

/* Stops unless the call was successful. */
static void check(int code, const char *what)
{
	if (code == CMPI_OK)
		return;
	fprintf(stderr, "cmpi_window: rank %d: %s: %s (%s)\n", rank, what, cmpi_strerror(code), cmpi_last_error());
	exit(1);
}

static void expect(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "cmpi_window: rank %d: %s\n", rank, what);
	exit(1);
}

/* Under a lock of all, with nobody's help: tickets 0, 1, 2 ... */
static void draw_tickets(cmpi_win win, int64_t tickets)
{
	int64_t one = 1, ticket, signature = 100 + rank;

	check(cmpi_win_lock_all(win), "cmpi_win_lock_all");
	for (;;) {
		check(cmpi_get_accumulate(&one, &ticket, 1, CMPI_INT64, CMPI_SUM, 0, 0, win), "cmpi_get_accumulate");
		if (ticket >= tickets)
			break;
		check(cmpi_accumulate(&signature, 1, CMPI_INT64, CMPI_SUM, (int)(ticket % size),
		                      offsetof(struct part, signatures) + (size_t)(ticket / size) * sizeof signature, win),
		      "cmpi_accumulate");
	}
	check(cmpi_win_unlock_all(win), "cmpi_win_unlock_all");
	check(cmpi_barrier(), "cmpi_barrier");
	if (rank == 0)
		printf("%lld tickets drawn\n", (long long)tickets);
}

/* Between pairs: post and wait where the text arrives, start and complete where it
 * comes from. */
static void pass_text(cmpi_win win, struct part *part)
{
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	char text[64] = "";

	snprintf(text, sizeof text, "a text from rank %d", rank);
	check(cmpi_win_post(1, &left, win), "cmpi_win_post");
	check(cmpi_win_start(1, &right, win), "cmpi_win_start");
	check(cmpi_put(text, sizeof text, right, offsetof(struct part, text), win), "cmpi_put");
	check(cmpi_win_complete(win), "cmpi_win_complete");
	check(cmpi_win_wait(win), "cmpi_win_wait");
	snprintf(text, sizeof text, "a text from rank %d", left);
	expect(strcmp(part->text, text) == 0, "the text is another one");
}

int main(int argc, char **argv)
{
	int64_t tickets = argc > 4 ? atol(argv[4]) : 1000, most;
	struct part *part;
	void *base;
	size_t bytes;
	cmpi_win win;

	if (argc > 3)
		check(cmpi_init(atoi(argv[1]), atoi(argv[2]), argv[3], NULL), "cmpi_init");
	else
		check(cmpi_init(-1, 0, NULL, NULL), "cmpi_init");
	rank = cmpi_rank();
	size = cmpi_size();
	most = (tickets + size - 1) / size;

	/* Whole lines, so that no two ranks' parts share one. */
	bytes = (sizeof *part + (size_t)most * sizeof part->signatures[0] + 63) / 64 * 64;
	check(cmpi_win_allocate_shared(bytes, &base, &win), "cmpi_win_allocate_shared");
	part = base;

	expect(cmpi_put("x", 1, 0, 0, win) == CMPI_ERR_SYNC, "a put without access");
	check(cmpi_win_lock(0, 0, win), "cmpi_win_lock");
	expect(cmpi_put("xx", 2, 0, bytes - 1, win) == CMPI_ERR_RANGE, "a put beyond the part");
	check(cmpi_win_unlock(0, win), "cmpi_win_unlock");

	draw_tickets(win, tickets);
	pass_text(win, part);

	check(cmpi_win_fence(win), "cmpi_win_fence");
	for (int64_t i = 0; i < most; i++) {
		int drawn = i * size + rank < tickets;
		expect(drawn ? part->signatures[i] >= 100 && part->signatures[i] < 100 + size : part->signatures[i] == 0,
		       "a ticket is not signed by one rank");
	}
	/* Rank 0's counter, seen by a plain load. */
	check(cmpi_win_shared_query(win, 0, &bytes, &base), "cmpi_win_shared_query");
	expect(((struct part *)base)->counter == tickets + size, "the counter is wrong");
	check(cmpi_win_fence(win), "cmpi_win_fence");

	check(cmpi_win_free(&win), "cmpi_win_free");
	check(cmpi_finalize(), "cmpi_finalize");
	return 0;
}
