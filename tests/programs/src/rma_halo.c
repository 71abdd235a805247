/* Halo exchange on a periodic 2-D grid by one-sided communication: every rank's
 * window is its block of a matrix with a border. In even steps a rank puts its
 * edge into its neighbours' borders, in odd steps it gets theirs. Each
 * neighbour, corners included, has an access epoch of its own between
 * post/start and complete/wait, so that only neighbours wait for each other.
 *
 * Both sides of every transfer are subarrays. On narrow grids a rank is its own
 * neighbour, or the same rank lies on both sides.
 *
 * rows, columns: of the local block; steps; round=64 makes the window's size a
 * multiple of that, because MPICH 4.0 mixes up windows with sizes like 8 mod 16. */
#include "common.h"

static int rows, columns; /* of the local block, without border */
static int dims[2], coords[2];
static double *cells; /* (rows + 2) x (columns + 2), the window */

static double *cell(int i, int j) { return &cells[(size_t)i * (size_t)(columns + 2) + (size_t)j]; }

/* The value at row i, column j of the local array, by its place in the whole. */
static double value(int step, int i, int j) {
    int height = rows * dims[0], width = columns * dims[1];
    int row = (coords[0] * rows + i - 1 + height) % height;
    int column = (coords[1] * columns + j - 1 + width) % width;
    return (double)step * 1e9 + (double)row * width + column;
}

static MPI_Datatype box(int i, int j, int height, int width) {
    MPI_Datatype type;
    int sizes[2] = {rows + 2, columns + 2}, sub[2] = {height, width}, first[2] = {i, j};
    MPI_Type_create_subarray(2, sizes, sub, first, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The part of the block that faces a neighbour, and the border there. */
struct side {
    int neighbour;
    MPI_Datatype edge, border;          /* towards it */
    MPI_Datatype far_edge, far_border;  /* its own, towards us */
};

static int edge_at(int way, int n) { return way < 0 ? 1 : way > 0 ? n : 1; }
static int border_at(int way, int n) { return way < 0 ? 0 : way > 0 ? n + 1 : 1; }
static int length_of(int way, int n) { return way == 0 ? n : 1; }

static struct side make_side(MPI_Comm grid, int di, int dj) {
    struct side s;
    int at[2] = {coords[0] + di, coords[1] + dj}, height = length_of(di, rows), width = length_of(dj, columns);
    MPI_Cart_rank(grid, at, &s.neighbour);
    s.edge = box(edge_at(di, rows), edge_at(dj, columns), height, width);
    s.border = box(border_at(di, rows), border_at(dj, columns), height, width);
    s.far_edge = box(edge_at(-di, rows), edge_at(-dj, columns), height, width);
    s.far_border = box(border_at(-di, rows), border_at(-dj, columns), height, width);
    return s;
}

/* The distinct neighbours as a group. */
static MPI_Group neighbours(MPI_Comm grid, const struct side *sides, int n) {
    int ranks[8], count = 0;
    MPI_Group all, some;
    for (int i = 0; i < n; i++) {
        int known = 0;
        for (int k = 0; k < count; k++) {
            known |= ranks[k] == sides[i].neighbour;
        }
        if (!known) {
            ranks[count++] = sides[i].neighbour;
        }
    }
    MPI_Comm_group(grid, &all);
    MPI_Group_incl(all, count, ranks, &some);
    MPI_Group_free(&all);
    return some;
}

int main(int argc, char **argv) {
    int periodic[2] = {1, 1}, n = 0;
    MPI_Comm grid;
    MPI_Win win;
    struct side sides[8];
    start(argc, argv, "rma_halo", 2);
    rows = (int)option("rows", 37);
    columns = (int)option("columns", 211);
    long steps = option("steps", 12);
    MPI_Dims_create(world_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
    MPI_Cart_coords(grid, world_rank, 2, coords);
    long bytes = (long)sizeof(double) * (rows + 2) * (columns + 2), unit = option("round", 1);
    MPI_Win_allocate((bytes + unit - 1) / unit * unit, sizeof(double), MPI_INFO_NULL, grid, &cells, &win);
    for (int di = -1; di <= 1; di++) {
        for (int dj = -1; dj <= 1; dj++) {
            if (di != 0 || dj != 0) {
                sides[n++] = make_side(grid, di, dj);
            }
        }
    }
    MPI_Group group = neighbours(grid, sides, n);
    for (int step = 1; step <= steps; step++) {
        for (int i = 0; i < rows + 2; i++) {
            for (int j = 0; j < columns + 2; j++) {
                int inside = i > 0 && i <= rows && j > 0 && j <= columns;
                *cell(i, j) = inside ? value(step, i, j) : -1;
            }
        }
        MPI_Win_post(group, 0, win);
        MPI_Win_start(group, 0, win);
        for (int i = 0; i < n; i++) {
            if (step % 2 == 0) {
                MPI_Put(cells, 1, sides[i].edge, sides[i].neighbour, 0, 1, sides[i].far_border, win);
            } else {
                MPI_Get(cells, 1, sides[i].border, sides[i].neighbour, 0, 1, sides[i].far_edge, win);
            }
        }
        MPI_Win_complete(win);
        if (step % 4 == 0) {
            int done = 0;
            while (!done) {
                MPI_Win_test(win, &done);
            }
        } else {
            MPI_Win_wait(win);
        }
        for (int i = 0; i < rows + 2; i++) {
            for (int j = 0; j < columns + 2; j++) {
                EXPECT(*cell(i, j) == value(step, i, j), "step %d: cell (%d, %d) is %.0f, not %.0f", step, i, j,
                       *cell(i, j), value(step, i, j));
            }
        }
    }
    for (int i = 0; i < n; i++) {
        MPI_Type_free(&sides[i].edge);
        MPI_Type_free(&sides[i].border);
        MPI_Type_free(&sides[i].far_edge);
        MPI_Type_free(&sides[i].far_border);
    }
    MPI_Group_free(&group);
    MPI_Win_free(&win);
    MPI_Comm_free(&grid);
    return finish();
}
