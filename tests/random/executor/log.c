/* The log is a file mapped into memory: what this rank has seen, and where it
 * is, survives whatever becomes of it. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "executor.h"

enum { THREADS = 16, HEADER = 4096 };

/* The head of the log (package run, log.go). Whoever starts the job makes the
 * file, of the size that it must have. */
static struct {
    _Atomic uint64_t records;  /* how many there are */
    _Atomic int64_t pid;
    _Atomic int64_t run_case;  /* which case is being executed */
    _Atomic int64_t at[THREADS]; /* the operation that each thread executes, the last entry: the epilogue */
} *head;

static struct record *records;
static uint64_t room;

void log_open(const char *path) {
    struct stat st;
    int fd = open(path, O_RDWR);
    if (fd < 0 || fstat(fd, &st) < 0) {
        die("can't open the log %s", path);
    }
    head = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (head == MAP_FAILED) {
        die("can't map the log %s", path);
    }
    records = (struct record *)((char *)head + HEADER);
    room = ((uint64_t)st.st_size - HEADER) / sizeof *records;
    head->pid = getpid();
    log_case(-1);
}

void log_case(int number) {
    for (int t = 0; t < THREADS; t++) {
        head->at[t] = -1;
    }
    head->run_case = number;
}

void log_at(int thread, int op) { head->at[thread == EPILOGUE_THREAD ? THREADS - 1 : thread] = op; }

void log_add(const struct record *r) {
    uint64_t i = atomic_fetch_add(&head->records, 1);
    if (i >= room) {
        die("the log is full");
    }
    records[i] = *r;
}

int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
