// The fast path: a message of one line, on a communicator of ours, in coherent
// mode, by the one thread that owns the engine, goes through the ring without
// entering Go. A call into Go and back costs about 50 ns; two of them lie in
// every hop of a ping-pong that takes 200 ns on the wire. There is no logic
// here beyond what one line needs: whatever isn't plainly that case (another
// protocol, a full ring, a posted or unexpected message to match) is left to
// the engine, which works on the same state. `cmpi bench` shows what it buys
// (CMPI_FAST=0 turns it off).
#ifndef CMPI_FAST_H
#define CMPI_FAST_H

#include <string.h>

#include "shim.h"

// The layouts of ringq.LineState and mpitransport.FastPeer (fast_test.go
// compares them).
struct cmpi_line_state {
	char *lines;
	uint64_t pos, limit, mask, key, seq, open;
};

struct cmpi_fast_peer {
	struct cmpi_line_state out, in;
	uint64_t out_busy, in_busy;
};

_Static_assert(sizeof(struct cmpi_line_state) == 56 && offsetof(struct cmpi_line_state, open) == 48, "as fast_test.go says");
_Static_assert(sizeof(struct cmpi_fast_peer) == 128 && offsetof(struct cmpi_fast_peer, out_busy) == 112, "as fast_test.go says");

// The header of package ringq: kind and context id, tag and length.
enum {
	CMPI_LINE = 64,
	CMPI_LINE_WORD = 56,   // offset of the flag word
	CMPI_LINE_HEADER = 16,
	CMPI_LINE_INLINE = CMPI_LINE_WORD - CMPI_LINE_HEADER,
	CMPI_KIND_SHIFT = 56,
	CMPI_KIND_EAGER = 1,   // mpitransport.FastKind
	CMPI_TAG_SHIFT = 36,
	CMPI_TAG_MAX = (1 << 28) - 1,
};

// How often a receive looks at its ring before it leaves the waiting to the
// engine, which serves the other rings too: about 1 µs, longer than the answer
// of a rank that waits for us takes. 1 when ranks share processors.
extern int cmpi_fast_looks;

// The size of count elements of a predefined type, or a number too large for a
// line. MPICH keeps the size of a predefined type in its handle; all of them
// with a handle of this class are contiguous.
static inline uint64_t cmpi_fast_size(int64_t count, W type)
{
	uint32_t t = (uint32_t)type;
	if (t >> 26 != MPICH_BYTE >> 26 || (uint64_t)count > CMPI_LINE_INLINE)
		return CMPI_LINE_INLINE + 1;
	return (uint64_t)count * (t >> 8 & 0xff);
}

static inline struct cmpi_fast_peer *cmpi_fast_peer(struct cmpi_comm *c, int rank)
{
	if (c->peers == NULL || cmpi_state.depth != 0 || (uint32_t)rank >= c->npeers)
		return NULL;
	return c->peers[rank];
}

// Copies n ≤ CMPI_LINE_INLINE bytes.
static inline void cmpi_fast_copy(char *dst, const char *src, uint64_t n)
{
	if (n == 8)
		memcpy(dst, src, 8);
	else
		memcpy(dst, src, n);
}

// Sends count elements at buf if that takes one line and the ring is free;
// else 0.
static inline int cmpi_fast_send(struct cmpi_comm *c, const void *buf, int64_t count, W type, int dest, int tag)
{
	uint64_t n = cmpi_fast_size(count, type);
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, dest);
	if (p == NULL || n > CMPI_LINE_INLINE || (uint32_t)tag > CMPI_TAG_MAX)
		return 0;
	struct cmpi_line_state *s = &p->out;
	if (s->lines == NULL || p->out_busy != 0 || s->open != 0 || s->pos == s->limit)
		return 0;
	char *line = s->lines + (s->pos & s->mask) * CMPI_LINE;
	uint64_t header[2] = {(uint64_t)CMPI_KIND_EAGER << CMPI_KIND_SHIFT | c->context, (uint64_t)tag << CMPI_TAG_SHIFT | n};
	memcpy(line, header, sizeof header);
	cmpi_fast_copy(line + CMPI_LINE_HEADER, buf, n);
	// The word goes last: it says that the rest of the line is there.
	atomic_store_explicit((_Atomic uint64_t *)(line + CMPI_LINE_WORD), s->key | (s->pos & s->seq), memory_order_release);
	s->pos++;
	return 1;
}

// Receives a message of one line that comes within a few looks; else 0, with
// nothing taken from the ring.
static inline int cmpi_fast_recv(struct cmpi_comm *c, void *buf, int64_t count, W type, int source, int tag, struct mpich_status *status)
{
	uint64_t size = cmpi_fast_size(count, type);
	struct cmpi_fast_peer *p = cmpi_fast_peer(c, source);
	if (p == NULL || size > CMPI_LINE_INLINE || c->waiting != 0)
		return 0;
	struct cmpi_line_state *s = &p->in;
	// A quarter of the ring consumed: the engine must give credit.
	if (s->lines == NULL || p->in_busy != 0 || s->open != 0 || s->pos + 1 - s->limit >= (s->mask + 1) / 4)
		return 0;
	const char *line = s->lines + (s->pos & s->mask) * CMPI_LINE;
	uint64_t want = s->key | (s->pos & s->seq);
	for (int i = cmpi_fast_looks;
	     atomic_load_explicit((const _Atomic uint64_t *)(line + CMPI_LINE_WORD), memory_order_acquire) != want;)
		if (--i <= 0)
			return 0;
	// Read once, then checked, then used: the line is the peer's.
	uint64_t header[2];
	memcpy(header, line, sizeof header);
	uint64_t n = header[1] & ((1ull << CMPI_TAG_SHIFT) - 1);
	int got = (int)(header[1] >> CMPI_TAG_SHIFT);
	if (header[0] != ((uint64_t)CMPI_KIND_EAGER << CMPI_KIND_SHIFT | c->context) || n > size ||
	    (tag != got && tag != MPICH_ANY_TAG))
		return 0;
	cmpi_fast_copy(buf, line + CMPI_LINE_HEADER, n);
	s->pos++;
	if (status != MPICH_STATUS_IGNORE && status != NULL) {
		status->count_lo = (int32_t)n;
		status->count_hi_and_cancelled = 0;
		status->source = source;
		status->tag = got;
	}
	return 1;
}

#endif
