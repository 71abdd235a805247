/* executor CASES LOG: executes the cases of a file; rank R logs to LOG.R, which
 * must exist. See executor.h. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "executor.h"

static int rank, size;

void die(const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "executor: rank %d: %s\n", rank, text);
    _Exit(3);
}

void *need(size_t n) {
    void *p = malloc(n > 0 ? n : 1);
    if (p == NULL) {
        die("no memory for %zu bytes", n);
    }
    return p;
}

/* ---- threads -------------------------------------------------------------------- */

/* A thread that executes lists of operations when told to, from case to case. */
struct worker {
    pthread_t id;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct list *list; /* NULL: nothing to do */
    int number, quit;
};

static void *work(void *arg) {
    struct worker *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->quit) {
        if (w->list == NULL) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        const struct list *list = w->list;
        int number = w->number;
        pthread_mutex_unlock(&w->lock);
        ops_run(list, number);
        pthread_mutex_lock(&w->lock);
        w->list = NULL;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void worker_start(struct worker *w) {
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->list = NULL;
    w->quit = 0;
    if (pthread_create(&w->id, NULL, work, w) != 0) {
        die("can't start a thread");
    }
}

static void worker_give(struct worker *w, const struct list *list, int number) {
    pthread_mutex_lock(&w->lock);
    w->list = list;
    w->number = number;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void worker_await(struct worker *w) {
    pthread_mutex_lock(&w->lock);
    while (w->list != NULL) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

static void worker_stop(struct worker *w) {
    pthread_mutex_lock(&w->lock);
    w->quit = 1;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->id, NULL);
}

/* ---- cases ------------------------------------------------------------------------ */

/* Thread levels of a run, as in package program. */
enum { SINGLE, FUNNELED, SERIALIZED, MULTIPLE };
static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

static void make_comms(void) {
    MPI_Comm parity;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    comms[WORLD] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[COPY]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[REVERSED]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity);
    comms[PARITY] = parity;
    MPI_Intercomm_create(parity, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &comms[INTER]);
    for (int i = COPY; i <= INTER; i++) {
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
}

static void free_comms(void) {
    for (int i = COPY; i <= INTER; i++) {
        MPI_Comm_free(&comms[i]);
    }
}

/* The threads of this rank besides the first; at level SERIALIZED, two that
 * take the first one's part in turn. */
static struct worker *workers;
static int nworkers;

static void run_case(const struct run *run, const struct program *p, int number) {
    void *attached = NULL;
    int bytes;
    cell_make(p);
    ops_begin(p, number);
    if (p->attach > 0) {
        attached = need((size_t)p->attach);
        MPI_Buffer_attach(attached, p->attach);
    }
    log_case(number);
    if (run->level == SERIALIZED) {
        worker_give(&workers[number % 2], &p->threads[0], 0);
        worker_await(&workers[number % 2]);
    } else {
        for (int t = 1; t < run->threads; t++) {
            worker_give(&workers[t - 1], &p->threads[t], t);
        }
        ops_run(&p->threads[0], 0);
        for (int t = 1; t < run->threads; t++) {
            worker_await(&workers[t - 1]);
        }
    }
    ops_run(&p->epilogue, EPILOGUE_THREAD);
    if (attached != NULL) {
        MPI_Buffer_detach(&attached, &bytes);
        free(attached);
    }
    /* All messages are received now, freed requests' too. */
    MPI_Barrier(MPI_COMM_WORLD);
    ops_late();
    ops_end();
    buffers_free();
    cell_free();
}

int main(int argc, char **argv) {
    struct run run;
    char path[4096];
    int provided;
    if (argc != 3) {
        die("usage: executor CASES LOG");
    }
    run_open(&run, argv[1]);
    MPI_Init_thread(&argc, &argv, levels[run.level], &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < levels[run.level] || size != run.ranks) {
        die("thread level %d and %d ranks, not %d and %d", provided, size, levels[run.level], run.ranks);
    }
    snprintf(path, sizeof path, "%s.%d", argv[2], rank);
    log_open(path);
    make_comms();
    nworkers = run.level == SERIALIZED ? 2 : run.threads - 1;
    workers = need((size_t)(nworkers + 1) * sizeof *workers);
    for (int i = 0; i < nworkers; i++) {
        worker_start(&workers[i]);
    }
    for (int i = 0; i < run.cases; i++) {
        struct program p;
        run_next(&run, rank, &p);
        run_case(&run, &p, i);
        program_free(&p, run.threads);
    }
    for (int i = 0; i < nworkers; i++) {
        worker_stop(&workers[i]);
    }
    free(workers);
    log_case(run.cases);
    free_comms();
    MPI_Finalize();
    return 0;
}
