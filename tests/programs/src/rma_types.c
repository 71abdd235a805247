/* Put, get and their request-based forms with derived datatypes on both sides:
 * vectors, blocks at odd places, subarrays, structures with gaps and holes at
 * their ends, one layout at the origin and another at the target. What arrives
 * is compared byte for byte with what the layouts say, and so is every byte
 * that must not have been touched.
 *
 * rounds: how often every pair of layouts is tried; round=64 makes the window's
 * size a multiple of that, because MPICH 4.0 mixes up windows of odd sizes. */
#include "common.h"

/* A layout: a datatype of ELEMENTS structures {double, int32, 3 chars} in a
 * certain order of bytes, and where each of those bytes lies. */
enum { ELEMENTS = 24, BYTES = 8 + 4 + 3, MOST = 4096 };
struct layout {
    const char *name;
    MPI_Datatype type;
    int count;                    /* of the type */
    long at[ELEMENTS * BYTES];    /* byte i of the data lies here */
};

static struct layout layouts[8];
static int layout_count;

/* A structure with its members at these displacements. */
static MPI_Datatype structure(const long *at, long extent) {
    int lengths[3] = {1, 1, 3};
    MPI_Aint places[3] = {at[0], at[1], at[2]};
    MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_INT32_T, MPI_CHAR}, type, resized;
    MPI_Type_create_struct(3, lengths, places, parts, &type);
    MPI_Type_create_resized(type, 0, extent, &resized);
    MPI_Type_free(&type);
    return resized;
}

/* Adds a layout whose structure number e begins at first[e]. */
static void add(const char *name, MPI_Datatype type, int count, const long *members, const long *first) {
    static const int size[3] = {8, 4, 3};
    struct layout *l = &layouts[layout_count++];
    l->name = name;
    l->type = type;
    l->count = count;
    MPI_Type_commit(&l->type);
    long i = 0;
    for (int e = 0; e < ELEMENTS; e++) {
        for (int m = 0; m < 3; m++) {
            for (int k = 0; k < size[m]; k++) {
                l->at[i++] = first[e] + members[m] + k;
                EXPECT(l->at[i - 1] < MOST, "layout %s is too long", name);
            }
        }
    }
}

static void make_layouts(void) {
    static const long natural[3] = {0, 8, 12}, packed[3] = {3, 11, 0}, scattered[3] = {24, 2, 13};
    MPI_Datatype s, t;
    long first[ELEMENTS];
    int blocks[ELEMENTS], places[ELEMENTS];

    s = structure(natural, 16);
    for (int e = 0; e < ELEMENTS; e++) {
        first[e] = 16 * e;
    }
    add("structures in a row", s, ELEMENTS, natural, first);

    s = structure(packed, 15); /* no gap, no alignment, members in another order in memory */
    MPI_Type_contiguous(ELEMENTS, s, &t);
    MPI_Type_free(&s);
    for (int e = 0; e < ELEMENTS; e++) {
        first[e] = 15 * e;
    }
    add("packed structures", t, 1, packed, first);

    s = structure(scattered, 40);
    MPI_Type_vector(ELEMENTS / 3, 3, 4, s, &t);
    MPI_Type_free(&s);
    for (int e = 0; e < ELEMENTS; e++) {
        first[e] = 40 * (e / 3 * 4 + e % 3);
    }
    add("vector of scattered structures", t, 1, scattered, first);

    s = structure(natural, 16);
    MPI_Type_create_hvector(ELEMENTS / 2, 2, 67, s, &t);
    MPI_Type_free(&s);
    for (int e = 0; e < ELEMENTS; e++) {
        first[e] = 67 * (e / 2) + 16 * (e % 2);
    }
    add("blocks at odd places", t, 1, natural, first);

    s = structure(packed, 17);
    int n = 0;
    for (int e = 0, at = 150; e < ELEMENTS; n++) { /* from behind to front */
        blocks[n] = 1 + n % 3;
        at -= blocks[n] + 2;
        places[n] = at;
        for (int k = 0; k < blocks[n] && e < ELEMENTS; k++, e++) {
            first[e] = 17 * (at + k);
        }
        if (e == ELEMENTS) {
            int over = -ELEMENTS;
            for (int i = 0; i <= n; i++) {
                over += blocks[i];
            }
            blocks[n] -= over;
        }
    }
    MPI_Type_indexed(n, blocks, places, s, &t);
    MPI_Type_free(&s);
    add("blocks backwards", t, 1, packed, first);

    int sizes[3] = {4, 5, 6}, sub[3] = {2, 3, 4}, start_at[3] = {1, 1, 2};
    s = structure(natural, 16);
    MPI_Type_create_subarray(3, sizes, sub, start_at, MPI_ORDER_C, s, &t);
    MPI_Type_free(&s);
    for (int e = 0; e < ELEMENTS; e++) {
        first[e] = 16 * (((1 + e / 12) * 5 + 1 + e / 4 % 3) * 6 + 2 + e % 4);
    }
    add("subarray", t, 1, natural, first);

    s = structure(scattered, 33);
    MPI_Type_create_resized(s, 0, 100, &t);
    MPI_Type_free(&s);
    for (int e = 0; e < ELEMENTS; e++) {
        first[e] = 100 * e;
    }
    add("far apart", t, ELEMENTS, scattered, first);
}

/* How a transfer is done. */
enum { PUT, GET, RPUT, RGET, WAYS };
static const char *const way_names[WAYS] = {"put", "get", "rput", "rget"};

static int reads(int way) { return way == GET || way == RGET; }

static void transfer(int way, char *buf, const struct layout *o, int rank, MPI_Aint at, const struct layout *t,
                     MPI_Win win) {
    MPI_Request request;
    switch (way) {
    case PUT: MPI_Put(buf, o->count, o->type, rank, at, t->count, t->type, win); break;
    case GET: MPI_Get(buf, o->count, o->type, rank, at, t->count, t->type, win); break;
    case RPUT:
        MPI_Rput(buf, o->count, o->type, rank, at, t->count, t->type, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case RGET:
        MPI_Rget(buf, o->count, o->type, rank, at, t->count, t->type, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    }
    MPI_Win_flush(rank, win);
}

/* The pattern, laid out; gaps stay as they are. */
static void spread(char *buf, const struct layout *l, uint64_t key) {
    char data[ELEMENTS * BYTES];
    fill(data, sizeof data, key);
    for (int i = 0; i < ELEMENTS * BYTES; i++) {
        buf[l->at[i]] = data[i];
    }
}

static void compare(const char *got, const char *want, int way, const struct layout *o, const struct layout *t,
                    const char *where) {
    for (int i = 0; i < MOST; i++) {
        EXPECT(got[i] == want[i], "%s from %s to %s: byte %d %s is %#x, not %#x", way_names[way], o->name, t->name, i,
               where, (unsigned char)got[i], (unsigned char)want[i]);
    }
}

/* Accumulate needs one predefined type throughout: columns of a matrix of
 * int32 into rows of another, and back with what was there before. */
static void matrices(MPI_Win win, int32_t *mine, int peer) {
    enum { ROWS = 9, COLUMNS = 11 };
    int32_t matrix[ROWS][COLUMNS], before[ROWS][COLUMNS];
    MPI_Datatype column, row;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT32_T, &column);
    MPI_Type_create_indexed_block(ROWS, 1, (int[]){0, 2, 4, 6, 8, 10, 12, 14, 16}, MPI_INT32_T, &row);
    MPI_Type_commit(&column);
    MPI_Type_commit(&row);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);
    for (int i = 0; i < 20 * COLUMNS; i++) {
        mine[i] = i;
    }
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            matrix[i][j] = 1000 * (world_rank + 1) + 10 * i + j;
            before[i][j] = -1;
        }
    }
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    for (int j = 0; j < COLUMNS; j++) {
        MPI_Get_accumulate(&matrix[0][j], 1, column, &before[0][j], 1, column, peer, j * 20 * 4, 1, row, MPI_SUM, win);
        MPI_Accumulate(&matrix[0][j], 1, column, peer, j * 20 * 4, 1, row, j % 2 ? MPI_SUM : MPI_REPLACE, win);
    }
    MPI_Win_unlock(peer, win);
    MPI_Barrier(MPI_COMM_WORLD);
    int from = (world_rank + world_size - 1) % world_size;
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
    for (int j = 0; j < COLUMNS; j++) {
        for (int i = 0; i < 20; i++) {
            int at = j * 20 + i, untouched = i % 2 != 0 || i / 2 >= ROWS;
            int32_t sent = 1000 * (from + 1) + 10 * (i / 2) + j;
            int32_t want = untouched ? at : j % 2 ? at + 2 * sent : sent;
            EXPECT(mine[at] == want, "accumulate: element %d is %d, not %d", at, mine[at], want);
            if (!untouched) {
                EXPECT(before[i / 2][j] == at, "get_accumulate: element %d was %d, not %d", at, before[i / 2][j], at);
            }
        }
    }
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&column);
    MPI_Type_free(&row);
}

int main(int argc, char **argv) {
    char *mine, *buf = NULL, *want = NULL;
    MPI_Win win;
    start(argc, argv, "rma_types", 2);
    long rounds = option("rounds", 1);
    int peer = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    make_layouts();
    buf = need(MOST);
    want = need(MOST);
    enum { BEGIN = 13 }; /* the data does not begin on any boundary */
    long bytes = MOST + BEGIN + 50, unit = option("round", 1);
    MPI_Win_allocate((bytes + unit - 1) / unit * unit, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    for (long round = 0; round < rounds; round++) {
        for (int pair = 0; pair < layout_count * layout_count; pair++) {
            const struct layout *o = &layouts[pair / layout_count], *t = &layouts[pair % layout_count];
            int way = (int)(pair + round) % WAYS;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);
            memset(mine, UNTOUCHED, MOST + BEGIN + 50);
            if (reads(way)) {
                spread(mine + BEGIN, t, key4(4, (uint64_t)world_rank, (uint64_t)pair, (uint64_t)round));
            }
            MPI_Win_unlock(world_rank, win);
            memset(buf, UNTOUCHED, MOST);
            if (!reads(way)) {
                spread(buf, o, key4(4, (uint64_t)world_rank, (uint64_t)pair, (uint64_t)round));
            }
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
            transfer(way, buf, o, peer, BEGIN, t, win);
            MPI_Win_unlock(peer, win);
            MPI_Barrier(MPI_COMM_WORLD);
            memset(want, UNTOUCHED, MOST);
            if (reads(way)) {
                spread(want, o, key4(4, (uint64_t)peer, (uint64_t)pair, (uint64_t)round));
                compare(buf, want, way, o, t, "at the origin");
            } else {
                spread(want, t, key4(4, (uint64_t)from, (uint64_t)pair, (uint64_t)round));
                MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
                check_untouched(mine, BEGIN, "before the data");
                compare(mine + BEGIN, want, way, o, t, "at the target");
                check_untouched(mine + BEGIN + MOST, 50, "behind the data");
                MPI_Win_unlock(world_rank, win);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    matrices(win, (int32_t *)mine, peer);
    for (int i = 0; i < layout_count; i++) {
        MPI_Type_free(&layouts[i].type);
    }
    MPI_Win_free(&win);
    free(buf);
    free(want);
    return finish();
}
