/* Communicators of every making carry their messages apart from each other:
 * with the same tag under way on all of them at once, wildcard receives take
 * what was sent on theirs, from the right rank. Also after some were freed.
 *
 * Every rank sends to every peer on every communicator, itself included. */
#include "common.h"

enum { MOST = 24, TAG = 7 };

static struct member {
    const char *name;
    MPI_Comm comm;
    int rank, peers; /* my rank; ranks of the group I talk to */
    int side;        /* of an intercommunicator: which one I'm on */
    int inter;
    unsigned char *in;
} members[MOST];
static int count;

/* Takes up a communicator; MPI_COMM_NULL counts too, so that all ranks number
 * them alike. */
static MPI_Comm add(const char *name, MPI_Comm comm, int side) {
    EXPECT(count < MOST, "too many communicators");
    struct member *m = &members[count++];
    *m = (struct member){.name = name, .comm = comm, .side = side};
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &m->rank);
        MPI_Comm_test_inter(comm, &m->inter);
        if (m->inter) {
            MPI_Comm_remote_size(comm, &m->peers);
        } else {
            MPI_Comm_size(comm, &m->peers);
        }
    }
    return comm;
}

static size_t size_of(int id) {
    static const size_t sizes[] = {0, 8, 56, 57, 1000, 9000, 70000};
    return sizes[(size_t)id % (sizeof sizes / sizeof *sizes)];
}

/* What rank from, on the given side, sends to rank to. */
static uint64_t key_of(int id, int side, int from, int to) { return key4(id, side, from, to); }

/* Sends and receives on all communicators at once: posted in order, sent in
 * reverse order. */
static void traffic(void) {
    int total = 0, used = 0;
    for (int id = 0; id < count; id++) {
        total += members[id].comm != MPI_COMM_NULL ? members[id].peers : 0;
    }
    MPI_Request *receives = need(sizeof *receives * (size_t)total), *sends = need(sizeof *sends * (size_t)total);
    MPI_Status *statuses = need(sizeof *statuses * (size_t)total);
    unsigned char **out = need(sizeof *out * (size_t)total);
    for (int id = 0; id < count; id++) {
        struct member *m = &members[id];
        if (m->comm == MPI_COMM_NULL) {
            continue;
        }
        m->in = need(size_of(id) * (size_t)m->peers);
        for (int p = 0; p < m->peers; p++) {
            MPI_Irecv(m->in + size_of(id) * (size_t)p, (int)size_of(id), MPI_BYTE, MPI_ANY_SOURCE,
                      p % 2 ? MPI_ANY_TAG : TAG, m->comm, &receives[used++]);
        }
    }
    used = 0;
    for (int id = count - 1; id >= 0; id--) {
        struct member *m = &members[id];
        for (int p = 0; m->comm != MPI_COMM_NULL && p < m->peers; p++) {
            int to = (m->rank + p) % m->peers;
            out[used] = need(size_of(id));
            fill(out[used], size_of(id), key_of(id, m->side, m->rank, to));
            MPI_Isend(out[used], (int)size_of(id), MPI_BYTE, to, TAG, m->comm, &sends[used]);
            used++;
        }
    }
    MPI_Waitall(total, receives, statuses);
    MPI_Waitall(total, sends, MPI_STATUSES_IGNORE);
    used = 0;
    for (int id = 0; id < count; id++) {
        struct member *m = &members[id];
        if (m->comm == MPI_COMM_NULL) {
            continue;
        }
        char *seen = calloc((size_t)m->peers, 1);
        for (int p = 0; p < m->peers; p++) {
            const MPI_Status *s = &statuses[used++];
            EXPECT(s->MPI_SOURCE >= 0 && s->MPI_SOURCE < m->peers && !seen[s->MPI_SOURCE], "%s: message from %d",
                   m->name, s->MPI_SOURCE);
            seen[s->MPI_SOURCE] = 1;
            check_status(s, s->MPI_SOURCE, TAG, size_of(id), m->name);
            int side = m->inter ? 1 - m->side : m->side;
            check(m->in + size_of(id) * (size_t)p, size_of(id), key_of(id, side, s->MPI_SOURCE, m->rank), m->name);
        }
        free(seen);
        free(m->in);
    }
    for (int i = 0; i < total; i++) {
        free(out[i]);
    }
    free(out);
    free(statuses);
    free(sends);
    free(receives);
    /* The next round's messages would fit this round's wildcards elsewhere. */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The communicators of one group. */
static void groups(void) {
    MPI_Comm c;
    MPI_Group all, some;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int last[1] = {world_size - 1}, evens[1][3] = {{0, world_size - 1, 2}};
    MPI_Group_excl(all, 1, last, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &c);
    add("MPI_Comm_create", c, 0);
    MPI_Group_free(&some);
    MPI_Group_range_incl(all, 1, evens, &some);
    c = MPI_COMM_NULL;
    if (world_rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &c);
    }
    add("MPI_Comm_create_group", c, 0);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

/* Communicators with a topology. */
static void topologies(void) {
    MPI_Comm c, sub;
    int dims[2] = {0, 0}, periodic[2] = {1, 0}, keep[2] = {1, 0};
    MPI_Dims_create(world_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 1, &c);
    add("MPI_Cart_create", c, 0);
    MPI_Cart_sub(c, keep, &sub);
    /* Several rows exist: the side tells their messages apart. */
    int coords[2], rank;
    MPI_Comm_rank(c, &rank);
    MPI_Cart_coords(c, rank, 2, coords);
    add("MPI_Cart_sub", sub, 100 + coords[1]);
    int left[1] = {(world_rank + world_size - 1) % world_size}, right[1] = {(world_rank + 1) % world_size};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &c);
    add("MPI_Dist_graph_create_adjacent", c, 0);
}

/* Intercommunicators, and what becomes of them. */
static void intercommunicators(void) {
    MPI_Comm half, inter, c;
    int upper = world_rank >= world_size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
    add("half", half, 200 + upper);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : world_size / 2, 9, &inter);
    add("MPI_Intercomm_create", inter, upper);
    MPI_Comm_dup(inter, &c);
    add("MPI_Comm_dup of an intercommunicator", c, upper);
    MPI_Intercomm_merge(inter, upper, &c);
    add("MPI_Intercomm_merge", c, 0);
    MPI_Intercomm_merge(inter, !upper, &c);
    add("MPI_Intercomm_merge, upper half first", c, 0);
}

int main(int argc, char **argv) {
    MPI_Comm c, d;
    MPI_Request requests[2];
    start(argc, argv, "communicators", 2);
    add("MPI_COMM_WORLD", MPI_COMM_WORLD, 0);
    add("MPI_COMM_SELF", MPI_COMM_SELF, 1000 + world_rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_dup(add("MPI_Comm_dup", c, 0), &c);
    MPI_Comm_dup_with_info(add("MPI_Comm_dup of it", c, 0), MPI_INFO_NULL, &c);
    add("MPI_Comm_dup_with_info", c, 0);
    MPI_Comm_idup(MPI_COMM_WORLD, &c, &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &d, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    add("MPI_Comm_idup", c, 0);
    add("MPI_Comm_idup, second", d, 0);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &c);
    add("MPI_Comm_split by parity", c, 300 + world_rank % 2);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &c);
    add("MPI_Comm_split in reverse", c, 0);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, 0, &c);
    add("MPI_Comm_split without rank 0", c, 0);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
    int leader = world_rank;
    MPI_Bcast(&leader, 1, MPI_INT, 0, c);
    add("MPI_Comm_split_type", c, 400 + leader);
    groups();
    topologies();
    intercommunicators();
    traffic();
    /* Free every other one, and make some anew: old identifiers come back. */
    for (int id = 2; id < count; id += 2) {
        if (members[id].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&members[id].comm);
        }
    }
    traffic();
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    add("MPI_Comm_dup after MPI_Comm_free", c, 0);
    MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank, &c);
    add("MPI_Comm_split after MPI_Comm_free", c, 0);
    traffic();
    for (int id = 2; id < count; id++) {
        if (members[id].comm != MPI_COMM_NULL) {
            MPI_Comm_free(&members[id].comm);
        }
    }
    return finish();
}
