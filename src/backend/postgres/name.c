/* SPDX-License-Identifier: MIT */
/*
 * Reads names, by one statement for all tables, because each statement has its
 * own snapshot: by two of them a name could seem to have both an old holder and
 * a new one. Called by the session's thread.
 */
#include "src/backend/postgres/postgres.h"

#include "src/backend/table/name.h"

#include <string.h>

/* Columns of the rows of HF__PG_NAMES; tables share some of them. */
enum column {
    PART,
    KEY,
    NUMBER,
    TOKEN,
    LEFT,
    SINCE,
    A, /* keep_until, mode, mode */
    B, /* broken, slots, slots */
    C, /* revision, slot, nothing */
    D, /* crowd, ended, nothing */
    LIFE,
    NOW,
    LABEL,
    HOST,
    PID,
    THREAD,
    NOTE,
    CHANGED /* of a record only */
};

static const struct hf__pg_statement look = {
    HF__PG_LOOK, HF__PG_NAMES("name_key=ANY($1::bytea[])")};
static const struct hf__pg_statement glance = {
    HF__PG_GLANCE, HF__PG_RECORDS("name_key=ANY($1::bytea[])")};

/* ---- asking */

static void put_keys(struct hf__pg *s, const struct hf__key *const keys[],
                     int n)
{
    hf__pg_put_array(s, HF__PG_BYTEA, n);
    for (int i = 0; i < n; i++) {
        hf__pg_item(s, keys[i]->bytes, keys[i]->length);
    }
}

void hf__pg_ask_names(struct hf__pg *s, const struct hf__key *const keys[],
                      int n)
{
    hf__pg_ask(s, &look);
    put_keys(s, keys, n);
}

void hf__pg_glance(struct hf__pg *s, const struct hf__key *const keys[], int n)
{
    s->has_glanced = !s->sees_others;
    hf__pg_ask(s, s->has_glanced ? &glance : &look);
    put_keys(s, keys, n);
}

void hf__pg_ask_watched(struct hf__pg *s, struct hf__watch *const w[], int n)
{
    hf__pg_ask(s, &look);
    hf__pg_put_array(s, HF__PG_BYTEA, n);
    for (int i = 0; i < n; i++) {
        hf__pg_item(s, w[i]->key.bytes, w[i]->key.length);
    }
}

/* ---- cells of a row, which are binary */

static int64_t number(const PGresult *rows, int row, int column)
{
    const char *bytes = PQgetvalue(rows, row, column);
    uint64_t value = 0;

    for (int i = 0; i < PQgetlength(rows, row, column); i++) {
        value = value << 8 | (unsigned char)bytes[i];
    }
    return (int64_t)value;
}

static void read_text(const PGresult *rows, int row, int column, char *to,
                      size_t size)
{
    hf__column_text(PQgetvalue(rows, row, column),
                    (size_t)PQgetlength(rows, row, column), to, size);
}

static void read_owner(const PGresult *rows, int row, struct hf__owner *o)
{
    read_text(rows, row, LABEL, o->label, sizeof o->label);
    read_text(rows, row, HOST, o->host, sizeof o->host);
    o->pid = number(rows, row, PID);
    read_text(rows, row, THREAD, o->thread, sizeof o->thread);
    read_text(rows, row, NOTE, o->note, sizeof o->note);
}

static void read_row(const PGresult *rows, int row, struct hf__table_row *r)
{
    *r = (struct hf__table_row){
        .part = (enum hf__table_part)number(rows, row, PART),
        .key = PQgetvalue(rows, row, KEY),
        .key_length = (size_t)PQgetlength(rows, row, KEY),
        .number = (uint64_t)number(rows, row, NUMBER),
        .token = PQgetvalue(rows, row, TOKEN),
        .token_length = (size_t)PQgetlength(rows, row, TOKEN),
        .left_us = number(rows, row, LEFT),
        .since_us = number(rows, row, SINCE),
        .life = (uint64_t)number(rows, row, LIFE),
        .now_us = number(rows, row, NOW),
        .has_owner = true,
        .changed_us = number(rows, row, CHANGED),
    };
    r->keep_left_us = number(rows, row, A);
    r->broken = (uint64_t)number(rows, row, B);
    r->revision = (uint64_t)number(rows, row, C);
    r->crowd = number(rows, row, D);
    read_owner(rows, row, &r->owner);
}

bool hf__pg_name_next(void *cursor, struct hf__table_row *ret_row)
{
    struct hf__pg_cursor *c = cursor;

    if (c->at == PQntuples(c->rows)) {
        return false;
    }
    read_row(c->rows, c->at++, ret_row);
    return true;
}

/* ---- those of a name */

static bool is_record(const PGresult *rows, int row)
{
    return number(rows, row, PART) == HF__PART_NAME;
}

static bool has_crowd(const PGresult *rows)
{
    for (int i = 0; i < PQntuples(rows); i++) {
        if (is_record(rows, i) && number(rows, i, D) != 0) {
            return true;
        }
    }
    return false;
}

/* Only names with a record can have other rows, so asking for those is
 * enough. */
int hf__pg_look_closer(struct hf__pg *s)
{
    PGresult *rows = s->reply.rows;
    int r;

    if (s->reply.sqlstate[0] != '\0') {
        return HF_OK;
    }
    s->sees_others = has_crowd(rows);
    if (!s->sees_others || !s->has_glanced) {
        return HF_OK;
    }
    s->reply.rows = NULL; /* kept, for the keys are in it */
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &look);
    hf__pg_put_array(s, HF__PG_BYTEA, PQntuples(rows));
    for (int i = 0; i < PQntuples(rows); i++) {
        hf__pg_item(s, PQgetvalue(rows, i, KEY),
                    (size_t)PQgetlength(rows, i, KEY));
    }
    r = hf__pg_run(s);
    PQclear(rows);
    return r;
}

static bool is_of(const PGresult *rows, int row, const struct hf__key *key)
{
    return PQgetlength(rows, row, KEY) == key->length &&
           memcmp(PQgetvalue(rows, row, KEY), key->bytes, key->length) == 0;
}

bool hf__pg_name_has_record(const PGresult *rows, const struct hf__key *key)
{
    for (int i = 0; i < PQntuples(rows); i++) {
        if (is_record(rows, i) && is_of(rows, i, key)) {
            return true;
        }
    }
    return false;
}

int hf__pg_name_read(const PGresult *rows, const struct hf__key *key,
                     struct hf__table_name *name)
{
    struct hf__table_row row;
    int r = HF_OK;

    for (int i = 0; i < PQntuples(rows) && r == HF_OK; i++) {
        if (is_of(rows, i, key)) {
            read_row(rows, i, &row);
            r = hf__table_name_add(name, &row);
        }
    }
    hf__table_name_end(name);
    return r;
}
