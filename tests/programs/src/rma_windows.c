/* Windows as objects: their attributes, names, info, groups and error handlers,
 * windows of all four kinds beside each other, windows on communicators of some
 * of the ranks, memory from MPI_Alloc_mem, and windows made and freed many times.
 *
 * windows: made one after the other; bytes: of each. */
#include "common.h"

static int copies, deletions;

static int copy_never(MPI_Win win, int keyval, void *extra, void *in, void *out, int *flag) {
    (void)win, (void)keyval, (void)extra, (void)in, (void)out;
    copies++;
    *flag = 0;
    return MPI_SUCCESS;
}

static int deleted(MPI_Win win, int keyval, void *value, void *extra) {
    (void)win, (void)keyval, (void)extra;
    EXPECT(value == &deletions, "the attribute is another one");
    deletions++;
    return MPI_SUCCESS;
}

static void *attribute(MPI_Win win, int keyval, const char *what) {
    void *value = NULL;
    int flag = 0;
    MPI_Win_get_attr(win, keyval, &value, &flag);
    EXPECT(flag, "there is no %s", what);
    return value;
}

/* What a window tells of itself. */
static void describe(MPI_Win win, MPI_Comm comm, void *base, MPI_Aint size, int unit, int flavor) {
    MPI_Group of_win, of_comm;
    int same, *model = attribute(win, MPI_WIN_MODEL, "MPI_WIN_MODEL");
    EXPECT(size == 0 || attribute(win, MPI_WIN_BASE, "MPI_WIN_BASE") == base, "MPI_WIN_BASE");
    EXPECT(flavor == MPI_WIN_FLAVOR_DYNAMIC || *(MPI_Aint *)attribute(win, MPI_WIN_SIZE, "MPI_WIN_SIZE") == size,
           "MPI_WIN_SIZE is %lld, not %lld", (long long)*(MPI_Aint *)attribute(win, MPI_WIN_SIZE, ""), (long long)size);
    EXPECT(*(int *)attribute(win, MPI_WIN_DISP_UNIT, "MPI_WIN_DISP_UNIT") == unit, "MPI_WIN_DISP_UNIT");
    EXPECT(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR, "MPI_WIN_CREATE_FLAVOR") == flavor, "MPI_WIN_CREATE_FLAVOR");
    EXPECT(*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE, "MPI_WIN_MODEL is %d", *model);
    MPI_Win_get_group(win, &of_win);
    MPI_Comm_group(comm, &of_comm);
    MPI_Group_compare(of_win, of_comm, &same);
    EXPECT(same == MPI_IDENT, "MPI_Win_get_group");
    MPI_Group_free(&of_win);
    MPI_Group_free(&of_comm);
}

/* Everything that a program may hang on a window. */
static void belongings(MPI_Win win) {
    char name[MPI_MAX_OBJECT_NAME];
    int length, keyval, flag;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Win_set_name(win, "a window");
    MPI_Win_get_name(win, name, &length);
    EXPECT(strcmp(name, "a window") == 0 && length == 8, "its name is %s", name);
    MPI_Win_create_keyval(copy_never, deleted, &keyval, NULL);
    MPI_Win_set_attr(win, keyval, &deletions);
    EXPECT(attribute(win, keyval, "attribute of ours") == &deletions, "the attribute is another one");
    MPI_Win_free_keyval(&keyval);
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "rar,waw");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    char value[32] = "";
    MPI_Info_get(info, "no_locks", sizeof value - 1, value, &flag);
    EXPECT(!flag || strcmp(value, "false") == 0, "no_locks is %s", value);
    MPI_Info_free(&info);
    MPI_Win_get_errhandler(win, &handler);
    EXPECT(handler == MPI_ERRORS_ARE_FATAL, "a new window's error handler");
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

/* A word goes around and arrives. */
static void use(MPI_Win win, MPI_Comm comm, int64_t *mine, MPI_Aint at, int64_t word) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int64_t out = word + rank, in = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&out, 1, MPI_INT64_T, (rank + 1) % size, at, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    EXPECT(*mine == word + (rank + size - 1) % size, "a put by fence: %lld", (long long)*mine);
    MPI_Win_fence(0, win);
    MPI_Get(&in, 1, MPI_INT64_T, (rank + 1) % size, at, 1, MPI_INT64_T, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    EXPECT(in == word + rank, "a get by fence: %lld", (long long)in);
}

static void all_kinds(MPI_Comm comm) {
    int64_t *allocated, *shared, *own = need(4096), *pooled;
    MPI_Win wins[5];
    MPI_Aint at, *places = need(sizeof *places * 64);
    int rank, size, before = deletions;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Alloc_mem(8192, MPI_INFO_NULL, &pooled);
    memset(pooled, 0, 8192);
    MPI_Win_allocate(4096, 8, MPI_INFO_NULL, comm, &allocated, &wins[0]);
    MPI_Win_allocate_shared(4096, 8, MPI_INFO_NULL, comm, &shared, &wins[1]);
    MPI_Win_create(own, 4096, 8, MPI_INFO_NULL, comm, &wins[2]);
    MPI_Win_create(pooled + 16, 4096, 8, MPI_INFO_NULL, comm, &wins[3]);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &wins[4]);
    int64_t *attached = need(4096);
    MPI_Win_attach(wins[4], attached, 4096);
    MPI_Get_address(attached, &at);
    MPI_Allgather(&at, 1, MPI_AINT, places, 1, MPI_AINT, comm);

    describe(wins[0], comm, allocated, 4096, 8, MPI_WIN_FLAVOR_ALLOCATE);
    describe(wins[1], comm, shared, 4096, 8, MPI_WIN_FLAVOR_SHARED);
    describe(wins[2], comm, own, 4096, 8, MPI_WIN_FLAVOR_CREATE);
    describe(wins[3], comm, pooled + 16, 4096, 8, MPI_WIN_FLAVOR_CREATE);
    describe(wins[4], comm, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    for (int i = 0; i < 5; i++) {
        belongings(wins[i]);
    }
    for (int round = 0; round < 3; round++) {
        use(wins[0], comm, allocated + 5, 5, 1000 + round);
        use(wins[1], comm, shared + 7, 7, 2000 + round);
        use(wins[2], comm, own + 11, 11, 3000 + round);
        use(wins[3], comm, pooled + 16 + 13, 13, 4000 + round);
    }
    /* Displacements of a dynamic window are addresses of the target. */
    int64_t out = 5000 + rank;
    MPI_Win_fence(0, wins[4]);
    MPI_Put(&out, 1, MPI_INT64_T, (rank + 1) % size, places[(rank + 1) % size] + 24, 1, MPI_INT64_T, wins[4]);
    MPI_Win_fence(0, wins[4]);
    EXPECT(attached[3] == 5000 + (rank + size - 1) % size, "a put to a dynamic window: %lld", (long long)attached[3]);
    MPI_Win_detach(wins[4], attached);
    for (int i = 0; i < 5; i++) {
        MPI_Win_free(&wins[i]);
        EXPECT(wins[i] == MPI_WIN_NULL, "the handle of a freed window");
    }
    EXPECT(deletions - before == 5 && copies == 0, "%d attributes went, not 5", deletions - before);
    MPI_Free_mem(pooled);
    free(attached);
    free(own);
    free(places);
}

/* Windows of some ranks, two at the same time. */
static void parts(void) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half);
    all_kinds(half);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    start(argc, argv, "rma_windows", 2);
    long windows = option("windows", 20), bytes = option("bytes", 4 << 20);
    all_kinds(MPI_COMM_WORLD);
    all_kinds(MPI_COMM_SELF);
    parts();
    for (long i = 0; i < windows; i++) { /* they are given back, or there would soon be no room */
        int64_t *base;
        MPI_Win win;
        MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        use(win, MPI_COMM_WORLD, base + 1, 1, i);
        MPI_Win_free(&win);
        int64_t *memory;
        MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &memory);
        memory[0] = memory[(1 << 17) - 1] = i;
        MPI_Free_mem(memory);
    }
    return finish();
}
