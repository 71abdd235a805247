/* A work queue in a window, guarded by its exclusive lock: every rank takes
 * tasks from it and puts new ones there, between lock and unlock, by put and
 * get alone. Each task is split in two until it is small enough. In the end
 * every leaf must have been done exactly once, by whomever.
 *
 * tasks: at the start; depth: how often each is split; room: of the queue. */
#include "common.h"
#include <stddef.h>

struct task {
    int64_t number; /* of the task at the start, a bit for every split */
    int32_t depth;
    char note[20]; /* says the same again: a task is whole or it is wrong */
};

struct queue {
    int64_t head, tail; /* tasks taken and put so far */
    int64_t open;       /* tasks that are put or under way */
    int64_t pad;
    struct task tasks[];
};

static MPI_Win queue_win, done_win;
static long tasks, depth, room;

static void describe(struct task *t, int64_t number, int32_t level) {
    memset(t, 0, sizeof *t);
    t->number = number;
    t->depth = level;
    fill(t->note, sizeof t->note, key4(3, (uint64_t)number, (uint64_t)level, 0));
}

static MPI_Aint place(int64_t i) {
    return (MPI_Aint)offsetof(struct queue, tasks) + (MPI_Aint)(i % room) * (MPI_Aint)sizeof(struct task);
}

/* Puts n tasks and closes one if finished; everything under one lock. */
static void put_tasks(const struct task *t, int n, int finished) {
    int64_t state[3];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, queue_win);
    MPI_Get(state, 3, MPI_INT64_T, 0, 0, 3, MPI_INT64_T, queue_win);
    MPI_Win_flush(0, queue_win);
    EXPECT(state[1] + n - state[0] <= room, "the queue is full: %lld to %lld", (long long)state[0],
           (long long)state[1]);
    for (int i = 0; i < n; i++) {
        MPI_Put(&t[i], sizeof *t, MPI_BYTE, 0, place(state[1] + i), sizeof *t, MPI_BYTE, queue_win);
    }
    state[1] += n;
    state[2] += n - finished;
    MPI_Put(state + 1, 2, MPI_INT64_T, 0, offsetof(struct queue, tail), 2, MPI_INT64_T, queue_win);
    MPI_Win_unlock(0, queue_win);
}

/* Takes a task: 1; 0 if there is none now, -1 if there will never be one. */
static int take(struct task *t) {
    int64_t state[3];
    int result = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, queue_win);
    MPI_Get(state, 3, MPI_INT64_T, 0, 0, 3, MPI_INT64_T, queue_win);
    MPI_Win_flush(0, queue_win);
    if (state[0] < state[1]) {
        MPI_Get(t, sizeof *t, MPI_BYTE, 0, place(state[0]), sizeof *t, MPI_BYTE, queue_win);
        state[0]++;
        MPI_Put(state, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, queue_win);
        result = 1;
    } else if (state[2] == 0) {
        result = -1;
    }
    MPI_Win_unlock(0, queue_win);
    return result;
}

static void work(const struct task *t) {
    struct task halves[2], want;
    describe(&want, t->number, t->depth);
    EXPECT(memcmp(t, &want, sizeof want) == 0, "task %lld of depth %d is not what was put", (long long)t->number,
           t->depth);
    if (t->depth < depth) {
        describe(&halves[0], t->number * 2, t->depth + 1);
        describe(&halves[1], t->number * 2 + 1, t->depth + 1);
        put_tasks(halves, 2, 1);
        return;
    }
    int32_t once = 1;
    int rank = (int)(t->number % world_size);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, done_win);
    MPI_Accumulate(&once, 1, MPI_INT32_T, rank, t->number / world_size, 1, MPI_INT32_T, MPI_SUM, done_win);
    MPI_Win_unlock(rank, done_win);
    put_tasks(NULL, 0, 1);
}

int main(int argc, char **argv) {
    struct queue *queue;
    struct task t;
    int32_t *done;
    start(argc, argv, "rma_queue", 2);
    tasks = option("tasks", 20);
    depth = option("depth", 4);
    room = option("room", 2 * tasks << depth);
    long leaves = tasks << depth, each = (leaves + world_size - 1) / world_size;
    MPI_Aint bytes = (MPI_Aint)sizeof *queue + room * (MPI_Aint)sizeof t;
    MPI_Win_allocate(world_rank == 0 ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &queue, &queue_win);
    MPI_Win_allocate(each * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &done, &done_win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, done_win);
    for (long i = 0; i < each; i++) {
        done[i] = 0;
    }
    MPI_Win_unlock(world_rank, done_win);
    if (world_rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, queue_win);
        queue->head = queue->tail = queue->open = 0;
        MPI_Win_unlock(0, queue_win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = world_rank; i < tasks; i += world_size) {
        describe(&t, i, 0);
        put_tasks(&t, 1, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* so that the queue isn't taken for finished before it is filled */
    for (int got; (got = take(&t)) >= 0;) {
        if (got == 1) {
            work(&t);
        } else {
            sched_yield();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, done_win);
    for (long i = 0; i < each; i++) {
        long leaf = i * world_size + world_rank;
        EXPECT(done[i] == (leaf < leaves), "leaf %ld was done %d times", leaf, done[i]);
    }
    MPI_Win_unlock(world_rank, done_win);
    MPI_Win_free(&done_win);
    MPI_Win_free(&queue_win);
    return finish();
}
