/* SPDX-License-Identifier: MIT */
/*
 * cell(), and the cleaning of cells: each is a row of holdfast_cell. Its
 * versions are as safe as fences are, by the same floor and ceiling, so that
 * none comes back after a power failure took the last changes away. Called by
 * the session's thread.
 */
#include "src/backend/cell.h"

#include "src/backend/sqlite/commit.h"
#include "src/backend/sqlite/fence.h"
#include "src/backend/sqlite/gate.h"
#include "src/backend/sqlite/pool.h"
#include "src/backend/sqlite/space.h"
#include "src/base/error.h"

#include <string.h>

/* So many cells are looked at in one transaction. */
#define CHUNK 1024

/* ---- reading */

enum { VERSION, WRITER, VALUE }; /* columns */

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

static bool is_sound(sqlite3_stmt *row)
{
    int kind = sqlite3_column_type(row, VALUE);
    sqlite3_int64 version;

    if (sqlite3_column_type(row, VERSION) != SQLITE_INTEGER ||
        sqlite3_column_type(row, WRITER) != SQLITE_BLOB ||
        (kind != SQLITE_NULL && kind != SQLITE_BLOB)) {
        return false;
    }
    version = sqlite3_column_int64(row, VERSION);
    return version > 0 && version < (sqlite3_int64)HF__FENCE_END &&
           sqlite3_column_bytes(row, WRITER) == (int)sizeof(struct hf__token) &&
           sqlite3_column_bytes(row, VALUE) <= HF__CELL_MAX;
}

/* SQLite gives NULL for bytes for which it has no memory. */
static int copy(sqlite3_stmt *row, int column, void *to, size_t length)
{
    const void *bytes = sqlite3_column_blob(row, column);

    if (length > 0 && bytes == NULL) {
        return SQLITE_NOMEM;
    }
    if (length > 0) {
        memcpy(to, bytes, length);
    }
    return SQLITE_OK;
}

static int take_row(sqlite3_stmt *row, const struct hf__cell_op *op,
                    struct hf__cell_state *ret_now)
{
    int rc =
        copy(row, WRITER, ret_now->writer.bytes, sizeof ret_now->writer.bytes);

    ret_now->version = (uint64_t)sqlite3_column_int64(row, VERSION);
    ret_now->has_value = sqlite3_column_type(row, VALUE) != SQLITE_NULL;
    ret_now->length = (size_t)sqlite3_column_bytes(row, VALUE);
    if (rc == SQLITE_OK && op->what == HF__CELL_GET) {
        rc = copy(row, VALUE, op->value, ret_now->length);
    }
    return rc;
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
    if (rc == SQLITE_ROW) {
        *ret_r = is_sound(row) ? HF_OK : damaged(s, op);
        rc = *ret_r == HF_OK ? take_row(row, op, ret_now) : SQLITE_OK;
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

static int change_below(struct hf__sqlite *s, struct hf__cell_op *op,
                        bool *ret_is_unknown)
{
    int rc = change(s, op, ret_is_unknown);

    if (rc == HF__SQLITE_RAISE_FIRST && s->fence_wanted != 0) {
        rc = hf__fence_raise(s);
        if (rc == SQLITE_OK) {
            rc = change(s, op, ret_is_unknown);
        }
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
    rc = change_below(s, op, ret_is_unknown);
    if (hf__sql_is_full(s, rc) && !*ret_is_unknown) {
        hf__space_merge(s);
        rc = change_below(s, op, ret_is_unknown);
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

/* Where the slice that begins at g->at ends: there, or with the prefix. */
static int find_end(struct hf__sqlite *s, const struct hf__key *from,
                    const struct hf__key *before, struct hf__gc *g)
{
    sqlite3_stmt *statement = HF__SQL_WITH(
        s, HF__SQL_CELL_END, hf__value_of_key(from), hf__value_of_key(before),
        hf__value_of(HF__KEY_MAX), hf__value_of(CHUNK));
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    rc = hf__sql_step(s, statement);
    g->length = 0;
    if (rc == SQLITE_ROW) {
        size_t length = (size_t)sqlite3_column_bytes(statement, 0);

        rc = copy(statement, 0, g->at, length);
        g->length = length;
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int hf__sqlite_clean_cells(struct hf__sqlite *s, const struct hf__key *prefix,
                           struct hf__gc *g)
{
    const struct hf__gc was = *g;
    const struct hf__key from = {was.at, (uint16_t)was.length, 0};
    char end[HF__KEY_MAX + 1];
    struct hf__key before = {end, (uint16_t)(prefix->length + 1), 0};
    int64_t oldest_us = s->wall_us - g->idle_us;
    int rc;

    /* No byte of UTF-8 is as high as the one that ends the range. */
    memcpy(end, prefix->bytes, prefix->length);
    end[prefix->length] = (char)0xff;
    rc = find_end(s, was.length > 0 ? &from : prefix, &before, g);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (g->length > 0) {
        before = (struct hf__key){g->at, (uint16_t)g->length, 0};
    }
    rc = HF__SQL_RUN(s, HF__SQL_CELL_CLEAN,
                     hf__value_of_key(was.length > 0 ? &from : prefix),
                     hf__value_of_key(&before), hf__value_of(oldest_us));
    if (rc == SQLITE_OK && sqlite3_changes(s->db->handle) > 0) {
        g->count += (uint64_t)sqlite3_changes(s->db->handle);
        /* Whatever the clock says when one of them is made anew. */
        rc = hf__fence_forget(s, (uint64_t)oldest_us);
    }
    return rc;
}
