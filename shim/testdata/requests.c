// Requests: arrays that mix those of a carried communicator with those of the
// host library (Ibarrier, Iallreduce), inactive and null ones, persistent ones,
// cancellation.
#include "check.h"

static int peer;

// Two receives (ours), two sends (ours), a barrier and a reduction (the host's),
// and a null request.
enum { N = 7 };
static int in[2], out[2], one = 1, sum;

static void start(MPI_Request r[N])
{
	out[0] = rank, out[1] = 10 + rank;
	in[0] = in[1] = -1;
	MPI_Irecv(&in[0], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Ibarrier(MPI_COMM_WORLD, &r[1]);
	MPI_Isend(&out[0], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &r[2]);
	r[3] = MPI_REQUEST_NULL;
	MPI_Issend(&out[1], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[4]);
	MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[5]);
	MPI_Irecv(&in[1], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[6]);
}

static void check_all(MPI_Request r[N])
{
	CHECK(in[0] == peer && in[1] == 10 + peer && sum == size);
	for (int i = 0; i < N; i++)
		CHECK(r[i] == MPI_REQUEST_NULL);
}

static void check_status(int i, MPI_Status *s)
{
	if (i == 0 || i == 6)
		CHECK(s->MPI_SOURCE == peer && s->MPI_TAG == i / 6 && count_of(s, MPI_INT) == 1);
	if (i == 3)
		CHECK(s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && count_of(s, MPI_INT) == 0);
}

static void mixed(void)
{
	MPI_Request r[N];
	MPI_Status s[N];
	int flag, index, n, indices[N];

	start(r);
	MPI_Waitall(N, r, s);
	for (int i = 0; i < N; i++)
		check_status(i, &s[i]);
	check_all(r);

	start(r);
	MPI_Waitall(N, r, MPI_STATUSES_IGNORE);
	check_all(r);

	start(r);
	do
		MPI_Testall(N, r, &flag, s);
	while (!flag);
	for (int i = 0; i < N; i++)
		check_status(i, &s[i]);
	check_all(r);

	start(r);
	int seen = 0;
	for (int left = N - 1; left > 0; left--) {
		MPI_Waitany(N, r, &index, s);
		CHECK(index >= 0 && index < N && index != 3 && !(seen & 1 << index));
		seen |= 1 << index;
		check_status(index, s);
	}
	MPI_Waitany(N, r, &index, s);
	CHECK(index == MPI_UNDEFINED);
	check_all(r);

	start(r);
	for (int left = N - 1; left > 0;) {
		MPI_Testany(N, r, &index, &flag, s);
		if (flag) {
			CHECK(index != MPI_UNDEFINED);
			check_status(index, s);
			left--;
		} else {
			CHECK(index == MPI_UNDEFINED);
		}
	}
	MPI_Testany(N, r, &index, &flag, s);
	CHECK(flag && index == MPI_UNDEFINED);
	check_all(r);

	for (int test = 0; test < 2; test++) {
		start(r);
		for (int left = N - 1; left > 0; left -= n) {
			if (test)
				MPI_Testsome(N, r, &n, indices, s);
			else
				MPI_Waitsome(N, r, &n, indices, s);
			CHECK(n >= !test && n <= left);
			for (int i = 0; i < n; i++)
				check_status(indices[i], &s[i]);
		}
		MPI_Testsome(N, r, &n, indices, s);
		CHECK(n == MPI_UNDEFINED);
		check_all(r);
	}

	start(r);
	for (int i = N - 1; i >= 0; i--) {
		MPI_Wait(&r[i], &s[i]);
		check_status(i, &s[i]);
	}
	check_all(r);
}

static void persistent(void)
{
	MPI_Request r[4];
	MPI_Status s[4];
	int out[2], in[2], flag;
	char buffer[1000];

	MPI_Buffer_attach(buffer, sizeof buffer);
	MPI_Send_init(&out[0], 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &r[0]);
	MPI_Recv_init(&in[0], 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &r[1]);
	MPI_Recv_init(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &r[2]);
	MPI_Bsend_init(&out[1], 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, s); // inactive: at once
	for (int i = 0; i < 20; i++) {
		out[0] = i + rank, out[1] = 2 * i + rank;
		MPI_Startall(3, r);
		MPI_Start(&r[3]);
		if (i % 2)
			MPI_Waitall(4, r, s);
		else
			for (int k = 0; k < 4; k++)
				MPI_Wait(&r[k], &s[k]);
		CHECK(in[0] == i + peer && in[1] == 2 * i + peer && s[1].MPI_SOURCE == peer && s[2].MPI_TAG == 6);
		MPI_Test(&r[1], &flag, &s[1]);
		CHECK(flag && r[1] != MPI_REQUEST_NULL);
	}
	for (int k = 0; k < 4; k++) {
		MPI_Request_free(&r[k]);
		CHECK(r[k] == MPI_REQUEST_NULL);
	}
	void *detached;
	int n;
	MPI_Buffer_detach(&detached, &n);
}

static void cancelled(void)
{
	MPI_Request r;
	MPI_Status s;
	int x = 0, flag;

	MPI_Irecv(&x, 1, MPI_INT, peer, 77, MPI_COMM_WORLD, &r);
	MPI_Request_get_status(r, &flag, &s);
	CHECK(!flag);
	MPI_Cancel(&r);
	MPI_Wait(&r, &s);
	MPI_Test_cancelled(&s, &flag);
	CHECK(flag);

	// A request that was freed still completes.
	int out = rank;
	MPI_Isend(&out, 1, MPI_INT, peer, 78, MPI_COMM_WORLD, &r);
	MPI_Request_free(&r);
	CHECK(r == MPI_REQUEST_NULL);
	MPI_Recv(&x, 1, MPI_INT, peer, 78, MPI_COMM_WORLD, &s);
	CHECK(x == peer);
	MPI_Test_cancelled(&s, &flag);
	CHECK(!flag);

	int a[2] = {rank, rank}, b[2];
	MPI_Isendrecv(a, 2, MPI_INT, peer, 3, b, 2, MPI_INT, peer, 3, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, &s);
	CHECK(b[1] == peer); // the status is empty in MPICH 4.0
	MPI_Isendrecv_replace(a, 2, MPI_INT, peer, 4, peer, 4, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, &s);
	CHECK(a[0] == peer);
}

// A rank in a collective of the host's still receives what others send to it,
// and one that waits for a message still takes part in the host's collectives.
static void beside_collectives(void)
{
	enum { BIG = 3 << 20 };
	char *big = calloc(BIG, 1);
	MPI_Request r, barrier;
	int token = 0;

	if (rank == 0) {
		MPI_Irecv(big, BIG, MPI_BYTE, 1, 8, MPI_COMM_WORLD, &r);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else {
		if (rank == 1)
			MPI_Ssend(big, BIG, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
	if (rank == 0) {
		MPI_Recv(&token, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&barrier, MPI_STATUS_IGNORE);
	} else {
		MPI_Wait(&barrier, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
	}

	// Polling the host is progress for us, and the other way round.
	int flag = 0;
	if (rank == 0) {
		MPI_Irecv(big, BIG, MPI_BYTE, 1, 10, MPI_COMM_WORLD, &r);
		MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
		while (!flag)
			MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else {
		if (rank == 1)
			MPI_Ssend(big, BIG, MPI_BYTE, 0, 10, MPI_COMM_WORLD);
		MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
		MPI_Wait(&barrier, MPI_STATUS_IGNORE);
	}
	MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
	if (rank == 0) {
		for (flag = 0; !flag;)
			MPI_Iprobe(1, 11, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		MPI_Recv(&token, 1, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&barrier, MPI_STATUS_IGNORE);
	} else {
		MPI_Wait(&barrier, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(&token, 1, MPI_INT, 0, 11, MPI_COMM_WORLD);
	}
	free(big);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	peer = rank ^ 1; // run with an even number of ranks
	mixed();
	persistent();
	cancelled();
	beside_collectives();
	return end();
}
