/* The operations. Each writes a record of itself, and behind it one for every
 * message and request that it has ended. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor.h"

MPI_Comm comms[COMMS];

/* What a request slot holds. */
struct slot {
    MPI_Request request;
    int active, comm;
    struct buffer *send, *recv; /* NULL: no such half */
    int replace, null;          /* both are one; from MPI_PROC_NULL */
};

static struct {
    const struct program *p;
    int number; /* place of the case in the run */
    struct slot *slots;
    MPI_Message *handles;
    _Atomic int received[COMMS]; /* messages that this rank has got */
} now_running;

/* The operation that a thread executes, and its records. */
struct call {
    const struct op *op;
    struct record own;
    struct record *items;
    int n, room;
};

static const int32_t plain_type[] = {CELL, 0};

static int class_of(int rc) {
    int class;
    if (rc == MPI_SUCCESS) {
        return 0;
    }
    MPI_Error_class(rc, &class);
    switch (class) {
    case MPI_ERR_TRUNCATE:
        return 1;
    case MPI_ERR_IN_STATUS:
        return 2;
    case MPI_ERR_PENDING:
        return 3;
    }
    return 1000 + class;
}

static int rank_of(int peer) { return peer == -2 ? MPI_ANY_SOURCE : peer == -1 ? MPI_PROC_NULL : peer; }
static int tag_of(int tag) { return tag == -1 ? MPI_ANY_TAG : tag; }

/* The next record behind the call's own. */
static struct record *item(struct call *c, int what, int64_t t0) {
    if (c->n == c->room) {
        c->room = c->room ? 2 * c->room : 16;
        c->items = realloc(c->items, (size_t)c->room * sizeof *c->items);
        if (c->items == NULL) {
            die("no memory for %d records", c->room);
        }
    }
    struct record *r = &c->items[c->n++];
    *r = c->own;
    r->item = what;
    r->class = 0;
    r->flags = 0;
    r->msg = r->bad = -1;
    r->t0 = t0;
    r->t1 = now();
    return r;
}

static void put_status(struct record *r, const MPI_Status *st) {
    int bytes;
    MPI_Get_count(st, MPI_BYTE, &bytes);
    r->bytes = bytes;
    r->source = st->MPI_SOURCE == MPI_ANY_SOURCE ? -2 : st->MPI_SOURCE == MPI_PROC_NULL ? -1 : st->MPI_SOURCE;
    r->tag = st->MPI_TAG == MPI_ANY_TAG ? -1 : st->MPI_TAG;
}

/* The outcome of a receive into b. */
static void put_received(struct record *r, struct buffer *b, const MPI_Status *st, int rc, int comm, int replace, int null) {
    int cancelled, dirty, count, elements;
    put_status(r, st);
    r->class = class_of(rc);
    MPI_Test_cancelled(st, &cancelled);
    if (cancelled) {
        r->flags |= CANCELLED;
        buffer_check(b, now_running.p->key, 0, !replace, &r->msg, &r->bad, &dirty);
        r->flags |= dirty ? DIRTY : 0;
        return;
    }
    if (null) {
        buffer_check(b, now_running.p->key, 0, !replace, &r->msg, &r->bad, &dirty);
        r->flags |= dirty ? DIRTY : 0;
        return;
    }
    int truncated = r->class == 1;
    size_t n = r->class != 0 && !truncated ? 0 : (size_t)r->bytes;
    if (truncated) {
        n = b->bytes; /* what the status says then is nobody's business */
    }
    buffer_check(b, now_running.p->key, n, !replace && !truncated, &r->msg, &r->bad, &dirty);
    r->flags |= dirty ? DIRTY : 0;
    if (r->class == 0 && n % cell_size() == 0) {
        MPI_Get_count(st, cell_type(), &count);
        elements = count;
        if (cell_members() == 1) { /* MPICH 4.0 divides by zero for some structures */
            MPI_Get_elements(st, cell_type(), &elements);
        }
        if ((size_t)count != n / cell_size() || elements != count) {
            r->flags |= ELEMENTS;
        }
    }
    atomic_fetch_add(&now_running.received[comm], 1);
}

/* ---- requests ------------------------------------------------------------------ */

/* The request in a slot has been completed. */
static void ended(struct call *c, int slot, int rc, const MPI_Status *st, MPI_Request left, int64_t t0) {
    struct slot *s = &now_running.slots[slot];
    struct record *r = item(c, slot, t0);
    s->request = left;
    if (!s->active) {
        r->flags |= STRAY;
        return;
    }
    s->active = 0;
    if (s->recv != NULL) {
        put_received(r, s->recv, st, rc, s->comm, s->replace, s->null);
    } else {
        r->class = class_of(rc);
    }
}

/* One call of a wait or test on the call's slots; whether all of them are
 * inactive after it. */
static int complete_once(struct call *c) {
    const struct op *op = c->op;
    int n = op->nslots, rc = MPI_SUCCESS, flag = 1, index = MPI_UNDEFINED, count = 0;
    MPI_Request requests[n];
    MPI_Status statuses[n], st;
    int indices[n], active[n], all = 1;
    for (int i = 0; i < n; i++) {
        requests[i] = now_running.slots[op->slots[i]].request;
        active[i] = now_running.slots[op->slots[i]].active;
    }
    int64_t t0 = now();
    switch (op->kind) {
    case WAIT:
        rc = MPI_Wait(&requests[0], &st);
        index = 0;
        break;
    case TEST:
        rc = MPI_Test(&requests[0], &flag, &st);
        index = flag ? 0 : MPI_UNDEFINED;
        break;
    case WAITANY:
        rc = MPI_Waitany(n, requests, &index, &st);
        break;
    case TESTANY:
        rc = MPI_Testany(n, requests, &index, &flag, &st);
        index = flag ? index : MPI_UNDEFINED;
        break;
    case WAITALL:
        rc = MPI_Waitall(n, requests, statuses);
        count = n;
        break;
    case TESTALL:
        rc = MPI_Testall(n, requests, &flag, statuses);
        count = flag ? n : 0;
        break;
    case WAITSOME:
        rc = MPI_Waitsome(n, requests, &count, indices, statuses);
        break;
    case TESTSOME:
        rc = MPI_Testsome(n, requests, &count, indices, statuses);
        break;
    }
    if (index != MPI_UNDEFINED) {
        if (active[index] || (op->kind != WAIT && op->kind != TEST)) {
            ended(c, op->slots[index], rc, &st, requests[index], t0);
        }
    } else if (count == 0 && rc != MPI_SUCCESS) {
        c->own.class = class_of(rc);
    }
    if (count == MPI_UNDEFINED) {
        count = 0;
    }
    for (int i = 0; i < count; i++) {
        int some = op->kind == WAITSOME || op->kind == TESTSOME, k = some ? indices[i] : i;
        int error = class_of(rc) == 2 ? statuses[i].MPI_ERROR : rc;
        if (some || (active[k] && class_of(error) != 3)) {
            ended(c, op->slots[k], error, &statuses[i], requests[k], t0);
        }
    }
    for (int i = 0; i < n; i++) {
        all = all && !now_running.slots[op->slots[i]].active;
    }
    return all;
}

static void complete(struct call *c) {
    /* With an error in one of them, Waitall may leave others incomplete. */
    int again = c->op->until || c->op->kind == WAITALL;
    for (int i = 1; !complete_once(c) && again && c->own.class == 0; i++) {
        if (i % 16 == 0) {
            sched_yield();
        }
    }
}

static void get_status(struct call *c) {
    struct slot *s = &now_running.slots[c->op->slots[0]];
    MPI_Status st;
    int flag = 0;
    int64_t t0 = now();
    int rc = MPI_Request_get_status(s->request, &flag, &st);
    c->own.class = class_of(rc);
    if (flag && s->active && rc == MPI_SUCCESS) {
        struct record *r = item(c, c->op->slots[0], t0);
        r->flags |= PEEK;
        put_status(r, &st);
    }
}

static void cancel_rest(struct call *c) {
    for (int i = 0; i < c->op->nslots; i++) {
        struct slot *s = &now_running.slots[c->op->slots[i]];
        if (s->active) {
            MPI_Status st;
            int64_t t0 = now();
            MPI_Cancel(&s->request);
            int rc = MPI_Wait(&s->request, &st);
            ended(c, c->op->slots[i], rc, &st, s->request, t0);
        }
    }
}

/* ---- sends and receives ---------------------------------------------------------- */

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int send_function_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int isend_function_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* By mode. */
static send_function *const sends[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static send_function_c *const sends_c[] = {MPI_Send_c, MPI_Ssend_c, MPI_Bsend_c, MPI_Rsend_c};
static isend_function *const isends[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static isend_function_c *const isends_c[] = {MPI_Isend_c, MPI_Issend_c, MPI_Ibsend_c, MPI_Irsend_c};
static isend_function *const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
static isend_function_c *const inits_c[] = {MPI_Send_init_c, MPI_Ssend_init_c, MPI_Bsend_init_c, MPI_Rsend_init_c};

/* Calls a function or its _c twin. */
#define EITHER(name, ...) (op->flags & LARGE_COUNT ? name##_c(__VA_ARGS__) : name(__VA_ARGS__))
#define EITHER_OF(table, ...) (op->flags & LARGE_COUNT ? table##_c[op->mode](__VA_ARGS__) : table[op->mode](__VA_ARGS__))

static struct buffer *make(struct call *c, const struct half *h) {
    return buffer_make(&h->layout, c->own.thread, c->own.op, c->op->flags);
}

static void fill(struct buffer *b, int msg) { buffer_fill(b, now_running.p->key, msg < 0 ? 0 : msg); }

/* The type of a message under way may be freed. */
static void free_type(const struct op *op, struct buffer *b) {
    if (op->flags & FREE_TYPE && b != NULL && b->derived) {
        MPI_Type_free(&b->type);
        b->derived = 0;
    }
}

/* Everything that sends, receives or both. */
static void transfer(struct call *c) {
    const struct op *op = c->op;
    const struct half *s = &op->send, *r = &op->recv;
    MPI_Comm comm = comms[op->comm];
    struct buffer *out = NULL, *in = NULL;
    struct slot none = {0}, *slot = op->nslots > 0 ? &now_running.slots[op->slots[0]] : &none;
    MPI_Status st;
    int rc = MPI_SUCCESS, replace = op->kind == SENDRECV_REPLACE || op->kind == ISENDRECV_REPLACE;
    int sending = op->kind != RECV && op->kind != IRECV && op->kind != RECV_INIT;
    int receiving = op->kind != SEND && op->kind != ISEND && op->kind != SEND_INIT;
    if (sending) {
        out = make(c, s);
        fill(out, op->msg);
    }
    if (receiving) {
        in = replace ? out : make(c, r);
    }
    int to = rank_of(s->peer), from = rank_of(r->peer), rtag = tag_of(r->tag);
    MPI_Request *request = &slot->request;
    c->own.t0 = now();
    switch (op->kind) {
    case SEND:
        rc = EITHER_OF(sends, out->base, out->count, out->type, to, s->tag, comm);
        break;
    case ISEND:
        rc = EITHER_OF(isends, out->base, out->count, out->type, to, s->tag, comm, request);
        break;
    case SEND_INIT:
        rc = EITHER_OF(inits, out->base, out->count, out->type, to, s->tag, comm, request);
        break;
    case RECV:
        rc = EITHER(MPI_Recv, in->base, in->count, in->type, from, rtag, comm, &st);
        break;
    case IRECV:
        rc = EITHER(MPI_Irecv, in->base, in->count, in->type, from, rtag, comm, request);
        break;
    case RECV_INIT:
        rc = EITHER(MPI_Recv_init, in->base, in->count, in->type, from, rtag, comm, request);
        break;
    case SENDRECV:
        rc = EITHER(MPI_Sendrecv, out->base, out->count, out->type, to, s->tag, in->base, in->count, in->type, from, rtag, comm, &st);
        break;
    case SENDRECV_REPLACE:
        rc = EITHER(MPI_Sendrecv_replace, in->base, in->count, in->type, to, s->tag, from, rtag, comm, &st);
        break;
    case ISENDRECV:
        rc = EITHER(MPI_Isendrecv, out->base, out->count, out->type, to, s->tag, in->base, in->count, in->type, from, rtag, comm, request);
        break;
    case ISENDRECV_REPLACE:
        rc = EITHER(MPI_Isendrecv_replace, in->base, in->count, in->type, to, s->tag, from, rtag, comm, request);
        break;
    }
    c->own.t1 = now();
    free_type(op, out);
    if (in != out) {
        free_type(op, in);
    }
    c->own.class = class_of(rc);
    if (op->nslots > 0) {
        *slot = (struct slot){*request, op->kind != SEND_INIT && op->kind != RECV_INIT, op->comm, out, in, replace, r->peer == -1};
        if (!receiving) {
            slot->null = 0;
        }
    } else if (receiving) {
        put_received(item(c, ITEM_RECV, c->own.t0), in, &st, rc, op->comm, replace, r->peer == -1);
    }
}

static void start(struct call *c) {
    const struct op *op = c->op;
    MPI_Request requests[op->nslots];
    int rc;
    for (int i = 0; i < op->nslots; i++) {
        struct slot *s = &now_running.slots[op->slots[i]];
        requests[i] = s->request;
        if (s->send != NULL) {
            fill(s->send, op->msgs[i]);
        } else {
            buffer_clear(s->recv);
        }
    }
    c->own.t0 = now();
    if (op->nslots == 1) {
        rc = MPI_Start(&requests[0]);
    } else {
        rc = MPI_Startall(op->nslots, requests);
    }
    c->own.t1 = now();
    c->own.class = class_of(rc);
    for (int i = 0; i < op->nslots; i++) {
        now_running.slots[op->slots[i]].request = requests[i];
        now_running.slots[op->slots[i]].active = 1;
    }
}

/* ---- probes ------------------------------------------------------------------------ */

/* Receives what a probe found, with room for no more. */
static void receive_probed(struct call *c, const MPI_Status *found) {
    const struct op *op = c->op;
    struct layout l = {0, plain_type};
    MPI_Status st;
    int bytes;
    MPI_Get_count(found, MPI_BYTE, &bytes);
    l.count = bytes / (int)cell_size();
    struct buffer *b = buffer_make(&l, c->own.thread, c->own.op, op->flags);
    int64_t t0 = now();
    int rc = EITHER(MPI_Recv, b->base, b->count, b->type, found->MPI_SOURCE, found->MPI_TAG, comms[op->comm], &st);
    put_received(item(c, ITEM_RECV, t0), b, &st, rc, op->comm, 0, 0);
}

static void probe(struct call *c) {
    const struct op *op = c->op;
    MPI_Comm comm = comms[op->comm];
    MPI_Message *handle = &now_running.handles[op->handle];
    MPI_Status st;
    int source = rank_of(op->recv.peer), tag = tag_of(op->recv.tag), found = 1, rc = MPI_SUCCESS;
    for (int left = op->tries;; left--) {
        c->own.t0 = now();
        switch (op->kind) {
        case PROBE:
        case PROBE_RECV:
            rc = MPI_Probe(source, tag, comm, &st);
            break;
        case IPROBE:
        case IPROBE_RECV:
            rc = MPI_Iprobe(source, tag, comm, &found, &st);
            break;
        case MPROBE:
            rc = MPI_Mprobe(source, tag, comm, handle, &st);
            break;
        case IMPROBE:
            rc = MPI_Improbe(source, tag, comm, &found, handle, &st);
            break;
        }
        c->own.t1 = now();
        if (found || rc != MPI_SUCCESS || left <= 1) {
            break;
        }
    }
    c->own.class = class_of(rc);
    if (!found || rc != MPI_SUCCESS) {
        return;
    }
    c->own.flags |= FOUND;
    struct record *r = item(c, ITEM_PROBE, c->own.t0);
    r->t1 = c->own.t1;
    put_status(r, &st);
    if (op->kind == PROBE_RECV || op->kind == IPROBE_RECV) {
        receive_probed(c, &st);
    }
}

static void mrecv(struct call *c) {
    const struct op *op = c->op;
    MPI_Message *handle = &now_running.handles[op->handle];
    MPI_Status st;
    if (*handle == MPI_MESSAGE_NULL) {
        return;
    }
    c->own.flags |= FOUND;
    struct buffer *b = make(c, &op->recv);
    c->own.t0 = now();
    if (op->kind == MRECV) {
        int rc = EITHER(MPI_Mrecv, b->base, b->count, b->type, handle, &st);
        c->own.class = class_of(rc);
        put_received(item(c, ITEM_RECV, c->own.t0), b, &st, rc, op->comm, 0, 0);
        return;
    }
    struct slot *s = &now_running.slots[op->slots[0]];
    *s = (struct slot){MPI_REQUEST_NULL, 1, op->comm, NULL, b, 0, 0};
    c->own.class = class_of(EITHER(MPI_Imrecv, b->base, b->count, b->type, handle, &s->request));
    free_type(op, b);
}

/* Receives what is missing of all messages that were sent to this rank. */
static void drain(struct call *c) {
    const struct op *op = c->op;
    for (int left = op->count - now_running.received[op->comm]; left > 0; left--) {
        struct buffer *b = make(c, &op->recv);
        MPI_Status st;
        int64_t t0 = now();
        int rc = MPI_Recv(b->base, b->count, b->type, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[op->comm], &st);
        put_received(item(c, ITEM_RECV, t0), b, &st, rc, op->comm, 0, 0);
    }
}

/* ---- the rest ------------------------------------------------------------------------ */

static void others(struct call *c) {
    const struct op *op = c->op;
    struct slot *s = op->nslots > 0 ? &now_running.slots[op->slots[0]] : NULL;
    int rc = MPI_SUCCESS;
    switch (op->kind) {
    case CANCEL:
        rc = s->active ? MPI_Cancel(&s->request) : MPI_SUCCESS;
        break;
    case FREE:
        if (s->active) {
            rc = MPI_Request_free(&s->request);
            s->active = 0;
        }
        break;
    case FREE_REST:
        for (int i = 0; i < op->nslots && rc == MPI_SUCCESS; i++) {
            rc = MPI_Request_free(&now_running.slots[op->slots[i]].request);
        }
        break;
    case BARRIER:
        rc = MPI_Barrier(comms[WORLD]);
        break;
    case IBARRIER:
        *s = (struct slot){.active = 1};
        rc = MPI_Ibarrier(comms[WORLD], &s->request);
        break;
    case MAKE_FRESH:
        rc = MPI_Comm_dup(comms[WORLD], &comms[FRESH]);
        break;
    case FREE_FRESH:
        rc = MPI_Comm_free(&comms[FRESH]);
        break;
    case SLEEP:
        if (op->micros == 0) {
            sched_yield();
        } else {
            usleep((useconds_t)op->micros);
        }
        break;
    default:
        die("an operation of kind %d", op->kind);
    }
    c->own.class = class_of(rc);
}

static void execute(struct call *c) {
    switch (c->op->kind) {
    case SEND:
    case ISEND:
    case SEND_INIT:
    case RECV:
    case IRECV:
    case RECV_INIT:
    case SENDRECV:
    case SENDRECV_REPLACE:
    case ISENDRECV:
    case ISENDRECV_REPLACE:
        transfer(c);
        break;
    case START:
        start(c);
        break;
    case PROBE:
    case IPROBE:
    case PROBE_RECV:
    case IPROBE_RECV:
    case MPROBE:
    case IMPROBE:
        probe(c);
        break;
    case MRECV:
    case IMRECV:
        mrecv(c);
        break;
    case WAIT:
    case TEST:
    case WAITALL:
    case TESTALL:
    case WAITANY:
    case TESTANY:
    case WAITSOME:
    case TESTSOME:
        complete(c);
        break;
    case GET_STATUS:
        get_status(c);
        break;
    case CANCEL_REST:
        cancel_rest(c);
        break;
    case DRAIN:
        drain(c);
        break;
    default:
        others(c);
    }
}

void ops_run(const struct list *list, int thread) {
    struct call c = {0};
    for (int i = 0; i < list->n; i++) {
        c.op = &list->ops[i];
        c.n = 0;
        c.own = (struct record){.run_case = now_running.number, .thread = thread, .op = i, .item = ITEM_OP, .msg = -1, .bad = -1};
        c.own.t0 = now();
        log_at(thread, i);
        execute(&c);
        if (c.own.t1 == 0) {
            c.own.t1 = now();
        }
        log_add(&c.own);
        for (int k = 0; k < c.n; k++) {
            log_add(&c.items[k]);
        }
    }
    free(c.items);
    log_at(thread, list->n);
}

void ops_begin(const struct program *p, int number) {
    memset(&now_running, 0, sizeof now_running);
    now_running.p = p;
    now_running.number = number;
    now_running.slots = need(((size_t)p->nslots + 1) * sizeof *now_running.slots);
    now_running.handles = need(((size_t)p->nhandles + 1) * sizeof *now_running.handles);
    for (int i = 0; i < p->nslots; i++) {
        now_running.slots[i] = (struct slot){.request = MPI_REQUEST_NULL};
    }
    for (int i = 0; i <= p->nhandles; i++) {
        now_running.handles[i] = MPI_MESSAGE_NULL;
    }
}

void ops_late(void) {
    for (const struct buffer *b = buffers; b != NULL; b = b->next) {
        if (!buffer_same(b)) {
            struct record r = {.run_case = now_running.number, .thread = b->thread, .op = b->op, .item = ITEM_LATE, .msg = -1, .bad = -1};
            log_add(&r);
        }
    }
}

void ops_end(void) {
    free(now_running.slots);
    free(now_running.handles);
}
