/* SPDX-License-Identifier: MIT */
/*
 * cell(), and the cleaning of cells: each is a row of holdfast_cell. Its
 * versions are as safe as fences are, by the same floor and ceiling, so that
 * none comes back after a power failure took the last changes away. Called by
 * the session's thread.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/cell.h"
#include "src/backend/sqlite/change.h"
#include "src/base/error.h"

#include <string.h>

/* So many are cleaned away in one transaction. */
#define CHUNK 1024
/* A higher ceiling, room for it, and then for the change: what it may lack. */
#define HELPS 3

/* ---- reading */

enum { VERSION, WRITER, VALUE, IS_SOUND }; /* columns */

/* What a person with the sqlite3 shell may have made of it is never written
 * over. */
static int damaged(const struct hf__sqlite *s, const struct hf__cell_op *op)
{
    return hf__fail(op->err, HF_EPROTO,
                    "the row of this cell in holdfast_cell of %s was changed "
                    "by somebody else and makes no sense; delete that row when "
                    "nobody uses the cell",
                    s->place.path[HF__FILE_DB]);
}

/* SQLite gives NULL for bytes for which it has no memory. */
static int take_row(sqlite3_stmt *row, const struct hf__cell_op *op,
                    struct hf__cell_state *ret_now)
{
    const void *writer = sqlite3_column_blob(row, WRITER);
    const void *value = sqlite3_column_blob(row, VALUE);

    ret_now->version = (uint64_t)sqlite3_column_int64(row, VERSION);
    ret_now->has_value = sqlite3_column_type(row, VALUE) != SQLITE_NULL;
    ret_now->length = (size_t)sqlite3_column_bytes(row, VALUE);
    if (writer == NULL || (ret_now->length > 0 && value == NULL)) {
        return SQLITE_NOMEM;
    }
    memcpy(ret_now->writer.bytes, writer, sizeof ret_now->writer.bytes);
    if (op->what == HF__CELL_GET && ret_now->length > 0) {
        memcpy(op->value, value, ret_now->length);
    }
    return SQLITE_OK;
}

/* *ret_r: HF_EPROTO, or HF_OK, and then *ret_now is what there is. */
static int read_cell(struct hf__sqlite *s, const struct hf__cell_op *op,
                     struct hf__cell_state *ret_now, int *ret_r)
{
    sqlite3_stmt *row =
        HF__SQL_WITH(s, HF__SQL_CELL, hf__value_of_key(&op->key));
    int rc;

    *ret_now = (struct hf__cell_state){0};
    *ret_r = HF_OK;
    if (row == NULL) {
        return hf__sql_failure(s);
    }
    rc = hf__sql_step(s, row);
    if (rc == SQLITE_ROW && !sqlite3_column_int(row, IS_SOUND)) {
        *ret_r = damaged(s, op);
        rc = SQLITE_OK;
    } else if (rc == SQLITE_ROW) {
        rc = take_row(row, op, ret_now);
    }
    (void)sqlite3_reset(row);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int get(struct hf__sqlite *s, struct hf__cell_op *op)
{
    int r = HF_OK;
    int rc = hf__sqlite_has_moved(s) ? SQLITE_READONLY_DBMOVED
                                     : read_cell(s, op, &op->state, &r);

    if (rc == SQLITE_OK) {
        op->result = r;
    }
    return rc;
}

/* ---- changing */

static int put(struct hf__sqlite *s, const struct hf__cell_op *op)
{
    const struct hf__value value = {
        op->state.has_value ? SQLITE_BLOB : SQLITE_NULL, 0,
        op->state.length > 0 ? op->value : (const unsigned char *)"",
        op->state.length};

    if (!hf__fence_may_be(s, op->state.version)) {
        return HF__SQLITE_RAISE_FIRST;
    }
    return HF__SQL_RUN(s, HF__SQL_CELL_PUT, hf__value_of_key(&op->key),
                       hf__value_of((int64_t)op->state.version),
                       hf__value_of_token(&op->state.writer), value);
}

/* One transaction. */
static int change(struct hf__sqlite *s, struct hf__cell_op *op,
                  bool *ret_is_unknown)
{
    struct hf__cell_state now;
    bool writes = false;
    int r = HF_OK;
    int rc = hf__sqlite_begin_write(s);

    s->fence_wanted = 0;
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = read_cell(s, op, &now, &r);
    if (rc == SQLITE_OK && r == HF_OK) {
        r = hf__cell_decide(op, &now, hf__fence_floor(s, now.version != 0),
                            &writes);
    }
    if (rc == SQLITE_OK && writes) {
        rc = put(s, op);
    }
    if (rc == SQLITE_OK && writes) {
        op->result = HF_EUNKNOWN;
        rc = hf__space_commit(s);
        *ret_is_unknown = hf__sqlite_may_last(s, rc);
    }
    hf__sql_undo(s);
    if (rc == SQLITE_OK) {
        op->result = r;
    }
    return rc;
}

/* After a change that failed: make what it lacked, as far as that can be. */
static int help(struct hf__sqlite *s, int rc)
{
    if (rc == HF__SQLITE_RAISE_FIRST && s->fence_wanted != 0) {
        return hf__fence_raise(s);
    }
    if (hf__sql_is_full(s, rc)) {
        hf__space_merge(s);
        return SQLITE_OK;
    }
    return rc;
}

/* Without the ballast: that is for locks which are held. */
static int change_in_turn(struct hf__sqlite *s, struct hf__cell_op *op,
                          bool *ret_is_unknown)
{
    struct hf__gate_at gate = hf__side_gate(s->local.side);
    unsigned ticket;
    int rc;

    if (hf__gate_enter(gate, &s->local.plain.head, s->local.plain.deadline,
                       &ticket)) {
        return SQLITE_BUSY;
    }
    rc = change(s, op, ret_is_unknown);
    for (int i = 0; i < HELPS && rc != SQLITE_OK && !*ret_is_unknown; i++) {
        rc = help(s, rc);
        rc = rc == SQLITE_OK ? change(s, op, ret_is_unknown) : rc;
    }
    hf__gate_leave(gate, ticket);
    return rc;
}

/* Of the operation, and of the session where that is dead. */
static int fail(struct hf__sqlite *s, struct hf__cell_op *op, int rc,
                bool is_unknown)
{
    op->result = s->moved_file >= 0
                     ? hf__sqlite_fail_moved(s, s->moved_file, op->err)
                     : hf__sql_status(s, rc, op->err);
    if (is_unknown) {
        op->result =
            hf__fail_native(op->err, HF_EUNKNOWN, rc, HF__SQLITE_PERHAPS,
                            s->place.path[HF__FILE_DB], sqlite3_errstr(rc));
    }
    if (s->moved_file >= 0) {
        return hf__sqlite_fail_moved(s, s->moved_file, s->err);
    }
    if (!is_unknown && !hf__sql_is_fatal(s, rc)) {
        hf__pool_give(s);
        return HF_OK;
    }
    return hf__sql_status(s, rc, s->err);
}

int hf__sqlite_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                    hf_error *err)
{
    struct hf__sqlite *s = state;
    bool is_unknown = false;
    int rc;

    hf__sqlite_begin(s, deadline, err);
    hf__pool_take(s);
    rc = op->what == HF__CELL_GET ? get(s, op)
                                  : change_in_turn(s, op, &is_unknown);
    if (rc != SQLITE_OK) {
        return fail(s, op, rc, is_unknown);
    }
    hf__pool_give(s);
    return HF_OK;
}

/* ---- cleaning */

int hf__sqlite_clean_cells(struct hf__sqlite *s, const struct hf__key *prefix,
                           struct hf__gc *g)
{
    sqlite3_stmt *rows = HF__SQL_WITH(
        s, HF__SQL_CELL_CLEAN, hf__value_of_key(prefix),
        hf__value_of(s->wall_us - g->idle_us), hf__value_of(CHUNK));
    int64_t highest = 0;
    int n = 0;
    int rc;

    if (rows == NULL) {
        return hf__sql_failure(s);
    }
    while ((rc = hf__sql_step(s, rows)) == SQLITE_ROW) {
        int64_t version = sqlite3_column_int64(rows, 0);

        highest = version > highest ? version : highest;
        n++;
    }
    (void)sqlite3_reset(rows);
    if (rc != SQLITE_DONE) {
        return rc;
    }
    g->count += (uint64_t)n;
    g->length = n == CHUNK; /* there may be more: once more from the front */
    /* Whatever the clock says when one of them is made anew. */
    return n > 0 ? hf__fence_forget(s, (uint64_t)highest) : SQLITE_OK;
}
