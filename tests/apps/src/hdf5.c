/* Writes a file with parallel HDF5 and reads it back, over MPI-IO, while
 * messages of the program's own travel on the same communicator:
 *
 *   "rows"     written collectively, one block of rows per rank
 *   "columns"  written independently, every rank its columns by turns
 *   "chunks"   chunked; a ring of messages goes around between the two halves of
 *              each step; written collectively, rank by rank in small boxes
 *
 * All values follow from their position. Another rank than the writer reads each
 * part, collectively and independently, and verifies it; at last rank 0 reads all
 * and prints one checksum per dataset, so that two runs can be compared.
 *
 *   hdf5 FILE [rows=N] [columns=N] */
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static hsize_t rows = 240, columns = 180; /* per rank */

static void fail(const char *what, long n)
{
    fprintf(stderr, "FAIL hdf5: rank %d of %d: %s, %ld\n", rank, size, what, n);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* HDF5 gives handles and results that are negative when something went wrong. */
static hid_t must(int64_t result, const char *what)
{
    if (result < 0)
        fail(what, (long)result);
    return result;
}
#define MUST(call) must((call), #call)

/* The element at a position of one of the datasets. */
static int64_t element(int set, hsize_t row, hsize_t column)
{
    return (int64_t)((row * 1000003 + column) * 31 + set);
}

/* A box of a dataset: rows and columns from start, every step-th column. */
struct box {
    hsize_t start[2], count[2], step;
};

static struct box rows_of(int r)
{
    return (struct box){{r * rows, 0}, {rows, size * columns}, 1};
}

/* By turns: rank r has the columns r, r + size, r + 2*size ... */
static struct box columns_of(int r)
{
    return (struct box){{0, r}, {size * rows, columns}, size};
}

static void fill(int64_t *data, int set, struct box b)
{
    for (hsize_t i = 0; i < b.count[0]; i++)
        for (hsize_t j = 0; j < b.count[1]; j++)
            *data++ = element(set, b.start[0] + i, b.start[1] + j * b.step);
}

static void verify(const int64_t *data, int set, struct box b)
{
    for (hsize_t i = 0; i < b.count[0]; i++)
        for (hsize_t j = 0; j < b.count[1]; j++)
            if (*data++ != element(set, b.start[0] + i, b.start[1] + j * b.step))
                fail("wrong value in dataset", set);
}

/* The ring: a message of the program's own to the right, of n elements. */
static void ring(int64_t *buffer, int n)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2];
    int64_t *out = malloc(n * sizeof *out);
    for (int i = 0; i < n; i++)
        out[i] = rank * 1000000 + i;
    MPI_Irecv(buffer, n, MPI_INT64_T, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, n, MPI_INT64_T, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        if (buffer[i] != left * 1000000 + i)
            fail("wrong message", i);
    free(out);
}

/* Reads or writes a box. */
static void transfer(hid_t set, struct box b, int64_t *data, H5FD_mpio_xfer_t how, int writing)
{
    hid_t file = MUST(H5Dget_space(set)), memory = MUST(H5Screate_simple(2, b.count, NULL));
    hid_t plist = MUST(H5Pcreate(H5P_DATASET_XFER));
    hsize_t stride[2] = {1, b.step};
    MUST(H5Pset_dxpl_mpio(plist, how));
    MUST(H5Sselect_hyperslab(file, H5S_SELECT_SET, b.start, stride, b.count, NULL));
    if (writing)
        MUST(H5Dwrite(set, H5T_NATIVE_INT64, memory, file, plist, data));
    else
        MUST(H5Dread(set, H5T_NATIVE_INT64, memory, file, plist, data));
    MUST(H5Pclose(plist));
    MUST(H5Sclose(memory));
    MUST(H5Sclose(file));
}

enum { ROWS, COLUMNS, CHUNKS, SETS };
static const char *const names[] = {"rows", "columns", "chunks"};

static hid_t open_file(const char *path, int writing)
{
    hid_t access = MUST(H5Pcreate(H5P_FILE_ACCESS));
    MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    hid_t file = writing ? MUST(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access))
                         : MUST(H5Fopen(path, H5F_ACC_RDONLY, access));
    MUST(H5Pclose(access));
    return file;
}

static void write_all(const char *path, int64_t *data)
{
    hid_t file = open_file(path, 1), sets[SETS];
    hsize_t dims[2] = {size * rows, size * columns}, chunk[2] = {rows / 3 + 1, columns / 2 + 1};
    for (int s = 0; s < SETS; s++) {
        hid_t space = MUST(H5Screate_simple(2, dims, NULL)), plist = MUST(H5Pcreate(H5P_DATASET_CREATE));
        if (s == CHUNKS)
            MUST(H5Pset_chunk(plist, 2, chunk));
        sets[s] = MUST(H5Dcreate2(file, names[s], H5T_STD_I64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
        MUST(H5Pclose(plist));
        MUST(H5Sclose(space));
    }

    fill(data, ROWS, rows_of(rank));
    transfer(sets[ROWS], rows_of(rank), data, H5FD_MPIO_COLLECTIVE, 1);

    fill(data, COLUMNS, columns_of(rank));
    transfer(sets[COLUMNS], columns_of(rank), data, H5FD_MPIO_INDEPENDENT, 1);

    for (int i = 0; i < size; i++) { /* box i of the rank's rows */
        struct box b = {{rank * rows, i * columns}, {rows, columns}, 1};
        ring(data, 1 << (4 * i % 20));
        fill(data, CHUNKS, b);
        transfer(sets[CHUNKS], b, data, H5FD_MPIO_COLLECTIVE, 1);
    }

    hid_t scalar = MUST(H5Screate(H5S_SCALAR));
    hid_t attribute = MUST(H5Acreate2(file, "ranks", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT));
    MUST(H5Awrite(attribute, H5T_NATIVE_INT, &size));
    MUST(H5Aclose(attribute));
    MUST(H5Sclose(scalar));
    for (int s = 0; s < SETS; s++)
        MUST(H5Dclose(sets[s]));
    MUST(H5Fclose(file));
}

static void read_all(const char *path, int64_t *data)
{
    hid_t file = open_file(path, 0);
    int other = (rank + 1) % size, stored;
    hid_t attribute = MUST(H5Aopen(file, "ranks", H5P_DEFAULT));
    MUST(H5Aread(attribute, H5T_NATIVE_INT, &stored));
    MUST(H5Aclose(attribute));
    if (stored != size)
        fail("the attribute has another number of ranks", stored);

    for (int s = 0; s < SETS; s++) {
        hid_t set = MUST(H5Dopen2(file, names[s], H5P_DEFAULT));
        transfer(set, rows_of(other), data, H5FD_MPIO_INDEPENDENT, 0);
        verify(data, s, rows_of(other));
        ring(data, 100);
        transfer(set, columns_of(other), data, H5FD_MPIO_COLLECTIVE, 0);
        verify(data, s, columns_of(other));
        MUST(H5Dclose(set));
    }
    MUST(H5Fclose(file));
}

/* Rank 0 alone, without MPI-IO. */
static void print(const char *path)
{
    hid_t file = MUST(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    size_t n = size * rows * size * columns;
    int64_t *all = malloc(n * sizeof *all);
    for (int s = 0; s < SETS; s++) {
        hid_t set = MUST(H5Dopen2(file, names[s], H5P_DEFAULT));
        MUST(H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
        uint64_t sum = 14695981039346656037u; /* FNV-1a over the elements */
        for (size_t i = 0; i < n; i++)
            sum = (sum ^ (uint64_t)all[i]) * 1099511628211u;
        printf("%s: %zu elements, checksum %016llx\n", names[s], n, (unsigned long long)sum);
        MUST(H5Dclose(set));
    }
    free(all);
    MUST(H5Fclose(file));
    printf("OK hdf5\n");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2)
        fail("usage: hdf5 FILE [rows=N] [columns=N]", argc);
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "rows=", 5) == 0)
            rows = atol(argv[i] + 5);
        if (strncmp(argv[i], "columns=", 8) == 0)
            columns = atol(argv[i] + 8);
    }
    size_t most = rows * columns * size; /* elements of a rank's part */
    int64_t *data = malloc((most > 1 << 20 ? most : 1 << 20) * sizeof *data);
    if (data == NULL)
        fail("no memory", (long)most);
    write_all(argv[1], data);
    read_all(argv[1], data);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        print(argv[1]);
    free(data);
    MPI_Finalize();
    return 0;
}
