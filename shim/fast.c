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

// How many lines a message of n bytes takes behind its first.
static uint64_t behind_first(uint64_t n)
{
	return n <= CMPI_LINE_INLINE ? 0 : (n - CMPI_LINE_INLINE + CMPI_LINE - 1) / CMPI_LINE;
}

// The place of a message's second line, which never is an express line; that
// behind the first if it has only one.
static uint64_t second_place(const struct cmpi_line_state *s, uint64_t place, uint64_t more)
{
	return more > 0 && place + 1 < s->express ? s->express : place + 1;
}

// Writes the n bytes of a message that stand behind its first line.
static void put_dense(char *lines, const char *buf, uint64_t n)
{
	memcpy(lines, buf, n);
	// The last line must not keep the word of an earlier lap (ringq putDense).
	uint64_t tail = n % CMPI_LINE;
	if (tail > 0 && tail <= CMPI_LINE_WORD)
		memset(lines + (n - tail) + CMPI_LINE_WORD, 0, 8);
}

int cmpi_fast_send(struct cmpi_comm *c, const void *buf, int64_t count, W type, int dest, int tag)
{
	uint64_t n = cmpi_fast_size(count, type);
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, dest);
	if (p == NULL || n > CMPI_FAST_MAX || (uint32_t)tag > CMPI_TAG_MAX || (buf == NULL && n > 0))
		return 0;
	struct cmpi_line_state *s = &p->out;
	uint64_t more = behind_first(n), place = s->pos - s->start, second = second_place(s, place, more);
	if (s->lines == NULL || p->out_busy != 0 || s->open != 0 || second + more > s->limit || s->pos + 1 + more > s->check ||
	    (n > CMPI_FAST_FAR && (s->far || CMPI_FAST_SOME(s->pos))))
		return 0;
	char *line = cmpi_line(s, place);
	uint64_t kind = CMPI_KIND_EAGER | c->context;
	if (n <= CMPI_LINE_INLINE) {
		cmpi_copy_inline(line + CMPI_LINE_HEADER, buf, n);
	} else {
		kind |= CMPI_DENSE;
		memcpy(line + CMPI_LINE_HEADER, buf, CMPI_LINE_INLINE);
		put_dense(cmpi_line(s, second), (const char *)buf + CMPI_LINE_INLINE, n - CMPI_LINE_INLINE);
	}
	cmpi_fast_publish(s, line, kind, (uint64_t)tag << CMPI_TAG_SHIFT | n);
	s->start += place + 1 - second;
	s->pos += 1 + more;
	return 1;
}

// Takes the next message of a ring if it is there within some looks, on this
// communicator, with this tag, and no longer than size; its length, or -1 with
// nothing taken.
static int64_t take(struct cmpi_comm *c, struct cmpi_fast_peer *p, char *buf, uint64_t size, int tag, int looks, int *got)
{
	struct cmpi_line_state *s = &p->in;
	uint64_t place = s->pos - s->start;
	if (!cmpi_fast_readable(c, p) || place >= s->total)
		return -1;
	const char *line = cmpi_line(s, place);
	if (!cmpi_fast_await(s, line, looks))
		return -1;
	// An answer is likely: its line is with the peer, who had it last.
	cmpi_want(cmpi_line(&p->out, p->out.pos - p->out.start));
	// Read once, then checked, then used: the line is the peer's.
	const volatile uint64_t *header = (const volatile uint64_t *)line;
	uint64_t a = header[0], b = header[1], n = b & ((1ull << CMPI_TAG_SHIFT) - 1);
	uint64_t more = a & CMPI_DENSE ? behind_first(n) : 0, second = second_place(s, place, more);
	*got = (int)(b >> CMPI_TAG_SHIFT);
	if ((a & ~(CMPI_DENSE | CMPI_LAP)) != (CMPI_KIND_EAGER | c->context) || n > size || (tag != *got && tag != MPICH_ANY_TAG))
		return -1;
	if (n > CMPI_LINE_INLINE && (more == 0 || n > CMPI_FAST_MAX || second + more > s->total))
		return -1;
	if (n <= CMPI_LINE_INLINE) {
		cmpi_copy_inline(buf, line + CMPI_LINE_HEADER, n);
	} else {
		memcpy(buf, line + CMPI_LINE_HEADER, CMPI_LINE_INLINE);
		memcpy(buf + CMPI_LINE_INLINE, cmpi_line(s, second), n - CMPI_LINE_INLINE);
	}
	s->start += place + 1 - second;
	s->pos += 1 + more;
	// As ringq gives credit: often in short laps, and at each lap's end.
	uint64_t batch = s->express > 0 && place < 4 * s->express ? CMPI_EXPRESS_CREDIT(s) : s->total / 4;
	if (a & CMPI_LAP)
		s->start = s->pos;
	if ((a & CMPI_LAP) || s->pos - s->limit >= batch)
		cmpi_fast_credit(s);
	return (int64_t)n;
}

typedef int64_t take_function(struct cmpi_comm *c, struct cmpi_fast_peer *p, char *buf, uint64_t size, int tag, int looks, int *got);

static int receive(take_function *take, struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status)
{
	uint64_t size = cmpi_fast_size(count, type);
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, source);
	if (p == NULL || size == UINT64_MAX || (buf == NULL && size > 0) || cmpi_fast_pending != 0)
		return 0;
	int got;
	int64_t n = take(c, p, buf, size, tag, cmpi_fast.looks, &got);
	if (n < 0)
		return 0;
	cmpi_fast_status(status, source, got, n);
	return 1;
}

// take after cmpi_fast_recv_line, which has waited for an express line already.
static int64_t take_rest(struct cmpi_comm *c, struct cmpi_fast_peer *p, char *buf, uint64_t size, int tag, int looks, int *got)
{
	int express = p->in.pos - p->in.start < p->in.express;
	return take(c, p, buf, size, tag, express ? 1 : looks, got);
}

int cmpi_fast_recv(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status)
{
	return receive(take_rest, c, buf, count, type, source, tag, status);
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

static int64_t counted_take(struct cmpi_comm *c, struct cmpi_fast_peer *p, char *buf, uint64_t size, int tag, int looks, int *got)
{
	if (p->in_busy != CMPI_COUNTED)
		return -1;
	p->in_busy = 0;
	int64_t n = take(c, p, buf, size, tag, looks, got);
	p->in_busy = CMPI_COUNTED;
	if (n >= 0)
		cmpi_count(&cmpi_pairs[p - cmpi_peers].received, (uint64_t)n);
	return n;
}

int cmpi_counted_recv(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status)
{
	return receive(counted_take, c, buf, count, type, source, tag, status);
}

// Tries to complete the oldest lazy receive.
static int advance(void)
{
	uint32_t id = cmpi_fast.order[cmpi_fast.first];
	struct cmpi_fast_request *r = &cmpi_fast.request[id];
	struct cmpi_comm *c = cmpi_fast.comm[id];
	int tag;
	int64_t n = take(c, c->peers[r->source], r->buf, r->size, r->tag, cmpi_fast.looks, &tag);
	if (n < 0 && CMPI_COUNTING())
		n = counted_take(c, c->peers[r->source], r->buf, r->size, r->tag, cmpi_fast.looks, &tag);
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
