/* SPDX-License-Identifier: MIT */
/*
 * What operators ask of a name: who has it, and to end that. Called by the
 * session's thread, for breaking with SQLite's write lock held.
 */
#include "src/backend/sqlite/operate.h"

#include "src/backend/sqlite/beside.h"
#include "src/backend/sqlite/crowded.h"
#include "src/backend/sqlite/entry.h"
#include "src/backend/sqlite/fence.h"

/* All who hold the name or wait, the one of the name's own record first. */
static int tell_crowd(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__row *row,
                      const struct hf__record *record)
{
    struct hf__party party = {.record = *record};

    op->ret_crowd->n = 0; /* of an attempt before */
    if (record->is_held && hf__crowd_add(op->ret_crowd, &party) != HF_OK) {
        return SQLITE_NOMEM;
    }
    return hf__entry_tell_all(s, &op->key, row, op->ret_crowd);
}

int hf__operate_inspect(struct hf__sqlite *s, const struct hf__op *op,
                        struct hf__outcome *out)
{
    struct hf__record record;
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, &record);

    out->result = HF_OK;
    if (row.standing == HF__STANDS_DAMAGED) {
        out->result = hf__refuse(op, row.standing);
    }
    if (rc == SQLITE_OK && op->ret_crowd != NULL) {
        rc = tell_crowd(s, op, &row, &record);
    }
    if (rc == SQLITE_OK && (row.has_beside || row.has_line)) {
        rc = hf__entry_tell(s, &op->key, &row, &record);
    }
    if (op->ret_record != NULL) {
        *op->ret_record = record;
    }
    return rc;
}

/* Of the name's own record: is there something to break? */
static bool is_breakable(const struct hf__op *op, const struct hf__row *row)
{
    return (hf__row_is_held(row) || row->standing == HF__STANDS_KEPT) &&
           (op->fence == 0 || op->fence == row->fence);
}

static int break_name(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__row *row, uint64_t fence)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BREAK);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int64(statement, 1, (int64_t)fence);
    (void)sqlite3_bind_int64(statement, 2, s->wall_us);
    hf__bind_key(statement, 3, &op->key);
    hf__sqlite_note_broken(s, &row->token, row->life);
    return hf__sql_run(s, HF__SQL_BREAK);
}

/* Those beside are told of first: breaking one changes what there is to say. */
static int break_beside(struct hf__sqlite *s, const struct hf__op *op,
                        const struct hf__row *row, bool *ret_is_any)
{
    int rc = SQLITE_OK;

    if (row->has_beside || row->has_line) {
        rc = hf__entry_tell(s, &op->key, row, op->ret_record);
    }
    return rc == SQLITE_OK && row->has_beside
               ? hf__crowded_break(s, op, ret_is_any)
               : rc;
}

/* Allowed also where the holder's clock is another: a person decides. */
int hf__operate_break(struct hf__sqlite *s, const struct hf__op *op,
                      struct hf__outcome *out)
{
    bool is_any_beside = false;
    bool is_own = false;
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, op->ret_record);

    if (rc == SQLITE_OK) {
        rc = break_beside(s, op, &row, &is_any_beside);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    is_own = is_breakable(op, &row);
    if (!is_own && !is_any_beside) {
        out->result = HF_CONFLICT;
        return SQLITE_OK;
    }
    out->fence = hf__fence_next(s, row.fence);
    if (out->fence == 0) {
        return HF__SQLITE_RAISE_FIRST;
    }
    out->result = HF_OK;
    out->is_freed = true;
    out->let_go = row.token;
    rc = is_own ? break_name(s, op, &row, out->fence)
                : hf__name_raise(s, &op->key, out->fence);
    if (rc == SQLITE_OK && is_any_beside) {
        rc = hf__beside_mark(s, &op->key, true);
    }
    return rc == SQLITE_OK && row.has_line ? hf__crowded_freed(s, op, out) : rc;
}
