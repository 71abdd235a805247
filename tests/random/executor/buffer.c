/* Memory for messages, with room around it that nobody may write, and the data
 * that they carry: byte 0 is the message's number, the others follow from the
 * case's key, the number and their place. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "executor.h"

enum { ROOM = 64, UNTOUCHED = 0xa5 };

struct buffer *buffers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Scratch memory of this thread, at least n bytes. */
static unsigned char *scratch(int which, size_t n) {
    static __thread struct {
        unsigned char *memory;
        size_t size;
    } s[2];
    if (s[which].size < n + 8) {
        free(s[which].memory);
        s[which].size = 2 * (n + 8);
        s[which].memory = need(s[which].size);
    }
    return s[which].memory;
}

/* A well mixed function of x (the finaliser of SplitMix64). */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The first n bytes of a message, rounded up to words. */
static void pattern(unsigned char *to, size_t n, uint64_t key, int msg) {
    uint64_t x = mix(key + (uint64_t)msg);
    for (size_t i = 0; i < n; i += 8) {
        x += 0x9e3779b97f4a7c15u;
        uint64_t word = mix(x);
        memcpy(to + i, &word, 8);
    }
    to[0] = (unsigned char)msg;
}

struct buffer *buffer_make(const struct layout *l, int thread, int op, int flags) {
    struct buffer *b = need(sizeof *b);
    ptrdiff_t from = 0, to = 0;
    memset(b, 0, sizeof *b);
    b->thread = thread;
    b->op = op;
    layout_make(l, &b->type, &b->pieces);
    b->derived = l->type[0] != CELL;
    b->count = l->count;
    for (size_t i = 0; i < b->pieces.n; i++) {
        struct piece *p = &b->pieces.list[i];
        from = i == 0 || p->off < from ? p->off : from;
        to = i == 0 || p->off + (ptrdiff_t)p->len > to ? p->off + (ptrdiff_t)p->len : to;
        b->bytes += p->len;
    }
    /* Now and then at another place in its cache line; 8 is enough for all members. */
    size_t shift = (size_t)(op % 4) * 8;
    b->total = (size_t)(to - from) + 2 * ROOM + shift;
    b->memory = need(b->total);
    memset(b->memory, UNTOUCHED, b->total);
    unsigned char *base = b->memory + ROOM + shift - from;
    for (size_t i = 0; i < b->pieces.n; i++) {
        b->pieces.list[i].off += base - b->memory; /* from here on inside memory */
    }
    b->base = base;
    if (flags & BOTTOM && b->bytes > 0) {
        MPI_Datatype absolute;
        MPI_Aint at;
        MPI_Get_address(base, &at);
        MPI_Type_create_hindexed(1, &b->count, &at, b->type, &absolute);
        MPI_Type_commit(&absolute);
        if (b->derived) {
            MPI_Type_free(&b->type);
        }
        b->type = absolute;
        b->derived = b->count = 1;
        b->base = MPI_BOTTOM;
    }
    pthread_mutex_lock(&lock);
    b->next = buffers;
    buffers = b;
    pthread_mutex_unlock(&lock);
    return b;
}

void buffers_free(void) {
    while (buffers != NULL) {
        struct buffer *b = buffers;
        buffers = b->next;
        if (b->derived) {
            MPI_Type_free(&b->type);
        }
        free(b->pieces.list);
        free(b->memory);
        free(b);
    }
}

/* Copies n bytes of data between the pieces and packed memory. */
static void scatter(const struct pieces *p, unsigned char *memory, const unsigned char *packed, size_t n) {
    for (size_t i = 0; i < p->n && n > 0; i++) {
        size_t len = p->list[i].len < n ? p->list[i].len : n;
        memcpy(memory + p->list[i].off, packed, len);
        packed += len;
        n -= len;
    }
}

static void gather(const struct pieces *p, const unsigned char *memory, unsigned char *packed, size_t n) {
    for (size_t i = 0; i < p->n && n > 0; i++) {
        size_t len = p->list[i].len < n ? p->list[i].len : n;
        memcpy(packed, memory + p->list[i].off, len);
        packed += len;
        n -= len;
    }
}

void buffer_fill(struct buffer *b, uint64_t key, int msg) {
    if (b->bytes > 0) {
        unsigned char *data = scratch(0, b->bytes);
        pattern(data, b->bytes, key, msg);
        scatter(&b->pieces, b->memory, data, b->bytes);
    }
}

void buffer_clear(struct buffer *b) {
    memset(b->memory, UNTOUCHED, b->total);
    b->sum = 0;
}

static uint64_t sum(const struct buffer *b) {
    uint64_t h = 1, word;
    size_t i = 0;
    for (; i + 8 <= b->total; i += 8) {
        memcpy(&word, b->memory + i, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; i < b->total; i++) {
        h = (h ^ b->memory[i]) * 0x100000001b3u;
    }
    return h | 1;
}

int buffer_same(const struct buffer *b) { return b->sum == 0 || b->sum == sum(b); }

void buffer_check(struct buffer *b, uint64_t key, size_t n, int whole, int *msg, int *bad, int *dirty) {
    size_t most = n < b->bytes ? n : b->bytes;
    unsigned char *data = scratch(0, b->bytes + 8), *image = scratch(1, b->total);
    *msg = *bad = -1;
    gather(&b->pieces, b->memory, data, b->bytes);
    memset(image, UNTOUCHED, b->total);
    scatter(&b->pieces, image, data, whole ? most : b->bytes);
    *dirty = n > b->bytes || memcmp(image, b->memory, b->total) != 0;
    if (most > 0) {
        unsigned char *expected = image; /* no longer needed */
        if (b->total < most + 8) {
            expected = scratch(1, most + 8);
        }
        *msg = data[0];
        pattern(expected, most, key, *msg);
        for (size_t i = 0; i < most && *bad < 0; i++) {
            if (data[i] != expected[i]) {
                *bad = (int)i;
            }
        }
    }
    b->sum = sum(b);
}
