/* SPDX-License-Identifier: MIT */
/*
 * cell(): a cell is a row of holdfast_cell. A change is one statement, which
 * commits by itself: it replaces the row if that has the expected version, and
 * the number of changed rows says whether it did. Only if it did not is the row
 * read, by a second statement: the row's writer tells whether an earlier try
 * was applied. A row that is not as this file writes it is never replaced.
 * Called by the session's thread.
 */
#include "src/backend/cell.h"

#include "src/backend/mysql/commit.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/backend/mysql/schema.h"
#include "src/base/error.h"

#include <string.h>

/* The server's error: there is already a row with that key. */
#define DUPLICATE 1062
/* Bytes that a packet may have besides the value. */
#define PACKET_ROOM 6000

/* ---- the statements */

static void add_key(struct hf__text *t, const struct hf__cell_op *op)
{
    hf__text_add(t, " WHERE name_key=");
    hf__text_key(t, &op->key);
}

static void add_value(struct hf__text *t, const struct hf__cell_op *op)
{
    if (op->what == HF__CELL_PUT) {
        hf__text_hex(t, op->value, op->length);
    } else {
        hf__text_add(t, "NULL");
    }
}

static void add_insert(struct hf__text *t, const struct hf__cell_op *op)
{
    hf__text_add(t, "INSERT INTO holdfast_cell(name_key,version,writer,value) "
                    "VALUES(");
    hf__text_key(t, &op->key);
    hf__text_add(t, ",LAST_INSERT_ID(GREATEST(1," HF__SQL_NOW ")),");
    hf__text_token(t, &op->writer);
    hf__text_add(t, ",");
    add_value(t, op);
    hf__text_add(t, ")");
}

/* A damaged row stays, because we can't say what it was. */
static void add_update(struct hf__text *t, const struct hf__cell_op *op)
{
    hf__text_add(t, "UPDATE holdfast_cell SET value=");
    add_value(t, op);
    hf__text_add(t, ",writer=");
    hf__text_token(t, &op->writer);
    hf__text_add(t, ",version=LAST_INSERT_ID(GREATEST(version+1," HF__SQL_NOW
                    "))");
    add_key(t, op);
    hf__text_addf(t,
                  " AND version=%llu AND version<%llu AND LENGTH(writer)=%zu"
                  " AND COALESCE(LENGTH(value),0)<=%d AND writer<>",
                  (unsigned long long)op->expected,
                  (unsigned long long)HF__FENCE_END - 1,
                  sizeof op->writer.bytes, HF__CELL_MAX);
    hf__text_token(t, &op->writer);
}

/* Only GET needs the value. */
static void add_look(struct hf__text *t, const struct hf__cell_op *op)
{
    hf__text_add(t, "SELECT version,writer,LENGTH(value)");
    if (op->what == HF__CELL_GET) {
        hf__text_addf(t, ",IF(LENGTH(value)<=%d,value,'')", HF__CELL_MAX);
    }
    hf__text_add(t, " FROM holdfast_cell");
    add_key(t, op);
}

/* ---- the reply */

/* False: the row is not as we write it. A missing row means that there is no
 * cell. */
static bool read_row(struct hf__mysql *s, struct hf__cell_op *op)
{
    struct hf__cell_state *now = &op->state;
    MYSQL_ROW row = hf__wire_row(s);
    const unsigned long *lengths;

    *now = (struct hf__cell_state){0};
    if (row == NULL) {
        return true;
    }
    lengths = hf__wire_lengths(s);
    now->version = hf__column_u64(row[0]);
    now->has_value = row[2] != NULL;
    now->length = (size_t)hf__column_u64(row[2]);
    if (now->version == 0 || now->version >= HF__FENCE_END - 1 ||
        lengths[1] != sizeof now->writer.bytes || now->length > HF__CELL_MAX) {
        return false;
    }
    memcpy(now->writer.bytes, row[1], sizeof now->writer.bytes);
    if (op->what == HF__CELL_GET && now->length > 0) {
        if (lengths[3] != now->length) {
            return false;
        }
        memcpy(op->value, row[3], now->length);
    }
    return true;
}

/* Decide after a GET, or after a change that replaced nothing. */
static int judge(struct hf__mysql *s, struct hf__cell_op *op)
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
    /* Equal: a tombstone was cleaned up just now. */
    return now->version == op->expected ? (int)HF__AGAIN : (int)HF_CONFLICT;
}

/* ---- one operation */

static int look(struct hf__mysql *s, struct hf__cell_op *op)
{
    int r;

    hf__mysql_packet_begin(s);
    add_look(&s->sql, op);
    r = hf__wire_run(s);
    return r == HF_OK && s->reply.error == 0
               ? judge(s, op)
               : hf__mysql_refused(s, op->err, r, HF_EUNAVAIL);
}

static int refuse_long(const struct hf__mysql *s, const struct hf__cell_op *op)
{
    return hf__fail(op->err, HF_EUNSAFE,
                    "the server takes statements of %llu bytes only, too few "
                    "for a value of %zu: raise max_allowed_packet to %d at "
                    "least",
                    (unsigned long long)s->server.packet_max, op->length,
                    2 * HF__CELL_MAX + PACKET_ROOM);
}

static int change(struct hf__mysql *s, struct hf__cell_op *op)
{
    int r;

    if (2 * op->length + PACKET_ROOM > s->server.packet_max) {
        return refuse_long(s, op);
    }
    hf__mysql_packet_begin(s);
    if (op->expected == 0) {
        add_insert(&s->sql, op);
    } else {
        add_update(&s->sql, op);
    }
    op->result = HF_EUNKNOWN;
    r = hf__wire_run(s);
    if (r != HF_OK) {
        return hf__mysql_refused(s, op->err, r, HF_EUNKNOWN);
    }
    if (s->reply.error != 0 && s->reply.error != DUPLICATE) {
        return hf__mysql_refused(s, op->err, r, hf__mysql_refusal(s, NULL));
    }
    if (s->reply.error != 0 || s->reply.affected != 1) {
        return look(s, op);
    }
    op->state = (struct hf__cell_state){
        .version = s->reply.insert_id,
        .writer = op->writer,
        .has_value = op->what == HF__CELL_PUT,
        .length = op->what == HF__CELL_PUT ? op->length : 0};
    return HF_OK;
}

/* ---- the table */

/* Done once a session, at the first use of a cell, so that a user of locks
 * alone needs no such table. A refusal ends the session only if its error class
 * does. */
static int make_ready(struct hf__mysql *s)
{
    int r;

    if (s->t.has_cells) {
        return HF_OK;
    }
    r = hf__mysql_schema_ready(s, &hf__mysql_cell_tables);
    s->t.has_cells = r == HF_OK;
    if (s->wire.is_dead ||
        (r != HF_OK && s->reply.error != 0 &&
         hf__mysql_error_class(s->reply.error) == HF__ERROR_UNKNOWN)) {
        s->t.lost = HF_EUNAVAIL;
    } else if (r != HF_OK) {
        s->t.lost = hf__wire_skip(s);
    }
    return r == HF_EUNKNOWN || r == HF_EINVAL ? (int)HF_EUNAVAIL : r;
}

int hf__mysql_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                   hf_error *err)
{
    struct hf__mysql *s = state;

    hf__table_begin(&s->t, deadline, op->err);
    if (s->pair.is_on) {
        op->result =
            hf__fail(op->err, HF_ENOTSUP,
                     "servers that replicate each other have no cells: "
                     "what one has put need not be on the next; name "
                     "one server, or nodes of a Galera cluster");
        return HF_OK;
    }
    s->t.lost = hf__wire_look(s);
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

int hf__mysql_no_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                      hf_error *err)
{
    (void)state;
    (void)deadline;
    (void)err;
    op->result = hf__fail(op->err, HF_ENOTSUP,
                          "cells need scheme=table, which is the default");
    return HF_OK;
}
