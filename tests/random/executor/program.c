/* Reads the file of cases. The layout is described in package program,
 * encode.go. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor.h"

enum { MAGIC = 0x50524d43, VERSION = 1, HEADER = 6 };

void run_open(struct run *run, const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        die("can't read %s", path);
    }
    run->size = (size_t)st.st_size;
    run->words = mmap(NULL, run->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (run->words == MAP_FAILED || run->size < HEADER * sizeof(int32_t) || run->words[0] != MAGIC || run->words[1] != VERSION) {
        die("%s is not a file of cases", path);
    }
    run->ranks = run->words[2];
    run->threads = run->words[3];
    run->level = run->words[4];
    run->cases = run->words[5];
    run->next = run->words + HEADER;
}

static const int32_t *take_ints(const int32_t *w, int *n, const int32_t **ints) {
    *n = *w++;
    *ints = w;
    return w + *n;
}

static const int32_t *take_layout(const int32_t *w, struct layout *l) {
    l->count = *w++;
    l->type = w;
    for (;;) {
        int kind = w[0];
        w += 2 + w[1];
        if (kind == CELL) {
            return w;
        }
    }
}

static const int32_t *take_op(const int32_t *w, struct op *op) {
    const int32_t *end = w + 1 + w[0];
    w++;
    op->kind = *w++;
    op->comm = *w++;
    op->mode = *w++;
    op->msg = *w++;
    op->handle = *w++;
    op->until = *w++;
    op->tries = *w++;
    op->micros = *w++;
    op->count = *w++;
    op->flags = *w++;
    op->send.peer = *w++;
    op->send.tag = *w++;
    op->send.cells = *w++;
    op->recv.peer = *w++;
    op->recv.tag = *w++;
    op->recv.cells = *w++;
    w = take_ints(w, &op->nslots, &op->slots);
    w = take_ints(w, &op->nmsgs, &op->msgs);
    w = take_layout(w, &op->send.layout);
    w = take_layout(w, &op->recv.layout);
    if (w != end) {
        die("an operation of kind %d is longer than it says", op->kind);
    }
    return end;
}

static const int32_t *take_list(const int32_t *w, struct list *l) {
    l->n = *w++;
    l->ops = need(((size_t)l->n + 1) * sizeof *l->ops);
    for (int i = 0; i < l->n; i++) {
        w = take_op(w, &l->ops[i]);
    }
    return w;
}

void run_next(struct run *run, int rank, struct program *p) {
    const int32_t *w = run->next;
    run->next = w + 1 + w[0];
    w++;
    p->number = *w++;
    p->key = (uint32_t)w[0] | (uint64_t)(uint32_t)w[1] << 32;
    w += 2;
    w = take_ints(w, &p->nmembers, &p->members);
    for (int r = 0; r < rank; r++) {
        w += 1 + w[0];
    }
    w++;
    p->nslots = *w++;
    p->nhandles = *w++;
    p->attach = *w++;
    p->threads = need((size_t)run->threads * sizeof *p->threads);
    for (int t = 0; t < run->threads; t++) {
        w = take_list(w, &p->threads[t]);
    }
    take_list(w, &p->epilogue);
}

void program_free(struct program *p, int threads) {
    for (int t = 0; t < threads; t++) {
        free(p->threads[t].ops);
    }
    free(p->threads);
    free(p->epilogue.ops);
}
