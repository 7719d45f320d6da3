/* SPDX-License-Identifier: MIT */
/*
 * The scheme's table: one row for each name that was ever locked, with its
 * fence, the last holder's connection and who that was. The row informs people
 * and makes the fence rise; only the server's functions decide who has a lock.
 * The holder of the name's user lock writes the row, never in the transaction
 * that has a lock; so does a break, which raises the fence (operate.c). Called
 * by the session's thread.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- fences */

#define NEXT_FENCE "GREATEST(fence+1," HF__SQL_NOW ")"

/* One statement makes or updates the row with the next fence, which the server
 * returns as the insert id. */
static void write_fence(struct hf__ul_session *f, const struct hf__ul_task *t)
{
    struct hf__text *sql = &f->mysql.sql;

    unsigned long long id = t->lock->conn->connection_id;

    hf__text_addf(sql,
                  "INSERT INTO %s(name_key,lock_name,fence,connection,token,"
                  "acquired_at,label,host,pid,thread,note) VALUES(",
                  f->scheme->table);
    hf__text_hex(sql, t->lock->key, t->lock->length);
    hf__text_add(sql, ",");
    hf__ul_write_name(f, t->lock->key, t->lock->length);
    hf__text_addf(sql, ",LAST_INSERT_ID(" HF__SQL_NOW "),%llu,", id);
    hf__text_token(sql, &t->op->token);
    hf__text_add(sql, "," HF__SQL_NOW ",");
    hf__mysql_owner_values(sql, t->op->owner);
    hf__text_addf(sql,
                  ") ON DUPLICATE KEY UPDATE fence=LAST_INSERT_ID(" NEXT_FENCE
                  "),connection=%llu,token=",
                  id);
    hf__text_token(sql, &t->op->token);
    hf__text_add(sql, ",acquired_at=" HF__SQL_NOW ",");
    hf__mysql_owner_set(sql, t->op->owner);
}

static bool wants_fence(const struct hf__ul_task *t)
{
    return t->lock != NULL && t->lock->state == HF__UL_WANTED && !t->is_stamped;
}

/* A claim that got no fence does not get the lock. */
static void drop(const struct hf__ul_session *f, struct hf__ul_task *t,
                 int result)
{
    hf__ul_fail(f, t->op, result);
    t->stage = HF__UL_OVER;
    t->lock = NULL; /* it stays WANTED, to be undone */
}

/* is_dead: also those that have a fence, since their connection is dead. */
static void drop_all(struct hf__ul_session *f, int result, bool is_dead)
{
    for (int i = 0; i < f->n_tasks; i++) {
        if (wants_fence(&f->tasks[i]) ||
            (is_dead && f->tasks[i].lock != NULL)) {
            drop(f, &f->tasks[i], result);
        }
    }
}

/* Send one packet for all tasks that want a fence, or for the first of them.
 * Several are one transaction, which is flushed once. HF_OK; HF_BUSY: no
 * answer; negative: the connection is dead. */
static int send_fences(struct hf__ul_session *f, struct hf__ul_conn *conn,
                       int most, int *ret_n)
{
    struct hf__text *sql = &f->mysql.sql;
    int n = 0;

    hf__text_clear(sql);
    for (int i = 0; i < f->n_tasks && n < most; i++) {
        if (wants_fence(&f->tasks[i]) &&
            (n == 0 || sql->length < f->pool->packet_most / 2)) {
            hf__text_add(sql, n > 0 ? ";" : most > 1 ? "BEGIN;" : "");
            write_fence(f, &f->tasks[i]);
            n++;
        }
    }
    *ret_n = n;
    return n == 0 ? (int)HF_OK : hf__ul_conn_ask(f, conn);
}

/* Take the next reply, unless this one is a refusal. */
static int next(struct hf__mysql *s)
{
    return s->reply.error != 0 ? (int)HF_OK : hf__wire_next(s);
}

/* Take the statements' replies in order; s->reply is the first. The fences
 * count once all are committed. */
static int take_fences(struct hf__ul_session *f, int left, bool is_many)
{
    struct hf__mysql *s = &f->mysql;
    hf__time limit = s->t.deadline;
    int r;

    s->t.deadline = hf__later(limit, hf__after_ms(hf__now(), HF__UL_BRIEF_MS));
    r = is_many ? next(s) : (int)HF_OK;
    for (int i = 0; i < f->n_tasks && left > 0 && r == HF_OK; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (wants_fence(t)) {
            t->lock->fence = s->reply.insert_id;
            r = --left > 0 ? next(s) : (int)HF_OK;
        }
    }
    s->t.deadline = limit;
    return r;
}

/* COMMIT may take long, so it is a packet of its own: a reply that does not
 * come in time can be taken later. */
static int commit(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    hf__text_clear(&f->mysql.sql);
    hf__text_add(&f->mysql.sql, "COMMIT");
    return hf__ul_conn_ask(f, conn);
}

/* The first n tasks hold their locks now, even if later ones fail. */
static void end_fences(struct hf__ul_session *f, int n)
{
    HF_SCOPED_LOCK(&f->pool->mutex);

    for (int i = 0; i < f->n_tasks && n > 0; i++) {
        if (wants_fence(&f->tasks[i])) {
            f->tasks[i].is_stamped = true;
            f->tasks[i].lock->state = HF__UL_HELD;
            n--;
        }
    }
}

/* A refused packet of several is rolled back; a refused single statement ends
 * its claim. HF_OK; HF_BUSY; negative. */
static int take_refusal(struct hf__ul_session *f, struct hf__ul_conn *conn,
                        bool is_many)
{
    struct hf__mysql *s = &f->mysql;
    int result = hf__mysql_refusal(s, s->t.err);

    result = hf__mysql_error_class(s->reply.error) == HF__ERROR_AGAIN
                 ? HF__AGAIN
                 : result;

    if (is_many) {
        hf__text_clear(&s->sql);
        hf__text_add(&s->sql, "ROLLBACK");
        return hf__ul_conn_ask(f, conn);
    }
    for (int i = 0; i < f->n_tasks; i++) {
        if (wants_fence(&f->tasks[i])) {
            drop(f, &f->tasks[i], result);
            break;
        }
    }
    return HF_OK;
}

static int count_wanted(const struct hf__ul_session *f)
{
    int n = 0;

    for (int i = 0; i < f->n_tasks; i++) {
        n += wants_fence(&f->tasks[i]);
    }
    return n;
}

static void write_fence_on(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    struct hf__mysql *s = &f->mysql;
    bool has_refused = false;
    int left = count_wanted(f);
    int r = HF_OK;

    while (r == HF_OK && left > 0) {
        bool is_many = left > 1 && !has_refused;
        int n = 0;

        r = send_fences(f, conn, is_many ? left : 1, &n);
        r = r == HF_OK ? take_fences(f, n, is_many) : r;
        if (r == HF_OK && is_many && s->reply.error == 0) {
            r = commit(f, conn);
        }
        if (r == HF_OK && s->reply.error != 0) {
            r = take_refusal(f, conn, is_many);
            has_refused = true;
        } else if (r == HF_OK) {
            end_fences(f, n);
        }
        left = count_wanted(f);
    }
    if (r != HF_OK) {
        drop_all(f, HF_EUNKNOWN, r < 0 && !f->scheme->is_dedicated);
        s->wire.is_dead |= r < 0;
    } else if (has_refused && hf__ul_conn_undo(f, conn) < 0) {
        s->wire.is_dead = true;
    }
}

/* Use another connection: a fence written in the lock's transaction would be
 * given twice if that were rolled back. */
static void write_fence_dedicated(struct hf__ul_session *f,
                                  struct hf__ul_conn *conn)
{
    struct hf__ul_conn *home = NULL;
    int r;

    hf__ul_conn_set_aside(f);
    r = hf__ul_conn_use(f, &home);
    if (r == HF_OK) {
        write_fence_on(f, home);
        hf__ul_conn_give(f, home);
    } else {
        drop_all(f, HF_EUNAVAIL, false);
    }
    hf__ul_conn_resume(f, conn);
}

void hf__ul_write_fences(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    if (!f->scheme->is_dedicated) {
        write_fence_on(f, conn);
    } else if (count_wanted(f) > 0) {
        write_fence_dedicated(f, conn);
    }
}

/* ---- reading who has a name */

void hf__ul_write_look(struct hf__ul_session *f, const struct hf__key *key,
                       bool is_thorough)
{
    struct hf__text *sql = &f->mysql.sql;

    hf__text_add(sql, "SELECT IS_USED_LOCK(");
    hf__ul_write_name(f, key->bytes, key->length);
    hf__text_add(sql, ")");
    if (f->pool->has_database) {
        hf__text_addf(sql,
                      HF__UL_SIGHT " FROM (SELECT 1) d LEFT JOIN "
                                   "%s t ON t.name_key=",
                      f->scheme->table);
        hf__text_key(sql, key);
    } else if (is_thorough) {
        hf__text_add(sql, ",0,ID,0,'',0,'',CONCAT(USER,'@',HOST),0,'','' FROM "
                          "(SELECT 1) d LEFT JOIN "
                          "information_schema.PROCESSLIST p ON "
                          "p.ID=IS_USED_LOCK(");
        hf__ul_write_name(f, key->bytes, key->length);
        hf__text_add(sql, ")");
    } else {
        hf__text_add(sql, ",0,0,0,'',0,'','',0,'',''");
    }
}

MYSQL_ROW hf__ul_read_look(struct hf__ul_session *f, unsigned more,
                           struct hf__ul_view *ret_view)
{
    MYSQL_ROW row = hf__ul_row(f, 11 + more);

    *ret_view = (struct hf__ul_view){0};
    if (row == NULL) {
        return NULL;
    }
    ret_view->holder = hf__column_u64(row[0]);
    ret_view->fence = hf__column_u64(row[1]);
    ret_view->is_known =
        ret_view->holder != 0 && ret_view->holder == hf__column_u64(row[2]);
    ret_view->broken = hf__column_u64(row[3]);
    (void)hf__column_token(row[4], hf__wire_lengths(&f->mysql)[4],
                           &ret_view->token);
    ret_view->acquired_at = hf__column_i64(row[5]);
    hf__column_owner(row, hf__wire_lengths(&f->mysql), 6, &ret_view->owner);
    return row;
}

/* If a holder wrote no token, make one of its connection and fence, so that
 * another holder has a different one. */
static struct hf__token token_of(const struct hf__ul_view *view)
{
    struct hf__token token = view->token;

    if (view->is_known && !hf__token_is_zero(&token)) {
        return token;
    }
    memcpy(token.bytes, &view->holder, 8);
    memcpy(token.bytes + 8, &view->fence, 8);
    return token;
}

void hf__ul_tell(const struct hf__ul_view *view, struct hf__record *record)
{
    if (record == NULL) {
        return;
    }
    *record =
        (struct hf__record){.holder_lives = -1, .remaining_us = -1, .slot = -1};
    record->fence = view->fence;
    record->is_held = view->holder != 0;
    if (!record->is_held) {
        return;
    }
    record->token = token_of(view);
    if (view->is_known) {
        record->acquired_us = view->acquired_at;
        record->owner = view->owner;
    }
    if (!view->is_known || hf__token_is_zero(&view->token)) {
        (void)snprintf(record->owner.label, sizeof record->owner.label,
                       "connection %llu", (unsigned long long)view->holder);
    }
}
