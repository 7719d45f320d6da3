/* SPDX-License-Identifier: MIT */
/*
 * cell(): a cell is a row of holdfast_cell. A change is one statement, which
 * commits by itself: it replaces the row if that has the version it names, and
 * gives the new version. If it gives none, a second statement reads the row,
 * for an earlier try may have been applied: then the row's writer is ours. A
 * row that is not as we write it is never replaced. Called by the session's
 * thread.
 */
#include "src/backend/cell.h"

#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/fast_path.h"
#include "src/base/error.h"

#include <string.h>

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)
/* HF__FENCE_END - 1 */
#define VERSION_END "9007199254740991"

/* $1 key, $2 writer, $3 value */
static const struct hf__pg_statement insert = {
    HF__PG_CELL_NEW, "INSERT INTO holdfast_cell(name_key,version,writer,value) "
                     "VALUES($1,greatest(1," HF__PG_NOW "),$2,$3::bytea) "
                     "ON CONFLICT DO NOTHING RETURNING version"};

/* The same parameters, and $4 the version. A row that makes no sense stays: we
 * can't say what it was. */
static const struct hf__pg_statement update = {
    HF__PG_CELL_PUT,
    "UPDATE holdfast_cell SET value=$3::bytea,writer=$2,"
    "version=greatest(version+1," HF__PG_NOW ") WHERE name_key=$1 AND "
    "version=$4 AND version<" VERSION_END " AND length(writer)=16 AND "
    "coalesce(length(value),0)<=" TEXT_OF(HF__CELL_MAX) " AND writer<>$2 "
                                                        "RETURNING version"};

/* $1 key, $2 whether the value is wanted. */
static const struct hf__pg_statement get = {
    HF__PG_CELL_GET, "SELECT version,writer,length(value),CASE WHEN $2<>0 AND "
                     "length(value)<=" TEXT_OF(
                         HF__CELL_MAX) " THEN value END "
                                       "FROM holdfast_cell WHERE name_key=$1"};

/* $1 key, $2 writer. Locking the row makes this a commit, which waits for the
 * standbys to have all commits before it: plain reading would show a change
 * whose own wait was cancelled. */
static const struct hf__pg_statement confirm = {
    HF__PG_UNPREPARED, "SELECT FROM holdfast_cell WHERE name_key=$1 AND "
                       "writer=$2 FOR UPDATE"};

/* ---- what is heard */

/* False: the row is not as we write it. Without a row there is no cell. */
static bool read_row(const struct hf__pg *s, struct hf__cell_op *op)
{
    struct hf__cell_state *now = &op->state;
    const char *bytes;
    size_t length;

    *now = (struct hf__cell_state){0};
    if (s->reply.n_rows == 0) {
        return true;
    }
    now->version = (uint64_t)hf__pg_i64(s, 0, 0);
    now->has_value = !hf__pg_is_null(s, 0, 2);
    now->length = (size_t)hf__pg_i64(s, 0, 2);
    bytes = hf__pg_bytes(s, 0, 1, &length);
    if (now->version == 0 || now->version >= HF__FENCE_END - 1 ||
        length != sizeof now->writer.bytes || now->length > HF__CELL_MAX) {
        return false;
    }
    memcpy(now->writer.bytes, bytes, length);
    if (op->what == HF__CELL_GET && now->length > 0) {
        bytes = hf__pg_bytes(s, 0, 3, &length);
        memcpy(op->value, bytes, length);
    }
    return true;
}

/* The change replaced nothing: find out why. */
static int judge(const struct hf__pg *s, struct hf__cell_op *op)
{
    const struct hf__cell_state *now = &op->state;

    if (!read_row(s, op)) {
        return hf__fail(op->err, HF_EPROTO,
                        "the row of this cell in holdfast_cell was changed by "
                        "somebody else and makes no sense (version %llu, %zu "
                        "bytes); delete it when nobody uses the cell",
                        (unsigned long long)now->version, now->length);
    }
    if (op->what == HF__CELL_GET ||
        (now->version != 0 && hf__token_equal(&now->writer, &op->writer))) {
        return HF_OK;
    }
    /* The row changed in between: a tombstone was deleted just now. */
    return now->version == op->expected ? (int)HF__AGAIN : (int)HF_CONFLICT;
}

/* ---- one question */

static void ask(struct hf__pg *s, const struct hf__pg_statement *statement,
                const struct hf__cell_op *op)
{
    hf__pg_begin_packet(s);
    hf__pg_ask(s, statement);
    hf__pg_put_key(s, &op->key);
}

/* Run one statement. HF_OK, or why it failed; `if_lost` if it was sent and the
 * answer was lost. */
static int run(struct hf__pg *s, struct hf__cell_op *op, int if_lost)
{
    int r = hf__pg_run(s);

    return r == HF_OK && s->reply.sqlstate[0] == '\0'
               ? HF_OK
               : hf__pg_failed(s, op->err, r, if_lost);
}

/* An earlier try was applied; it lasts once the standbys have it. */
static int settle(struct hf__pg *s, struct hf__cell_op *op)
{
    int r;

    ask(s, &confirm, op);
    hf__pg_put_token(s, &op->writer);
    r = run(s, op, HF_EUNKNOWN);
    return r == HF_OK && s->reply.n_rows == 0 ? (int)HF__AGAIN : r;
}

static int look(struct hf__pg *s, struct hf__cell_op *op)
{
    int r;

    ask(s, &get, op);
    hf__pg_put_i64(s, op->what == HF__CELL_GET);
    r = run(s, op, HF_EUNAVAIL);
    r = r == HF_OK ? judge(s, op) : r;
    return r == HF_OK && op->what != HF__CELL_GET ? settle(s, op) : r;
}

static int change(struct hf__pg *s, struct hf__cell_op *op)
{
    bool has_value = op->what == HF__CELL_PUT;
    int r;

    ask(s, op->expected == 0 ? &insert : &update, op);
    hf__pg_put_token(s, &op->writer);
    if (has_value) {
        hf__pg_put_bytes(s, op->value, op->length);
    } else {
        hf__pg_put_null(s);
    }
    if (op->expected != 0) {
        hf__pg_put_i64(s, (int64_t)op->expected);
    }
    op->result = HF_EUNKNOWN;
    r = run(s, op, HF_EUNKNOWN);
    if (r != HF_OK || s->reply.n_rows == 0) {
        return r == HF_OK ? look(s, op) : r;
    }
    op->state =
        (struct hf__cell_state){.version = (uint64_t)hf__pg_i64(s, 0, 0),
                                .writer = op->writer,
                                .has_value = has_value,
                                .length = has_value ? op->length : 0};
    return HF_OK;
}

/* ---- the table */

/* Make sure of the table at the first use of a cell, so that sessions without
 * cells need no such table. A refusal ends the session only if it is of a class
 * that ends any session. */
static int make_ready(struct hf__pg *s)
{
    int r;

    if (s->t.has_cells) {
        return HF_OK;
    }
    r = hf__pg_schema_ready(s, true);
    s->t.has_cells = r == HF_OK;
    if (s->wire.is_dead || (s->reply.sqlstate[0] != '\0' &&
                            hf__pg_error_class(s) == HF__PG_SESSION)) {
        s->t.lost = HF_EUNAVAIL;
    }
    return r == HF_EUNKNOWN || r == HF_EINVAL ? (int)HF_EUNAVAIL : r;
}

int hf__pg_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                hf_error *err)
{
    struct hf__pg *s = state;

    hf__table_begin(&s->t, deadline, op->err);
    s->t.lost = hf__pg_look(s);
    if (s->t.lost == HF_OK) {
        s->t.lost = hf__wait_state_leave(&s->t);
    }
    if (s->t.lost == HF_OK) {
        op->result = make_ready(s);
    }
    if (s->t.lost == HF_OK && op->result == HF_OK) {
        op->result = op->what == HF__CELL_GET ? look(s, op) : change(s, op);
    }
    if (s->t.lost != HF_OK) {
        hf__error_copy(err, op->err);
    }
    return s->t.lost;
}
