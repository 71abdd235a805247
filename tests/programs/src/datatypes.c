/* Random derived datatypes, nested, of every combiner: sent as the type and
 * received as packed bytes, sent as packed bytes and received as the type, and
 * sent between two layouts with the same signature. What must come out is told
 * by MPI_Pack and MPI_Unpack.
 *
 * types: number of them; longest: bytes of a message at most. MPICH 4.0 over UCX
 * fails to receive into a struct of members of different size when it splits
 * the message inside a member, so by itself it passes with longest=4000 only;
 * seed. */
#include "common.h"

static uint64_t state; /* the same on all ranks */
static long longest;   /* bytes of a message */

static int draw(int n) { return (int)below(&state, (uint64_t)n); }

enum { LONGEST = 6 }; /* blocks of an indexed type */

/* A type over an array that is cut out or dealt out. */
static void draw_array(MPI_Datatype old, MPI_Datatype *type) {
    int dims = 1 + draw(3), order = draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, size = 1;
    int sizes[3], subsizes[3], starts[3], distribs[3], dargs[3], procs[3];
    int dealt = draw(2);
    for (int d = 0; d < dims; d++) {
        sizes[d] = 1 + draw(6);
        subsizes[d] = 1 + draw(sizes[d]);
        starts[d] = draw(sizes[d] - subsizes[d] + 1);
        static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
        distribs[d] = kinds[draw(3)];
        procs[d] = distribs[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + draw(2);
        dargs[d] = distribs[d] == MPI_DISTRIBUTE_CYCLIC && draw(2) ? 1 + draw(2) : MPI_DISTRIBUTE_DFLT_DARG;
        size *= procs[d];
    }
    if (dealt) {
        MPI_Type_create_darray(size, draw(size), dims, sizes, distribs, dargs, procs, order, old, type);
    } else {
        MPI_Type_create_subarray(dims, sizes, subsizes, starts, order, old, type);
    }
}

/* A type of blocks at increasing displacements, so that it can be received. */
static void draw_blocks(MPI_Datatype old, MPI_Aint extent, MPI_Datatype *type) {
    int n = 1 + draw(LONGEST), lengths[LONGEST], disps[LONGEST], at = 0;
    MPI_Aint bytes[LONGEST];
    int equal = 1 + draw(3), kind = draw(4);
    for (int i = 0; i < n; i++) {
        lengths[i] = draw(4);
        disps[i] = at;
        bytes[i] = at * extent;
        at += (kind % 2 == 0 ? lengths[i] : equal) + draw(3);
    }
    switch (kind) {
    case 0:
        MPI_Type_indexed(n, lengths, disps, old, type);
        break;
    case 1:
        MPI_Type_create_indexed_block(n, equal, disps, old, type);
        break;
    case 2:
        MPI_Type_create_hindexed(n, lengths, bytes, old, type);
        break;
    default:
        MPI_Type_create_hindexed_block(n, equal, bytes, old, type);
    }
}

static void draw_type(int depth, MPI_Datatype *type);

/* A struct of one to three other types. */
static void draw_struct(int depth, MPI_Datatype *type) {
    int n = 1 + draw(3), lengths[3];
    MPI_Aint disps[3], at = 0;
    MPI_Datatype members[3];
    for (int i = 0; i < n; i++) {
        MPI_Aint lb, extent, true_lb, true_extent;
        draw_type(depth - 1, &members[i]);
        MPI_Type_get_extent(members[i], &lb, &extent);
        MPI_Type_get_true_extent(members[i], &true_lb, &true_extent);
        lengths[i] = draw(3);
        disps[i] = at;
        at += lengths[i] * extent + true_extent + 8 * draw(3);
    }
    MPI_Type_create_struct(n, lengths, disps, members, type);
    for (int i = 0; i < n; i++) {
        MPI_Type_free(&members[i]);
    }
}

/* A random type of at most the given depth, whose blocks don't overlap. */
static void draw_type(int depth, MPI_Datatype *type) {
    static const MPI_Datatype basic[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_INT};
    MPI_Datatype old;
    MPI_Aint lb, extent, true_lb, true_extent;
    if (depth == 0) {
        MPI_Type_dup(basic[draw(6)], type);
        return;
    }
    if (draw(5) == 0) {
        draw_struct(depth, type);
        return;
    }
    draw_type(depth - 1, &old);
    MPI_Type_get_extent(old, &lb, &extent);
    MPI_Type_get_true_extent(old, &true_lb, &true_extent);
    int count = 1 + draw(5), block = 1 + draw(3);
    switch (draw(7)) {
    case 0:
        MPI_Type_contiguous(draw(5), old, type);
        break;
    case 1:
        MPI_Type_vector(count, block, (block + draw(3)) * (draw(4) == 0 ? -1 : 1), old, type);
        break;
    case 2:
        MPI_Type_create_hvector(count, block, block * extent + 4 * draw(5), old, type);
        break;
    case 3:
        draw_array(old, type);
        break;
    case 4: /* room before and behind the data */
        MPI_Type_create_resized(old, true_lb - 8 * draw(2), (extent > true_extent ? extent : true_extent) + 8 * draw(4),
                                type);
        break;
    case 5:
        MPI_Type_dup(old, type);
        break;
    default:
        draw_blocks(old, extent, type);
    }
    MPI_Type_free(&old);
}

/* Memory for count elements of a type. */
struct layout {
    MPI_Datatype type;
    int count;
    size_t span; /* bytes that the elements reach over */
    unsigned char *memory;
    void *buf; /* what MPI is given: memory less the true lower bound */
    int packed; /* bytes of data */
};

static struct layout lay_out(MPI_Datatype type, int count) {
    MPI_Aint lb, extent, true_lb, true_extent;
    int size;
    struct layout l = {.type = type, .count = count};
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    MPI_Type_size(type, &size);
    l.packed = size * count;
    l.span = count > 0 ? (size_t)(true_extent + (count - 1) * extent) : 0;
    l.memory = need(l.span);
    l.buf = l.memory - true_lb;
    return l;
}

/* The host library's word on the packed bytes of a layout. */
static void pack(const struct layout *l, void *bytes) {
    int position = 0;
    MPI_Pack(l->buf, l->count, l->type, bytes, l->packed, &position, MPI_COMM_SELF);
    EXPECT(position == l->packed, "MPI_Pack made %d of %d bytes", position, l->packed);
}

static void unpack(const struct layout *l, const void *bytes) {
    int position = 0;
    MPI_Unpack(bytes, l->packed, &position, l->buf, l->count, l->type, MPI_COMM_SELF);
}

static void compare(const void *got, const void *want, size_t n, int number, const char *what) {
    const unsigned char *g = got, *w = want;
    for (size_t i = 0; i < n; i++) {
        EXPECT(g[i] == w[i], "type %d, %s: byte %zu of %zu is %#x, not %#x", number, what, i, n, g[i], w[i]);
    }
}

/* Even ranks send to odd ones: type to bytes, bytes to type, type to type. */
static void transfer(MPI_Datatype type, int count, int number) {
    struct layout l = lay_out(type, count), same = lay_out(type, count);
    unsigned char *bytes = need((size_t)l.packed), *received = need((size_t)l.packed);
    MPI_Status status;
    uint64_t key = key4((uint64_t)number, (uint64_t)count, (uint64_t)world_rank & ~1u, 0);
    int sender = world_rank % 2 == 0, synchronous = draw(2);
    fill(l.memory, l.span, key);
    pack(&l, bytes);
    if (sender) {
        (synchronous ? MPI_Ssend : MPI_Send)(l.buf, count, type, partner(), 1, MPI_COMM_WORLD);
        MPI_Send(bytes, l.packed, MPI_PACKED, partner(), 2, MPI_COMM_WORLD);
        MPI_Send(l.buf, count, type, partner(), 3, MPI_COMM_WORLD);
    } else {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        memset(l.memory, UNTOUCHED, l.span);
        memset(same.memory, UNTOUCHED, same.span);
        unpack(&same, bytes);
        MPI_Recv(received, l.packed, MPI_PACKED, partner(), 1, MPI_COMM_WORLD, &status);
        check_status(&status, partner(), 1, (size_t)l.packed, "sent as the type");
        compare(received, bytes, (size_t)l.packed, number, "sent as the type");

        MPI_Irecv(l.buf, count, type, partner(), 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Wait(&requests[0], &statuses[0]);
        EXPECT(statuses[0].MPI_SOURCE == partner(), "type %d: from rank %d", number, statuses[0].MPI_SOURCE);
        compare(l.memory, same.memory, l.span, number, "received as the type");

        memset(l.memory, UNTOUCHED, l.span);
        MPI_Probe(partner(), 3, MPI_COMM_WORLD, &status);
        MPI_Recv(l.buf, count, type, partner(), 3, MPI_COMM_WORLD, &status);
        int elements;
        MPI_Get_count(&status, type, &elements);
        EXPECT(elements == (l.packed > 0 ? count : 0), "type %d: %d elements, not %d", number, elements, count);
        compare(l.memory, same.memory, l.span, number, "sent and received as the type");
    }
    free(received);
    free(bytes);
    free(same.memory);
    free(l.memory);
}

/* Absolute addresses with MPI_BOTTOM. */
static void bottom(void) {
    enum { N = 20000 };
    int *a = need(N * sizeof *a), b = 0, lengths[2] = {N, 1};
    MPI_Aint disps[2];
    MPI_Datatype type;
    MPI_Get_address(a, &disps[0]);
    MPI_Get_address(&b, &disps[1]);
    MPI_Type_create_hindexed(2, lengths, disps, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (world_rank % 2 == 0) {
        fill(a, N * sizeof *a, key4(1, 2, 3, 4));
        b = 4711;
        MPI_Send(MPI_BOTTOM, 1, type, partner(), 4, MPI_COMM_WORLD);
    } else {
        MPI_Recv(MPI_BOTTOM, 1, type, partner(), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(a, N * sizeof *a, key4(1, 2, 3, 4), "MPI_BOTTOM");
        EXPECT(b == 4711, "MPI_BOTTOM: the last int is %d", b);
    }
    MPI_Type_free(&type);
    free(a);
}

/* Half an element more than whole ones: counts tell. */
static void partial(void) {
    MPI_Datatype type;
    MPI_Status status;
    double buf[8] = {0};
    int count;
    MPI_Count elements;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (world_rank % 2 == 0) {
        MPI_Send(buf, 3, MPI_DOUBLE, partner(), 5, MPI_COMM_WORLD);
    } else {
        MPI_Recv(buf, 2, type, partner(), 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &count);
        MPI_Get_elements_x(&status, type, &elements);
        EXPECT(count == MPI_UNDEFINED && elements == 3, "one and a half elements: count %d, elements %lld", count,
               (long long)elements);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv) {
    start(argc, argv, "datatypes", 2);
    long types = option("types", world_size <= 4 ? 150 : 50);
    state = key4(0, 0, 0, 0);
    longest = option("longest", 1 << 20);
    if (partner() >= 0) {
        for (int number = 0; number < types; number++) {
            static const int counts[] = {1, 2, 3, 17, 0, 100};
            MPI_Datatype type;
            int size, count;
            draw_type(number % 4, &type);
            MPI_Type_commit(&type);
            MPI_Type_size(type, &size);
            count = number % 10 == 0 && size > 0 ? 300000 / size + 1 : counts[draw(6)];
            transfer(type, (long)count * size <= longest ? count : size <= longest, number);
            MPI_Type_free(&type);
        }
        bottom();
        partial();
    }
    return finish();
}
