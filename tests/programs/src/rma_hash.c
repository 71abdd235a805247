/* A distributed hash table that every rank fills at once, while nobody serves
 * it: an empty slot is taken by compare-and-swap of its key, what is known of
 * the key is summed up by accumulate. Keys collide within a rank and between
 * ranks. Afterwards every rank gets the whole table and compares it with what
 * it computes all ranks to have done.
 *
 * slots: per rank; inserts: per rank. */
#include "common.h"

enum { KEY, COUNT, SUM, WORDS }; /* of a slot */

static long slots, inserts, keys;
static MPI_Win win;

/* The key and value of a rank's insert number i. */
static uint64_t key_of(int rank, long i) { return 1 + key4(1, (uint64_t)rank, (uint64_t)i, 0) % (uint64_t)keys; }
static uint64_t value_of(int rank, long i) { return key4(2, (uint64_t)rank, (uint64_t)i, 0); }

static void insert(uint64_t key, uint64_t value) {
    uint64_t place = mix(key) % ((uint64_t)slots * (uint64_t)world_size), add[2] = {1, value}, empty = 0, found;
    for (long probe = 0;; probe++) {
        EXPECT(probe < slots * world_size, "the table is full");
        int rank = (int)(place / (uint64_t)slots);
        MPI_Aint at = (MPI_Aint)(place % (uint64_t)slots) * WORDS;
        MPI_Compare_and_swap(&key, &empty, &found, MPI_UINT64_T, rank, at + KEY, win);
        MPI_Win_flush(rank, win);
        if (found == 0 || found == key) {
            MPI_Accumulate(add, 2, MPI_UINT64_T, rank, at + COUNT, 2, MPI_UINT64_T, MPI_SUM, win);
            MPI_Win_flush(rank, win);
            return;
        }
        place = (place + 1) % ((uint64_t)slots * (uint64_t)world_size);
    }
}

int main(int argc, char **argv) {
    uint64_t *mine;
    start(argc, argv, "rma_hash", 2);
    slots = option("slots", 400);
    inserts = option("inserts", 600);
    keys = slots * world_size / 2;
    size_t bytes = (size_t)slots * WORDS * sizeof(uint64_t);
    MPI_Win_allocate((MPI_Aint)bytes, sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);
    memset(mine, 0, bytes);
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, win);
    for (long i = 0; i < inserts; i++) {
        insert(key_of(world_rank, i), value_of(world_rank, i));
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);

    uint64_t *table = need(bytes * (size_t)world_size), *want = need((size_t)(keys + 1) * WORDS * sizeof *want);
    MPI_Win_lock_all(0, win);
    for (int r = 0; r < world_size; r++) {
        MPI_Get(table + (size_t)r * (size_t)slots * WORDS, (int)(slots * WORDS), MPI_UINT64_T, r, 0,
                (int)(slots * WORDS), MPI_UINT64_T, win);
    }
    MPI_Win_unlock_all(win);
    memset(want, 0, (size_t)(keys + 1) * WORDS * sizeof *want);
    for (int r = 0; r < world_size; r++) {
        for (long i = 0; i < inserts; i++) {
            uint64_t *w = want + key_of(r, i) * WORDS;
            w[KEY] = key_of(r, i);
            w[COUNT]++;
            w[SUM] += value_of(r, i);
        }
    }
    for (long s = 0; s < slots * world_size; s++) {
        const uint64_t *got = table + s * WORDS, *w = want + got[KEY] * WORDS;
        EXPECT(got[KEY] <= (uint64_t)keys, "slot %ld: key %llu", s, (unsigned long long)got[KEY]);
        EXPECT(got[COUNT] == w[COUNT] && got[SUM] == w[SUM], "slot %ld, key %llu: %llu inserts, not %llu, or sum %llu",
               s, (unsigned long long)got[KEY], (unsigned long long)got[COUNT], (unsigned long long)w[COUNT],
               (unsigned long long)got[SUM]);
        if (got[KEY] != 0) {
            memset(want + got[KEY] * WORDS, 0, WORDS * sizeof *want); /* found; it must not come again */
        }
    }
    for (long k = 1; k <= keys; k++) {
        EXPECT(want[k * WORDS + COUNT] == 0, "key %ld is missing", k);
    }
    free(table);
    free(want);
    MPI_Win_free(&win);
    return finish();
}
