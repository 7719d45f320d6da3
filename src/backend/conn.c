/* SPDX-License-Identifier: MIT */
/*
 * The checked wrappers: the only way from the core into a store. They assert
 * what the core asks and what a store answers, once for all stores, where only
 * a bug of ours can break the contract. What a server, a file or a user could
 * cause gives a result instead: a fence out of range is HF_EPROTO, a time out
 * of range is bounded.
 *
 * For every store they also keep SIGPIPE from the caller's thread, read the
 * clock immediately before a batch goes out, and let an interrupt reach the
 * call it was meant for and no later one. The core retries, reopens and decides
 * what a result means. Thread: one for each conn, interrupt any.
 */
#include "src/backend/conn.h"

#include "src/backend/cell.h"
#include "src/backend/compatibility.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/map.h"

#include <string.h>

/* The public API allows no more than these; neither overflows nanoseconds. */
#define LEASE_MAX_US ((int64_t)HF_LEASE_MAX_MS * 1000)
#define KEEP_MAX_US  (INT64_C(100) * 366 * 86400 * 1000000)
/* The wall clock at the end of the year 9999, the last that has four digits. */
#define WALL_MAX_US (INT64_C(253402300800) * 1000000 - 1)

static struct hf__head *head_of(const struct hf__conn *conn)
{
    return conn->state;
}

static bool is_usable(const struct hf__conn *conn)
{
    return conn->state != NULL && !conn->is_dead;
}

/* Every call of a store but close() runs between begin() and end(). */
static void begin(struct hf__conn *conn, struct hf__sigpipe *sigpipe)
{
    if (!conn->backend->has_no_sigpipe) {
        hf__sigpipe_block(sigpipe);
    }
    HF_SCOPED_LOCK(&conn->mutex);
    HF_ASSERT(!conn->is_running); /* one session, one thread at a time */
    conn->is_running = true;
    conn->generation++;
    head_of(conn)->generation = conn->generation;
    atomic_store(&head_of(conn)->interrupted, conn->generation - 1);
}

static int end(struct hf__conn *conn, const struct hf__sigpipe *sigpipe, int r)
{
    HF_ASSERT(r <= 0); /* only operations have outcomes */
    hf__mutex_lock(&conn->mutex);
    conn->is_running = false;
    hf__mutex_unlock(&conn->mutex);
    if (!conn->backend->has_no_sigpipe) {
        hf__sigpipe_restore(sigpipe);
    }
    if (r < 0) {
        conn->is_dead = true;
    }
    return r;
}

static bool is_possible_open(int r)
{
    return r == HF_OK || r == HF_EUNAVAIL || r == HF_EAUTH || r == HF_EPROTO ||
           r == HF_EUNSAFE || r == HF_EINVAL || r == HF_ENOMEM;
}

unsigned hf__caps_of(const struct hf__backend *backend,
                     const struct hf__url *url)
{
    return backend->caps_of == NULL ? backend->caps : backend->caps_of(url);
}

int hf__conn_open(struct hf__conn *conn, const struct hf__backend *backend,
                  const struct hf__url *url, const char *allow,
                  hf__time deadline, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    HF_ASSERT(conn->state == NULL);
    HF_ASSERT(backend->size >= sizeof(struct hf__head));
    HF_ASSERT(url != NULL && allow != NULL);
    conn->state = hf__alloc(backend->size);
    if (conn->state == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a session");
    }
    conn->backend = backend->of == NULL ? backend : backend->of(url);
    conn->caps = hf__caps_of(backend, url);
    conn->is_dead = false;
    head_of(conn)->only_listens = conn->only_listens;
    head_of(conn)->client = conn->client;
    head_of(conn)->stale_session = conn->stale_session;
    begin(conn, &sigpipe);
    int r = conn->backend->open(conn->state, url, allow, deadline, err);
    r = end(conn, &sigpipe, r);
    HF_ASSERT(is_possible_open(r));
    if (r != HF_OK) {
        hf__conn_close(conn);
        return r;
    }
    HF_ASSERT(head_of(conn)->server_info.grade != '\0');
    HF_ASSERT(((conn->caps & HF_CAP_SESSION) != 0) ==
              (head_of(conn)->server_info.lease_us != 0));
    return HF_OK;
}

void hf__conn_close(struct hf__conn *conn)
{
    struct hf__sigpipe sigpipe;

    if (conn->state == NULL) {
        return;
    }
    HF_ASSERT(!conn->is_running);
    hf__sigpipe_block(&sigpipe);
    conn->backend->close(conn->state);
    hf__sigpipe_restore(&sigpipe);
    conn->stale_session = head_of(conn)->stale_session;
    hf__free(conn->state);
    conn->state = NULL;
    conn->is_dead = false;
}

bool hf__conn_is_open(const struct hf__conn *conn)
{
    return conn->state != NULL;
}

/* ---- execute */

static bool is_key(const struct hf__key *key)
{
    return key->bytes != NULL && key->length > 0 &&
           key->length <= HF__KEY_MAX && key->name_at <= key->length;
}

static bool is_lease(const struct hf__op *op)
{
    return op->lease_us > 0 && op->lease_us <= LEASE_MAX_US;
}

static bool is_bound_as(unsigned caps, const struct hf__op *op)
{
    return !op->is_detached || (caps & HF_CAP_DETACH) != 0;
}

static bool is_keeping(unsigned caps, const struct hf__op *op)
{
    return op->keep_us == 0 || ((caps & HF_CAP_KEEP) != 0 && op->keep_us > 0 &&
                                op->keep_us <= KEEP_MAX_US);
}

/* Shared, with slots or fair: only if the store can do that. */
static bool is_mannered(unsigned caps, const struct hf__op *op)
{
    unsigned needed = 0;

    if (op->lock_mode.mode == HF__MODE_SHARED) {
        needed |= HF_CAP_SHARED;
    } else if (op->lock_mode.mode == HF__MODE_SLOTS) {
        needed |= HF_CAP_SLOTS;
    }
    if (op->queueing == HF__QUEUE_ALWAYS) {
        needed |= HF_CAP_FAIR;
    }
    return (caps & needed) == needed &&
           (op->lock_mode.mode == HF__MODE_EXCLUSIVE || op->keep_us == 0) &&
           op->lock_mode.slots <= HF_SLOTS_MAX &&
           (op->lock_mode.mode == HF__MODE_SLOTS) == (op->lock_mode.slots > 0);
}

static bool is_acquire(unsigned caps, const struct hf__op *op)
{
    return is_lease(op) && op->owner != NULL && is_keeping(caps, op) &&
           is_bound_as(caps, op) && is_mannered(caps, op);
}

static void check_op(unsigned caps, const struct hf__op *op)
{
    bool has_token = !hf__token_is_zero(&op->token);

    HF_ASSERT(is_key(&op->key));
    switch (op->kind) {
    case HF__OP_ACQUIRE:
        HF_ASSERT(has_token && is_acquire(caps, op));
        break;
    case HF__OP_RENEW:
        HF_ASSERT(has_token && is_lease(op) && is_bound_as(caps, op));
        break;
    case HF__OP_RELEASE:
        HF_ASSERT(has_token);
        break;
    case HF__OP_HANDOVER:
        HF_ASSERT(is_keeping(caps, op) && is_bound_as(caps, op));
        HF_ASSERT(has_token && is_lease(op) && op->owner != NULL);
        HF_ASSERT(!hf__token_is_zero(&op->next_token));
        HF_ASSERT(!hf__token_equal(&op->token, &op->next_token));
        break;
    case HF__OP_RAISE:
        HF_ASSERT(has_token && op->fence < HF__FENCE_END &&
                  (op->fence > 0) == ((caps & HF_CAP_FENCE) != 0));
        break;
    case HF__OP_INSPECT:
        break;
    case HF__OP_BREAK:
        HF_ASSERT(op->owner != NULL && op->fence < HF__FENCE_END);
        break;
    }
}

static void check_batch(const struct hf__conn *conn, struct hf__op *const ops[],
                        int n)
{
    HF_ASSERT(is_usable(conn) && n >= 1);
    for (int i = 0; i < n; i++) {
        check_op(conn->caps, ops[i]);
        HF_ASSERT(i == 0 ||
                  hf__key_compare(&ops[i - 1]->key, &ops[i]->key) < 0);
    }
}

static void prepare(struct hf__op *op, hf__time now, int64_t lease_us)
{
    op->result = HF_EUNAVAIL;
    op->lease_us = lease_us != 0 ? lease_us : op->lease_us;
    op->sent = now;
    op->is_queued = false;
    op->took_over = false;
    op->slot = -1;
    if (op->ret_participants != NULL) {
        op->ret_participants->n = 0; /* from an earlier attempt */
    }
    if (op->ret_record != NULL) {
        *op->ret_record = (struct hf__record){
            .holder_lives = -1, .remaining_us = -1, .slot = -1};
    }
}

/* The outcome, besides success, that a kind can have. */
static int outcome_of(enum hf__op_kind kind)
{
    switch (kind) {
    case HF__OP_RENEW:
    case HF__OP_RELEASE:
    case HF__OP_HANDOVER:
    case HF__OP_RAISE:
        return HF_LOST;
    case HF__OP_ACQUIRE:
        return HF_BUSY;
    case HF__OP_BREAK:
        return HF_CONFLICT;
    case HF__OP_INSPECT:
        break;
    }
    return HF_OK;
}

static bool is_possible_result(const struct hf__op *op)
{
    int r = op->result;

    if (r == HF_EINVAL) { /* another number of slots; too long a lease */
        return op->kind == HF__OP_RENEW ||
               (op->kind == HF__OP_ACQUIRE &&
                op->lock_mode.mode != HF__MODE_SHARED);
    }
    return r == HF_OK || r == outcome_of(op->kind) || r == HF__AGAIN ||
           (r == HF_BUSY && op->kind == HF__OP_HANDOVER) ||
           (r < 0 && r != HF_EFORK);
}

static bool gives_fence(enum hf__op_kind kind)
{
    return kind == HF__OP_ACQUIRE || kind == HF__OP_HANDOVER ||
           kind == HF__OP_RAISE || kind == HF__OP_BREAK;
}

/* A damaged or edited record can have any times, and all who read it calculate
 * with them. */
static void bound_times(struct hf__record *record)
{
    if (record->remaining_us < 0) {
        record->remaining_us = -1;
    } else if (record->remaining_us > KEEP_MAX_US) {
        record->remaining_us = KEEP_MAX_US;
    }
    if (record->acquired_us < 0 || record->acquired_us > WALL_MAX_US) {
        record->acquired_us = 0;
    }
}

static void bound_told(struct hf__op *op)
{
    if (op->ret_record != NULL) {
        bound_times(op->ret_record);
    }
    for (int i = 0; op->ret_participants != NULL && i < op->ret_participants->n;
         i++) {
        bound_times(&op->ret_participants->list[i].record);
    }
}

/* The store keeps the fences, so a damaged or foreign record can give any. The
 * grant may exist in the store: as after every failure but HF_EUNAVAIL, the
 * core gives it back by token. */
static void check_result(unsigned caps, struct hf__op *op)
{
    HF_ASSERT(is_possible_result(op));
    if (op->result == HF_OK && gives_fence(op->kind) &&
        (caps & HF_CAP_FENCE) != 0 &&
        (op->fence == 0 || op->fence >= HF__FENCE_END)) {
        op->result =
            hf__fail(op->err, HF_EPROTO,
                     "the store gave the fence %llu, which is not between 1 "
                     "and 2^53; its record of this lock is damaged",
                     (unsigned long long)op->fence);
    }
}

int hf__conn_execute(struct hf__conn *conn, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    check_batch(conn, ops, n);
    begin(conn, &sigpipe);
    hf__time now = hf__now();
    for (int i = 0; i < n; i++) {
        prepare(ops[i], now, head_of(conn)->server_info.lease_us);
    }
    int r = conn->backend->execute(conn->state, ops, n, deadline, err);
    r = end(conn, &sigpipe, r);
    for (int i = 0; i < n; i++) {
        check_result(conn->caps, ops[i]);
        bound_told(ops[i]);
    }
    return r;
}

/* ---- the other calls */

/* An interrupt that came while no call ran was meant for this wait. */
static bool take_interrupt(struct hf__conn *conn)
{
    HF_SCOPED_LOCK(&conn->mutex);
    bool was_interrupted = conn->is_interrupted;

    conn->is_interrupted = false;
    return was_interrupted;
}

int hf__conn_wait(struct hf__conn *conn, struct hf__watch *w[], int n,
                  hf__time deadline, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    HF_ASSERT(is_usable(conn) && n >= 0);
    for (int i = 0; i < n; i++) {
        HF_ASSERT(is_key(&w[i]->key));
        w[i]->has_fired = false;
    }
    if (conn->backend->wait == NULL) {
        return hf__fail(err, HF_ENOTSUP, "this store wakes no waiters");
    }
    if (n == 0 &&
        (conn->caps & (HF__CAP_WAIT_ONE | HF__CAP_WAIT_LEAVES)) == 0) {
        return HF_OK; /* the store keeps no place in a queue */
    }
    /* From begin() on an interrupt reaches the running call. */
    begin(conn, &sigpipe);
    int r = take_interrupt(conn)
                ? HF_OK
                : conn->backend->wait(conn->state, w, n, deadline, err);
    return end(conn, &sigpipe, r);
}

int hf__conn_listen(struct hf__conn *conn, hf__broken_fn fn, void *arg,
                    hf__time deadline, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    HF_ASSERT(is_usable(conn) && fn != NULL);
    if (conn->backend->listen == NULL) {
        return hf__fail(err, HF_ENOTSUP,
                        "this store does not notify holders of breaks");
    }
    begin(conn, &sigpipe);
    int r = take_interrupt(conn)
                ? HF_OK
                : conn->backend->listen(conn->state, fn, arg, deadline, err);
    return end(conn, &sigpipe, r);
}

struct listing {
    hf__list_fn fn;
    void *arg;
};

static int list_bounded(void *arg, const char *name, size_t length,
                        const struct hf__record *told)
{
    const struct listing *l = arg;
    struct hf__record record = *told;

    bound_times(&record);
    return l->fn(l->arg, name, length, &record);
}

int hf__conn_list(struct hf__conn *conn, const struct hf__key *prefix,
                  hf__list_fn fn, void *arg, hf__time deadline, hf_error *err)
{
    struct listing l = {fn, arg};
    struct hf__sigpipe sigpipe;

    HF_ASSERT(is_usable(conn) && fn != NULL);
    HF_ASSERT(is_key(prefix));
    if (conn->backend->list == NULL) {
        return hf__fail(err, HF_ENOTSUP, "this store cannot list its locks");
    }
    begin(conn, &sigpipe);
    int r = conn->backend->list(conn->state, prefix, list_bounded, &l, deadline,
                                err);
    return end(conn, &sigpipe, r);
}

int hf__conn_gc(struct hf__conn *conn, const struct hf__key *prefix,
                struct hf__gc *g, hf__time deadline, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    HF_ASSERT(is_usable(conn) && is_key(prefix));
    HF_ASSERT(g->idle_us >= 0 && g->length <= sizeof g->at);
    if (conn->backend->gc == NULL) {
        return hf__fail(err, HF_ENOTSUP, "this store keeps no idle records");
    }
    begin(conn, &sigpipe);
    int r = conn->backend->gc(conn->state, prefix, g, deadline, err);
    HF_ASSERT(g->expired <= g->count);
    return end(conn, &sigpipe, r);
}

static bool is_cell_result(const struct hf__cell_op *op)
{
    int r = op->result;

    return r == HF_OK || r == HF__AGAIN ||
           (r == HF_CONFLICT && op->what != HF__CELL_GET) ||
           (r < 0 && r != HF_EFORK);
}

/* A version that no cell can have comes from a damaged record; so does a value
 * that is too long, which the store has not copied. */
static void check_cell(struct hf__cell_op *op)
{
    HF_ASSERT(is_cell_result(op));
    if (op->result >= 0 && (op->state.version >= HF__FENCE_END ||
                            op->state.length > HF__CELL_MAX)) {
        op->result =
            hf__fail(op->err, HF_EPROTO,
                     "the store's record of this cell is damaged: "
                     "version %llu, %zu bytes",
                     (unsigned long long)op->state.version, op->state.length);
    }
}

int hf__conn_cell(struct hf__conn *conn, struct hf__cell_op *op,
                  hf__time deadline, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    HF_ASSERT(is_usable(conn) && is_key(&op->key));
    HF_ASSERT(op->what == HF__CELL_GET || !hf__token_is_zero(&op->writer));
    HF_ASSERT(op->length <= HF__CELL_MAX && op->expected < HF__FENCE_END);
    op->result = HF_EUNAVAIL;
    op->state = (struct hf__cell_state){0};
    if (conn->backend->cell == NULL) {
        op->result = hf__fail(op->err, HF_ENOTSUP, "this store has no cells");
        return HF_OK;
    }
    begin(conn, &sigpipe);
    int r = conn->backend->cell(conn->state, op, deadline, err);
    r = end(conn, &sigpipe, r);
    check_cell(op);
    return r;
}

int hf__conn_check(struct hf__conn *conn, hf__check_fn fn, void *arg,
                   hf__time deadline, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    HF_ASSERT(is_usable(conn) && fn != NULL);
    begin(conn, &sigpipe);
    int r = conn->backend->check(conn->state, fn, arg, deadline, err);
    return end(conn, &sigpipe, r);
}

void hf__conn_interrupt(struct hf__conn *conn)
{
    HF_SCOPED_LOCK(&conn->mutex);
    if (conn->is_running) {
        atomic_store(&head_of(conn)->interrupted, conn->generation);
        conn->backend->interrupt(conn->state);
    } else {
        conn->is_interrupted = true;
    }
}

void hf__conn_forget_interrupt(struct hf__conn *conn)
{
    (void)take_interrupt(conn);
}

int hf__conn_lock_fds(struct hf__conn *conn, int *fds, int max)
{
    HF_ASSERT(conn->state != NULL);
    if (conn->backend->lock_fds == NULL) {
        return 0;
    }
    return conn->backend->lock_fds(conn->state, fds, max);
}

struct hf__server_info hf__conn_server_info(const struct hf__conn *conn)
{
    HF_ASSERT(conn->state != NULL);
    return head_of(conn)->server_info;
}

/* ---- keys, tokens, fences */

int hf__key_compare(const struct hf__key *a, const struct hf__key *b)
{
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, common);

    return order != 0 ? order : (int)a->length - (int)b->length;
}

uint64_t hf__fence_after(uint64_t stored, int64_t wall_us)
{
    uint64_t wall = wall_us > 0 ? (uint64_t)wall_us : 0;

    /* A damaged record must not make the fence start again from zero: what it
     * gives here is out of range, and the wrappers refuse it. */
    if (stored >= HF__FENCE_END) {
        return stored;
    }
    return stored + 1 > wall ? stored + 1 : wall;
}
