/* One long job: rounds of everything that the library carries, each with other
 * random data, and every byte verified. What a round makes is freed at its end,
 * so that the memory of the job must not grow.
 *
 * It is led by whoever started it: rank 0 says "ranks PID..." at the start and
 * "round N" after each round, all ranks being at rest, and reads a line: "go" for
 * another round; "end", or the end of the input, to end. With rounds=N it makes
 * that many without asking.
 *
 * A rank that fails says seed=S: rounds=1 seed=S repeats that round.
 *
 * rest: ms between the end of a round and what is said of it, in which the library
 * gives back what it no longer needs; bytes: of the largest message; volume: that a rank sends in a round's random
 * messages at most; rounds; leak: KiB that each rank loses in every round, to see
 * that it is noticed; seed. */
#include <malloc.h>

#include "../../programs/src/common.h"

enum { NAP = 5000 }; /* µs between two looks for a message of ranks at rest */

static uint64_t common; /* generator that is the same on all ranks */
static uint64_t own;    /* this rank's generator */
static size_t most, volume;
static int right, left;

static int draw(int n) { return (int)below(&common, (uint64_t)n); }

/* A size between 0 and most: small ones and the edges of protocols often. */
static size_t draw_size(void) {
    static const size_t edges[] = {0,     1,     40,    41,    56,     57,     4096,   4097,
                                   16384, 16385, 32768, 32769, 524287, 524288, 1048576};
    size_t n;
    switch (draw(8)) {
    case 0:
    case 1: n = edges[draw(sizeof edges / sizeof *edges)]; break;
    case 2:
    case 3:
    case 4: n = below(&common, 300); break;
    case 5: n = below(&common, 10000); break;
    case 6: n = below(&common, 300000); break;
    default: n = below(&common, most + 1);
    }
    return n < most ? n : most;
}

/* A buffer whose every byte shows whether it was written. */
static unsigned char *blank(size_t n) {
    unsigned char *p = need(n);
    memset(p, UNTOUCHED, n);
    return p;
}

/* ---- random messages ---- */

/* How a message is received. Each way has a communicator of its own, so that
 * wildcards can't take what is meant for another. */
enum way { NAMED, ANY, LATE, WAYS };

enum { PER_RANK = 14, MOST_RANKS = 16, MOST_MESSAGES = PER_RANK * MOST_RANKS, TAGS = 3 };

struct message {
    int from, to, tag, taken;
    enum way way;
    size_t size;
};

static struct message messages[MOST_MESSAGES];
static int message_count;

struct receive {
    struct message *message; /* what it must get; NULL: what its status says */
    unsigned char *buf;
    MPI_Status status;
};

static struct receive receives[MOST_MESSAGES];
static int receive_count;

static MPI_Request requests[2 * MOST_MESSAGES];
static int receive_of[2 * MOST_MESSAGES]; /* index in receives of a request, -1: a send */
static int request_count;

static uint64_t key_of(const struct message *m) {
    return key4(10, (uint64_t)(m - messages), (uint64_t)m->from, (uint64_t)m->to);
}

static void draw_messages(void) {
    message_count = 0;
    for (int from = 0; from < world_size; from++) {
        size_t room = volume;
        for (int i = 0; i < PER_RANK; i++) {
            struct message *m = &messages[message_count++];
            *m = (struct message){.from = from, .to = draw(world_size), .way = (enum way)draw(WAYS), .tag = draw(TAGS)};
            m->size = draw_size();
            m->size = m->size < room ? m->size : room;
            room -= m->size;
        }
    }
}

static struct receive *add_receive(struct message *m, size_t room) {
    struct receive *r = &receives[receive_count++];
    *r = (struct receive){.message = m, .buf = blank(room)};
    return r;
}

static void add_request(MPI_Request request, int receive) {
    requests[request_count] = request;
    receive_of[request_count++] = receive;
}

static void ended(int i, const MPI_Status *status) {
    EXPECT(i >= 0 && i < request_count && requests[i] == MPI_REQUEST_NULL, "request %d ended, but is still there", i);
    if (receive_of[i] >= 0) {
        receives[receive_of[i]].status = *status;
    }
}

/* Receives the LATE messages to this rank in one of several ways. */
static void receive_late(MPI_Comm comm) {
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        MPI_Status status;
        MPI_Message handle;
        MPI_Request request;
        if (m->to != world_rank || m->way != LATE) {
            continue;
        }
        struct receive *r = add_receive(m, m->size);
        switch (below(&own, 4)) {
        case 0:
            MPI_Probe(m->from, m->tag, comm, &status);
            check_status(&status, m->from, m->tag, m->size, "MPI_Probe");
            MPI_Recv(r->buf, (int)m->size, MPI_BYTE, m->from, m->tag, comm, &r->status);
            break;
        case 1:
            MPI_Mprobe(m->from, m->tag, comm, &handle, &status);
            check_status(&status, m->from, m->tag, m->size, "MPI_Mprobe");
            MPI_Imrecv(r->buf, (int)m->size, MPI_BYTE, &handle, &request);
            add_request(request, receive_count - 1);
            break;
        case 2:
            for (int flag = 0; !flag;) {
                MPI_Iprobe(m->from, m->tag, comm, &flag, &status);
            }
            check_status(&status, m->from, m->tag, m->size, "MPI_Iprobe");
            /* fall through */
        default: MPI_Recv(r->buf, (int)m->size, MPI_BYTE, m->from, m->tag, comm, &r->status);
        }
    }
}

/* Ends all requests by a random choice of calls. */
static void complete(void) {
    static MPI_Status statuses[2 * MOST_MESSAGES];
    static int indices[2 * MOST_MESSAGES], active[2 * MOST_MESSAGES];
    for (;;) {
        int n = 0, done = 0, flag = 0, i;
        for (i = 0; i < request_count; i++) {
            if (requests[i] != MPI_REQUEST_NULL) {
                active[n++] = i;
            }
        }
        if (n == 0) {
            return;
        }
        switch (below(&own, 6)) {
        case 0:
            MPI_Waitany(request_count, requests, &i, statuses);
            ended(i, statuses);
            break;
        case 1:
            MPI_Waitsome(request_count, requests, &done, indices, statuses);
            break;
        case 2:
            MPI_Testsome(request_count, requests, &done, indices, statuses);
            break;
        case 3:
            MPI_Testall(request_count, requests, &flag, statuses);
            break;
        case 4:
            i = active[below(&own, (uint64_t)n)];
            MPI_Wait(&requests[i], statuses);
            ended(i, statuses);
            break;
        default:
            flag = n < 8;
            if (flag) {
                MPI_Waitall(request_count, requests, statuses);
            }
        }
        for (int k = 0; k < done; k++) {
            ended(indices[k], &statuses[k]);
        }
        for (int k = 0; flag && k < n; k++) {
            ended(active[k], &statuses[active[k]]);
        }
    }
}

/* The message that a receive from anybody must have got: the first of that
 * sender that no earlier receive took. */
static struct message *first_of(int from) {
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        if (!m->taken && m->to == world_rank && m->way == ANY && m->from == from) {
            return m;
        }
    }
    fail("a receive took a message from %d that nobody sent", from);
}

/* Random messages between all ranks, received by name, by wildcard and late. */
static void exchange(void) {
    static unsigned char *sent[PER_RANK];
    MPI_Comm comms[WAYS];
    MPI_Request request;
    int sent_count = 0;
    draw_messages();
    request_count = receive_count = 0;
    for (int way = 0; way < WAYS; way++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[way]);
    }
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        if (m->to != world_rank || m->way == LATE) {
            continue;
        }
        if (m->way == NAMED) {
            struct receive *r = add_receive(m, m->size);
            MPI_Irecv(r->buf, (int)m->size, MPI_BYTE, m->from, m->tag, comms[NAMED], &request);
        } else {
            struct receive *r = add_receive(NULL, most);
            MPI_Irecv(r->buf, (int)most, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[ANY], &request);
        }
        add_request(request, receive_count - 1);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* ready sends need posted receives */
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        if (m->from != world_rank) {
            continue;
        }
        unsigned char *buf = sent[sent_count++] = need(m->size);
        fill(buf, m->size, key_of(m));
        switch (below(&own, m->way == LATE ? 2 : 3)) {
        case 0: MPI_Isend(buf, (int)m->size, MPI_BYTE, m->to, m->tag, comms[m->way], &request); break;
        case 1: MPI_Issend(buf, (int)m->size, MPI_BYTE, m->to, m->tag, comms[m->way], &request); break;
        default: MPI_Irsend(buf, (int)m->size, MPI_BYTE, m->to, m->tag, comms[m->way], &request);
        }
        add_request(request, -1);
    }
    receive_late(comms[LATE]);
    complete();
    for (int i = 0; i < receive_count; i++) {
        struct receive *r = &receives[i];
        size_t room = r->message != NULL ? r->message->size : most;
        struct message *m = r->message != NULL ? r->message : first_of(r->status.MPI_SOURCE);
        m->taken = 1;
        check_status(&r->status, m->from, m->tag, m->size, "random message");
        check(r->buf, m->size, key_of(m), "random message");
        check_untouched(r->buf + m->size, room - m->size < 256 ? room - m->size : 256, "random message");
        free(r->buf);
    }
    for (int i = 0; i < sent_count; i++) {
        free(sent[i]);
    }
    for (int way = 0; way < WAYS; way++) {
        MPI_Comm_free(&comms[way]);
    }
}

/* ---- other messages, around the ring of ranks ---- */

static void sendrecv(void) {
    size_t n = draw_size();
    unsigned char *out = need(n), *in = blank(n + 8);
    MPI_Status status;
    fill(out, n, key4(20, (uint64_t)world_rank, 0, 0));
    MPI_Sendrecv(out, (int)n, MPI_BYTE, right, 1, in, (int)n + 8, MPI_BYTE, left, 1, MPI_COMM_WORLD, &status);
    check_status(&status, left, 1, n, "MPI_Sendrecv");
    check(in, n, key4(20, (uint64_t)left, 0, 0), "MPI_Sendrecv");
    check_untouched(in + n, 8, "MPI_Sendrecv");
    MPI_Sendrecv_replace(out, (int)n, MPI_BYTE, left, 2, right, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    check_status(&status, right, 2, n, "MPI_Sendrecv_replace");
    check(out, n, key4(20, (uint64_t)right, 0, 0), "MPI_Sendrecv_replace");
    free(out);
    free(in);
}

/* A datatype with gaps. */
static MPI_Datatype draw_type(void) {
    MPI_Datatype type;
    int n = 1 + draw(40), lengths[40], places[40], at = 0;
    MPI_Aint bytes[40];
    for (int i = 0; i < n; i++) {
        lengths[i] = draw(50);
        places[i] = at;
        bytes[i] = at * (MPI_Aint)sizeof(int);
        at += lengths[i] + draw(8);
    }
    switch (draw(4)) {
    case 0: MPI_Type_vector(n, 3, 5, MPI_INT, &type); break;
    case 1: MPI_Type_indexed(n, lengths, places, MPI_INT, &type); break;
    case 2: {
        int sizes[2] = {n + 2, 30}, part[2] = {n, 17}, first[2] = {1, 5};
        MPI_Type_create_subarray(2, sizes, part, first, MPI_ORDER_C, MPI_INT, &type);
        break;
    }
    default: {
        MPI_Datatype members[40];
        for (int i = 0; i < n; i++) {
            members[i] = i % 2 ? MPI_INT : MPI_FLOAT;
        }
        MPI_Type_create_struct(n, lengths, bytes, members, &type);
    }
    }
    MPI_Type_commit(&type);
    return type;
}

/* Derived datatypes, sent and received; MPI_Pack tells what must arrive. */
static void layouts(void) {
    MPI_Datatype type = draw_type();
    MPI_Aint lb, extent;
    int count = 1 + draw(60), size, at = 0;
    MPI_Request request;
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    size_t packed = (size_t)count * (size_t)size, span = (size_t)(lb + extent * count);
    unsigned char *laid = need(span), *want = need(packed), *in = blank(packed), *into = blank(span), *expected = blank(span);

    fill(laid, span, key4(30, (uint64_t)left, 0, 0));
    MPI_Pack(laid, count, type, want, (int)packed, &at, MPI_COMM_WORLD);
    fill(laid, span, key4(30, (uint64_t)world_rank, 0, 0));
    MPI_Isend(laid, count, type, right, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(in, (int)packed, MPI_BYTE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(memcmp(in, want, packed) == 0, "%d elements of a datatype of %d bytes arrived otherwise", count, size);

    at = 0;
    MPI_Unpack(want, (int)packed, &at, expected, count, type, MPI_COMM_WORLD);
    MPI_Irecv(into, count, type, left, 4, MPI_COMM_WORLD, &request);
    MPI_Ssend(laid, count, type, right, 4, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(memcmp(into, expected, span) == 0, "%d elements of a datatype of %d bytes lie otherwise", count, size);
    MPI_Type_free(&type);
    free(laid);
    free(want);
    free(in);
    free(into);
    free(expected);
}

static void persistent(void) {
    size_t n = draw_size();
    unsigned char *out = need(n), *in = need(n);
    MPI_Request pair[2];
    MPI_Status statuses[2];
    if (draw(2)) {
        MPI_Send_init(out, (int)n, MPI_BYTE, right, 5, MPI_COMM_WORLD, &pair[0]);
    } else {
        MPI_Ssend_init(out, (int)n, MPI_BYTE, right, 5, MPI_COMM_WORLD, &pair[0]);
    }
    MPI_Recv_init(in, (int)n, MPI_BYTE, draw(2) ? left : MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &pair[1]);
    for (uint64_t i = 0; i < 3; i++) {
        fill(out, n, key4(40, (uint64_t)world_rank, i, 0));
        memset(in, UNTOUCHED, n);
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, statuses);
        check_status(&statuses[1], left, 5, n, "persistent receive");
        check(in, n, key4(40, (uint64_t)left, i, 0), "persistent receive");
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    free(out);
    free(in);
}

static void partitioned(void) {
    int cuts = 1 + draw(12), others = 1 + draw(12), unit = draw(3000);
    size_t n = (size_t)cuts * (size_t)others * (size_t)unit;
    unsigned char *out = blank(n), *in = blank(n);
    MPI_Request pair[2];
    MPI_Psend_init(out, cuts, (MPI_Count)others * unit, MPI_BYTE, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[0]);
    MPI_Precv_init(in, others, (MPI_Count)cuts * unit, MPI_BYTE, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[1]);
    for (uint64_t i = 0; i < 2; i++) {
        memset(in, UNTOUCHED, n);
        MPI_Startall(2, pair);
        fill(out, n, key4(50, (uint64_t)world_rank, i, 0));
        for (int p = cuts - 1; p >= 0; p--) {
            MPI_Pready(p, pair[0]);
        }
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        check(in, n, key4(50, (uint64_t)left, i, 0), "partitioned receive");
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    free(out);
    free(in);
}

/* Requests that don't end as most do: cancelled, freed before their end,
 * buffered. */
static void odd_ends(void) {
    enum { BUFFERED = 3000 };
    size_t n = draw_size();
    unsigned char *out = need(n), *in = need(n), *small = need(BUFFERED);
    int space = BUFFERED + MPI_BSEND_OVERHEAD, flag, value = -1;
    void *attached = need((size_t)space);
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag && value == -1, "a receive without a message was not cancelled");

    fill(out, n, key4(60, (uint64_t)world_rank, 0, 0));
    MPI_Isend(out, (int)n, MPI_BYTE, right, 8, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Recv(in, (int)n, MPI_BYTE, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, n, key4(60, (uint64_t)left, 0, 0), "message of a freed request");

    MPI_Buffer_attach(attached, space);
    fill(small, BUFFERED, key4(61, (uint64_t)world_rank, 0, 0));
    MPI_Bsend(small, BUFFERED, MPI_BYTE, left, 9, MPI_COMM_WORLD);
    MPI_Recv(small, BUFFERED, MPI_BYTE, right, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(small, BUFFERED, key4(61, (uint64_t)right, 0, 0), "buffered message");
    MPI_Buffer_detach(&attached, &space);
    MPI_Barrier(MPI_COMM_WORLD); /* now the message of the freed request has been received */
    free(attached);
    free(small);
    free(out);
    free(in);
}

/* A message around the ring of a communicator's ranks; frees it. */
static void use(MPI_Comm comm, const char *what) {
    int rank, size, mine = world_rank, got = -1, to, from, world_from;
    MPI_Group group, world;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &from, world, &world_from);
    MPI_Sendrecv(&mine, 1, MPI_INT, to, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE);
    EXPECT(got == world_from, "%s: a message of rank %d, not %d", what, got, world_from);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Comm_free(&comm);
}

static void communicators(void) {
    MPI_Comm comm, part;
    MPI_Request request;
    MPI_Group world, group;
    int colours[MOST_RANKS], members[MOST_RANKS], n = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int r = 0; r < world_size; r++) {
        colours[r] = draw(2);
        if (colours[r]) {
            members[n++] = r;
        }
    }
    MPI_Comm_split(comm, colours[world_rank], -world_rank, &part);
    use(part, "MPI_Comm_split");
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    use(part, "MPI_Comm_split_type");
    MPI_Comm_group(comm, &world);
    MPI_Group_incl(world, n, members, &group);
    MPI_Comm_create(comm, group, &part);
    if (part != MPI_COMM_NULL) {
        use(part, "MPI_Comm_create");
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Comm_idup(comm, &part, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(part, "MPI_Comm_idup");
    use(comm, "MPI_Comm_dup");
}

/* ---- windows ---- */

/* Puts and gets whole parts of a window of n bytes per rank, between fences and
 * under locks. */
static void transfers(MPI_Win win, unsigned char *mine, size_t n) {
    unsigned char *out = need(n), *in = blank(n);
    MPI_Request request;
    fill(out, n, key4(70, (uint64_t)world_rank, 0, 0));
    MPI_Win_fence(0, win);
    MPI_Put(out, (int)n, MPI_BYTE, right, 0, (int)n, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check(mine, n, key4(70, (uint64_t)left, 0, 0), "MPI_Put");
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, left, 0, win);
    MPI_Rget(in, (int)n, MPI_BYTE, left, 0, (int)n, MPI_BYTE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(left, win);
    check(in, n, key4(70, (uint64_t)((left + world_size - 1) % world_size), 0, 0), "MPI_Rget");
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
}

/* Between post and wait, with the neighbours in the ring. */
static void exposure(MPI_Win win, const int64_t *mine) {
    MPI_Group world, to, from;
    int64_t word = world_rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(&word, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    EXPECT(mine[0] == left, "after MPI_Win_wait: %lld, not %d", (long long)mine[0], left);
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Sums of all ranks in the part of one, by every kind of update. */
static void updates(MPI_Win win, int64_t *mine) {
    enum { STEPS = 20, WORDS = 4 };
    int target = draw(world_size);
    int64_t one = 1, before, tickets = 0, total, steps = STEPS * world_size;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);
    memset(mine, 0, WORDS * sizeof *mine);
    MPI_Win_unlock(world_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < STEPS; i++) {
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 1, MPI_SUM, win);
        MPI_Win_flush(target, win);
        tickets += before;
        int64_t guess = 0, next;
        for (;;) { /* adds one, if nobody has changed it meanwhile */
            next = guess + 1;
            MPI_Compare_and_swap(&next, &guess, &before, MPI_INT64_T, target, 2, win);
            MPI_Win_flush(target, win);
            if (before == guess) {
                break;
            }
            guess = before;
        }
    }
    MPI_Win_unlock_all(win);
    for (int i = 0; i < STEPS; i++) { /* adds one by get and put under an exclusive lock */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&before, 1, MPI_INT64_T, target, 3, 1, MPI_INT64_T, win);
        MPI_Win_flush(target, win);
        before++;
        MPI_Put(&before, 1, MPI_INT64_T, target, 3, 1, MPI_INT64_T, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Allreduce(&tickets, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(total == steps * (steps - 1) / 2, "MPI_Fetch_and_op: numbers sum up to %lld, not %lld", (long long)total,
           (long long)(steps * (steps - 1) / 2));
    if (world_rank == target) {
        static const char *const names[WORDS] = {"MPI_Accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap",
                                                 "MPI_Get and MPI_Put"};
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        for (int i = 0; i < WORDS; i++) {
            EXPECT(mine[i] == steps, "%s: %lld, not %lld", names[i], (long long)mine[i], (long long)steps);
        }
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Memory of one host: everybody reads what its neighbours there have stored. */
static void shared(void) {
    MPI_Comm host;
    MPI_Win win;
    uint64_t *mine;
    int rank, size;
    enum { WORDS = 1000 };
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    MPI_Win_allocate_shared(WORDS * sizeof *mine, sizeof *mine, MPI_INFO_NULL, host, &mine, &win);
    MPI_Win_fence(0, win);
    fill(mine, WORDS * sizeof *mine, key4(80, (uint64_t)rank, 0, 0));
    MPI_Win_fence(0, win);
    for (int r = 0; r < size; r++) {
        MPI_Aint bytes;
        int unit;
        void *theirs;
        MPI_Win_shared_query(win, r, &bytes, &unit, &theirs);
        check(theirs, WORDS * sizeof *mine, key4(80, (uint64_t)r, 0, 0), "shared window");
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
}

static void windows(void) {
    size_t n = 64 + (draw_size() & ~(size_t)7);
    MPI_Win win;
    void *mine;
    int ours = draw(3) > 0; /* who takes the memory: the window, or the program before */
    if (ours) {
        MPI_Win_allocate((MPI_Aint)n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    } else {
        MPI_Alloc_mem((MPI_Aint)n, MPI_INFO_NULL, &mine);
        MPI_Win_create(mine, (MPI_Aint)n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    transfers(win, mine, n);
    MPI_Win_free(&win);
    if (!ours) {
        MPI_Free_mem(mine);
    }
    MPI_Win_allocate(64, sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    exposure(win, mine);
    updates(win, mine);
    MPI_Win_free(&win);
    shared();
}

/* ---- the rounds ---- */

/* Everything once, in random order. */
static void make_round(void) {
    void (*parts[])(void) = {exchange, sendrecv, layouts, persistent, partitioned, odd_ends, communicators, windows};
    for (int n = sizeof parts / sizeof *parts; n > 0; n--) {
        int i = draw(n);
        parts[i]();
        parts[i] = parts[n - 1];
    }
}

/* Waits for so many ms, without taking the processors from those who work. The
 * library gets its turn now and then. */
static void rest(long ms) {
    int flag;
    for (double end = now() + 1e-3 * (double)ms; now() < end; usleep(NAP)) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

/* Whether there is to be another round after so many: rank 0 asks. */
static int another(long rounds) {
    int go = 0, done = 0;
    MPI_Request request;
    if (world_rank == 0) {
        char line[16];
        printf("round %ld\n", rounds);
        fflush(stdout);
        go = fgets(line, sizeof line, stdin) != NULL && strcmp(line, "go\n") == 0;
        for (int r = 1; r < world_size; r++) {
            MPI_Send(&go, 1, MPI_INT, r, 90, MPI_COMM_WORLD);
        }
        return go;
    }
    MPI_Irecv(&go, 1, MPI_INT, 0, 90, MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) {
            return go;
        }
        usleep(NAP);
    }
}

static void introduce(void) {
    int pid = getpid(), *pids = need(sizeof *pids * (size_t)world_size);
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (world_rank == 0) {
        printf("ranks");
        for (int r = 0; r < world_size; r++) {
            printf(" %d", pids[r]);
        }
        printf("\n");
    }
    free(pids);
}

int main(int argc, char **argv) {
    /* Large buffers go back to the kernel when they are freed, so that what a
       rank holds between rounds is not the C library's. */
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    start(argc, argv, "soak", 2);
    long rounds = option("rounds", 0), leak = option("leak", 0), pause = option("rest", 0);
    uint64_t first = seed;
    most = (size_t)option("bytes", 4 << 20);
    volume = (size_t)option("volume", 8 << 20);
    EXPECT(world_size <= MOST_RANKS, "more than %d ranks", MOST_RANKS);
    right = (world_rank + 1) % world_size;
    left = (world_rank + world_size - 1) % world_size;
    if (rounds == 0) {
        introduce();
    }
    for (long round = 0;; round++) {
        seed = first + (uint64_t)round;
        common = key4(1, 0, 0, 0);
        own = key4(2, (uint64_t)world_rank, 0, 0);
        make_round();
        if (leak > 0) {
            memset(need((size_t)leak << 10), 1, (size_t)leak << 10);
        }
        rest(pause);
        malloc_trim(0);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rounds > 0 ? round + 1 >= rounds : !another(round + 1)) {
            break;
        }
    }
    return finish();
}
