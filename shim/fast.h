// The fast path: short messages of contiguous data on a communicator of ours,
// in coherent mode, by the one thread that owns the engine, go through the ring
// without entering Go. A call into Go and back costs about 50 ns; two of them
// lie in every hop of a ping-pong that takes 30 to 200 ns on the wire.
//
// There is no logic here beyond the plainest case: a send whose ring has room,
// a receive whose message is the next one in its source's ring and that no
// other receive or message precedes. Whatever else there is (another protocol,
// a full ring, wildcards, anything posted or unexpected) is left to the engine,
// which works on the same state. CMPI_FAST=0 turns the path off, so that
// `cmpi bench` can show what it buys.
//
// MPI_Irecv only notes a receive here ("lazy"). The noted receives are handed
// to the engine, in their order, before it is asked for anything else and
// before the host is entered (cmpi_fast_hand_over), so that nobody can tell
// the difference.
#ifndef CMPI_FAST_H
#define CMPI_FAST_H

#include <string.h>

#include "shim.h"

// The layouts of ringq.LineState, mpitransport.FastPeer and
// mpitransport.FastRequest (fast_test.go compares them).
struct cmpi_line_state {
	char *lines;
	uint64_t pos, start, limit, check, total, express, key, seq, open, far;
};

struct cmpi_fast_peer {
	struct cmpi_line_state out, in;
	uint64_t out_busy, in_busy; // CMPI_BUSY, CMPI_COUNTED
};
enum { CMPI_BUSY = 1, CMPI_COUNTED = 2 };

struct cmpi_fast_request {
	uint32_t state;
	int32_t source, tag, comm;
	char *buf;
	uint64_t size, bytes;
};
enum { CMPI_FREE, CMPI_LAZY, CMPI_DONE, CMPI_ENGINE };

_Static_assert(sizeof(struct cmpi_line_state) == 88 && offsetof(struct cmpi_line_state, far) == 80, "as fast_test.go says");
_Static_assert(sizeof(struct cmpi_fast_peer) == 192 && offsetof(struct cmpi_fast_peer, out_busy) == 176, "as fast_test.go says");
_Static_assert(sizeof(struct cmpi_fast_request) == 40 && offsetof(struct cmpi_fast_request, bytes) == 32, "as fast_test.go says");

// The header of package ringq: kind and context id, tag and length.
#define CMPI_LINE 64ull
#define CMPI_LINE_WORD 56 // offset of the flag word
#define CMPI_LINE_HEADER 16
#define CMPI_LINE_INLINE (CMPI_LINE_WORD - CMPI_LINE_HEADER)
#define CMPI_KIND_EAGER (1ull << 56) // mpitransport.FastKind
#define CMPI_DENSE (1ull << 63)
#define CMPI_LAP (1ull << 62)
#define CMPI_CREDIT (2 * CMPI_LINE) // the credit word's distance before line 0
#define CMPI_TAG_SHIFT 36
#define CMPI_TAG_MAX ((1 << 28) - 1)

// Messages up to this many bytes: beyond, the engine streams them past the cache
// (ringq.Distance).
#define CMPI_FAST_MAX 4096
// Messages up to this many bytes where the engine streams longer ones past a
// far cache, or doesn't know yet (ringq.Distance). Of those to a near one it
// gets some, to see whether it still is.
#define CMPI_FAST_FAR 448
#define CMPI_FAST_SOME(pos) (((pos) & 511) < 16)

#define CMPI_FAST_REQUESTS 256 // ids 1 to 255; mpitransport.FastRequests

struct cmpi_fast {
	// How often a receive looks at its ring before it leaves the waiting to the
	// engine, which serves the other rings too: about 1 µs, longer than the
	// answer of a rank that waits for us takes. 1 when ranks share processors.
	int looks;
	uint32_t next;  // request to try first
	uint32_t first; // place in order of the oldest lazy receive
	uint32_t lazy;  // how many there are
	uint8_t order[CMPI_FAST_REQUESTS]; // their ids
	struct cmpi_fast_request request[CMPI_FAST_REQUESTS];
	struct cmpi_comm *comm[CMPI_FAST_REQUESTS]; // of each request
};
extern struct cmpi_fast cmpi_fast;

// The size in bytes of count elements of a predefined type; not for others
// (UINT64_MAX). MPICH keeps the size of a predefined type in its handle, and
// all of them with a handle of this class are contiguous.
static inline uint64_t cmpi_fast_size(int64_t count, W type)
{
	uint32_t t = (uint32_t)type;
	if (t >> 26 != MPICH_BYTE >> 26 || (uint64_t)count > INT32_MAX)
		return UINT64_MAX;
	return (uint64_t)count * (t >> 8 & 0xff);
}

static inline struct cmpi_fast_peer *cmpi_fast_peer(struct cmpi_comm *c, int rank)
{
	if (c->peers == NULL || cmpi_state.depth != 0 || (uint32_t)rank >= c->npeers)
		return NULL;
	return c->peers[rank];
}

static inline char *cmpi_line(const struct cmpi_line_state *s, uint64_t place)
{
	return s->lines + (place < s->express ? 2 * place : place + s->express) * CMPI_LINE;
}

static inline void cmpi_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

// Asks for a line that is about to be written.
static inline void cmpi_want(char *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*line));
#else
	__builtin_prefetch(line, 1);
#endif
}

// Copies the n bytes, at most CMPI_LINE_INLINE, of a message of one line, without
// a call.
static inline void cmpi_copy_inline(char *dst, const char *src, uint64_t n)
{
	if (n == 8) {
		memcpy(dst, src, 8);
	} else if (n > 16) {
		memcpy(dst, src, 16);
		if (n > 32)
			memcpy(dst + 16, src + 16, 16);
		memcpy(dst + n - 16, src + n - 16, 16);
	} else if (n > 8) {
		memcpy(dst, src, 8);
		memcpy(dst + n - 8, src + n - 8, 8);
	} else if (n >= 4) {
		memcpy(dst, src, 4);
		memcpy(dst + n - 4, src + n - 4, 4);
	} else if (n > 0) {
		*dst = *src;
		if (n > 1)
			memcpy(dst + n - 2, src + n - 2, 2);
	}
}

// Publishes the line at the sender's position, whose payload stands there.
static inline void cmpi_fast_publish(const struct cmpi_line_state *s, char *line, uint64_t a, uint64_t b)
{
	memcpy(line, &a, 8);
	memcpy(line + 8, &b, 8);
	// The word goes last: it says that the rest is there.
	atomic_store_explicit((_Atomic uint64_t *)(line + CMPI_LINE_WORD), s->key | (s->pos & s->seq), memory_order_release);
}

// Whether the receiver of a ring may read a message of comm's, if there is a next
// line in this lap.
static inline int cmpi_fast_readable(const struct cmpi_comm *c, const struct cmpi_fast_peer *p)
{
	const struct cmpi_line_state *s = &p->in;
	return s->lines != NULL && p->in_busy == 0 && s->open == 0 && c->waiting == 0;
}

// Waits some looks until the next line of a ring is there.
static inline int cmpi_fast_await(const struct cmpi_line_state *s, const char *line, int looks)
{
	uint64_t want = s->key | (s->pos & s->seq);
	while (atomic_load_explicit((const _Atomic uint64_t *)(line + CMPI_LINE_WORD), memory_order_acquire) != want) {
		if (--looks <= 0)
			return 0;
		// Looks in rapid succession would take the line from the sender
		// before it has written all of it.
		cmpi_pause();
	}
	return 1;
}

// After so many lines the reader of an express line tells how far it has come, as
// ringq does.
#define CMPI_EXPRESS_CREDIT(s) ((s)->express / 2)

static inline void cmpi_fast_credit(struct cmpi_line_state *s)
{
	atomic_store_explicit((_Atomic uint64_t *)(s->lines - CMPI_CREDIT), s->pos, memory_order_release);
	s->limit = s->pos;
}

static inline void cmpi_fast_status(struct mpich_status *status, int source, int tag, uint64_t bytes)
{
	if (status == MPICH_STATUS_IGNORE || status == NULL)
		return;
	status->count_lo = (uint32_t)bytes;
	status->count_hi_and_cancelled = 0;
	status->source = source;
	status->tag = tag;
}

// The plainest of the plain: a message of one line, by a call that waits for
// nothing but that. Inlined into MPI_Send and MPI_Recv these take half of the
// instructions that the general functions below take; between caches that are near
// to each other the instructions of both sides are most of a message's time.

static inline __attribute__((always_inline)) int
cmpi_fast_send_line(struct cmpi_comm *c, const void *buf, int64_t count, W type, int dest, int tag)
{
	uint64_t n = cmpi_fast_size(count, type);
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, dest);
	if (p == NULL || n > CMPI_LINE_INLINE || (uint32_t)tag > CMPI_TAG_MAX || (buf == NULL && n > 0))
		return 0;
	struct cmpi_line_state *s = &p->out;
	uint64_t pos = s->pos, place = pos - s->start;
	if (s->lines == NULL || (p->out_busy | s->open) != 0 || place >= s->limit || pos >= s->check)
		return 0;
	char *line = cmpi_line(s, place);
	cmpi_copy_inline(line + CMPI_LINE_HEADER, buf, n);
	cmpi_fast_publish(s, line, CMPI_KIND_EAGER | c->context, (uint64_t)tag << CMPI_TAG_SHIFT | n);
	s->pos = pos + 1;
	return 1;
}

static inline __attribute__((always_inline)) int
cmpi_fast_recv_line(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status)
{
	uint64_t size = cmpi_fast_size(count, type);
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, source);
	if (p == NULL || size == UINT64_MAX || (buf == NULL && size > 0) || cmpi_fast_pending != 0 || !cmpi_fast_readable(c, p))
		return 0;
	struct cmpi_line_state *s = &p->in;
	uint64_t place = s->pos - s->start;
	if (place >= s->express)
		return 0;
	const char *line = cmpi_line(s, place);
	// What is known before the message has come is not looked for after it.
	char *answer = cmpi_line(&p->out, p->out.pos - p->out.start);
	uint64_t kind = CMPI_KIND_EAGER | c->context, most = size < CMPI_LINE_INLINE ? size : CMPI_LINE_INLINE;
	uint64_t due = s->limit + CMPI_EXPRESS_CREDIT(s), next = s->pos + 1;
	if (!cmpi_fast_await(s, line, cmpi_fast.looks))
		return 0;
	// An answer is likely: its line is with the peer, who had it last.
	cmpi_want(answer);
	// Read once, then checked, then used: the line is the peer's.
	const volatile uint64_t *header = (const volatile uint64_t *)line;
	uint64_t a = header[0], b = header[1], n = b & ((1ull << CMPI_TAG_SHIFT) - 1);
	int got = (int)(b >> CMPI_TAG_SHIFT);
	if (a != kind || n > most || (tag != got && tag != MPICH_ANY_TAG))
		return 0;
	cmpi_copy_inline(buf, line + CMPI_LINE_HEADER, n);
	s->pos = next;
	if (next >= due)
		cmpi_fast_credit(s);
	cmpi_fast_status(status, source, got, n);
	return 1;
}

// Sends count elements at buf if that is a fast path's message and the ring has
// room; else 0.
int cmpi_fast_send(struct cmpi_comm *c, const void *buf, int64_t count, W type, int dest, int tag);

// Receives a message that comes within a few looks; else 0, with nothing taken.
int cmpi_fast_recv(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status);

// Notes a receive; else 0.
static inline int cmpi_fast_irecv(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, int *request)
{
	uint64_t size = cmpi_fast_size(count, type);
	if (cmpi_fast_peer(c, source) == NULL || size == UINT64_MAX || (buf == NULL && size > 0) || c->waiting != 0 ||
	    tag < MPICH_ANY_TAG || tag > CMPI_TAG_MAX)
		return 0;
	uint32_t id = cmpi_fast.next;
	struct cmpi_fast_request *r = &cmpi_fast.request[id];
	if (r->state != CMPI_FREE)
		return 0;
	cmpi_fast.next = id % (CMPI_FAST_REQUESTS - 1) + 1;
	*r = (struct cmpi_fast_request){CMPI_LAZY, source, tag, c->index, buf, size, 0};
	cmpi_fast.comm[id] = c;
	cmpi_fast.order[(cmpi_fast.first + cmpi_fast.lazy++) % CMPI_FAST_REQUESTS] = id;
	cmpi_fast_pending++;
	*request = CMPI_FIRST_HANDLE + id;
	return 1;
}

// ---- counting (package stats) ---------------------------------------------------
//
// A job that counts marks the ends of all rings as busy with counting, so that the
// functions above leave every message to these, which count it: who does not count
// pays nothing, not even a look whether to.

struct cmpi_traffic {
	uint64_t count, bytes;
};

// stats.Pair (fast_test.go compares them).
struct cmpi_pair {
	struct cmpi_traffic eager, fast, staged, single, streamed, received, puts, gets, updates;
	uint64_t unused[6];
};
_Static_assert(sizeof(struct cmpi_pair) == 192 && offsetof(struct cmpi_pair, puts) == 96, "as fast_test.go says");

static inline void cmpi_count(struct cmpi_traffic *t, uint64_t bytes)
{
	t->count++;
	t->bytes += bytes;
}

// What is counted, by rank of the job, and whose rings those are; NULL if nothing is.
extern struct cmpi_pair *cmpi_pairs;
extern struct cmpi_fast_peer *cmpi_peers;

#define CMPI_COUNTING() __builtin_expect(cmpi_pairs != NULL, 0)

// cmpi_fast_send and cmpi_fast_recv where messages are counted.
int cmpi_counted_send(struct cmpi_comm *c, const void *buf, int64_t count, W type, int dest, int tag);
int cmpi_counted_recv(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status);

// Completes requests without the engine: 1 if all n are done and have been
// given back, else 0 with none given back.
int cmpi_fast_wait(int n, int *requests, struct mpich_status *statuses);

#endif
