// What of one-sided communication is done without entering Go (rma.c says when):
// plain enough is what goes to a target whose memory may be loaded and stored
// directly (one coherence domain, the right epoch; window.FastTarget), if the data
// is contiguous and of predefined types, and an accumulate is one of integers that
// the CPU does in one instruction; between domains, a put of one word. A call into Go costs about 60 ns, as much as
// such an operation. CMPI_FAST=0 turns this off.
#ifndef CMPI_RMA_H
#define CMPI_RMA_H

#include <emmintrin.h>

#include "fast.h"
#include "win.h"

// Copies up to this many bytes are done here; beyond, the call into Go no longer
// counts, and it knows ways for long ones.
#define CMPI_DIRECT_MAX 4096

// Where n bytes at a displacement of a target stand in this process, NULL if that
// may not be asked here or not be touched in the given way (CMPI_DIRECT, CMPI_EXACT).
static inline char *cmpi_reach(struct cmpi_win *w, uint32_t way, int rank, intptr_t disp, uint64_t n)
{
	int64_t at;
	if (w->targets == NULL || (uint32_t)rank >= w->ranks)
		return NULL;
	struct cmpi_target *t = &w->targets[rank];
	if (atomic_load_explicit(&t->open, memory_order_relaxed) != way)
		return NULL;
	if (__builtin_mul_overflow((int64_t)disp, t->unit, &at) || at < 0 || n > (uint64_t)t->size ||
	    (uint64_t)at > (uint64_t)t->size - n)
		return NULL;
	t->used = 1;
	return t->base + at;
}

static inline char *cmpi_direct(struct cmpi_win *w, int rank, intptr_t disp, uint64_t n)
{
	return cmpi_reach(w, CMPI_DIRECT, rank, disp, n);
}

// A put of one word to memory of another host: a store that goes past the cache
// and changes nothing else in its line. 0 if it isn't such a one.
static inline int cmpi_put_word(struct cmpi_win *w, const void *buf, uint64_t n, int rank, intptr_t disp)
{
	char *at = n == 8 || n == 4 ? cmpi_reach(w, CMPI_EXACT, rank, disp, n) : NULL;
	if (at == NULL || (uintptr_t)at % n != 0)
		return 0;
	if (n == 8) {
		long long x;
		memcpy(&x, buf, 8);
		_mm_stream_si64((long long *)at, x);
	} else {
		int x;
		memcpy(&x, buf, 4);
		_mm_stream_si32((int *)at, x);
	}
	return 1;
}

// The bytes on both sides of a transfer, 0 if it isn't a plain one.
static inline uint64_t cmpi_plain(const void *buf, int64_t count, W type, int64_t tcount, W ttype)
{
	uint64_t n = cmpi_fast_size(count, type);
	return n > CMPI_DIRECT_MAX || n != cmpi_fast_size(tcount, ttype) || (uintptr_t)buf < 4096 ? 0 : n;
}

static inline void cmpi_copy(char *to, const char *from, uint64_t n)
{
	if (n == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, n);
}

static inline int cmpi_fast_put(struct cmpi_win *w, const void *buf, int64_t count, W type, int rank, intptr_t disp, int64_t tcount, W ttype)
{
	uint64_t n = cmpi_plain(buf, count, type, tcount, ttype);
	char *at = n == 0 ? NULL : cmpi_direct(w, rank, disp, n);
	if (at == NULL)
		return n != 0 && cmpi_put_word(w, buf, n, rank, disp);
	cmpi_copy(at, buf, n);
	return 1;
}

static inline int cmpi_fast_get(struct cmpi_win *w, void *buf, int64_t count, W type, int rank, intptr_t disp, int64_t tcount, W ttype)
{
	uint64_t n = cmpi_plain(buf, count, type, tcount, ttype);
	const char *at = n == 0 ? NULL : cmpi_direct(w, rank, disp, n);
	if (at == NULL)
		return 0;
	cmpi_copy(buf, at, n);
	return 1;
}

// The size in bytes of a predefined type that is an integer to MPI's operations,
// else 0. The lowest byte of a handle is the type's number, the next its size.
static inline uint32_t cmpi_integer_size(W type)
{
	static const uint8_t integers[256] = {
		[0x18] = 1, [0x02] = 1, [0x03] = 1, [0x04] = 1, [0x05] = 1, [0x06] = 1, [0x07] = 1, [0x08] = 1, [0x09] = 1, [0x19] = 1, // C
		[0x1b] = 1, [0x2d] = 1, [0x2f] = 1, [0x30] = 1, [0x31] = 1,                                                             // Fortran
		[0x37] = 1, [0x38] = 1, [0x39] = 1, [0x3a] = 1, [0x3b] = 1, [0x3c] = 1, [0x3d] = 1, [0x3e] = 1,                         // int8_t to uint64_t
		[0x43] = 1, [0x44] = 1, [0x45] = 1,                                                                                     // MPI_AINT, MPI_OFFSET, MPI_COUNT
	};
	uint32_t t = (uint32_t)type;
	return t >> 16 == MPICH_BYTE >> 16 && integers[t & 0xff] ? t >> 8 & 0xff : 0;
}

// One element, atomically; what was there goes to out unless that is NULL. 0 if
// the operation is none of one instruction.
#define CMPI_COMBINE(bits)                                                                                        \
	static inline int cmpi_combine##bits(char *at, const char *in, char *out, int op)                             \
	{                                                                                                        \
		_Atomic uint##bits##_t *p = (_Atomic uint##bits##_t *)at;                                            \
		uint##bits##_t x = 0, old;                                                                           \
		if (op != MPICH_NO_OP)                                                                               \
			memcpy(&x, in, sizeof x);                                                                        \
		switch (op) {                                                                                        \
		case MPICH_SUM: old = atomic_fetch_add(p, x); break;                                                 \
		case MPICH_BAND: old = atomic_fetch_and(p, x); break;                                                \
		case MPICH_BOR: old = atomic_fetch_or(p, x); break;                                                  \
		case MPICH_BXOR: old = atomic_fetch_xor(p, x); break;                                                \
		case MPICH_REPLACE: old = atomic_exchange(p, x); break;                                              \
		case MPICH_NO_OP: old = atomic_load(p); break;                                                       \
		default: return 0;                                                                                   \
		}                                                                                                    \
		if (out != NULL)                                                                                     \
			memcpy(out, &old, sizeof old);                                                                   \
		return 1;                                                                                            \
	}
CMPI_COMBINE(32)
CMPI_COMBINE(64)

static inline int cmpi_plain_op(int op)
{
	return op == MPICH_SUM || op == MPICH_BAND || op == MPICH_BOR || op == MPICH_BXOR || op == MPICH_REPLACE || op == MPICH_NO_OP;
}

// count elements, each atomically; what was there goes to out unless that is NULL.
static inline int cmpi_fast_combine(struct cmpi_win *w, const void *in, void *out, int64_t count, W type, int rank, intptr_t disp, int op)
{
	uint32_t size = cmpi_integer_size(type);
	if ((size != 4 && size != 8) || !cmpi_plain_op(op) || (uint64_t)count > CMPI_DIRECT_MAX / 8 || count == 0)
		return 0;
	char *at = cmpi_direct(w, rank, disp, (uint64_t)count * size);
	if (at == NULL || (uintptr_t)at % size != 0)
		return 0;
	for (const char *end = at + count * size; at < end; at += size, in = (const char *)in + size) {
		if (size == 4)
			cmpi_combine32(at, in, out, op);
		else
			cmpi_combine64(at, in, out, op);
		if (out != NULL)
			out = (char *)out + size;
	}
	return 1;
}

static inline int cmpi_fast_swap(struct cmpi_win *w, const void *in, const void *compare, void *out, W type, int rank, intptr_t disp)
{
	uint32_t size = cmpi_integer_size(type);
	char *at = size == 4 || size == 8 ? cmpi_direct(w, rank, disp, size) : NULL;
	if (at == NULL || (uintptr_t)at % size != 0)
		return 0;
	if (size == 4) {
		uint32_t want, x;
		memcpy(&want, compare, 4);
		memcpy(&x, in, 4);
		atomic_compare_exchange_strong((_Atomic uint32_t *)at, &want, x);
		memcpy(out, &want, 4);
	} else {
		uint64_t want, x;
		memcpy(&want, compare, 8);
		memcpy(&x, in, 8);
		atomic_compare_exchange_strong((_Atomic uint64_t *)at, &want, x);
		memcpy(out, &want, 8);
	}
	return 1;
}

// Whether a lock of ours covers the target, as flushes and request-based
// operations need it.
static inline int cmpi_passive(const struct cmpi_win *w, int rank)
{
	return cmpi_within(w, rank) && (w->locked[rank] | w->locked_all);
}

// A flush of a target that is reached from here: what came before it comes before
// what follows. A get from another host drops the line before it loads it, which
// orders it; so there a fence among the stores is enough.
static inline int cmpi_fast_flush(const struct cmpi_win *w, int rank)
{
	if (w->targets == NULL || !cmpi_passive(w, rank))
		return 0;
	switch (atomic_load_explicit(&w->targets[rank].open, memory_order_relaxed)) {
	case CMPI_DIRECT:
		atomic_thread_fence(memory_order_seq_cst);
		return 1;
	case CMPI_EXACT:
		_mm_sfence();
		return 1;
	}
	return 0;
}

#endif
