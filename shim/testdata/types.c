// Derived datatypes: what a type selects at the sender arrives packed, and what
// it selects at the receiver is changed, no byte else. MPI_Pack of the host
// library says what is right.
#include "check.h"
#include <stddef.h>

enum { ROOM = 1 << 16 };
static unsigned char source[ROOM], want[ROOM], got[ROOM], packed[ROOM];

static void exercise(const char *name, MPI_Datatype t, int count)
{
	int n, position = 0, peer = rank ^ 1;
	MPI_Aint lb, extent;
	MPI_Status s;

	MPI_Type_commit(&t);
	MPI_Type_get_true_extent(t, &lb, &extent);
	unsigned char *base = source - (lb < 0 ? lb : 0);
	for (int i = 0; i < ROOM; i++)
		source[i] = (unsigned char)(i * 31 + i / 251);
	MPI_Pack_size(count, t, MPI_COMM_WORLD, &n);
	MPI_Pack(base, count, t, packed, ROOM, &position, MPI_COMM_WORLD);
	n = position;
	memset(want, 0xee, ROOM);
	position = 0;
	MPI_Unpack(packed, n, &position, want + (base - source), count, t, MPI_COMM_WORLD);

	// Typed to bytes, bytes to typed, typed to typed.
	unsigned char *bytes = calloc(ROOM, 1);
	MPI_Sendrecv(base, count, t, peer, 1, bytes, ROOM, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &s);
	CHECK(count_of(&s, MPI_BYTE) == n && memcmp(bytes, packed, n) == 0);
	memset(got, 0xee, ROOM);
	MPI_Sendrecv(packed, n, MPI_BYTE, peer, 2, got + (base - source), count, t, peer, 2, MPI_COMM_WORLD, &s);
	CHECK(count_of(&s, t) == (n ? count : 0));
	if (memcmp(got, want, ROOM) != 0) {
		printf("%s: rank %d: bytes to typed\n", name, rank);
		faults++;
	}
	memset(got, 0xee, ROOM);
	MPI_Sendrecv(base, count, t, peer, 3, got + (base - source), count, t, peer, 3, MPI_COMM_WORLD, &s);
	if (memcmp(got, want, ROOM) != 0) {
		printf("%s: rank %d: typed to typed\n", name, rank);
		faults++;
	}
	free(bytes);
	MPI_Type_free(&t);
}

struct record {
	char tag;
	double value;
	int list[3];
};

static MPI_Datatype record(void)
{
	int lengths[] = {1, 1, 3};
	MPI_Aint at[] = {offsetof(struct record, tag), offsetof(struct record, value), offsetof(struct record, list)};
	MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, t;
	MPI_Type_create_struct(3, lengths, at, types, &t);
	return t;
}

int main(int argc, char **argv)
{
	MPI_Datatype t, u, v;
	int lengths[] = {2, 0, 3, 1}, at[] = {5, 30, 0, 12};
	MPI_Aint bytes[] = {40, 400, 0, 96};
	int sizes[] = {6, 7, 8}, sub[] = {2, 3, 4}, from[] = {1, 2, 3};

	begin(&argc, &argv);
	MPI_Type_contiguous(13, MPI_DOUBLE, &t), exercise("contiguous", t, 7);
	MPI_Type_vector(9, 2, 5, MPI_INT, &t), exercise("vector", t, 3);
	MPI_Type_create_hvector(5, 3, 37, MPI_SHORT, &t), exercise("hvector", t, 4);
	MPI_Type_vector(4, 1, -3, MPI_INT, &t), exercise("negative stride", t, 1);
	MPI_Type_indexed(4, lengths, at, MPI_INT, &t), exercise("indexed", t, 5);
	MPI_Type_create_hindexed(4, lengths, bytes, MPI_DOUBLE, &t), exercise("hindexed", t, 2);
	MPI_Type_create_indexed_block(4, 2, at, MPI_SHORT, &t), exercise("indexed_block", t, 3);
	MPI_Type_create_hindexed_block(4, 2, bytes, MPI_INT, &t), exercise("hindexed_block", t, 3);
	exercise("struct", record(), 20);
	MPI_Type_create_subarray(3, sizes, sub, from, MPI_ORDER_C, MPI_INT, &t), exercise("subarray, C", t, 2);
	MPI_Type_create_subarray(3, sizes, sub, from, MPI_ORDER_FORTRAN, MPI_INT, &t), exercise("subarray, Fortran", t, 2);
	int distribs[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, args[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 2}, global[] = {11, 9};
	MPI_Type_create_darray(4, 1, 2, global, distribs, args, grid, MPI_ORDER_C, MPI_INT, &t), exercise("darray", t, 2);
	MPI_Type_create_resized(MPI_INT, -4, 20, &t), exercise("resized", t, 9);
	MPI_Type_dup(MPI_FLOAT, &t), exercise("dup", t, 9);
	MPI_Type_dup(MPI_DOUBLE_INT, &t), exercise("pair", t, 9);
	exercise("empty", (MPI_Type_contiguous(0, MPI_INT, &t), t), 3);

	u = record();
	MPI_Type_vector(3, 2, 4, u, &t);
	MPI_Type_create_resized(t, 0, 500, &v);
	MPI_Type_free(&u);
	MPI_Type_free(&t);
	exercise("nested", v, 5);

	MPI_Type_vector_c(7, 2, 3, MPI_INT, &t), exercise("vector_c", t, 3);
	MPI_Count big[] = {2, 3}, where[] = {100, 0};
	MPI_Datatype two[] = {MPI_INT, MPI_DOUBLE};
	MPI_Type_create_struct_c(2, big, where, two, &t), exercise("struct_c", t, 3);

	// A handle that is used again is another type.
	for (int i = 1; i < 20; i++)
		MPI_Type_vector(i, 1, 2, MPI_INT, &t), exercise("again", t, 2);

	// Absolute addresses.
	int a = rank, b = rank + 100, x = -1, y = -1, peer = rank ^ 1, ones[] = {1, 1};
	MPI_Aint out[2], in[2];
	MPI_Get_address(&a, &out[0]), MPI_Get_address(&b, &out[1]);
	MPI_Get_address(&x, &in[0]), MPI_Get_address(&y, &in[1]);
	MPI_Type_create_hindexed(2, ones, out, MPI_INT, &t), MPI_Type_commit(&t);
	MPI_Type_create_hindexed(2, ones, in, MPI_INT, &u), MPI_Type_commit(&u);
	MPI_Sendrecv(MPI_BOTTOM, 1, t, peer, 4, MPI_BOTTOM, 1, u, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(x == peer && y == peer + 100);
	MPI_Type_free(&t), MPI_Type_free(&u);

	// Large, so that the data goes in pieces.
	enum { ROWS = 3000, COLUMNS = 200 };
	int *matrix = malloc(sizeof(int) * ROWS * COLUMNS), *other = calloc(sizeof(int), ROWS * COLUMNS);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		matrix[i] = i ^ rank;
	MPI_Type_vector(ROWS, COLUMNS / 2, COLUMNS, MPI_INT, &t), MPI_Type_commit(&t);
	MPI_Sendrecv(matrix, 1, t, peer, 5, other, 1, t, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	int bad = 0;
	for (int i = 0; i < ROWS * COLUMNS; i++)
		bad += other[i] != (i % COLUMNS < COLUMNS / 2 ? i ^ peer : 0);
	CHECK(bad == 0);
	MPI_Type_free(&t);
	free(matrix), free(other);
	return end();
}
