/* SPDX-License-Identifier: MIT */
/*
 * The statements that write: the name's own row, those of grants beside others
 * and of tickets, as far as a decision marked them. Called by the session's
 * thread, with SQLite's write lock held.
 */
#include "src/backend/sqlite/write.h"

#include "src/backend/sqlite/row.h"

bool hf__has_row_of_its_own(const struct hf__participant *g)
{
    return g->manner.mode != HF__MODE_EXCLUSIVE;
}

static const char *side_of(const struct hf__sqlite *s,
                           const struct hf__participant *g)
{
    return g->life != 0 ? s->life : NULL;
}

/* What did not change stays as it is: it may be of another clock. */
static void bind_lease(sqlite3_stmt *statement, int at,
                       const struct hf__participant *g)
{
    if (g == NULL) {
        (void)sqlite3_bind_int64(statement, at, 0);
    } else if ((g->marks & HF__MARK_LEASE) != 0) {
        (void)sqlite3_bind_int64(statement, at, g->ends_us);
    } else {
        (void)sqlite3_bind_null(statement, at);
    }
}

/* ---- rows of their own */

static int put_grant(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__participant *g)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_PUT);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, &g->token);
    (void)sqlite3_bind_int64(statement, 3, (int64_t)g->fence);
    (void)sqlite3_bind_int(statement, 4, (int)g->manner.mode);
    (void)sqlite3_bind_int(statement, 5, g->manner.slots);
    (void)sqlite3_bind_int(statement, 6, g->slot);
    (void)sqlite3_bind_int64(statement, 7, g->ends_us);
    (void)sqlite3_bind_int64(statement, 8, s->now_us);
    hf__bind_text(statement, 9, s->local.boot);
    hf__bind_text(statement, 10, side_of(s, g));
    (void)sqlite3_bind_int64(statement, 11, g->since_us);
    hf__bind_owner(statement, 12, &g->owner);
    return hf__sql_run(s, HF__SQL_BESIDE_PUT);
}

static int change_grant(struct hf__sqlite *s, const struct hf__key *key,
                        const struct hf__participant *g)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_CHANGE);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, &g->token);
    (void)sqlite3_bind_int64(statement, 3, (int64_t)g->fence);
    bind_lease(statement, 4, g);
    (void)sqlite3_bind_int(statement, 5, !g->is_detached);
    (void)sqlite3_bind_int(statement, 6, g->standing == HF__STANDS_BROKEN);
    return hf__sql_run(s, HF__SQL_BESIDE_CHANGE);
}

static int delete_of(struct hf__sqlite *s, enum hf__statement which,
                     const struct hf__key *key, const struct hf__token *token)
{
    sqlite3_stmt *statement = hf__sql(s, which);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, token);
    return hf__sql_run(s, which);
}

int hf__write_grant(struct hf__sqlite *s, const struct hf__key *key,
                    const struct hf__participant *g)
{
    if ((g->marks & HF__MARK_GONE) != 0) {
        return delete_of(s, HF__SQL_BESIDE_LEAVE, key, &g->token);
    }
    return (g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0
               ? put_grant(s, key, g)
               : change_grant(s, key, g);
}

static int join_line(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__participant *t)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_LINE_JOIN);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, &t->token);
    (void)sqlite3_bind_int(statement, 3, (int)t->manner.mode);
    (void)sqlite3_bind_int(statement, 4, t->manner.slots);
    hf__bind_text(statement, 5, s->local.boot);
    hf__bind_text(statement, 6, s->life);
    (void)sqlite3_bind_int64(statement, 7, t->since_us);
    (void)sqlite3_bind_int64(statement, 8, s->now_us);
    hf__bind_owner(statement, 9, &t->owner);
    return hf__sql_run(s, HF__SQL_LINE_JOIN);
}

int hf__write_ticket(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__participant *t)
{
    if ((t->marks & HF__MARK_GONE) != 0) {
        return delete_of(s, HF__SQL_LINE_LEAVE, key, &t->token);
    }
    return join_line(s, key, t);
}

/* ---- the name's own row */

/* The one who has the name alone after the change; NULL: nobody. */
static const struct hf__participant *holder_of(const struct hf__name *name)
{
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (!hf__has_row_of_its_own(g) && (g->marks & HF__MARK_GONE) == 0 &&
            g->standing != HF__STANDS_BROKEN) {
            return g;
        }
    }
    return NULL;
}

static int64_t keep_us_of(const struct hf__name *name)
{
    return name->keep_until_us > 0 ? name->keep_until_us - name->now_us : 0;
}

static int put_name(struct hf__sqlite *s, const struct hf__key *key,
                    const struct hf__participant *g)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_PUT);
    const struct hf__name *name = &s->name;
    int64_t keep_us = keep_us_of(name);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    (void)sqlite3_bind_int64(statement, 2, (int64_t)name->fence);
    if (g != NULL) {
        hf__bind_token(statement, 3, &g->token);
    } else {
        (void)sqlite3_bind_null(statement, 3);
    }
    (void)sqlite3_bind_int64(statement, 4, g != NULL ? g->ends_us : 0);
    (void)sqlite3_bind_int64(statement, 5, name->now_us + keep_us);
    (void)sqlite3_bind_int64(statement, 6, keep_us);
    hf__bind_text(statement, 7, s->local.boot);
    hf__bind_text(statement, 8, g != NULL ? side_of(s, g) : NULL);
    (void)sqlite3_bind_int64(statement, 9, name->wall_us);
    (void)sqlite3_bind_int64(statement, 10, (int64_t)name->broken);
    hf__bind_owner(statement, 11, g != NULL ? &g->owner : NULL);
    (void)sqlite3_bind_int(statement, 16, s->has_beside);
    (void)sqlite3_bind_int(statement, 17, s->has_line);
    return hf__sql_run(s, HF__SQL_PUT);
}

/* has_moved: rows of the other tables came or went. */
static int change_name(struct hf__sqlite *s, const struct hf__key *key,
                       const struct hf__participant *g, bool has_moved)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_CHANGE);
    const struct hf__name *name = &s->name;
    int64_t keep_us = keep_us_of(name);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    (void)sqlite3_bind_int64(statement, 2, (int64_t)name->fence);
    (void)sqlite3_bind_int64(statement, 3, (int64_t)name->broken);
    (void)sqlite3_bind_int(statement, 4, g != NULL);
    (void)sqlite3_bind_int(statement, 5, g != NULL && !g->is_detached);
    bind_lease(statement, 6, g);
    (void)sqlite3_bind_int(statement, 7, (name->marks & HF__MARK_KEEP) != 0);
    (void)sqlite3_bind_int64(statement, 8, keep_us);
    (void)sqlite3_bind_int64(statement, 9, name->now_us + keep_us);
    (void)sqlite3_bind_int64(
        statement, 10,
        (name->marks & HF__MARK_TOUCHED) != 0 ? name->wall_us : 0);
    (void)sqlite3_bind_int(statement, 11, has_moved);
    return hf__sql_run(s, HF__SQL_CHANGE);
}

/* What the other tables have of it. */
static int mark_name(struct hf__sqlite *s, const struct hf__key *key)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_MARK);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    return hf__sql_run(s, HF__SQL_MARK);
}

static bool has_change(const struct hf__name *name)
{
    bool is_any = name->marks != 0;

    for (int i = 0; i < name->grants.n; i++) {
        is_any |= !hf__has_row_of_its_own(name->grants.list[i]) &&
                  name->grants.list[i]->marks != 0;
    }
    return is_any;
}

/* After the other rows: what it says of these stays true. */
int hf__write_name(struct hf__sqlite *s, const struct hf__key *key,
                   bool has_moved)
{
    const struct hf__participant *g = holder_of(&s->name);
    unsigned marks = g != NULL ? g->marks : 0;
    int rc = SQLITE_OK;

    if (s->has_row && (marks & (HF__MARK_NEW | HF__MARK_OWNER)) == 0) {
        return has_moved || has_change(&s->name)
                   ? change_name(s, key, g, has_moved)
                   : SQLITE_OK;
    }
    rc = put_name(s, key, g);
    return rc == SQLITE_OK && has_moved ? mark_name(s, key) : rc;
}

/* ---- in one statement */

int hf__write_renewal(struct hf__sqlite *s, const struct hf__op *op)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_RENEW);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int64(statement, 1, s->now_us + op->lease_us);
    hf__bind_key(statement, 2, &op->key);
    hf__bind_token(statement, 3, &op->token);
    (void)sqlite3_bind_int64(statement, 4, s->now_us);
    hf__bind_text(statement, 5, s->local.boot);
    (void)sqlite3_bind_int(statement, 6, op->is_detached);
    return hf__sql_run(s, HF__SQL_RENEW);
}

/* The clock does not matter here: the owner may always let go. */
int hf__write_release(struct hf__sqlite *s, const struct hf__op *op)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_FREE);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int(statement, 1, op->reopens);
    (void)sqlite3_bind_int64(statement, 2, s->wall_us);
    hf__bind_key(statement, 3, &op->key);
    hf__bind_token(statement, 4, &op->token);
    return hf__sql_run(s, HF__SQL_FREE);
}
