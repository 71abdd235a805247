/* Derived datatypes. Each is made twice: by MPI, and as a list of the memory
 * that its data occupies, by arithmetic that knows nothing of MPI. */
#include <stdlib.h>
#include <string.h>

#include "executor.h"

static const struct {
    MPI_Datatype type;
    int size;
} basics[] = {{MPI_BYTE, 1}, {MPI_CHAR, 1}, {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_FLOAT, 4}, {MPI_LONG, 8}, {MPI_DOUBLE, 8}};

/* One element of a type. */
struct element {
    MPI_Datatype type;
    int derived; /* to be freed */
    ptrdiff_t lb, ub;
    struct pieces pieces;
};

static struct {
    struct element element;
    size_t size;
    int members;
} cell;

/* Appends a piece, joined with the last one where they touch. */
static void append(struct pieces *p, ptrdiff_t off, size_t len) {
    if (len == 0) {
        return;
    }
    if (p->n > 0 && p->list[p->n - 1].off + (ptrdiff_t)p->list[p->n - 1].len == off) {
        p->list[p->n - 1].len += len;
        return;
    }
    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 16;
        p->list = realloc(p->list, p->room * sizeof *p->list);
        if (p->list == NULL) {
            die("no memory for a datatype of %zu pieces", p->room);
        }
    }
    p->list[p->n++] = (struct piece){off, len};
}

/* Appends n elements one after the other, the first at off. */
static void repeat(struct pieces *to, const struct element *e, ptrdiff_t off, int n) {
    ptrdiff_t extent = e->ub - e->lb;
    if (n > 0 && e->pieces.n == 1 && (ptrdiff_t)e->pieces.list[0].len == extent) {
        append(to, off + e->pieces.list[0].off, (size_t)extent * (size_t)n);
        return;
    }
    for (int i = 0; i < n; i++) {
        for (size_t j = 0; j < e->pieces.n; j++) {
            append(to, off + i * extent + e->pieces.list[j].off, e->pieces.list[j].len);
        }
    }
}

static ptrdiff_t up(ptrdiff_t n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

void cell_make(const struct program *p) {
    struct element *e = &cell.element;
    int lengths[16], align = 1;
    MPI_Aint at[16];
    MPI_Datatype types[16], made;
    memset(&cell, 0, sizeof cell);
    cell.members = p->nmembers;
    for (int i = 0; i < p->nmembers; i++) {
        int size = basics[p->members[i]].size;
        align = size > align ? size : align;
        lengths[i] = 1;
        types[i] = basics[p->members[i]].type;
        at[i] = up(e->ub, size);
        append(&e->pieces, at[i], (size_t)size);
        e->ub = at[i] + size;
        cell.size += (size_t)size;
    }
    e->ub = up(e->ub, align);
    e->type = basics[p->members[0]].type;
    if (p->nmembers > 1) {
        MPI_Type_create_struct(p->nmembers, lengths, at, types, &made);
        MPI_Type_create_resized(made, 0, e->ub, &e->type);
        MPI_Type_commit(&e->type);
        MPI_Type_free(&made);
        e->derived = 1;
    }
}

void cell_free(void) {
    if (cell.element.derived) {
        MPI_Type_free(&cell.element.type);
    }
    free(cell.element.pieces.list);
}

MPI_Datatype cell_type(void) { return cell.element.type; }
size_t cell_size(void) { return cell.size; }
int cell_members(void) { return cell.members; }

/* A run of elements of the inner type, disp in bytes. */
struct block {
    int length;
    ptrdiff_t disp;
};

/* Lists what a constructor places where. */
static struct block *blocks(int kind, const int32_t *a, int nargs, ptrdiff_t extent, int *n) {
    struct block *list;
    *n = 1;
    switch (kind) {
    case VECTOR:
    case HVECTOR:
        *n = a[0];
        break;
    case INDEXED:
    case HINDEXED:
    case STRUCT:
        *n = nargs / 2;
        break;
    case INDEXED_BLOCK:
        *n = nargs - 1;
        break;
    case SUBARRAY:
        *n = a[6] ? a[3] : a[2];
        break;
    }
    list = need(((size_t)*n + 1) * sizeof *list);
    for (int i = 0; i < *n; i++) {
        switch (kind) {
        case CONTIGUOUS:
            list[i] = (struct block){a[0], 0};
            break;
        case VECTOR:
            list[i] = (struct block){a[1], i * a[2] * extent};
            break;
        case HVECTOR:
            list[i] = (struct block){a[1], (ptrdiff_t)i * a[2]};
            break;
        case INDEXED:
            list[i] = (struct block){a[2 * i], a[2 * i + 1] * extent};
            break;
        case HINDEXED:
        case STRUCT:
            list[i] = (struct block){a[2 * i], a[2 * i + 1]};
            break;
        case INDEXED_BLOCK:
            list[i] = (struct block){a[0], a[1 + i] * extent};
            break;
        case SUBARRAY: /* rows, columns, of the part, start, order */
            if (a[6]) {
                list[i] = (struct block){a[2], (a[4] + (ptrdiff_t)(a[5] + i) * a[0]) * extent};
            } else {
                list[i] = (struct block){a[3], (a[5] + (ptrdiff_t)(a[4] + i) * a[1]) * extent};
            }
            break;
        default:
            list[i] = (struct block){1, 0};
        }
    }
    return list;
}

/* The same by MPI. */
static MPI_Datatype construct(int kind, const int32_t *a, const struct block *b, int n, const struct element *inner,
                              const struct element *made) {
    MPI_Datatype type = MPI_DATATYPE_NULL, bare;
    int *lengths = need(((size_t)n + 1) * sizeof *lengths), *disps = need(((size_t)n + 1) * sizeof *disps);
    MPI_Aint *at = need(((size_t)n + 1) * sizeof *at);
    MPI_Datatype *types = need(((size_t)n + 1) * sizeof *types);
    for (int i = 0; i < n; i++) {
        lengths[i] = b[i].length;
        disps[i] = kind == INDEXED ? a[2 * i + 1] : kind == INDEXED_BLOCK ? a[1 + i] : 0;
        at[i] = b[i].disp;
        types[i] = inner->type;
    }
    switch (kind) {
    case CONTIGUOUS:
        MPI_Type_contiguous(a[0], inner->type, &type);
        break;
    case VECTOR:
        MPI_Type_vector(a[0], a[1], a[2], inner->type, &type);
        break;
    case HVECTOR:
        MPI_Type_create_hvector(a[0], a[1], a[2], inner->type, &type);
        break;
    case INDEXED:
        MPI_Type_indexed(n, lengths, disps, inner->type, &type);
        break;
    case HINDEXED:
        MPI_Type_create_hindexed(n, lengths, at, inner->type, &type);
        break;
    case INDEXED_BLOCK:
        MPI_Type_create_indexed_block(n, a[0], disps, inner->type, &type);
        break;
    case STRUCT:
        MPI_Type_create_struct(n, lengths, at, types, &bare);
        MPI_Type_create_resized(bare, made->lb, made->ub - made->lb, &type);
        MPI_Type_free(&bare);
        break;
    case SUBARRAY:
        MPI_Type_create_subarray(2, a, a + 2, a + 4, a[6] ? MPI_ORDER_FORTRAN : MPI_ORDER_C, inner->type, &type);
        break;
    case RESIZED:
        MPI_Type_create_resized(inner->type, a[0], a[1], &type);
        break;
    default:
        MPI_Type_dup(inner->type, &type);
    }
    free(lengths);
    free(disps);
    free(at);
    free(types);
    return type;
}

static struct element element_make(const int32_t *w) {
    int kind = w[0], nargs = w[1], n, first = 1;
    const int32_t *a = w + 2;
    struct element e = {0}, inner;
    struct block *b;
    if (kind == CELL) {
        e = cell.element;
        e.derived = 0;
        e.pieces = (struct pieces){0};
        repeat(&e.pieces, &cell.element, 0, 1);
        return e;
    }
    inner = element_make(a + nargs);
    ptrdiff_t extent = inner.ub - inner.lb;
    b = blocks(kind, a, nargs, extent, &n);
    for (int i = 0; i < n; i++) {
        ptrdiff_t from = b[i].disp + inner.lb, to = b[i].disp + (b[i].length - 1) * extent + inner.ub;
        repeat(&e.pieces, &inner, b[i].disp, b[i].length);
        if (b[i].length > 0) {
            e.lb = first || from < e.lb ? from : e.lb;
            e.ub = first || to > e.ub ? to : e.ub;
            first = 0;
        }
    }
    if (kind == SUBARRAY) {
        e.lb = 0;
        e.ub = a[0] * a[1] * extent;
    } else if (kind == RESIZED) {
        e.lb = a[0];
        e.ub = a[0] + a[1];
    }
    e.type = construct(kind, a, b, n, &inner, &e);
    e.derived = 1;
    free(b);
    free(inner.pieces.list);
    if (inner.derived) {
        MPI_Type_free(&inner.type); /* what is made of it lives on */
    }
    return e;
}

void layout_make(const struct layout *l, MPI_Datatype *type, struct pieces *pieces) {
    struct element e = element_make(l->type);
    *pieces = (struct pieces){0};
    repeat(pieces, &e, 0, l->count);
    free(e.pieces.list);
    if (e.derived) {
        MPI_Type_commit(&e.type);
    }
    *type = e.type;
}
