/* SPDX-License-Identifier: MIT */
/*
 * One batch of a session: choosing its requests, connecting, running it. Called
 * by the session's leader, with the session's mutex only where a comment says
 * so; session.c chooses the leader.
 */
#include "src/core/batch.h"

#include "src/base/error.h"

#include <string.h>

/* Requests sorted by key. */
struct sorted {
    struct hf__request **list;
    int n;
};

/* The index at which the key belongs; −1: it is already there. */
static int position_of(const struct sorted *s, const struct hf__key *key)
{
    int low = 0;
    int high = s->n;

    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = hf__key_compare(&s->list[middle]->op.key, key);

        if (order == 0) {
            return -1;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Insert a request unless its name is there already (false): each name has one
 * operation in a batch. */
static bool put(struct sorted *s, struct hf__request *q)
{
    int at = q->call != NULL ? 0 : position_of(s, &q->op.key);

    if (at < 0) {
        return false;
    }
    memmove(&s->list[at + 1], &s->list[at],
            (size_t)(s->n - at) * sizeof s->list[0]);
    s->list[at] = q;
    s->n++;
    return true;
}

/* Returns whether the request must wait for a later batch because its kind
 * differs from the first one's; if so, later requests for the same name must
 * wait as well. That makes callers fall into step: they acquire together and
 * release together. */
static bool is_for_later(const struct hf__session *s,
                         const struct sorted *taken, struct sorted *left,
                         struct hf__request *q)
{
    bool is_same = taken->n == 0 || taken->list[0]->op.kind == q->op.kind;

    if (!s->settings->backend->has_kinds_apart || q->call != NULL) {
        return false;
    }
    if (is_same) {
        return left->n > 0 && position_of(left, &q->op.key) < 0;
    }
    if (left->n < HF__BATCH_MAX) {
        (void)put(left, q);
    }
    return true;
}

int hf__batch_take(struct hf__session *s)
{
    struct hf__request *later[HF__BATCH_MAX];
    struct sorted left = {later, 0};
    struct sorted taken = {s->batch, 0};

    HF__LIST_EACH (link, &s->queue) {
        struct hf__request *q = HF__ELEMENT(link, struct hf__request, link);

        if ((q->call != NULL && taken.n > 0) || left.n == HF__BATCH_MAX) {
            break;
        }
        if (is_for_later(s, &taken, &left, q) || !put(&taken, q)) {
            continue;
        }
        hf__list_remove(&q->link);
        q->progress = HF__PROGRESS_RUNNING;
        if (q->call != NULL || taken.n == HF__BATCH_MAX) {
            break;
        }
    }
    return taken.n;
}

static void begin_executing(struct hf__session *s)
{
    HF_SCOPED_LOCK(&s->mutex);
    s->is_executing = true;
}

static bool is_believed(const struct hf__request *q)
{
    if (q->op.result != HF_OK) {
        return false;
    }
    if (q->call != NULL) {
        return q->changes;
    }
    return q->op.kind == HF__OP_ACQUIRE || q->op.kind == HF__OP_RENEW ||
           q->op.kind == HF__OP_HANDOVER || q->op.kind == HF__OP_RAISE;
}

/* Success on a server counts for nothing once another server is known to have
 * the locks: it becomes HF_EUNKNOWN, so that the request is repeated there. */
static void end_executing(struct hf__session *s, int n)
{
    HF_SCOPED_LOCK(&s->mutex);
    s->is_executing = false;
    for (int i = 0; i < n && atomic_load(&s->is_elsewhere); i++) {
        if (is_believed(s->batch[i])) {
            s->batch[i]->op.result = hf__fail(
                s->batch[i]->op.err, HF_EUNKNOWN,
                "it was done on a server that no longer has the locks");
        }
    }
}

bool hf__session_move(struct hf__session *s, uint64_t server_id)
{
    HF_SCOPED_LOCK(&s->mutex);
    bool has_moved =
        s->server_info.server_id != 0 && s->server_info.server_id != server_id;

    /* A session that is connecting has yet to report its new server. */
    if (s->is_connecting || s->server_info.server_id != server_id) {
        s->goal = server_id;
        atomic_store(&s->is_elsewhere, true);
    }
    if (has_moved && s->is_executing) {
        hf__conn_interrupt(&s->conn);
    }
    return has_moved;
}

static void begin_connecting(struct hf__session *s)
{
    HF_SCOPED_LOCK(&s->mutex);
    s->is_executing = true;
    s->is_connecting = true;
    atomic_store(&s->is_elsewhere, false);
}

/* The try to connect has ended. Returns whether the session was told meanwhile
 * that the locks are on another server. */
static bool end_connecting(struct hf__session *s)
{
    HF_SCOPED_LOCK(&s->mutex);
    s->is_executing = false;
    s->is_connecting = false;
    if (hf__conn_is_open(&s->conn) &&
        hf__conn_server_info(&s->conn).server_id == s->goal) {
        atomic_store(&s->is_elsewhere, false);
    }
    return atomic_load(&s->is_elsewhere);
}

/* An interrupt because of a move fails the try under way. The deadline and
 * closing interrupt a try too, and they make the next try fail at once. */
static int connect_where_locks_are(struct hf__session *s, hf__time deadline,
                                   hf_error *err)
{
    const struct hf__settings *t = s->settings;
    bool is_elsewhere = false;
    int r = HF_OK;

    do {
        hf__conn_close(&s->conn);
        begin_connecting(s);
        s->conn.client = t->mark;
        r = hf__conn_open(&s->conn, t->backend, t->url, t->allow, deadline,
                          err);
        is_elsewhere = end_connecting(s);
    } while (is_elsewhere && (r == HF_OK || r == HF_EUNAVAIL));
    return r;
}

int hf__batch_connect(struct hf__session *s, hf__time deadline, hf_error *err)
{
    const struct hf__settings *t = s->settings;
    uint64_t was_at = 0;
    uint64_t is_at = 0;
    int r = HF_OK;

    if (hf__conn_is_open(&s->conn) && !s->conn.is_dead &&
        !atomic_load(&s->is_elsewhere)) {
        return HF_OK;
    }
    r = connect_where_locks_are(s, deadline, err);
    hf__log(&t->log, r == HF_OK ? HF_LOG_DEBUG : HF_LOG_INFO,
            "event=connect session=%s result=%s", s->role, hf_strstatus(r));
    if (r == HF_OK) {
        HF_SCOPED_LOCK(&s->mutex);
        was_at = s->server_info.server_id;
        s->server_info = hf__conn_server_info(&s->conn);
        is_at = s->server_info.server_id;
        hf__count(&t->counters->connects, 1);
    }
    if (r == HF_OK && was_at != 0 && is_at != was_at) {
        hf__log(&t->log, HF_LOG_WARN, "event=moved session=%s", s->role);
        t->moved(t->moved_arg);
    }
    return r;
}

/* A renewal must not be sent past its deadline: the grant has been given up by
 * then (promise 2). */
static bool is_too_late(const struct hf__request *q, hf__time now)
{
    return q->send_by.ns != 0 && !hf__before(now, q->send_by);
}

/* Collect the operations to send in s->ops; returns how many. */
static int gather_ops(struct hf__session *s, int n)
{
    hf__time now = hf__now();
    int count = 0;

    for (int i = 0; i < n; i++) {
        if (!is_too_late(s->batch[i], now)) {
            s->ops[count++] = &s->batch[i]->op;
        }
    }
    return count;
}

int hf__batch_nothing(struct hf__conn *conn, struct hf__request *q,
                      hf__time deadline)
{
    (void)conn;
    (void)deadline;
    q->op.result = HF_OK;
    return HF_OK;
}

static int execute_batch(struct hf__session *s, int n, hf__time deadline,
                         hf_error *err)
{
    int r = HF_OK;

    hf__count(&s->settings->counters->batches,
              s->batch[0]->call != hf__batch_nothing);
    begin_executing(s);
    if (s->batch[0]->call != NULL) {
        r = s->batch[0]->call(&s->conn, s->batch[0], deadline);
    } else {
        int count = gather_ops(s, n);

        hf__count(&s->settings->counters->operations, (unsigned)count);
        if (count > 0) {
            r = hf__conn_execute(&s->conn, s->ops, count, deadline, err);
        }
    }
    end_executing(s, n);
    return r;
}

/* The request is a renewal or a check, whose grant has a lease that runs out
 * meanwhile. */
static bool is_watchful(const struct hf__request *q)
{
    return q->call == NULL &&
           (q->op.kind == HF__OP_RENEW || q->op.kind == HF__OP_RAISE);
}

/*
 * How long to connect: as long as any request may still be sent. With a limit
 * for each try, a store that is only slow to open connections would fail them
 * all, since each starts from the beginning, and the locks would be lost. A
 * store that hangs is noticed by the clock meanwhile (grant_fsm.c).
 */
static hf__time connect_by(const struct hf__session *s, int n, hf__time limit)
{
    hf__time last = {0};

    for (int i = 0; i < n; i++) {
        const struct hf__request *q = s->batch[i];

        last = hf__later(last, q->send_by.ns == 0 ? limit : q->send_by);
    }
    return hf__earlier(last, limit);
}

/* How long to wait for the answers: for a renewal a sixth of its lease, so that
 * there is time for another try. */
static hf__time answer_by(const struct hf__session *s, int n, hf__time limit)
{
    int64_t least_us = INT64_MAX; /* most batches need not read the clock */

    for (int i = 0; i < n; i++) {
        const struct hf__request *q = s->batch[i];

        if (is_watchful(q) && q->op.lease_us > 0 && q->op.lease_us < least_us) {
            least_us = q->op.lease_us;
        }
    }
    return least_us == INT64_MAX
               ? limit
               : hf__earlier(limit, hf__after_us(hf__now(), least_us / 6));
}

/* The connection failed or could not be opened: fill the errors of requests
 * that have none. */
static void note_failure(struct hf__session *s, int n, const hf_error *err)
{
    hf__log(&s->settings->log, HF_LOG_INFO,
            "event=session_lost session=%s result=%s", s->role,
            hf_strstatus(err->status));
    for (int i = 0; i < n; i++) {
        hf_error *own = s->batch[i]->op.err;

        if (s->batch[i]->op.result < 0 && own != NULL && own->status == 0) {
            hf__error_copy(own, err);
        }
    }
}

void hf__batch_run(struct hf__session *s, int n)
{
    hf_error err = HF_ERROR_INIT;
    hf__time limit = hf__after_ms(hf__now(), s->settings->io_timeout_ms);
    int r = hf__batch_connect(s, connect_by(s, n, limit), &err);

    if (r == HF_OK) {
        r = execute_batch(s, n, answer_by(s, n, limit), &err);
    } else {
        for (int i = 0; i < n; i++) {
            s->batch[i]->op.result = r;
        }
    }
    if (r != HF_OK) {
        err.status = r;
        note_failure(s, n, &err);
    }
}
