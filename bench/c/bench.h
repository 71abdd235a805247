/*
 * What the benchmark programs share: options, buffers, iteration counts.
 *
 * The programs are plain MPI programs that know nothing of cMPI. They follow
 * the method of the OSU micro-benchmarks (warm-up, then a timed loop per
 * message size; windows of non-blocking messages closed by a short answer) and
 * print the same columns, so that either set can be run in place of the other.
 *
 * Options, as OSU's:
 *   -m MIN:MAX   message sizes in bytes: MIN, then doubled up to MAX
 *   -i N         timed iterations of messages up to 8192 bytes; larger ones get
 *                fewer, in proportion, but at least FEWEST
 *   -x N         warm-up iterations, likewise
 *   -W N         messages per window
 *   -s SYNC      one-sided programs: flush, lock, fence or pscw
 *   -o OP        one-sided programs: the operation (OSU has a program for each)
 */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LARGE_MESSAGE = 8192, /* from here on the number of bytes is kept, not of iterations */
    FEWEST = 8,           /* so few 4 MiB windows take a quarter of a second already */
    PAGE = 4096,          /* buffers begin on a page */
};

struct bench {
    long min, max;
    long iterations, warmup;
    int window;
    int threads; /* 0: the program has one; else all of them communicate */
    const char *sync, *op; /* NULL: not for this program */
    int rank, size;
    char *send, *recv; /* max * slots bytes each */
};

/* Ends all ranks after a line on stderr. */
static inline void bench_fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static inline char *bench_buffer(size_t bytes, int fill)
{
    void *p = NULL;
    if (posix_memalign(&p, PAGE, bytes ? bytes : 1) != 0)
        bench_fail("out of memory");
    memset(p, fill, bytes);
    return p;
}

/* Reads the options over the defaults in b, starts MPI, makes the buffers.
 * slots is the number of messages that a buffer holds. */
static inline void bench_init(struct bench *b, int *argc, char ***argv, long slots)
{
    int c, level = MPI_THREAD_MULTIPLE;

    if (b->threads > 0)
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(argc, argv);
    if (level < MPI_THREAD_MULTIPLE)
        bench_fail("this MPI has no MPI_THREAD_MULTIPLE");
    MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b->size);
    while ((c = getopt(*argc, *argv, "m:i:x:W:s:o:")) != -1) {
        switch (c) {
        case 'm':
            if (sscanf(optarg, "%ld:%ld", &b->min, &b->max) != 2)
                bench_fail("-m needs MIN:MAX");
            break;
        case 'i': b->iterations = atol(optarg); break;
        case 'x': b->warmup = atol(optarg); break;
        case 'W': b->window = atoi(optarg); break;
        case 's':
            if (!b->sync)
                bench_fail("-s is for one-sided programs");
            b->sync = optarg;
            break;
        case 'o':
            if (!b->op)
                bench_fail("-o is for one-sided programs");
            b->op = optarg;
            break;
        default: bench_fail("options: -m MIN:MAX -i ITERATIONS -x WARMUP -W WINDOW -s SYNC -o OP");
        }
    }
    if (b->min < 0 || b->max < b->min || b->iterations < 1 || b->warmup < 0 || b->window < 1)
        bench_fail("an option is out of range");
    b->send = bench_buffer((size_t)b->max * (size_t)slots, 'a');
    b->recv = bench_buffer((size_t)b->max * (size_t)slots, 'b');
}

static inline void bench_finish(struct bench *b)
{
    free(b->send);
    free(b->recv);
    MPI_Finalize();
}

/* The size after n, up to max. */
static inline long bench_next(long n) { return n == 0 ? 1 : 2 * n; }

/* Iterations for messages of n bytes, given those for small ones. */
static inline long bench_scale(long iterations, long n)
{
    long scaled;

    if (n <= LARGE_MESSAGE || iterations <= FEWEST)
        return iterations;
    scaled = iterations * LARGE_MESSAGE / n;
    return scaled > FEWEST ? scaled : FEWEST;
}

#endif
