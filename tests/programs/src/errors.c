/* Errors come back as MPI says: with their class, through the communicator's
 * error handler, and without harm to the messages around them.
 *
 * strict=0 forgives what MPICH 4.0 gets wrong: the status of an MPI_Irecv from
 * MPI_PROC_NULL. */
#include "common.h"

static MPI_Comm comm; /* a communicator whose errors return */

/* Fails unless code is of the wanted class and has a text. */
static void expect_class(int code, int wanted, const char *what) {
    int class, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &class);
    EXPECT(class == wanted, "%s: error class %d, not %d", what, class, wanted);
    MPI_Error_string(code, text, &length);
    EXPECT(code == MPI_SUCCESS || length > 0, "%s: error without a text", what);
}

/* A message of n bytes into room for half of it: the error is MPI_ERR_TRUNCATE,
 * what lies behind the room is left alone, and the next message is intact. */
static void truncation(size_t n) {
    size_t room = n / 2;
    unsigned char *buf = need(n);
    MPI_Status statuses[2];
    MPI_Request requests[2];
    for (int way = 0; way < 4; way++) {
        if (world_rank == 1) {
            for (int k = 0; k < 2; k++) {
                fill(buf, n, key4(n, way, k, 0));
                MPI_Send(buf, (int)(k == 0 ? n : room), MPI_BYTE, 0, way, comm);
            }
            continue;
        }
        if (world_rank != 0) {
            continue;
        }
        memset(buf, UNTOUCHED, n);
        if (way == 0) {
            int code = MPI_Recv(buf, (int)room, MPI_BYTE, 1, way, comm, &statuses[0]);
            expect_class(code, MPI_ERR_TRUNCATE, "MPI_Recv of too much");
            check_untouched(buf + room, n - room, "MPI_Recv of too much");
        } else if (way == 1) {
            MPI_Irecv(buf, (int)room, MPI_BYTE, 1, way, comm, &requests[0]);
            int code = MPI_Wait(&requests[0], &statuses[0]);
            expect_class(code, MPI_ERR_TRUNCATE, "MPI_Wait for too much");
            EXPECT(requests[0] == MPI_REQUEST_NULL, "the failed request is still there");
            check_untouched(buf + room, n - room, "MPI_Wait for too much");
        } else if (way == 2) {
            /* Unexpected when it is received. */
            MPI_Probe(1, way, comm, &statuses[0]);
            check_status(&statuses[0], 1, way, n, "probe of too much");
            int code = MPI_Recv(buf, (int)room, MPI_BYTE, MPI_ANY_SOURCE, way, comm, MPI_STATUS_IGNORE);
            expect_class(code, MPI_ERR_TRUNCATE, "MPI_Recv of too much, unexpected");
            check_untouched(buf + room, n - room, "MPI_Recv of too much, unexpected");
        } else {
            MPI_Irecv(buf, (int)room, MPI_BYTE, 1, way, comm, &requests[0]);
            MPI_Irecv(buf + room, (int)room, MPI_BYTE, 1, way, comm, &requests[1]);
            int code = MPI_Waitall(2, requests, statuses);
            expect_class(code, MPI_ERR_IN_STATUS, "MPI_Waitall with too much");
            expect_class(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE, "first status of MPI_Waitall");
            if (requests[1] == MPI_REQUEST_NULL) {
                expect_class(statuses[1].MPI_ERROR, MPI_SUCCESS, "second status of MPI_Waitall");
            } else {
                expect_class(statuses[1].MPI_ERROR, MPI_ERR_PENDING, "second status of MPI_Waitall");
                MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            }
            check(buf + room, room, key4(n, way, 1, 0), "message after one too long");
            continue;
        }
        MPI_Recv(buf, (int)room, MPI_BYTE, 1, way, comm, &statuses[0]);
        check_status(&statuses[0], 1, way, room, "message after one too long");
        check(buf, room, key4(n, way, 1, 0), "message after one too long");
    }
    free(buf);
}

/* Wrong arguments are refused on the spot. */
static void arguments(void) {
    char byte = 0;
    int flag, *limit;
    MPI_Request request;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &flag);
    EXPECT(flag && *limit >= 32767, "MPI_TAG_UB");
    expect_class(MPI_Send(&byte, 1, MPI_BYTE, world_size, 0, comm), MPI_ERR_RANK, "MPI_Send to rank size");
    expect_class(MPI_Send(&byte, 1, MPI_BYTE, -100, 0, comm), MPI_ERR_RANK, "MPI_Send to rank -100");
    expect_class(MPI_Send(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, 0, comm), MPI_ERR_RANK, "MPI_Send to any");
    expect_class(MPI_Isend(&byte, 1, MPI_BYTE, world_size, 0, comm, &request), MPI_ERR_RANK, "MPI_Isend to rank size");
    expect_class(MPI_Recv(&byte, 1, MPI_BYTE, world_size, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK,
                 "MPI_Recv from rank size");
    expect_class(MPI_Irecv(&byte, 1, MPI_BYTE, -100, 0, comm, &request), MPI_ERR_RANK, "MPI_Irecv from rank -100");
    expect_class(MPI_Iprobe(world_size, 0, comm, &flag, MPI_STATUS_IGNORE), MPI_ERR_RANK, "MPI_Iprobe of rank size");
    expect_class(MPI_Send(&byte, 1, MPI_BYTE, 0, -7, comm), MPI_ERR_TAG, "MPI_Send with tag -7");
    expect_class(MPI_Send(&byte, 1, MPI_BYTE, 0, MPI_ANY_TAG, comm), MPI_ERR_TAG, "MPI_Send with any tag");
    if (*limit < INT32_MAX) {
        expect_class(MPI_Send(&byte, 1, MPI_BYTE, 0, *limit + 1, comm), MPI_ERR_TAG, "MPI_Send beyond MPI_TAG_UB");
    }
    expect_class(MPI_Recv(&byte, 1, MPI_BYTE, 0, -7, comm, MPI_STATUS_IGNORE), MPI_ERR_TAG, "MPI_Recv with tag -7");
    expect_class(MPI_Send(&byte, -1, MPI_BYTE, 0, 0, comm), MPI_ERR_COUNT, "MPI_Send of -1 bytes");
    expect_class(MPI_Irecv(&byte, -1, MPI_BYTE, 0, 0, comm, &request), MPI_ERR_COUNT, "MPI_Irecv of -1 bytes");
    expect_class(MPI_Send(&byte, 1, MPI_DATATYPE_NULL, 0, 0, comm), MPI_ERR_TYPE, "MPI_Send of no type");
    expect_class(MPI_Send(NULL, 1, MPI_BYTE, 0, 0, comm), MPI_ERR_BUFFER, "MPI_Send from NULL");
}

/* The largest tag is a tag. */
static void largest_tag(void) {
    int flag, *limit, right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Status status;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &flag);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, right, *limit, NULL, 0, MPI_BYTE, left, *limit, comm, &status);
    check_status(&status, left, *limit, 0, "message with the largest tag");
}

/* MPI_PROC_NULL swallows messages and answers at once. */
static void nobody(void) {
    char byte = 'x';
    int flag = 0;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Message message;
    MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, comm);
    MPI_Ssend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, comm);
    MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, comm, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "MPI_Recv from MPI_PROC_NULL");
    MPI_Irecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, comm, &requests[0]);
    MPI_Issend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, comm, &requests[1]);
    MPI_Wait(&requests[0], &status);
    if (option("strict", 1)) {
        check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "MPI_Irecv from MPI_PROC_NULL");
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Probe(MPI_PROC_NULL, 1, comm, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "MPI_Probe of MPI_PROC_NULL");
    MPI_Iprobe(MPI_PROC_NULL, 1, comm, &flag, &status);
    EXPECT(flag, "MPI_Iprobe of MPI_PROC_NULL says no");
    MPI_Mprobe(MPI_PROC_NULL, 1, comm, &message, &status);
    EXPECT(message == MPI_MESSAGE_NO_PROC, "MPI_Mprobe of MPI_PROC_NULL");
    MPI_Mrecv(&byte, 1, MPI_BYTE, &message, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "MPI_Mrecv from MPI_PROC_NULL");
    MPI_Sendrecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, &byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, comm, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "MPI_Sendrecv with MPI_PROC_NULL");
    EXPECT(byte == 'x', "MPI_PROC_NULL wrote a byte");
}

/* What there is to say of no request. */
static void no_request(void) {
    MPI_Request none = MPI_REQUEST_NULL, several[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status, statuses[3];
    int flag = 0, index = 0, count = 0, indices[3];
    MPI_Wait(&none, &status);
    check_status(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "MPI_Wait for nothing");
    MPI_Test(&none, &flag, &status);
    EXPECT(flag, "MPI_Test of nothing says no");
    MPI_Waitany(3, several, &index, &status);
    EXPECT(index == MPI_UNDEFINED, "MPI_Waitany for nothing: index %d", index);
    check_status(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "MPI_Waitany for nothing");
    MPI_Testany(3, several, &index, &flag, &status);
    EXPECT(flag && index == MPI_UNDEFINED, "MPI_Testany of nothing: flag %d, index %d", flag, index);
    MPI_Waitsome(3, several, &count, indices, statuses);
    EXPECT(count == MPI_UNDEFINED, "MPI_Waitsome for nothing: count %d", count);
    MPI_Testsome(3, several, &count, indices, statuses);
    EXPECT(count == MPI_UNDEFINED, "MPI_Testsome of nothing: count %d", count);
    flag = 0;
    MPI_Testall(3, several, &flag, statuses);
    EXPECT(flag, "MPI_Testall of nothing says no");
    MPI_Waitall(3, several, statuses);
    check_status(&statuses[2], MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "MPI_Waitall for nothing");
}

static MPI_Comm handler_comm;
static int handler_code, handler_calls;

static void handler(MPI_Comm *c, int *code, ...) {
    handler_comm = *c;
    handler_code = *code;
    handler_calls++;
}

/* The program's own error handler is called, with the communicator it is on. */
static void own_handler(void) {
    char buf[200];
    MPI_Comm own;
    MPI_Errhandler errhandler;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(own, errhandler);
    MPI_Errhandler_free(&errhandler);
    int code = MPI_Send(buf, 1, MPI_BYTE, world_size, 0, own);
    EXPECT(handler_calls == 1 && handler_comm == own, "%d calls of the handler", handler_calls);
    expect_class(handler_code, MPI_ERR_RANK, "the handler's error");
    expect_class(code, MPI_ERR_RANK, "the return value");
    if (world_rank == 1) {
        memset(buf, 0, sizeof buf);
        MPI_Send(buf, 200, MPI_BYTE, 0, 0, own);
    } else if (world_rank == 0) {
        code = MPI_Recv(buf, 100, MPI_BYTE, 1, 0, own, MPI_STATUS_IGNORE);
        EXPECT(handler_calls == 2 && handler_comm == own, "%d calls of the handler", handler_calls);
        expect_class(handler_code, MPI_ERR_TRUNCATE, "the handler's error");
        expect_class(code, MPI_ERR_TRUNCATE, "the return value");
    }
    MPI_Comm_free(&own);
}

int main(int argc, char **argv) {
    start(argc, argv, "errors", 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    /* MPICH reports some errors of completion on these two instead. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    truncation(16);
    truncation(1000);
    truncation(200000);
    truncation(4 << 20);
    arguments();
    largest_tag();
    nobody();
    no_request();
    own_handler();
    MPI_Comm_free(&comm);
    return finish();
}
