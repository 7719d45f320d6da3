/* SPDX-License-Identifier: MIT */
/*
 * The statements on holdfast_beside. Called by the session's thread, with
 * SQLite's write lock held, reading also without.
 */
#include "src/backend/sqlite/beside.h"

int hf__beside_get(struct hf__sqlite *s, const struct hf__key *key,
                   const struct hf__token *token, struct hf__row *ret_row)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_OF);
    int rc;

    hf__row_clear(ret_row, NULL);
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, token);
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        hf__row_read_grant(s, statement, ret_row, NULL);
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int hf__beside_put(struct hf__sqlite *s, const struct hf__op *op,
                   const struct hf__outcome *out, bool is_bound)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_PUT);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, &op->key);
    hf__bind_token(statement, 2, &op->token);
    (void)sqlite3_bind_int64(statement, 3, (int64_t)out->fence);
    (void)sqlite3_bind_int(statement, 4, (int)op->manner.mode);
    (void)sqlite3_bind_int(statement, 5, op->manner.slots);
    (void)sqlite3_bind_int(statement, 6, out->slot);
    (void)sqlite3_bind_int64(statement, 7, s->now_us + op->lease_us);
    (void)sqlite3_bind_int64(statement, 8, s->now_us);
    hf__bind_text(statement, 9, s->boot);
    hf__bind_text(statement, 10, is_bound ? s->side->text : NULL);
    (void)sqlite3_bind_int64(statement, 11, s->wall_us);
    hf__bind_owner(statement, 12, op->owner);
    return hf__sql_run(s, HF__SQL_BESIDE_PUT);
}

int hf__beside_renew(struct hf__sqlite *s, const struct hf__op *op)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_RENEW);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int64(statement, 1, s->now_us + op->lease_us);
    (void)sqlite3_bind_int(statement, 2, op->is_detached);
    hf__bind_key(statement, 3, &op->key);
    hf__bind_token(statement, 4, &op->token);
    (void)sqlite3_bind_int64(statement, 5, s->now_us);
    hf__bind_text(statement, 6, s->boot);
    return hf__sql_run(s, HF__SQL_BESIDE_RENEW);
}

int hf__name_raise(struct hf__sqlite *s, const struct hf__key *key,
                   uint64_t fence)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_RAISE);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int64(statement, 1, (int64_t)fence);
    hf__bind_key(statement, 2, key);
    return hf__sql_run(s, HF__SQL_RAISE);
}

int hf__beside_raise(struct hf__sqlite *s, const struct hf__op *op,
                     uint64_t fence)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_RAISE);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int64(statement, 1, (int64_t)fence);
    hf__bind_key(statement, 2, &op->key);
    hf__bind_token(statement, 3, &op->token);
    return hf__sql_run(s, HF__SQL_BESIDE_RAISE);
}

int hf__beside_leave(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__token *token)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_LEAVE);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, token);
    return hf__sql_run(s, HF__SQL_BESIDE_LEAVE);
}

int hf__beside_break(struct hf__sqlite *s, const struct hf__op *op)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_BREAK);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, &op->key);
    (void)sqlite3_bind_int64(statement, 2, (int64_t)op->fence);
    hf__bind_text(statement, 3, s->boot);
    (void)sqlite3_bind_int64(statement, 4, s->now_us);
    return hf__sql_run(s, HF__SQL_BESIDE_BREAK);
}

int hf__beside_clear(struct hf__sqlite *s, const struct hf__op *op, bool is_all,
                     struct hf__outcome *out)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE_CLEAR);
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, &op->key);
    hf__bind_text(statement, 2, s->boot);
    (void)sqlite3_bind_int64(statement, 3, s->now_us);
    (void)sqlite3_bind_int(statement, 4, is_all);
    hf__bind_token(statement, 5, &op->token);
    while ((rc = hf__sql_step(s, statement)) == SQLITE_ROW) {
        out->took_over |= sqlite3_column_int(statement, 0) != 0;
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int hf__beside_mark(struct hf__sqlite *s, const struct hf__key *key,
                    bool is_freed)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_MARK);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    (void)sqlite3_bind_int64(statement, 2, is_freed ? s->wall_us : 0);
    return hf__sql_run(s, HF__SQL_MARK);
}
