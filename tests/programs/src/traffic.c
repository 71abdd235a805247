/* Random traffic: every rank draws the same list of messages for a round, sends
 * its own in list order by random kinds of send, and receives what is for it
 * by every kind of receive. All requests, mixed with those of nonblocking
 * collectives and MPI_REQUEST_NULL, end through a random choice of MPI_Wait*
 * and MPI_Test*. Which message a receive must get follows from MPI's rule that
 * messages don't overtake each other, so every byte is known.
 *
 * rounds; messages: per rank and round; bytes: of the largest; volume: bytes a
 * rank sends per round at most; seed. */
#include "common.h"

/* How a message is received. Each way has tags, or a communicator, of its own,
 * so that wildcards can't take what is meant for another. */
enum way {
    POSTED,    /* MPI_Irecv before anything is sent */
    LATE,      /* probe or receive after everything was sent */
    ANY_BOTH,  /* MPI_Irecv with MPI_ANY_SOURCE and MPI_ANY_TAG */
    ANY_RANK,  /* MPI_Irecv with MPI_ANY_SOURCE */
    ANY_LABEL, /* MPI_Irecv with MPI_ANY_TAG */
    WAYS
};

enum { LABELS = 3, MOST_MESSAGES = 4096, HOST_REQUESTS = 3 };

struct message {
    int from, to, tag;
    enum way way;
    size_t size;
    int taken; /* by a receive of this rank */
};

/* One receive of this rank, to be verified in the order of posting. */
struct receive {
    struct message *message; /* what it must get; NULL: depends on the status */
    enum way way;
    int from, tag; /* as asked for, wildcards included */
    unsigned char *buf;
    size_t room;
    MPI_Status status;
};

static MPI_Comm comms[WAYS]; /* what each way's messages travel on */
static uint64_t common;      /* generator that is the same on all ranks */
static uint64_t own;         /* this rank's generator */
static size_t most, volume;
static int round_number;

static struct message messages[MOST_MESSAGES];
static int message_count;
static struct receive receives[MOST_MESSAGES];
static int receive_count;
static unsigned char *sent[MOST_MESSAGES];
static int sent_count;

static MPI_Request requests[2 * MOST_MESSAGES];
static int receive_of[2 * MOST_MESSAGES]; /* index in receives of a request, -1: none */
static int request_count;

static uint64_t key_of(const struct message *m) {
    return key4((uint64_t)round_number, (uint64_t)(m - messages), (uint64_t)m->from, (uint64_t)m->to);
}

/* A size between 0 and most, small ones and the edges of protocols often. */
static size_t draw_size(void) {
    static const size_t edges[] = {0, 1, 55, 56, 57, 64, 112, 4095, 4096, 8192, 16384, 32768, 65536, 65537, 262144};
    size_t n, kind = below(&common, 20);
    if (kind < 4) {
        n = edges[below(&common, sizeof edges / sizeof *edges)];
    } else if (kind < 12) {
        n = below(&common, 300);
    } else if (kind < 17) {
        n = below(&common, 10000);
    } else if (kind < 19) {
        n = below(&common, 300000);
    } else {
        n = below(&common, most + 1);
    }
    return n < most ? n : most;
}

/* Draws the round's messages: the same on all ranks. */
static void draw_messages(int per_rank) {
    message_count = 0;
    for (int from = 0; from < world_size; from++) {
        size_t left = volume;
        for (int i = 0; i < per_rank; i++) {
            struct message *m = &messages[message_count++];
            m->from = from;
            m->to = (int)below(&common, (uint64_t)world_size);
            m->way = (enum way)below(&common, WAYS);
            m->tag = (int)m->way * LABELS + (int)below(&common, LABELS);
            m->size = draw_size();
            m->size = m->size < left ? m->size : left;
            left -= m->size;
            m->taken = 0;
        }
    }
}

static void add_request(MPI_Request request, int receive) {
    EXPECT(request_count < 2 * MOST_MESSAGES, "too many requests");
    receive_of[request_count] = receive;
    requests[request_count++] = request;
}

/* A new receive with room to spare and a buffer that shows what is written. */
static struct receive *add_receive(struct message *m, enum way way, int from, int tag, size_t size) {
    struct receive *r = &receives[receive_count++];
    *r = (struct receive){.message = m, .way = way, .from = from, .tag = tag, .room = size + below(&own, 64)};
    r->buf = need(r->room);
    memset(r->buf, UNTOUCHED, r->room);
    return r;
}

static void post(struct receive *r) {
    MPI_Request request;
    MPI_Irecv(r->buf, (int)r->room, MPI_BYTE, r->from, r->tag, comms[r->way], &request);
    add_request(request, (int)(r - receives));
}

/* Posts everything that is received with MPI_Irecv. */
static void post_receives(void) {
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        if (m->to != world_rank) {
            continue;
        }
        switch (m->way) {
        case POSTED:
            post(add_receive(m, m->way, m->from, m->tag, m->size));
            break;
        case ANY_BOTH:
            post(add_receive(NULL, m->way, MPI_ANY_SOURCE, MPI_ANY_TAG, most));
            break;
        case ANY_RANK:
            post(add_receive(NULL, m->way, MPI_ANY_SOURCE, m->tag, most));
            break;
        case ANY_LABEL:
            post(add_receive(NULL, m->way, m->from, MPI_ANY_TAG, most));
            break;
        default:
            break;
        }
    }
}

static void start_sends(void) {
    sent_count = 0;
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        if (m->from != world_rank) {
            continue;
        }
        MPI_Request request;
        unsigned char *buf = sent[sent_count++] = need(m->size);
        fill(buf, m->size, key_of(m));
        switch (below(&own, m->way == LATE ? 2 : 3)) {
        case 0:
            MPI_Isend(buf, (int)m->size, MPI_BYTE, m->to, m->tag, comms[m->way], &request);
            break;
        case 1:
            MPI_Issend(buf, (int)m->size, MPI_BYTE, m->to, m->tag, comms[m->way], &request);
            break;
        default: /* everything but LATE has its receive posted */
            MPI_Irsend(buf, (int)m->size, MPI_BYTE, m->to, m->tag, comms[m->way], &request);
        }
        add_request(request, -1);
    }
}

/* Receives the LATE messages: those of one source and tag in order, otherwise
 * not. */
static void receive_late(void) {
    uint64_t shuffle = own;
    for (uint64_t turn = 0; turn < 4; turn++) {
        for (int i = 0; i < message_count; i++) {
            struct message *m = &messages[i];
            if (m->to != world_rank || m->way != LATE ||
                mix(shuffle + (uint64_t)(m->from * LABELS * WAYS + m->tag)) % 4 != turn) {
                continue;
            }
            struct receive *r = add_receive(m, LATE, m->from, m->tag, m->size);
            MPI_Comm comm = comms[LATE];
            MPI_Status probed;
            MPI_Message handle;
            MPI_Request request;
            int flag = 0;
            switch (below(&own, 6)) {
            case 0:
                MPI_Probe(m->from, m->tag, comm, &probed);
                check_status(&probed, m->from, m->tag, m->size, "MPI_Probe");
                MPI_Recv(r->buf, (int)r->room, MPI_BYTE, m->from, m->tag, comm, &r->status);
                break;
            case 1:
                while (!flag) {
                    MPI_Iprobe(m->from, m->tag, comm, &flag, &probed);
                }
                check_status(&probed, m->from, m->tag, m->size, "MPI_Iprobe");
                MPI_Recv(r->buf, (int)r->room, MPI_BYTE, m->from, m->tag, comm, &r->status);
                break;
            case 2:
                MPI_Mprobe(m->from, m->tag, comm, &handle, &probed);
                check_status(&probed, m->from, m->tag, m->size, "MPI_Mprobe");
                MPI_Mrecv(r->buf, (int)r->room, MPI_BYTE, &handle, &r->status);
                break;
            case 3:
                while (!flag) {
                    MPI_Improbe(m->from, m->tag, comm, &flag, &handle, &probed);
                }
                check_status(&probed, m->from, m->tag, m->size, "MPI_Improbe");
                MPI_Imrecv(r->buf, (int)r->room, MPI_BYTE, &handle, &request);
                add_request(request, (int)(r - receives));
                break;
            case 4:
                MPI_Recv(r->buf, (int)r->room, MPI_BYTE, m->from, m->tag, comm, &r->status);
                break;
            default:
                post(r);
            }
        }
    }
}

/* Puts the requests in random order. */
static void shuffle_requests(void) {
    for (int i = request_count - 1; i > 0; i--) {
        int j = (int)below(&own, (uint64_t)i + 1), receive = receive_of[i];
        MPI_Request request = requests[i];
        requests[i] = requests[j];
        receive_of[i] = receive_of[j];
        requests[j] = request;
        receive_of[j] = receive;
    }
}

/* Takes note that request i has ended. */
static void ended(int i, const MPI_Status *status) {
    EXPECT(i >= 0 && i < request_count && requests[i] == MPI_REQUEST_NULL, "request %d ended, but is still there", i);
    if (receive_of[i] >= 0) {
        receives[receive_of[i]].status = *status;
    }
}

/* Waits for all requests, by a random choice of calls. */
static void complete(void) {
    static MPI_Status statuses[2 * MOST_MESSAGES];
    static int indices[2 * MOST_MESSAGES], active[2 * MOST_MESSAGES];
    MPI_Status status;
    for (;;) {
        int left = 0, done = 0, flag = 0, i;
        for (i = 0; i < request_count; i++) {
            if (requests[i] != MPI_REQUEST_NULL) {
                active[left++] = i;
            }
        }
        if (left == 0) {
            break;
        }
        switch (below(&own, 12)) {
        case 0:
        case 1:
            MPI_Waitany(request_count, requests, &i, &status);
            ended(i, &status);
            break;
        case 2:
        case 3:
            MPI_Testany(request_count, requests, &i, &flag, &status);
            if (flag) {
                ended(i, &status);
            }
            break;
        case 4:
        case 5:
            MPI_Waitsome(request_count, requests, &done, indices, statuses);
            for (int k = 0; k < done; k++) {
                ended(indices[k], &statuses[k]);
            }
            break;
        case 6:
        case 7:
            MPI_Testsome(request_count, requests, &done, indices, statuses);
            for (int k = 0; k < done; k++) {
                ended(indices[k], &statuses[k]);
            }
            break;
        case 8:
            i = active[below(&own, (uint64_t)left)];
            MPI_Wait(&requests[i], &status);
            ended(i, &status);
            break;
        case 9:
            i = active[below(&own, (uint64_t)left)];
            MPI_Test(&requests[i], &flag, &status);
            if (flag) {
                ended(i, &status);
            }
            break;
        default: /* all of them: waited for, or asked about */
            flag = left < 5 || below(&own, 8) == 0;
            if (flag) {
                MPI_Waitall(request_count, requests, statuses);
            } else {
                MPI_Testall(request_count, requests, &flag, statuses);
            }
            for (int k = 0; flag && k < left; k++) {
                ended(active[k], &statuses[active[k]]);
            }
        }
        if (!flag && done == 0) {
            sched_yield();
        }
    }
}

/* The message that a wildcard receive must have got: the first of that sender
 * that its pattern fits and no earlier receive took. */
static struct message *first_fit(const struct receive *r) {
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        if (!m->taken && m->to == world_rank && m->way == r->way && m->from == r->status.MPI_SOURCE &&
            (r->tag == MPI_ANY_TAG || r->tag == m->tag)) {
            return m;
        }
    }
    fail("a receive took a message from %d that nobody sent", r->status.MPI_SOURCE);
}

static void verify(void) {
    static const char *const names[WAYS] = {"posted receive", "late receive", "receive from any source, any tag",
                                            "receive from any source", "receive of any tag"};
    for (int i = 0; i < receive_count; i++) {
        struct receive *r = &receives[i];
        struct message *m = r->message != NULL ? r->message : first_fit(r);
        m->taken = 1;
        check_status(&r->status, m->from, m->tag, m->size, names[r->way]);
        check(r->buf, m->size, key_of(m), names[r->way]);
        size_t behind = r->room - m->size;
        check_untouched(r->buf + m->size, behind < 256 ? behind : 256, names[r->way]);
        free(r->buf);
    }
    for (int i = 0; i < sent_count; i++) {
        free(sent[i]);
    }
}

/* Everybody sends to a neighbour and receives from another, blocking. */
static void shift(void) {
    int distance = (int)below(&common, (uint64_t)world_size);
    int to = (world_rank + distance) % world_size, from = (world_rank + world_size - distance) % world_size;
    size_t sizes[64];
    for (int r = 0; r < world_size && r < 64; r++) {
        sizes[r] = draw_size();
    }
    size_t n = sizes[world_rank % 64], expected = sizes[from % 64];
    unsigned char *out = need(n), *in = need(expected);
    MPI_Status status;
    fill(out, n, key4((uint64_t)round_number, 1, (uint64_t)world_rank, 0));
    MPI_Sendrecv(out, (int)n, MPI_BYTE, to, 1, in, (int)expected, MPI_BYTE, from, 1, comms[POSTED], &status);
    check_status(&status, from, 1, expected, "MPI_Sendrecv");
    check(in, expected, key4((uint64_t)round_number, 1, (uint64_t)from, 0), "MPI_Sendrecv");
    in = realloc(in, sizes[0] + 1);
    EXPECT(in != NULL, "no memory");
    fill(in, sizes[0], key4((uint64_t)round_number, 2, (uint64_t)world_rank, 0));
    MPI_Sendrecv_replace(in, (int)sizes[0], MPI_BYTE, to, 2, from, 2, comms[POSTED], &status);
    check_status(&status, from, 2, sizes[0], "MPI_Sendrecv_replace");
    check(in, sizes[0], key4((uint64_t)round_number, 2, (uint64_t)from, 0), "MPI_Sendrecv_replace");
    free(out);
    free(in);
}

static void round_of_traffic(int per_rank) {
    int sum = 0, value = 0, everybody = world_size * (world_size + 1) / 2, mine = world_rank + 1;
    MPI_Request host[HOST_REQUESTS];
    draw_messages(per_rank);
    request_count = receive_count = 0;
    post_receives();
    MPI_Barrier(MPI_COMM_WORLD); /* ready sends need posted receives */
    MPI_Ibarrier(comms[POSTED], &host[0]);
    start_sends();
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[ANY_BOTH], &host[1]);
    value = world_rank == 0 ? round_number : -1;
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &host[2]);
    receive_late();
    for (int i = 0; i < HOST_REQUESTS; i++) {
        add_request(host[i], -1);
        add_request(MPI_REQUEST_NULL, -1);
    }
    shuffle_requests();
    complete();
    EXPECT(sum == everybody && value == round_number, "nonblocking collectives say %d and %d, not %d and %d", sum,
           value, everybody, round_number);
    verify();
    shift();
}

int main(int argc, char **argv) {
    start(argc, argv, "traffic", 2);
    long rounds = option("rounds", world_size <= 4 ? 12 : 4);
    int per_rank = (int)option("messages", 24);
    most = (size_t)option("bytes", 4 << 20);
    volume = (size_t)option("volume", 6 << 20);
    EXPECT(per_rank >= 0 && per_rank * world_size + 2 * HOST_REQUESTS <= MOST_MESSAGES, "%d messages", per_rank);
    common = key4(1, 0, 0, 0);
    own = key4(2, (uint64_t)world_rank, 0, 0);
    comms[POSTED] = comms[LATE] = MPI_COMM_WORLD;
    for (int way = ANY_BOTH; way < WAYS; way++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[way]);
    }
    for (round_number = 0; round_number < rounds; round_number++) {
        round_of_traffic(per_rank);
    }
    for (int way = ANY_BOTH; way < WAYS; way++) {
        MPI_Comm_free(&comms[way]);
    }
    return finish();
}
