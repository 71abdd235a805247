// Blocking communication: modes, wildcards, order, statuses, errors, the null
// process, empty messages and messages to oneself, probes.
#include "check.h"

static void modes(void)
{
	int peer = rank ^ 1, in;
	MPI_Status s;
	char buffer[4096];

	if (peer >= size)
		return;
	MPI_Buffer_attach(buffer, sizeof buffer);
	for (int mode = 0; mode < 4; mode++) {
		int out = 100 * rank + mode;
		if (rank < peer || mode == 3) { // a buffered send never waits
			switch (mode) {
			case 0: MPI_Send(&out, 1, MPI_INT, peer, mode, MPI_COMM_WORLD); break;
			case 1: MPI_Ssend(&out, 1, MPI_INT, peer, mode, MPI_COMM_WORLD); break;
			case 2: MPI_Recv(&in, 1, MPI_INT, peer, mode, MPI_COMM_WORLD, &s);
			        MPI_Rsend(&out, 1, MPI_INT, peer, mode, MPI_COMM_WORLD); break;
			case 3: MPI_Bsend(&out, 1, MPI_INT, peer, mode, MPI_COMM_WORLD); break;
			}
			if (mode == 2)
				continue;
		}
		if (rank > peer && mode == 2) {
			MPI_Request r;
			MPI_Irecv(&in, 1, MPI_INT, peer, mode, MPI_COMM_WORLD, &r);
			MPI_Send(&out, 1, MPI_INT, peer, mode, MPI_COMM_WORLD); // ready
			MPI_Wait(&r, &s);
		} else if (rank > peer || mode == 3) {
			MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, mode, MPI_COMM_WORLD, &s);
		} else {
			continue;
		}
		CHECK(in == 100 * peer + mode && s.MPI_SOURCE == peer && s.MPI_TAG == mode && count_of(&s, MPI_INT) == 1);
	}
	void *detached;
	int n;
	MPI_Buffer_detach(&detached, &n);
	CHECK(detached == buffer && n == sizeof buffer);
}

static void self_and_null(void)
{
	int out = 7, in = 0, flag;
	MPI_Status s;
	MPI_Request r;

	MPI_Isend(&out, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &r);
	MPI_Recv(&in, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &s);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(in == 7 && s.MPI_SOURCE == rank);
	MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &s);
	CHECK(s.MPI_SOURCE == 0 && r == MPI_REQUEST_NULL);

	s.MPI_ERROR = 4711;
	MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &s);
	CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG && count_of(&s, MPI_INT) == 0 && s.MPI_ERROR == 4711);
	MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
	MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &s);
	CHECK(s.MPI_SOURCE == MPI_PROC_NULL);

	MPI_Isend(NULL, 0, MPI_INT, rank, 3, MPI_COMM_WORLD, &r);
	do
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
	while (!flag);
	CHECK(s.MPI_TAG == 3 && count_of(&s, MPI_INT) == 0);
	MPI_Recv(NULL, 0, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
	CHECK(!flag);
}

static void order(void)
{
	enum { N = 500 };
	MPI_Status s;
	int in;

	if (rank == 0) {
		int next[64] = {0};
		for (int i = 0; i < N * (size - 1); i++) {
			MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
			CHECK(in == next[s.MPI_SOURCE]++ && s.MPI_TAG == in % 7);
		}
	} else {
		for (int i = 0; i < N; i++)
			MPI_Send(&i, 1, MPI_INT, 0, i % 7, MPI_COMM_WORLD);
	}
}

static void sizes(void)
{
	int peer = rank ^ 1;
	if (peer >= size)
		return;
	for (long n = 0; n <= 5 << 20; n = n * 3 + 1) {
		char *out = malloc(n + 1), *in = malloc(n + 1);
		MPI_Status s;
		for (long i = 0; i < n; i++)
			out[i] = (char)(i * 7 + rank);
		memset(in, 0x5a, n + 1);
		MPI_Sendrecv(out, n, MPI_BYTE, peer, 1, in, n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &s);
		long bad = 0;
		for (long i = 0; i < n; i++)
			bad += in[i] != (char)(i * 7 + peer);
		CHECK(bad == 0 && in[n] == 0x5a && count_of(&s, MPI_BYTE) == n);
		MPI_Sendrecv_replace(out, n, MPI_BYTE, peer, 2, peer, 2, MPI_COMM_WORLD, &s);
		CHECK(memcmp(in, out, n) == 0);
		free(out);
		free(in);
	}
}

static void probes(void)
{
	int peer = rank ^ 1, in[4] = {0}, flag;
	MPI_Status s;
	MPI_Message m;
	MPI_Request r;

	if (peer >= size)
		return;
	for (int i = 0; i < 3; i++) {
		int out[4] = {i, i, i, i};
		MPI_Isend(out, i + 1, MPI_INT, peer, 20 + i, MPI_COMM_WORLD, &r);
		MPI_Probe(peer, 20 + i, MPI_COMM_WORLD, &s);
		CHECK(count_of(&s, MPI_INT) == i + 1 && s.MPI_SOURCE == peer);
		MPI_Mprobe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s);
		CHECK(s.MPI_TAG == 20 + i && m != MPI_MESSAGE_NULL);
		MPI_Iprobe(peer, 20 + i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		CHECK(!flag); // it was taken out
		if (i == 0) {
			MPI_Mrecv(in, 4, MPI_INT, &m, &s);
		} else {
			MPI_Request q;
			MPI_Imrecv(in, 4, MPI_INT, &m, &q);
			MPI_Wait(&q, &s);
		}
		CHECK(m == MPI_MESSAGE_NULL && in[i] == i && count_of(&s, MPI_INT) == i + 1);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &m, &s);
	CHECK(m == MPI_MESSAGE_NO_PROC);
	MPI_Mrecv(in, 4, MPI_INT, &m, &s);
	CHECK(s.MPI_SOURCE == MPI_PROC_NULL);
}

static void errors(void)
{
	int peer = rank ^ 1, out[4] = {1, 2, 3, 4}, in[4] = {0}, class;
	MPI_Status s;
	MPI_Comm c;

	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // MPICH asks this one for arrays
	CHECK(MPI_Send(out, 1, MPI_INT, size, 0, c) != MPI_SUCCESS);
	MPI_Error_class(MPI_Send(out, 1, MPI_INT, size, 0, c), &class);
	CHECK(class == MPI_ERR_RANK);
	MPI_Error_class(MPI_Send(out, -1, MPI_INT, 0, 0, c), &class);
	CHECK(class == MPI_ERR_COUNT);
	MPI_Error_class(MPI_Send(out, 1, MPI_INT, 0, -5, c), &class);
	CHECK(class == MPI_ERR_TAG);
	MPI_Error_class(MPI_Send(out, 1, MPI_DATATYPE_NULL, 0, 0, c), &class);
	CHECK(class == MPI_ERR_TYPE);
	if (peer < size) {
		MPI_Request r[2];
		MPI_Irecv(in, 2, MPI_INT, peer, 0, c, &r[0]);
		MPI_Irecv(in + 2, 1, MPI_INT, peer, 1, c, &r[1]);
		MPI_Send(out, 4, MPI_INT, peer, 0, c);
		MPI_Send(out, 1, MPI_INT, peer, 1, c);
		MPI_Status all[2];
		MPI_Error_class(MPI_Waitall(2, r, all), &class);
		CHECK(class == MPI_ERR_IN_STATUS);
		MPI_Error_class(all[0].MPI_ERROR, &class);
		CHECK(class == MPI_ERR_TRUNCATE);
		MPI_Error_class(all[1].MPI_ERROR, &class);
		CHECK(class == MPI_SUCCESS || class == MPI_ERR_PENDING);
		MPI_Wait(&r[1], MPI_STATUS_IGNORE);
		CHECK(in[0] == 1 && in[1] == 2 && in[2] == 1);

		MPI_Send(out, 3, MPI_INT, peer, 2, c);
		MPI_Error_class(MPI_Recv(in, 1, MPI_INT, peer, 2, c, &s), &class);
		CHECK(class == MPI_ERR_TRUNCATE);
	}
	MPI_Comm_free(&c);
	CHECK(c == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	modes();
	MPI_Barrier(MPI_COMM_WORLD); // the next part has wildcards
	self_and_null();
	MPI_Barrier(MPI_COMM_WORLD); // the next part has wildcards
	order();
	MPI_Barrier(MPI_COMM_WORLD);
	sizes();
	MPI_Barrier(MPI_COMM_WORLD);
	probes();
	errors();
	return end();
}
