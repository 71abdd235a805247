// The parts of the fast path (fast.h) that are too long to be inlined.

#include "fast.h"
#include "_cgo_export.h"

struct cmpi_fast cmpi_fast = {.looks = 1, .next = 1};
uint32_t cmpi_fast_pending;

// Hands all noted receives to the engine, the finished ones as such.
void cmpi_fast_hand_over(void)
{
	for (; cmpi_fast.lazy > 0; cmpi_fast.lazy--) {
		goPostFast(cmpi_fast.order[cmpi_fast.first]);
		cmpi_fast.first = (cmpi_fast.first + 1) % CMPI_FAST_REQUESTS;
		cmpi_fast_pending--;
	}
	for (uint32_t id = 1; cmpi_fast_pending > 0 && id < CMPI_FAST_REQUESTS; id++)
		if (cmpi_fast.request[id].state == CMPI_DONE) {
			goAdoptFast(id);
			cmpi_fast_pending--;
		}
}

// Tries to complete the oldest lazy receive.
static int advance(void)
{
	uint32_t id = cmpi_fast.order[cmpi_fast.first];
	struct cmpi_fast_request *r = &cmpi_fast.request[id];
	struct cmpi_comm *c = cmpi_fast.comm[id];
	int tag;
	int64_t n = cmpi_fast_take(c, c->peers[r->source], r->buf, r->size, r->tag, cmpi_fast.looks, &tag);
	if (n < 0)
		return 0;
	r->tag = tag;
	r->bytes = (uint64_t)n;
	r->state = CMPI_DONE;
	cmpi_fast.first = (cmpi_fast.first + 1) % CMPI_FAST_REQUESTS;
	cmpi_fast.lazy--;
	return 1;
}

int cmpi_fast_wait(int n, int *requests, struct mpich_status *statuses)
{
	for (int i = 0; i < n; i++) {
		uint32_t id = (uint32_t)requests[i] - CMPI_FIRST_HANDLE;
		if (requests[i] == MPICH_REQUEST_NULL || id == 0)
			continue;
		if (id >= CMPI_FAST_REQUESTS)
			return 0;
		struct cmpi_fast_request *r = &cmpi_fast.request[id];
		while (r->state == CMPI_LAZY)
			if (!advance())
				return 0;
		if (r->state != CMPI_DONE)
			return 0;
	}
	int keep = statuses != MPICH_STATUS_IGNORE && statuses != NULL;
	for (int i = 0; i < n; i++) {
		uint32_t id = (uint32_t)requests[i] - CMPI_FIRST_HANDLE;
		if (requests[i] == MPICH_REQUEST_NULL || id == 0) {
			if (keep)
				cmpi_fast_status(&statuses[i], MPICH_ANY_SOURCE, MPICH_ANY_TAG, 0);
		} else {
			struct cmpi_fast_request *r = &cmpi_fast.request[id];
			if (keep)
				cmpi_fast_status(&statuses[i], r->source, r->tag, r->bytes);
			r->state = CMPI_FREE;
			cmpi_fast_pending--;
		}
		requests[i] = MPICH_REQUEST_NULL;
	}
	return 1;
}
