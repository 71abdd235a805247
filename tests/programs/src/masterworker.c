/* A master deals tasks of random size to whichever worker comes first, with
 * wildcards: half of the answers are probed and then received, half received
 * into a large buffer with MPI_ANY_SOURCE and MPI_ANY_TAG.
 *
 * tasks; bytes: of the largest task. */
#include "common.h"

enum { TASK, STOP, FIRST_ANSWER }; /* an answer's tag is FIRST_ANSWER + task % KINDS */
#define KINDS 5

static size_t most;

static size_t task_size(long task) { return key4(task, 1, 0, 0) % (most + 1); }

/* An answer is the task's number, then a pattern half as long as the task. */
static size_t answer_size(long task) { return sizeof(long) + task_size(task) / 2; }

static void hand_out(unsigned char *buf, long task, int worker) {
    memcpy(buf, &task, sizeof task);
    fill(buf + sizeof task, task_size(task), key4(task, 2, 0, 0));
    MPI_Send(buf, (int)(sizeof task + task_size(task)), MPI_BYTE, worker, TASK, MPI_COMM_WORLD);
}

static void master(long tasks) {
    unsigned char *buf = need(most + sizeof(long));
    long *holds = need(sizeof(long) * (size_t)world_size), next = 0;
    char *answered = calloc((size_t)tasks + 1, 1);
    int busy = 0;
    for (int w = 1; w < world_size; w++) {
        if (next < tasks) {
            holds[w] = next;
            hand_out(buf, next++, w);
            busy++;
        }
    }
    for (long got = 0; busy > 0; got++) {
        MPI_Status status, probed;
        if (got % 2 == 0) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
            int n;
            MPI_Get_count(&probed, MPI_BYTE, &n);
            MPI_Recv(buf, n, MPI_BYTE, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &status);
            check_status(&status, probed.MPI_SOURCE, probed.MPI_TAG, (size_t)n, "answer after probe");
        } else {
            MPI_Recv(buf, (int)(most + sizeof(long)), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        }
        int worker = status.MPI_SOURCE;
        long task;
        memcpy(&task, buf, sizeof task);
        EXPECT(worker > 0 && worker < world_size && task == holds[worker], "answer to task %ld from worker %d", task,
               worker);
        EXPECT(!answered[task], "second answer to task %ld", task);
        answered[task] = 1;
        check_status(&status, worker, FIRST_ANSWER + (int)(task % KINDS), answer_size(task), "answer");
        check(buf + sizeof task, answer_size(task) - sizeof task, key4(task, 3, worker, 0), "answer");
        if (next < tasks) {
            holds[worker] = next;
            hand_out(buf, next++, worker);
        } else {
            busy--;
        }
    }
    for (int w = 1; w < world_size; w++) {
        MPI_Send(NULL, 0, MPI_BYTE, w, STOP, MPI_COMM_WORLD);
    }
    for (long t = 0; t < tasks; t++) {
        EXPECT(answered[t], "no answer to task %ld", t);
    }
    free(answered);
    free(holds);
    free(buf);
}

static void worker(void) {
    unsigned char *buf = need(most + sizeof(long));
    for (;;) {
        MPI_Status status;
        long task;
        MPI_Recv(buf, (int)(most + sizeof task), MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP) {
            break;
        }
        memcpy(&task, buf, sizeof task);
        check_status(&status, 0, TASK, sizeof task + task_size(task), "task");
        check(buf + sizeof task, task_size(task), key4(task, 2, 0, 0), "task");
        fill(buf + sizeof task, answer_size(task) - sizeof task, key4(task, 3, world_rank, 0));
        MPI_Send(buf, (int)answer_size(task), MPI_BYTE, 0, FIRST_ANSWER + (int)(task % KINDS), MPI_COMM_WORLD);
    }
    free(buf);
}

int main(int argc, char **argv) {
    start(argc, argv, "masterworker", 2);
    most = (size_t)option("bytes", 20000);
    if (world_rank == 0) {
        master(option("tasks", world_size <= 4 ? 1000 : 200));
    } else {
        worker();
    }
    return finish();
}
