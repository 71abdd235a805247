// Communicators: each constructor, with traffic on what it made that must not
// mix with the traffic on MPI_COMM_WORLD.
#include "check.h"

// Passes a token around an intracommunicator while the same tag waits on
// MPI_COMM_WORLD.
static void ring(MPI_Comm c)
{
	int me, n, out, in = -1;
	MPI_Status s;

	if (c == MPI_COMM_NULL)
		return;
	MPI_Comm_rank(c, &me);
	MPI_Comm_size(c, &n);
	out = 1000 * n + me;
	MPI_Sendrecv(&out, 1, MPI_INT, (me + 1) % n, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &s);
	CHECK(in == 1000 * n + (me + n - 1) % n && s.MPI_SOURCE == (me + n - 1) % n);
}

// Exchanges with the rank of the same number on the other side.
static void across(MPI_Comm c)
{
	int me, n, out, in = -1;
	MPI_Comm_rank(c, &me);
	MPI_Comm_remote_size(c, &n);
	out = rank;
	if (me < n) {
		MPI_Status s;
		MPI_Sendrecv(&out, 1, MPI_INT, me, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, c, &s);
		CHECK(s.MPI_SOURCE == me && in != rank && in >= 0 && in < size);
	}
}

static void intra(void)
{
	MPI_Comm c, d;
	MPI_Group world, part;
	MPI_Request r;
	int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {1, 0};

	MPI_Comm_dup(MPI_COMM_WORLD, &c), ring(c);
	MPI_Comm_dup_with_info(c, MPI_INFO_NULL, &d), ring(d);
	MPI_Comm_free(&d);
	MPI_Comm_idup(c, &d, &r);
	ring(c);
	MPI_Wait(&r, MPI_STATUS_IGNORE), ring(d);
	MPI_Comm_free(&c); // the duplicate lives on
	ring(d);
	MPI_Comm_idup(d, &c, &r);
	int flag = 0;
	while (!flag)
		MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
	ring(c);
	MPI_Comm_free(&c);
	MPI_Comm_disconnect(&d);

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c), ring(c);
	MPI_Comm_free(&c);
	MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, rank, &c), ring(c);
	CHECK((c == MPI_COMM_NULL) == (rank == 0));
	if (c != MPI_COMM_NULL)
		MPI_Comm_free(&c);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c), ring(c);
	MPI_Comm_free(&c);

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	int last = size - 1;
	MPI_Group_excl(world, 1, &last, &part);
	MPI_Comm_create(MPI_COMM_WORLD, part, &c), ring(c);
	if (c != MPI_COMM_NULL)
		MPI_Comm_free(&c);
	if (rank != last) {
		MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, &c), ring(c);
		MPI_Comm_free(&c);
		MPI_Comm_create_from_group(part, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c), ring(c);
		MPI_Comm_free(&c);
	}
	MPI_Group_free(&part);
	MPI_Group_free(&world);

	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &c), ring(c);
	MPI_Cart_sub(c, keep, &d), ring(d);
	MPI_Comm_free(&d);
	MPI_Comm_free(&c);
	int right = (rank + 1) % size, left = (rank + size - 1) % size, degree = 1;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c), ring(c);
	MPI_Comm_free(&c);
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c), ring(c);
	MPI_Comm_free(&c);
	int *index = malloc(size * sizeof *index), *edges = malloc(size * sizeof *edges);
	for (int i = 0; i < size; i++)
		index[i] = i + 1, edges[i] = (i + 1) % size;
	MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &c), ring(c);
	MPI_Comm_free(&c);
	free(index);
	free(edges);
}

static void inter(void)
{
	MPI_Comm half, c, d, m;
	int side = rank >= (size + 1) / 2;

	MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : (size + 1) / 2, 3, &c);
	across(c);
	MPI_Comm_dup(c, &d), across(d);
	MPI_Intercomm_merge(d, !side, &m), ring(m);
	MPI_Comm_free(&m);
	MPI_Comm_free(&d);
	MPI_Comm_split(c, 0, rank, &d), across(d);
	MPI_Comm_free(&d);
	MPI_Comm_free(&c);
	MPI_Comm_free(&half);
}

// Callbacks and errors find the communicator as natively.
static int copies, deletes, handled;

static int copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
	// Communication from inside the host's call.
	int x = rank, y;
	MPI_Sendrecv(&x, 1, MPI_INT, rank, 0, &y, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	copies += y == rank;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int gone(MPI_Comm c, int key, void *value, void *extra)
{
	deletes++;
	return MPI_SUCCESS;
}

static void handler(MPI_Comm *c, int *code, ...)
{
	int class;
	MPI_Error_class(*code, &class);
	handled += class == MPI_ERR_RANK;
}

static void callbacks(void)
{
	MPI_Comm c, d;
	int key;
	MPI_Errhandler h;

	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	MPI_Comm_create_keyval(copy, gone, &key, NULL);
	MPI_Comm_set_attr(c, key, &key);
	MPI_Comm_dup(c, &d);
	CHECK(copies == 1);
	ring(d);
	MPI_Comm_free(&d);
	CHECK(deletes == 1);
	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_set_errhandler(c, h);
	MPI_Errhandler_free(&h);
	CHECK(MPI_Send(&key, 1, MPI_INT, size, 0, c) != MPI_SUCCESS && handled == 1);
	MPI_Comm_free(&c);
	MPI_Comm_free_keyval(&key);
}

static void many(void)
{
	for (int i = 0; i < 100; i++) {
		MPI_Comm c;
		MPI_Comm_dup(MPI_COMM_WORLD, &c);
		if (i % 50 == 0)
			ring(c);
		MPI_Comm_free(&c);
	}
}

int main(int argc, char **argv)
{
	int waiting = 5, got = 0;
	MPI_Request r;

	begin(&argc, &argv);
	MPI_Isend(&waiting, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &r);
	intra();
	if (size > 1)
		inter();
	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(got == 5);
	callbacks();
	many();
	return end();
}
