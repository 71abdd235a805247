/* Shared windows, read and written by plain loads and stores of all ranks:
 * contiguous and not, with parts of different sizes and of none. Between
 * writer and reader stand MPI_Win_sync, a barrier, and MPI_Win_sync, as MPI
 * wants it of programs that access shared windows directly; or a fence.
 *
 * Stores of different ranks keep to lines of 64 bytes of their own, which MPI
 * does not demand, but memory that is not coherent does.
 *
 * rounds: of writing and reading. */
#include "common.h"

enum { LINE = 64 };

static MPI_Win win;

/* What a rank asks for: rank 1 nothing, the others different numbers of lines. */
static size_t size_of(int rank) { return rank == 1 ? 0 : (size_t)(rank * 5 + 3) * LINE; }

/* Everything written before this is seen after it. */
static void settle(void) {
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
}

/* Asks where a rank's part is and compares that with what is known. */
static char *part(int rank, const char *mine) {
    MPI_Aint size;
    int unit;
    char *base;
    MPI_Win_shared_query(win, rank, &size, &unit, &base);
    EXPECT(size == (MPI_Aint)size_of(rank) && unit == rank + 1, "rank %d has %lld bytes in units of %d", rank,
           (long long)size, unit);
    EXPECT(rank != world_rank || size == 0 || base == mine, "rank %d's part is not where it said", rank);
    return base;
}

static void try_window(int contiguous, long rounds) {
    MPI_Info info;
    char *mine, *next = NULL;
    MPI_Info_create(&info);
    if (!contiguous) {
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    }
    MPI_Win_allocate_shared((MPI_Aint)size_of(world_rank), world_rank + 1, info, MPI_COMM_WORLD, &mine, &win);
    MPI_Info_free(&info);

    for (int r = 0; r < world_size; r++) {
        char *base = part(r, mine);
        if (size_of(r) > 0) {
            EXPECT(!contiguous || next == NULL || base == next, "part %d does not follow the one before", r);
            next = base + size_of(r);
        }
    }
    MPI_Aint size;
    int unit;
    char *first;
    MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first);
    EXPECT(size == (MPI_Aint)size_of(0) && first == part(0, mine), "the first part that is not empty is rank 0's");

    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (long round = 0; round < rounds; round++) {
        /* Everybody writes the part of a rank further on, and reads all. */
        int to = (int)((world_rank + round) % world_size);
        fill(part(to, mine), size_of(to), key4(5, (uint64_t)to, (uint64_t)round, (uint64_t)contiguous));
        settle();
        for (int r = 0; r < world_size; r++) {
            check(part(r, mine), size_of(r), key4(5, (uint64_t)r, (uint64_t)round, (uint64_t)contiguous), "load");
        }
        settle();
    }
    MPI_Win_unlock_all(win);

    /* Puts are seen by loads, and stores by gets, across a fence. */
    char *buf = need(size_of(world_size));
    MPI_Win_fence(0, win);
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    fill(buf, size_of(to), key4(6, (uint64_t)to, 0, 0));
    MPI_Put(buf, (int)size_of(to), MPI_BYTE, to, 0, (int)size_of(to), MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check(mine, size_of(world_rank), key4(6, (uint64_t)world_rank, 0, 0), "load after a put");
    check(part(from, mine), size_of(from), key4(6, (uint64_t)from, 0, 0), "load of another's part after a put");
    MPI_Win_fence(0, win);
    fill(mine, size_of(world_rank), key4(7, (uint64_t)world_rank, 0, 0));
    MPI_Win_fence(0, win);
    MPI_Get(buf, (int)size_of(to), MPI_BYTE, to, 0, (int)size_of(to), MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check(buf, size_of(to), key4(7, (uint64_t)to, 0, 0), "get after a store");
    free(buf);
    MPI_Win_free(&win);
}

/* Parts of any size lie side by side; puts of different ranks into one line
 * leave each other alone. */
static void neighbours(void) {
    enum { BYTES = 23 };
    char *mine, buf[BYTES];
    MPI_Win_allocate_shared(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    for (int round = 0; round < 20; round++) {
        int to = (world_rank + round) % world_size, from = (world_rank + world_size - round % world_size) % world_size;
        fill(buf, BYTES, key4(8, (uint64_t)world_rank, (uint64_t)round, 0));
        MPI_Win_fence(0, win);
        MPI_Put(buf, BYTES, MPI_BYTE, to, 0, BYTES, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        check(mine, BYTES, key4(8, (uint64_t)from, (uint64_t)round, 0), "put beside another's");
    }
    MPI_Win_free(&win);
}

/* A window without a byte is a window. */
static void empty(void) {
    char *mine, *first;
    MPI_Aint size = -1;
    int unit;
    MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first);
    EXPECT(size == 0, "a window without a byte has %lld", (long long)size);
    MPI_Win_fence(0, win);
    MPI_Put(NULL, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    start(argc, argv, "rma_shared", 2);
    long rounds = option("rounds", 20);
    try_window(1, rounds);
    try_window(0, rounds);
    neighbours();
    empty();
    return finish();
}
