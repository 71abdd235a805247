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

struct cmpi_pair *cmpi_pairs;
struct cmpi_fast_peer *cmpi_peers;

int cmpi_counted_send(struct cmpi_comm *c, const void *buf, int64_t count, W type, int dest, int tag)
{
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, dest);
	if (p == NULL || p->out_busy != CMPI_COUNTED)
		return 0;
	p->out_busy = 0;
	int sent = cmpi_fast_send(c, buf, count, type, dest, tag);
	p->out_busy = CMPI_COUNTED;
	if (sent)
		cmpi_count(&cmpi_pairs[p - cmpi_peers].fast, cmpi_fast_size(count, type));
	return sent;
}

static int64_t counted_take(struct cmpi_comm *c, struct cmpi_fast_peer *p, char *buf, uint64_t size, int tag, int *got)
{
	if (p->in_busy != CMPI_COUNTED)
		return -1;
	p->in_busy = 0;
	int64_t n = cmpi_fast_take(c, p, buf, size, tag, cmpi_fast.looks, got);
	p->in_busy = CMPI_COUNTED;
	if (n >= 0)
		cmpi_count(&cmpi_pairs[p - cmpi_peers].received, (uint64_t)n);
	return n;
}

int cmpi_counted_recv(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status)
{
	uint64_t size = cmpi_fast_size(count, type);
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, source);
	int got;
	if (p == NULL || size == UINT64_MAX || (buf == NULL && size > 0) || cmpi_fast_pending != 0)
		return 0;
	int64_t n = counted_take(c, p, buf, size, tag, &got);
	if (n < 0)
		return 0;
	cmpi_fast_status(status, source, got, n);
	return 1;
}

// Tries to complete the oldest lazy receive.
static int advance(void)
{
	uint32_t id = cmpi_fast.order[cmpi_fast.first];
	struct cmpi_fast_request *r = &cmpi_fast.request[id];
	struct cmpi_comm *c = cmpi_fast.comm[id];
	int tag;
	int64_t n = cmpi_fast_take(c, c->peers[r->source], r->buf, r->size, r->tag, cmpi_fast.looks, &tag);
	if (n < 0 && CMPI_COUNTING())
		n = counted_take(c, c->peers[r->source], r->buf, r->size, r->tag, &tag);
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
