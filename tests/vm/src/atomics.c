/* Shows that atomic instructions do not work between two hosts: both add one to
 * the same word by fetch-and-add, for some time, and see how many are lost.
 *
 * Arguments: 0 or 1, which of the two this is, and milliseconds. Prints how often
 * this side has added, and what the word is in the end. CMPI_POOL names the pool. */
#include <cxl_shm.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct shared {
	/* The word of both, alone in its line. */
	uint64_t counter;
	char pad[CXL_SHM_LINE - sizeof(uint64_t)];
	/* How far each of the two is: a line of its own that the other only reads. */
	struct {
		uint64_t stage;
		char pad[CXL_SHM_LINE - sizeof(uint64_t)];
	} side[2];
};

static void check(int code, const char *what)
{
	if (code == CXL_SHM_OK)
		return;
	fprintf(stderr, "atomics: %s: %s\n", what, cxl_shm_last_error());
	exit(1);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Says that this side has come to the stage and waits, at most a minute, until
 * the other has. */
static void meet(cxl_shm_handle h, int me, uint64_t stage)
{
	struct shared *s = cxl_shm_addr(h);
	const volatile uint64_t *other = &s->side[1 - me].stage;

	s->side[me].stage = stage;
	check(cxl_shm_flush(h, offsetof(struct shared, side[me]), sizeof s->side[me]), "flush");
	for (long end = now_ms() + 60000; now_ms() < end; usleep(1000)) {
		check(cxl_shm_invalidate(h, offsetof(struct shared, side[1 - me]), sizeof s->side[0]), "invalidate");
		if (*other >= stage)
			return;
	}
	fprintf(stderr, "atomics: the other side did not come\n");
	exit(1);
}

int main(int argc, char **argv)
{
	cxl_shm_handle h = CXL_SHM_NULL;
	int me = argc == 3 ? atoi(argv[1]) : -1;
	long ms = argc == 3 ? atol(argv[2]) : 0, adds = 0;

	if ((me != 0 && me != 1) || ms <= 0) {
		fprintf(stderr, "usage: %s 0|1 MILLISECONDS\n", argv[0]);
		return 2;
	}
	check(cxl_shm_init(), "init");
	int code = cxl_shm_create("atomics", sizeof(struct shared), &h);
	if (code == CXL_SHM_E_EXISTS)
		code = cxl_shm_open("atomics", &h);
	check(code, "object");
	struct shared *s = cxl_shm_addr(h);

	meet(h, me, 1);
	for (long end = now_ms() + ms; now_ms() < end;)
		for (int i = 0; i < 1000; i++, adds++)
			__atomic_fetch_add(&s->counter, 1, __ATOMIC_SEQ_CST);
	check(cxl_shm_flush(h, 0, sizeof s->counter), "flush");
	meet(h, me, 2);
	check(cxl_shm_invalidate(h, 0, sizeof s->counter), "invalidate");
	printf("%ld %llu\n", adds, (unsigned long long)__atomic_load_n(&s->counter, __ATOMIC_SEQ_CST));
	meet(h, me, 3); /* both have seen it */
	check(me == 0 ? cxl_shm_destroy(&h) : cxl_shm_close(&h), "end");
	check(cxl_shm_finalize(), "finalize");
	return 0;
}
