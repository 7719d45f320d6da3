/* SPDX-License-Identifier: MIT */
/*
 * list() and gc() read the table: without a database no names are kept. check()
 * reports the server as for any store, and then what a user lock means there;
 * it uses a connection of its own, which may get lost. Called by the session's
 * thread.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/backend/report.h"
#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

/* Names that are read, and deleted, with one packet each. */
#define CHUNK 16
/* Chunks in one call. */
#define CHUNKS 128
/* Once its row is gone a fence begins again at the clock, so the clock must
 * have passed it, also for a statement that began before the deletion. */
#define GRACE_US 20000

/* Write " FROM table WHERE …": rows of the prefix, after `from` if length > 0.
 * The range ends with 0xff, which is higher than any byte of UTF-8. */
static void write_range(struct hf__ul_session *f, const struct hf__key *prefix,
                        const char *from, size_t length)
{
    struct hf__text *t = &f->mysql.sql;
    char end[HF__KEY_MAX + 1];

    memcpy(end, prefix->bytes, prefix->length);
    end[prefix->length] = (char)0xff;
    hf__text_addf(t, " FROM %s WHERE name_key>=", f->scheme->table);
    hf__text_key(t, prefix);
    hf__text_add(t, " AND name_key<");
    hf__text_hex(t, end, prefix->length + (size_t)1);
    if (length > 0) {
        hf__text_add(t, " AND name_key>");
        hf__text_hex(t, from, length);
    }
}

/* ---- list */

static void tell_rows(struct hf__ul_session *f, const struct hf__key *prefix,
                      hf__list_fn fn, void *arg)
{
    struct hf__ul_view view;
    MYSQL_ROW row;

    while ((row = hf__ul_read_look(f, 1, &view)) != NULL) {
        size_t length = hf__wire_lengths(&f->mysql)[11];
        struct hf__record record;

        if (view.holder == 0 || length < prefix->name_at) {
            continue;
        }
        hf__ul_tell(&view, &record);
        if (fn(arg, row[11] + prefix->name_at, length - prefix->name_at,
               &record) != 0) {
            break;
        }
    }
}

int hf__ul_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err)
{
    struct hf__ul_session *f = state;
    struct hf__ul_conn *conn = NULL;
    int r;

    hf__table_begin(&f->mysql.t, deadline, err);
    if (!f->pool->has_database) {
        return hf__fail(err, HF_ENOTSUP,
                        "the server lists no user locks: name a database in "
                        "the URL, where their names are kept");
    }
    r = hf__ul_conn_use(f, &conn);
    if (r == HF_OK) {
        hf__text_clear(&f->mysql.sql);
        hf__text_add(&f->mysql.sql,
                     "SELECT IS_USED_LOCK(NULLIF(lock_name,''))" HF__UL_SIGHT
                     ",name_key");
        write_range(f, prefix, NULL, 0);
        hf__text_add(&f->mysql.sql, " ORDER BY name_key");
        r = hf__ul_conn_run(f, conn, HF_EUNAVAIL);
        if (r == HF_OK) {
            tell_rows(f, prefix, fn, arg);
        }
        hf__ul_conn_give(f, conn);
    }
    return r == HF_BUSY ? (int)HF_EUNAVAIL : r;
}

/* ---- gc */

/* Read the next names. Each row tells whether the last grant is idle_us old or
 * older, and whether somebody holds the lock now: an old grant may still be
 * held. */
static int scan(struct hf__ul_session *f, struct hf__ul_conn *conn,
                const struct hf__key *prefix, const struct hf__gc *g)
{
    struct hf__text *t = &f->mysql.sql;

    hf__text_clear(t);
    hf__text_add(t, "SELECT name_key,fence,IS_USED_LOCK(NULLIF("
                    "lock_name,''))");
    hf__text_addf(t,
                  ",acquired_at<=" HF__SQL_NOW
                  "-%lld,CAST(LEAST(fence,1<<62) AS SIGNED)-" HF__SQL_NOW,
                  (long long)g->idle_us);
    write_range(f, prefix, g->at, g->length);
    hf__text_addf(t, " ORDER BY name_key LIMIT %d", CHUNK);
    return hf__ul_conn_run(f, conn, HF_EUNAVAIL);
}

/* Write statements that delete the idle names of the scan, unless they were
 * granted meanwhile. Returns their number. *ret_seen: the number of rows;
 * *ret_ahead_us: the most that a fence is ahead of the clock, at least
 * -GRACE_US. */
static int write_deletions(struct hf__ul_session *f, struct hf__text *to,
                           struct hf__gc *g, int *ret_seen,
                           int64_t *ret_ahead_us)
{
    MYSQL_ROW row;
    int n = 0;

    *ret_seen = 0;
    *ret_ahead_us = -GRACE_US;
    hf__text_clear(to);
    while ((row = hf__ul_row(f, 5)) != NULL) {
        const unsigned long *lengths = hf__wire_lengths(&f->mysql);

        ++*ret_seen;
        g->length = lengths[0] < sizeof g->at ? lengths[0] : sizeof g->at - 1;
        memcpy(g->at, row[0], g->length);
        if (row[2] != NULL || hf__column_u64(row[3]) == 0) {
            continue;
        }
        *ret_ahead_us = hf__column_i64(row[4]) > *ret_ahead_us
                            ? hf__column_i64(row[4])
                            : *ret_ahead_us;
        hf__text_add(to, n++ == 0 ? "" : ";");
        if (f->scheme->write_deletion != NULL) {
            f->scheme->write_deletion(to, row[0], lengths[0]);
        }
        hf__text_addf(to, "DELETE FROM %s WHERE name_key=", f->scheme->table);
        hf__text_hex(to, row[0], lengths[0]);
        hf__text_addf(to, " AND fence=%llu AND fence<" HF__SQL_NOW "-%d",
                      (unsigned long long)hf__column_u64(row[1]), GRACE_US);
    }
    return n;
}

/* If somebody has locked a row it is in use: it and those after it in the
 * packet are left to the next cleaning. */
static int delete_idle(struct hf__ul_session *f, struct hf__ul_conn *conn,
                       int n, struct hf__gc *g)
{
    struct hf__mysql *s = &f->mysql;
    int each = f->scheme->write_deletion != NULL ? 2 : 1;
    int r = hf__ul_conn_ask(f, conn);

    for (int i = 0; i < n * each && r == HF_OK; i++) {
        if (s->reply.error != 0) {
            return hf__mysql_error_class(s->reply.error) == HF__ERROR_AGAIN
                       ? (int)HF_OK
                       : hf__mysql_refusal(s, s->t.err);
        }
        g->count += i % each == each - 1 ? s->reply.affected : 0;
        r = i + 1 < n * each ? hf__wire_next(s) : (int)HF_OK;
    }
    return r == HF_BUSY ? (int)HF_EUNAVAIL : r;
}

static int clean(struct hf__ul_session *f, struct hf__ul_conn *conn,
                 const struct hf__key *prefix, struct hf__gc *g)
{
    struct hf__text deletions = {0};
    int seen = CHUNK;
    int r = HF_OK;

    for (int i = 0; i < CHUNKS && seen == CHUNK && r == HF_OK; i++) {
        int64_t ahead_us = 0;
        int n = 0;

        r = scan(f, conn, prefix, g);
        if (r == HF_OK) {
            struct hf__text scanned = f->mysql.sql;

            n = write_deletions(f, &deletions, g, &seen, &ahead_us);
            f->mysql.sql = deletions;
            deletions = scanned;
        }
        if (n > 0 && ahead_us > -GRACE_US && ahead_us <= GRACE_US) {
            hf__table_rest(
                &f->mysql.t,
                hf__after_ns(hf__now(), (ahead_us + GRACE_US + 1000) * 1000));
        }
        r = n > 0 ? delete_idle(f, conn, n, g) : r;
    }
    hf__text_fini(&deletions);
    if (r == HF_OK && seen < CHUNK) {
        g->length = 0;
    }
    return r;
}

int hf__ul_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err)
{
    struct hf__ul_session *f = state;
    struct hf__ul_conn *conn = NULL;
    int r;

    hf__table_begin(&f->mysql.t, deadline, err);
    if (!f->pool->has_database) {
        g->length = 0;
        return HF_OK;
    }
    r = hf__ul_conn_use(f, &conn);
    if (r == HF_OK) {
        r = clean(f, conn, prefix, g);
        hf__ul_conn_give(f, conn);
    }
    return r == HF_BUSY ? (int)HF_EUNAVAIL : r;
}

/* ---- check */

static void check_session(struct hf__ul_session *f, struct hf__report *to)
{
    struct hf__ul_pool *pool = f->pool;
    char value[64];
    bool has_several;

    hf__mutex_lock(&pool->mutex);
    has_several = pool->most > 1;
    hf__mutex_unlock(&pool->mutex);
    (void)snprintf(value, sizeof value, "%d s", pool->lease_s);
    hf__report_tell(to, "session_timeout", value, HF_FINE, NULL);
    hf__report_tell(to, "locks_of_a_connection",
                    has_several ? "several" : "one", HF_FINE, NULL);
    hf__report_tell(to, "fences",
                    pool->has_database ? f->scheme->table : "none",
                    pool->has_database ? HF_FINE : HF_WARN,
                    "name a database in the URL, and each grant has a fence");
}

int hf__ul_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err)
{
    struct hf__ul_session *f = state;
    struct hf__report to = {.fn = fn, .arg = arg};
    struct hf__ul_conn *conn = NULL;
    int r;

    hf__table_begin(&f->mysql.t, deadline, err);
    r = hf__ul_conn_new(f, &conn);
    if (r != HF_OK) {
        return r;
    }
    r = hf__mysql_check_server(
        &f->mysql, f->pool->has_database ? f->scheme->schema : NULL, &to);
    check_session(f, &to);
    if (r == HF_OK && f->scheme->check != NULL) {
        r = f->scheme->check(f, conn, &to);
    }
    hf__ul_conn_give(f, conn);
    return r;
}
