/* Halo exchange on a periodic 2-D grid with derived datatypes: every rank holds
 * a block of a matrix with a border that its neighbours fill. Odd steps describe
 * the borders with subarray types, even steps with vectors and rows.
 *
 * Columns go first, then rows with their corners, so that afterwards the whole
 * local array has a known value, border and corners included.
 *
 * rows, columns: of the local block; steps. */
#include "common.h"

enum { NORTH, SOUTH, WEST, EAST, SIDES };

static int rows, columns; /* of the local block, without border */
static int dims[2], coords[2];
static double *cells; /* (rows + 2) x (columns + 2) */

static double *cell(int i, int j) { return &cells[(size_t)i * (size_t)(columns + 2) + (size_t)j]; }

/* The value at row i, column j of the local array, by its place in the whole. */
static double value(int step, int i, int j) {
    int height = rows * dims[0], width = columns * dims[1];
    int row = (coords[0] * rows + i - 1 + height) % height;
    int column = (coords[1] * columns + j - 1 + width) % width;
    return (double)step * 1e9 + (double)row * width + column;
}

/* The types of what is sent towards each side, and of what comes from there. A
 * type is used at the array's start if whole, otherwise at its first cell. */
struct borders {
    int whole;
    MPI_Datatype send[SIDES], receive[SIDES];
};

static MPI_Datatype box(int i, int j, int height, int width) {
    MPI_Datatype type;
    int sizes[2] = {rows + 2, columns + 2}, sub[2] = {height, width}, first[2] = {i, j};
    MPI_Type_create_subarray(2, sizes, sub, first, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static struct borders subarrays(void) {
    struct borders b = {.whole = 1};
    b.send[NORTH] = box(1, 0, 1, columns + 2);
    b.send[SOUTH] = box(rows, 0, 1, columns + 2);
    b.send[WEST] = box(1, 1, rows, 1);
    b.send[EAST] = box(1, columns, rows, 1);
    b.receive[NORTH] = box(0, 0, 1, columns + 2);
    b.receive[SOUTH] = box(rows + 1, 0, 1, columns + 2);
    b.receive[WEST] = box(1, 0, rows, 1);
    b.receive[EAST] = box(1, columns + 1, rows, 1);
    return b;
}

static struct borders vectors(void) {
    struct borders b = {.whole = 0};
    for (int side = 0; side < SIDES; side++) {
        if (side == NORTH || side == SOUTH) {
            MPI_Type_contiguous(columns + 2, MPI_DOUBLE, &b.send[side]);
        } else {
            MPI_Type_vector(rows, 1, columns + 2, MPI_DOUBLE, &b.send[side]);
        }
        MPI_Type_commit(&b.send[side]);
        MPI_Type_dup(b.send[side], &b.receive[side]);
    }
    return b;
}

static void release(struct borders *b) {
    for (int side = 0; side < SIDES; side++) {
        MPI_Type_free(&b->send[side]);
        MPI_Type_free(&b->receive[side]);
    }
}

/* Exchanges the borders on two opposite sides. */
static void exchange(MPI_Comm grid, const struct borders *b, int dimension) {
    const double *out[SIDES] = {cell(1, 0), cell(rows, 0), cell(1, 1), cell(1, columns)};
    double *in[SIDES] = {cell(0, 0), cell(rows + 1, 0), cell(1, 0), cell(1, columns + 1)};
    int low = dimension == 0 ? NORTH : WEST, high = low + 1, before, after;
    MPI_Request requests[4];
    MPI_Cart_shift(grid, dimension, 1, &before, &after);
    MPI_Irecv(b->whole ? cells : in[low], 1, b->receive[low], before, high, grid, &requests[0]);
    MPI_Irecv(b->whole ? cells : in[high], 1, b->receive[high], after, low, grid, &requests[1]);
    MPI_Isend(b->whole ? cells : out[low], 1, b->send[low], before, low, grid, &requests[2]);
    MPI_Isend(b->whole ? cells : out[high], 1, b->send[high], after, high, grid, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    int periodic[2] = {1, 1};
    MPI_Comm grid;
    start(argc, argv, "halo", 2);
    rows = (int)option("rows", 150);
    columns = (int)option("columns", 2100);
    long steps = option("steps", 10);
    MPI_Dims_create(world_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
    MPI_Cart_coords(grid, world_rank, 2, coords);
    cells = need(sizeof(double) * (size_t)(rows + 2) * (size_t)(columns + 2));
    struct borders kinds[2] = {vectors(), subarrays()};
    for (int step = 1; step <= steps; step++) {
        for (int i = 0; i < rows + 2; i++) {
            for (int j = 0; j < columns + 2; j++) {
                int inside = i > 0 && i <= rows && j > 0 && j <= columns;
                *cell(i, j) = inside ? value(step, i, j) : -1;
            }
        }
        exchange(grid, &kinds[step % 2], 1);
        exchange(grid, &kinds[step % 2], 0);
        for (int i = 0; i < rows + 2; i++) {
            for (int j = 0; j < columns + 2; j++) {
                EXPECT(*cell(i, j) == value(step, i, j), "step %d: cell (%d, %d) is %g, not %g", step, i, j,
                       *cell(i, j), value(step, i, j));
            }
        }
    }
    release(&kinds[0]);
    release(&kinds[1]);
    MPI_Comm_free(&grid);
    free(cells);
    return finish();
}
