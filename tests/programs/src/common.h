/* What the verification programs share: start and finish, options, random
 * numbers, and byte patterns that every receiver can recompute.
 *
 * A program prints "OK name" on rank 0 and exits 0, or prints one line
 * "FAIL name: ..." with the seed from the rank that noticed, and stops the job
 * with exit code 1. Nothing else is printed. Arguments have the form
 * name=value. */
#ifndef PROGRAMS_COMMON_H
#define PROGRAMS_COMMON_H

#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *program;
static int world_rank, world_size;
static int arg_count;
static char **args;
static uint64_t seed;

/* Ends the job with one line that says what is wrong. */
__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "FAIL %s: rank %d of %d: %s (seed=%llu)\n", program, world_rank, world_size, text,
            (unsigned long long)seed);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#define EXPECT(condition, ...)   \
    do {                         \
        if (!(condition)) {      \
            fail(__VA_ARGS__);   \
        }                        \
    } while (0)

/* The value of argument name=value, otherwise fallback. */
__attribute__((unused)) static long option(const char *name, long fallback) {
    size_t n = strlen(name);
    for (int i = 1; i < arg_count; i++) {
        if (strncmp(args[i], name, n) == 0 && args[i][n] == '=') {
            return atol(args[i] + n + 1);
        }
    }
    return fallback;
}

/* Initialises MPI with the given thread level; fewer than least ranks fail. */
__attribute__((unused)) static void start_threaded(int argc, char **argv, const char *name, int least, int level) {
    int provided;
    program = name;
    arg_count = argc;
    args = argv;
    seed = (uint64_t)option("seed", 1);
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    EXPECT(provided >= level, "thread level %d, wanted %d", provided, level);
    EXPECT(world_size >= least, "needs %d ranks", least);
}

__attribute__((unused)) static void start(int argc, char **argv, const char *name, int least) {
    start_threaded(argc, argv, name, least, MPI_THREAD_SINGLE);
}

/* Says OK once every rank has come this far and MPI has shut down; the value is
 * main's. */
__attribute__((unused)) static int finish(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (world_rank == 0) {
        printf("OK %s\n", program);
    }
    return 0;
}

/* A well mixed function of x (the finaliser of SplitMix64). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The next random number below n of the given generator. */
__attribute__((unused)) static uint64_t below(uint64_t *state, uint64_t n) {
    *state += 0x9e3779b97f4a7c15u;
    return mix(*state) % n;
}

/* One key out of up to four numbers. */
__attribute__((unused)) static uint64_t key4(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return mix(mix(mix(mix(seed + a) + b) + c) + d);
}

static inline uint64_t pattern_word(uint64_t key, size_t i) { return mix(key + i * 0x9e3779b97f4a7c15u); }

/* Writes the pattern of key: byte i depends on key and i alone. */
__attribute__((unused)) static void fill(void *buf, size_t n, uint64_t key) {
    unsigned char *p = buf;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = pattern_word(key, i);
        memcpy(p + i, &w, n - i < 8 ? n - i : 8);
    }
}

/* Fails unless buf holds the pattern of key. */
__attribute__((unused)) static void check(const void *buf, size_t n, uint64_t key, const char *what) {
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = pattern_word(key, i);
        size_t k = n - i < 8 ? n - i : 8;
        if (memcmp(p + i, &w, k) != 0) {
            while (p[i] == (w & 0xff)) {
                i++;
                w >>= 8;
            }
            fail("%s: byte %zu of %zu is %#x, not %#x", what, i, n, p[i], (unsigned)(w & 0xff));
        }
    }
}

/* What memory that must not be written is filled with. */
#define UNTOUCHED 0xa5

/* Fails if any of n bytes was written. */
__attribute__((unused)) static void check_untouched(const void *buf, size_t n, const char *what) {
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i++) {
        EXPECT(p[i] == UNTOUCHED, "%s: byte %zu behind the message was written", what, i);
    }
}

/* Fails unless status says source, tag and a number of bytes. */
__attribute__((unused)) static void check_status(const MPI_Status *s, int source, int tag, size_t bytes,
                                                 const char *what) {
    MPI_Count n;
    MPI_Get_elements_x(s, MPI_BYTE, &n);
    EXPECT(s->MPI_SOURCE == source && s->MPI_TAG == tag && n == (MPI_Count)bytes,
           "%s: status says %lld bytes from %d with tag %d, not %zu from %d with tag %d", what, (long long)n,
           s->MPI_SOURCE, s->MPI_TAG, bytes, source, tag);
}

/* Memory, or failure. */
__attribute__((unused)) static void *need(size_t n) {
    void *p = malloc(n > 0 ? n : 1);
    EXPECT(p != NULL, "no memory for %zu bytes", n);
    return p;
}

/* Seconds on a clock that all processes of this machine share. */
__attribute__((unused)) static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The other rank of pairs (0,1), (2,3), ...; -1 for one that is left over. */
__attribute__((unused)) static int partner(void) { return (world_rank ^ 1) < world_size ? world_rank ^ 1 : -1; }

#endif
