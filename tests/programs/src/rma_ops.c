/* Every predefined operation on every kind of predefined type that it is
 * defined for, by all ranks at once on the same elements: accumulate,
 * get_accumulate, their request-based forms, and fetch_and_op. The operations
 * are commutative and the values are chosen so that floating point is exact,
 * so the result is known whatever the order. What the fetching forms return
 * must be a value on the way to it.
 *
 * Then order: accumulates of one rank to one element happen in the order of
 * the program. */
#include "common.h"
#include <complex.h>
#include <stdbool.h>

enum { COUNT = 5 }; /* elements of a transfer */

/* The value that a rank contributes to element i: small and not negative. */
static int contribution(int rank, int i) { return (rank * 7 + i * 3) % 5 + (i == 2); }

/* What all contributions make of the first value, in long double. */
static long double result(MPI_Op op, int i, long double first) {
    long double x = first;
    for (int r = 0; r < world_size; r++) {
        long double c = contribution(r, i);
        if (op == MPI_SUM) {
            x += c;
        } else if (op == MPI_PROD) {
            x *= c;
        } else if (op == MPI_MIN) {
            x = c < x ? c : x;
        } else if (op == MPI_MAX) {
            x = c > x ? c : x;
        } else if (op == MPI_LAND) {
            x = x != 0 && c != 0;
        } else if (op == MPI_LOR) {
            x = x != 0 || c != 0;
        } else if (op == MPI_LXOR) {
            x = (x != 0) != (c != 0);
        } else if (op == MPI_BAND) {
            x = (long long)x & (long long)c;
        } else if (op == MPI_BOR) {
            x = (long long)x | (long long)c;
        } else if (op == MPI_BXOR) {
            x = (long long)x ^ (long long)c;
        }
    }
    return x;
}

static const struct {
    MPI_Op op;
    const char *name;
    bool reals, complexes; /* also defined for these */
} ops[] = {
    {MPI_SUM, "MPI_SUM", 1, 1},  {MPI_PROD, "MPI_PROD", 1, 1}, {MPI_MIN, "MPI_MIN", 1, 0},  {MPI_MAX, "MPI_MAX", 1, 0},
    {MPI_LAND, "MPI_LAND", 0, 0}, {MPI_LOR, "MPI_LOR", 0, 0},   {MPI_LXOR, "MPI_LXOR", 0, 0}, {MPI_BAND, "MPI_BAND", 0, 0},
    {MPI_BOR, "MPI_BOR", 0, 0},   {MPI_BXOR, "MPI_BXOR", 0, 0},
};
enum { OPS = sizeof ops / sizeof *ops };

enum { INTEGER, REAL, COMPLEX };
enum { ACCUMULATE, GET_ACCUMULATE, RACCUMULATE, RGET_ACCUMULATE, FETCH_AND_OP, WAYS };
static const char *const way_names[WAYS] = {"accumulate", "get_accumulate", "raccumulate", "rget_accumulate",
                                            "fetch_and_op"};

static char *mine;
static MPI_Win win;

/* One rank's operations on the elements at the start of a rank's window. */
static void combine(int way, const void *in, void *out, size_t size, MPI_Datatype type, MPI_Op op, int rank) {
    MPI_Request request;
    switch (way) {
    case ACCUMULATE: MPI_Accumulate(in, COUNT, type, rank, 0, COUNT, type, op, win); break;
    case GET_ACCUMULATE: MPI_Get_accumulate(in, COUNT, type, out, COUNT, type, rank, 0, COUNT, type, op, win); break;
    case RACCUMULATE:
        MPI_Raccumulate(in, COUNT, type, rank, 0, COUNT, type, op, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case RGET_ACCUMULATE:
        MPI_Rget_accumulate(in, COUNT, type, out, COUNT, type, rank, 0, COUNT, type, op, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case FETCH_AND_OP:
        for (int i = 0; i < COUNT; i++) {
            MPI_Fetch_and_op((const char *)in + (size_t)i * size, (char *)out + (size_t)i * size, type, rank,
                             (MPI_Aint)i * (MPI_Aint)size, op, win);
        }
        break;
    }
}

/* Defines a function that tries all operations on one C type. */
#define TRY(c_type, suffix)                                                                                          \
    static void try_##suffix(MPI_Datatype type, const char *name, int kind) {                                        \
        c_type in[COUNT], out[COUNT], *window = (c_type *)mine;                                                      \
        for (int o = 0; o < OPS; o++) {                                                                              \
            if ((kind == REAL && !ops[o].reals) || (kind == COMPLEX && !ops[o].complexes)) {                         \
                continue;                                                                                            \
            }                                                                                                        \
            int way = (o + (int)sizeof(c_type) + kind) % WAYS, target = o % world_size;                              \
            c_type first = (c_type)(ops[o].op == MPI_PROD || ops[o].op == MPI_LAND ? 1 : 6);                         \
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);                                                    \
            for (int i = 0; i <= COUNT; i++) {                                                                       \
                window[i] = first;                                                                                   \
            }                                                                                                        \
            MPI_Win_unlock(world_rank, win);                                                                         \
            MPI_Barrier(MPI_COMM_WORLD);                                                                             \
            for (int i = 0; i < COUNT; i++) {                                                                        \
                in[i] = (c_type)contribution(world_rank, i);                                                         \
                out[i] = first;                                                                                      \
            }                                                                                                        \
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);                                                           \
            combine(way, in, out, sizeof in[0], type, ops[o].op, target);                                            \
            MPI_Win_unlock(target, win);                                                                             \
            MPI_Barrier(MPI_COMM_WORLD);                                                                             \
            if (ops[o].op == MPI_MAX || ops[o].op == MPI_SUM) {                                                      \
                for (int i = 0; i < COUNT; i++) {                                                                    \
                    EXPECT(creall(out[i]) >= creall(first) &&                                                        \
                               creall(out[i]) <= result(ops[o].op, i, creall(first)),                                \
                           "%s of %s by %s: element %d was %Lg", ops[o].name, name, way_names[way], i,               \
                           creall(out[i]));                                                                          \
                }                                                                                                    \
            }                                                                                                        \
            if (world_rank == target) {                                                                              \
                MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);                                                       \
                for (int i = 0; i <= COUNT; i++) {                                                                   \
                    long double want = i < COUNT ? result(ops[o].op, i, creall(first)) : creall(first);              \
                    EXPECT(window[i] == (c_type)want, "%s of %s by %s: element %d is %Lg, not %Lg", ops[o].name,     \
                           name, way_names[way], i, creall(window[i]), want);                                        \
                }                                                                                                    \
                MPI_Win_unlock(target, win);                                                                         \
            }                                                                                                        \
            MPI_Barrier(MPI_COMM_WORLD);                                                                             \
        }                                                                                                            \
    }

TRY(int8_t, int8)
TRY(uint8_t, uint8)
TRY(int16_t, int16)
TRY(uint16_t, uint16)
TRY(int32_t, int32)
TRY(uint32_t, uint32)
TRY(int64_t, int64)
TRY(uint64_t, uint64)
TRY(float, float)
TRY(double, double)
TRY(long double, long_double)
TRY(double complex, double_complex)
TRY(float complex, float_complex)

/* MPI_MAXLOC and MPI_MINLOC: of the extreme values the one with the lowest index. */
#define TRY_LOC(c_type, mpi_type)                                                                                   \
    for (int least = 0; least < 2; least++) {                                                                       \
        struct {                                                                                                    \
            c_type value;                                                                                           \
            int index;                                                                                              \
        } *window = (void *)mine, in, first = {least ? 100 : -1, 1000};                                             \
        int target = world_size - 1, index = 0;                                                                     \
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);                                                       \
        window[0] = window[1] = first;                                                                              \
        MPI_Win_unlock(world_rank, win);                                                                            \
        MPI_Barrier(MPI_COMM_WORLD);                                                                                \
        memset(&in, 0, sizeof in);                                                                                  \
        in.value = (c_type)contribution(world_rank, 1);                                                             \
        in.index = world_rank;                                                                                      \
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);                                                              \
        MPI_Accumulate(&in, 1, mpi_type, target, 0, 1, mpi_type, least ? MPI_MINLOC : MPI_MAXLOC, win);             \
        MPI_Win_unlock(target, win);                                                                                \
        MPI_Barrier(MPI_COMM_WORLD);                                                                                \
        for (int r = world_size - 1; r >= 0; r--) {                                                                 \
            int difference = contribution(r, 1) - contribution(index, 1);                                           \
            index = difference == 0 ? (r < index ? r : index) : (difference < 0) == least ? r : index;              \
        }                                                                                                           \
        if (world_rank == target) {                                                                                 \
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);                                                          \
            EXPECT(window[0].value == (c_type)contribution(index, 1) && window[0].index == index &&                 \
                       window[1].value == first.value && window[1].index == first.index,                            \
                   "%s: index %d, not %d", #mpi_type, window[0].index, index);                                      \
            MPI_Win_unlock(target, win);                                                                            \
        }                                                                                                           \
        MPI_Barrier(MPI_COMM_WORLD);                                                                                \
    }

/* Several accumulates of one rank to one element, without a flush between. */
static void order(void) {
    int64_t *window = (int64_t *)mine, steps[4] = {10, 5, 7, 0}, before[3];
    int peer = (world_rank + 1) % world_size;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);
    window[0] = 1;
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    MPI_Accumulate(&steps[0], 1, MPI_INT64_T, peer, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &before[0], 1, MPI_INT64_T, peer, 0, 1, MPI_INT64_T, MPI_NO_OP, win);
    MPI_Accumulate(&steps[1], 1, MPI_INT64_T, peer, 0, 1, MPI_INT64_T, MPI_PROD, win);
    MPI_Fetch_and_op(&steps[2], &before[1], MPI_INT64_T, peer, 0, MPI_REPLACE, win);
    MPI_Fetch_and_op(&steps[3], &before[2], MPI_INT64_T, peer, 0, MPI_NO_OP, win);
    MPI_Win_unlock(peer, win);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(before[0] == 11 && before[1] == 55 && before[2] == 7, "in order: %lld, %lld, %lld", (long long)before[0],
           (long long)before[1], (long long)before[2]);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
    EXPECT(window[0] == 7, "in order: finally %lld", (long long)window[0]);
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(argc, argv, "rma_ops", 2);
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    try_int8(MPI_INT8_T, "MPI_INT8_T", INTEGER);
    try_uint8(MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR", INTEGER);
    try_int16(MPI_SHORT, "MPI_SHORT", INTEGER);
    try_uint16(MPI_UINT16_T, "MPI_UINT16_T", INTEGER);
    try_int32(MPI_INT, "MPI_INT", INTEGER);
    try_uint32(MPI_UNSIGNED, "MPI_UNSIGNED", INTEGER);
    try_int64(MPI_LONG, "MPI_LONG", INTEGER);
    try_uint64(MPI_UINT64_T, "MPI_UINT64_T", INTEGER);
    try_float(MPI_FLOAT, "MPI_FLOAT", REAL);
    try_double(MPI_DOUBLE, "MPI_DOUBLE", REAL);
    try_long_double(MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", REAL);
    try_double_complex(MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", COMPLEX);
    try_float_complex(MPI_C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX", COMPLEX);
    TRY_LOC(int, MPI_2INT)
    TRY_LOC(short, MPI_SHORT_INT)
    TRY_LOC(long, MPI_LONG_INT)
    TRY_LOC(float, MPI_FLOAT_INT)
    TRY_LOC(double, MPI_DOUBLE_INT)
    TRY_LOC(long double, MPI_LONG_DOUBLE_INT)
    order();
    MPI_Win_free(&win);
    return finish();
}
