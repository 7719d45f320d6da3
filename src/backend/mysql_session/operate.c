/* SPDX-License-Identifier: MIT */
/*
 * Reading names, and breaking locks. Only the end of its connection frees
 * another holder's user lock, so a break ends that: all its other locks are
 * lost, too. The holder's connection is read from IS_USED_LOCK(), and never
 * from a list of processes, where waiters look like holders. Called by the
 * session's thread.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/compatibility.h"
#include "src/backend/mysql/errors.h"
#include "src/base/error.h"

#define NO_SUCH_THREAD 1094
#define KILL_DENIED    1095
/* Pause between checks whether a killed connection has released its lock. */
#define ENDING_MS 1

/* ---- reading names */

/* Unless it was broken, the lock was taken by another holder, if the row or the
 * server shows one; else its session ended. */
static hf_reason reason_of(const struct hf__ul_view *view,
                           const struct hf__op *op)
{
    bool is_same = hf__token_equal(&view->token, &op->token);
    bool is_later = view->holder != 0 || view->fence > op->fence;

    if (op->fence != 0 && view->broken == op->fence) {
        return HF_REASON_BROKEN;
    }
    return is_later && !is_same ? HF_REASON_TAKEN : HF_REASON_SESSION;
}

static void take_look(struct hf__ul_task *t, const struct hf__ul_view *view)
{
    struct hf__op *op = t->op;

    t->stage = HF__UL_OVER;
    hf__ul_tell(view, op->ret_record);
    if (t->verdict == HF_LOST) {
        op->ret_reason = reason_of(view, op);
    }
    op->fence = view->fence;
    op->result = t->verdict;
    if (op->kind == HF__OP_INSPECT && op->ret_participants != NULL &&
        view->holder != 0) {
        struct hf__participant_info participant = {0};

        hf__ul_tell(view, &participant.record);
        if (hf__participant_list_add(op->ret_participants, &participant) !=
            HF_OK) {
            op->result =
                hf__fail(op->err, HF_ENOMEM, "out of memory for a look");
        }
    }
}

/* Reading failed: tasks that are decided end without it. */
static void end_unseen(struct hf__ul_session *f, int result)
{
    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (t->stage != HF__UL_TO_LOOK) {
            continue;
        }
        t->stage = HF__UL_OVER;
        t->op->ret_reason =
            t->verdict == HF_LOST ? HF_REASON_SESSION : HF_REASON_NONE;
        t->op->result = t->verdict;
        if (t->op->kind == HF__OP_INSPECT) {
            hf__ul_fail(f, t->op, result);
        }
    }
}

/* Write as many as go into one packet; returns how many. */
static int write_looks(struct hf__ul_session *f)
{
    struct hf__text *sql = &f->mysql.sql;
    int n = 0;

    hf__text_clear(sql);
    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (t->stage == HF__UL_TO_LOOK &&
            (n == 0 || sql->length < f->pool->packet_most / 2)) {
            hf__text_add(sql, n == 0 ? "" : ";");
            hf__ul_write_look(f, &t->op->key, t->op->kind == HF__OP_INSPECT);
            n++;
        }
    }
    return n;
}

/* HF_OK, or the failure of the first name that could not be read. */
static int take_looks(struct hf__ul_session *f, int n)
{
    struct hf__mysql *s = &f->mysql;
    int r = HF_OK;

    for (int i = 0; i < f->n_tasks && n > 0 && r == HF_OK; i++) {
        struct hf__ul_task *t = &f->tasks[i];
        struct hf__ul_view view;

        if (t->stage != HF__UL_TO_LOOK) {
            continue;
        }
        if (s->reply.error != 0 || hf__ul_read_look(f, 0, &view) == NULL) {
            return hf__mysql_refusal(s, s->t.err);
        }
        take_look(t, &view);
        r = --n > 0 ? hf__wire_next(s) : (int)HF_OK;
    }
    return r;
}

static int look_through(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    int n = write_looks(f);
    int r = HF_OK;

    while (n > 0 && r == HF_OK) {
        r = hf__ul_conn_ask(f, conn);
        r = r == HF_OK ? take_looks(f, n) : r;
        n = r == HF_OK ? write_looks(f) : n;
    }
    return r;
}

static bool wants_look(const struct hf__ul_session *f)
{
    for (int i = 0; i < f->n_tasks; i++) {
        if (f->tasks[i].stage == HF__UL_TO_LOOK) {
            return true;
        }
    }
    return false;
}

void hf__ul_look(struct hf__ul_session *f)
{
    struct hf__ul_conn *conn = NULL;
    int r;

    if (!wants_look(f)) {
        return;
    }
    r = hf__ul_conn_use(f, &conn);
    if (r == HF_OK) {
        r = look_through(f, conn);
        hf__ul_conn_give(f, conn);
    }
    end_unseen(f, r >= 0 ? (int)HF_EUNAVAIL : r);
}

static int take_sights(struct hf__ul_session *f, struct hf__watch *const w[],
                       int n, bool *ret_has_fired)
{
    struct hf__mysql *s = &f->mysql;
    int r = HF_OK;

    for (int i = 0; i < n && r == HF_OK; i++) {
        struct hf__ul_view view;
        struct hf__record record;

        if (s->reply.error != 0 || hf__ul_read_look(f, 0, &view) == NULL) {
            return hf__mysql_refusal(s, s->t.err);
        }
        hf__ul_tell(&view, &record);
        w[i]->has_fired =
            !record.is_held || !hf__token_equal(&record.token, &w[i]->token);
        *ret_has_fired |= w[i]->has_fired;
        r = i + 1 < n ? hf__wire_next(s) : (int)HF_OK;
    }
    return r;
}

int hf__ul_look_around(struct hf__ul_session *f, struct hf__watch *const w[],
                       int n, bool *ret_has_fired)
{
    struct hf__ul_conn *conn = NULL;
    int r = hf__ul_conn_use(f, &conn);

    if (r == HF_OK) {
        hf__text_clear(&f->mysql.sql);
        for (int i = 0; i < n; i++) {
            hf__text_add(&f->mysql.sql, i == 0 ? "" : ";");
            hf__ul_write_look(f, &w[i]->key, false);
        }
        r = hf__ul_conn_ask(f, conn);
        r = r == HF_OK ? take_sights(f, w, n, ret_has_fired) : r;
        hf__ul_conn_give(f, conn);
    }
    return r == HF_BUSY ? (int)HF_OK : r;
}

/* ---- breaking */

static int see(struct hf__ul_session *f, struct hf__ul_conn *conn,
               const struct hf__op *op, struct hf__ul_view *ret_view)
{
    int r;

    hf__text_clear(&f->mysql.sql);
    hf__ul_write_look(f, &op->key, true);
    r = hf__ul_conn_run(f, conn, HF_EUNKNOWN);
    return r == HF_OK && hf__ul_read_look(f, 0, ret_view) == NULL
               ? hf__mysql_dead(&f->mysql)
               : r;
}

/* Raise the fence, which the next holder's will exceed, and store `broken`, the
 * fence of the grant to break. */
static int mark(struct hf__ul_session *f, struct hf__ul_conn *conn,
                const struct hf__op *op, uint64_t broken)
{
    struct hf__text *sql = &f->mysql.sql;

    if (!f->pool->has_database) {
        return HF_OK;
    }
    hf__text_clear(sql);
    hf__text_addf(sql,
                  "INSERT INTO %s(name_key,lock_name,fence,broken) VALUES(",
                  f->scheme->table);
    hf__text_key(sql, &op->key);
    hf__text_add(sql, ",");
    hf__ul_write_name(f, op->key.bytes, op->key.length);
    hf__text_addf(sql,
                  ",LAST_INSERT_ID(" HF__SQL_NOW "),%llu) ON DUPLICATE KEY "
                  "UPDATE fence=LAST_INSERT_ID(GREATEST(fence+1," HF__SQL_NOW
                  ")),broken=%llu",
                  (unsigned long long)broken, (unsigned long long)broken);
    return hf__ul_conn_run(f, conn, HF_EUNKNOWN);
}

/* Nothing was broken: restore the row, unless another has written it
 * meanwhile. */
static int unmark(struct hf__ul_session *f, struct hf__ul_conn *conn,
                  const struct hf__op *op, const struct hf__ul_view *view,
                  uint64_t raised)
{
    struct hf__text *sql = &f->mysql.sql;

    if (!f->pool->has_database) {
        return HF_OK;
    }
    hf__text_clear(sql);
    hf__text_addf(sql,
                  "UPDATE %s SET fence=%llu,broken=%llu WHERE fence=%llu AND "
                  "name_key=",
                  f->scheme->table, (unsigned long long)view->fence,
                  (unsigned long long)view->broken, (unsigned long long)raised);
    hf__text_key(sql, &op->key);
    return hf__ul_conn_run(f, conn, HF_EUNKNOWN);
}

static int denied(struct hf__ul_session *f, const struct hf__op *op,
                  uint64_t holder)
{
    return hf__fail_native(
        op->err, HF_EAUTH, (int)f->mysql.reply.error,
        "the lock is that of connection %llu, which this user may not KILL: "
        "connect as the user who has it, or grant CONNECTION ADMIN (MariaDB), "
        "CONNECTION_ADMIN (MySQL 8) or SUPER",
        (unsigned long long)holder);
}

/* HF_OK: the connection is ending; or it has released the lock, so it is not
 * killed, since it may have others. */
static int kill_holder(struct hf__ul_session *f, struct hf__ul_conn *conn,
                       const struct hf__op *op, uint64_t holder)
{
    struct hf__mysql *s = &f->mysql;
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "KILL IF(IS_USED_LOCK(");
    hf__ul_write_name(f, op->key.bytes, op->key.length);
    hf__text_addf(&s->sql, ")=%llu,%llu,0)", (unsigned long long)holder,
                  (unsigned long long)holder);
    r = hf__ul_conn_ask(f, conn);
    if (r != HF_OK) {
        return r == HF_BUSY ? (int)HF_EUNKNOWN : r;
    }
    switch (s->reply.error) {
    case 0:
    case NO_SUCH_THREAD:
        return HF_OK;
    case KILL_DENIED:
        return denied(f, op, holder);
    default:
        return hf__mysql_refusal(s, s->t.err);
    }
}

/* If the lock is on the very connection that asks, prepare to release it, so
 * that no connection must end. */
static bool give_back_own(struct hf__ul_session *f,
                          const struct hf__ul_conn *conn,
                          const struct hf__op *op)
{
    struct hf__ul_pool *pool = f->pool;
    struct hf__ul_lock *lock;
    HF_SCOPED_LOCK(&pool->mutex);

    lock = hf__ul_lock_named(pool, op->key.bytes, op->key.length);
    if (lock == NULL || lock->conn != conn || lock->state != HF__UL_HELD) {
        return false;
    }
    hf__ul_lock_lose(pool, lock);
    lock->state = HF__UL_LEAVING;
    hf__ul_notify(pool);
    return true;
}

/* The server may take a while to end a connection. */
static int await_end(struct hf__ul_session *f, struct hf__ul_conn *conn,
                     const struct hf__op *op, uint64_t holder)
{
    for (;;) {
        struct hf__ul_view view;
        int r = see(f, conn, op, &view);

        if (r != HF_OK || view.holder != holder) {
            return r;
        }
        if (hf__is_interrupted(&f->mysql.t.head) ||
            !hf__before(hf__now(), f->mysql.t.deadline)) {
            return hf__fail(op->err, HF_EUNKNOWN,
                            "the server did not end connection %llu in time",
                            (unsigned long long)holder);
        }
        hf__table_rest(&f->mysql.t, hf__after_ms(hf__now(), ENDING_MS));
    }
}

static int end_grant(struct hf__ul_session *f, struct hf__ul_conn *conn,
                     struct hf__op *op, const struct hf__ul_view *view)
{
    int r = mark(f, conn, op, view->is_known ? view->fence : 0);
    uint64_t raised = f->mysql.reply.insert_id;

    if (r != HF_OK) {
        return r;
    }
    if (view->holder == f->mysql.server.connection_id) {
        r = give_back_own(f, conn, op) ? hf__ul_conn_undo(f, conn)
                                       : (int)HF__AGAIN;
        r = r == HF_BUSY ? (int)HF_EUNKNOWN : r;
    } else {
        r = kill_holder(f, conn, op, view->holder);
        r = r == HF_OK ? await_end(f, conn, op, view->holder) : r;
    }
    if (r == HF_EAUTH) {
        int ignored = unmark(f, conn, op, view, raised);

        return ignored == HF_OK ? r : ignored;
    }
    op->fence = r == HF_OK && f->pool->has_database ? raised : op->fence;
    return r;
}

static int break_on(struct hf__ul_session *f, struct hf__ul_conn *conn,
                    struct hf__op *op)
{
    struct hf__ul_view view;
    int r = see(f, conn, op, &view);

    if (r != HF_OK) {
        return r;
    }
    hf__ul_tell(&view, op->ret_record);
    if (view.holder == 0 ||
        (op->fence != 0 && (!view.is_known || op->fence != view.fence))) {
        return HF_CONFLICT;
    }
    op->result = HF_EUNKNOWN;
    return end_grant(f, conn, op, &view);
}

void hf__ul_break(struct hf__ul_session *f, struct hf__ul_task *t)
{
    struct hf__ul_conn *conn = NULL;
    int r = hf__ul_conn_use(f, &conn);

    t->stage = HF__UL_OVER;
    if (r == HF_OK) {
        r = break_on(f, conn, t->op);
        hf__ul_conn_give(f, conn);
    }
    r = r == HF_BUSY ? (int)HF_EUNAVAIL : r;
    t->op->result = r;
    if (r < 0 && t->op->err != NULL && t->op->err->status == 0) {
        hf__ul_fail(f, t->op, r);
    }
}
