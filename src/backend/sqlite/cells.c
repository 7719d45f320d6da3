/* SPDX-License-Identifier: MIT */
/*
 * cell(), and the cleaning of cells; each cell is a row of holdfast_cell.
 * Versions use the same floor and ceiling as fences, so that no version comes
 * back after a power failure took the last changes away. Called by the
 * session's thread.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/cell.h"
#include "src/backend/sqlite/transaction.h"
#include "src/base/error.h"

#include <string.h>

/* One transaction cleans this many away. */
#define CHUNK 1024

/* ---- reading */

enum { VERSION, WRITER, VALUE, IS_SOUND }; /* columns */

/* A row that makes no sense, such as an edit with the sqlite3 shell may leave,
 * is never written over. */
static int damaged(const struct hf__sqlite *s, const struct hf__cell_op *op)
{
    return hf__fail(op->err, HF_EPROTO,
                    "the row of this cell in holdfast_cell of %s was changed "
                    "by somebody else and makes no sense; delete that row when "
                    "nobody uses the cell",
                    s->sqlite_dir.path[HF__FILE_DB]);
}

/* SQLite gives NULL also for bytes for which it has no memory. */
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

/* *ret_r is HF_EPROTO, or HF_OK with the cell's state in *ret_now. */
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

struct change {
    struct hf__cell_op *op;
    int r; /* the result, if the change is committed */
};

static int change(struct hf__sqlite *s, void *arg)
{
    struct change *c = arg;
    struct hf__cell_state now;
    bool writes = false;
    int rc = read_cell(s, c->op, &now, &c->r);

    if (rc == SQLITE_OK && c->r == HF_OK) {
        c->r = hf__cell_decide(c->op, &now,
                               hf__fence_floor(s, now.version != 0), &writes);
    }
    if (rc != SQLITE_OK || !writes) {
        return rc == SQLITE_OK ? SQLITE_DONE : rc;
    }
    rc = put(s, c->op);
    if (rc == SQLITE_OK) {
        c->op->result = HF_EUNKNOWN; /* until the commit is answered */
    }
    return rc;
}

int hf__sqlite_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                    hf_error *err)
{
    struct hf__sqlite *s = state;
    struct change c = {op, HF_OK};
    /* A cell does not use the ballast, which is kept for held locks. */
    struct hf__txn txn = {.fn = change, .arg = &c};
    int r = HF_OK;
    int rc;

    hf__sqlite_begin(s, deadline, err);
    hf__pool_take(s);
    if (op->what != HF__CELL_GET) {
        rc = hf__txn_queue(s, &txn);
    } else if (hf__sqlite_has_moved(s)) {
        rc = SQLITE_READONLY_DBMOVED;
    } else {
        rc = read_cell(s, op, &op->state, &c.r);
    }
    op->result = c.r;
    if (rc != SQLITE_OK) {
        op->result = hf__txn_tell(s, &txn, rc, op->err);
        r = hf__txn_end(s, &txn, rc);
    }
    if (r == HF_OK) {
        hf__pool_give(s);
    }
    return r;
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
    g->length = n == CHUNK; /* there may be more: start from the front again */
    /* The next version of such a cell must be higher, whatever the clock
     * says. */
    return n > 0 ? hf__fence_forget(s, (uint64_t)highest) : SQLITE_OK;
}
