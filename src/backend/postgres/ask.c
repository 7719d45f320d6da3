/* SPDX-License-Identifier: MIT */
/*
 * Builds a packet: values in PostgreSQL's binary form, and statements in
 * groups. Each statement is handed to libpq when the next one begins. Also
 * reads the values of the rows that come back. Called by the session's thread.
 */
#include "src/backend/postgres/postgres.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

/* OIDs of types. */
enum {
    BOOL = 16,
    ARRAY_OF_BYTEA = 1001,
    ARRAY_OF_TEXT = 1009,
    ARRAY_OF_INT8 = 1016
};

/* ---- values */

static void begin_value(struct hf__pg *s, unsigned type)
{
    struct hf__pg_wire *w = &s->wire;

    HF_ASSERT(w->n_values < HF__PG_PARAMETERS && !w->is_handed);
    w->at[w->n_values] = (int)w->values.length;
    w->types[w->n_values] = type;
    w->is_null[w->n_values++] = false;
}

static void put(struct hf__pg *s, const void *bytes, size_t length)
{
    char *to = hf__text_extend(&s->wire.values, length);

    if (to != NULL && length > 0) {
        memcpy(to, bytes, length);
    }
}

static void put_number(struct hf__pg *s, uint32_t number)
{
    number = htobe32(number);
    put(s, &number, sizeof number);
}

/* If the database's encoding is neither UTF-8 nor SQL_ASCII, the server would
 * refuse letters that it lacks, so each byte that is not ASCII is sent as
 * "?". */
static void put_masked(struct hf__pg *s, const void *bytes, size_t length)
{
    char *to = hf__text_extend(&s->wire.values, length);
    const unsigned char *from = bytes;

    for (size_t i = 0; to != NULL && i < length; i++) {
        to[i] = (char)(s->wire.is_masked && from[i] >= 0x80 ? '?' : from[i]);
    }
}

void hf__pg_put_i64(struct hf__pg *s, int64_t value)
{
    begin_value(s, HF__PG_INT8);
    value = (int64_t)htobe64((uint64_t)value);
    put(s, &value, sizeof value);
}

void hf__pg_put_bytes(struct hf__pg *s, const void *bytes, size_t length)
{
    begin_value(s, HF__PG_BYTEA);
    put(s, bytes, length);
}

void hf__pg_put_key(struct hf__pg *s, const struct hf__key *key)
{
    hf__pg_put_bytes(s, key->bytes, key->length);
}

void hf__pg_put_token(struct hf__pg *s, const struct hf__token *token)
{
    hf__pg_put_bytes(s, token->bytes, sizeof token->bytes);
}

void hf__pg_put_text(struct hf__pg *s, const char *text)
{
    begin_value(s, HF__PG_TEXT);
    put_masked(s, text, strlen(text));
}

void hf__pg_put_schema(struct hf__pg *s)
{
    begin_value(s, HF__PG_TEXT);
    put(s, s->wire.schema, strlen(s->wire.schema));
}

void hf__pg_put_null(struct hf__pg *s)
{
    begin_value(s, 0);
    s->wire.is_null[s->wire.n_values - 1] = true;
}

/* The binary form of an array: the number of dimensions, whether it may have
 * NULLs, the type of its items; then, of its one dimension, the size and the
 * first index. */
void hf__pg_put_array(struct hf__pg *s, unsigned type, int n)
{
    begin_value(s, type == HF__PG_BYTEA  ? ARRAY_OF_BYTEA
                   : type == HF__PG_TEXT ? ARRAY_OF_TEXT
                                         : ARRAY_OF_INT8);
    put_number(s, n > 0 ? 1 : 0);
    put_number(s, 1);
    put_number(s, type);
    if (n > 0) {
        put_number(s, (uint32_t)n);
        put_number(s, 1);
    }
}

void hf__pg_item(struct hf__pg *s, const void *bytes, size_t length)
{
    if (bytes == NULL) {
        put_number(s, UINT32_MAX);
        return;
    }
    put_number(s, (uint32_t)length);
    if (s->wire.types[s->wire.n_values - 1] == ARRAY_OF_TEXT) {
        put_masked(s, bytes, length);
    } else {
        put(s, bytes, length);
    }
}

void hf__pg_item_i64(struct hf__pg *s, int64_t value)
{
    value = (int64_t)htobe64((uint64_t)value);
    hf__pg_item(s, &value, sizeof value);
}

/* ---- asking */

static void fail(struct hf__pg *s, int status)
{
    s->wire.failed = s->wire.failed == HF_OK ? status : s->wire.failed;
}

/* Note the answer that will come if libpq took what was asked; if not, it had
 * no memory. */
static void add_pending(struct hf__pg *s, bool is_taken, int what)
{
    struct hf__pg_wire *w = &s->wire;

    if (!is_taken || w->n_pending == (int)sizeof w->pending) {
        fail(s, HF_EUNAVAIL);
        return;
    }
    w->pending[w->n_pending++] = (unsigned char)what;
}

static void ask_settings(struct hf__pg *s)
{
    static const unsigned types[] = {BOOL};
    const char *values[] = {s->server.is_pooled ? "t" : "f"};

    add_pending(s,
                PQsendQueryParams(s->wire.handle, s->wire.settings, 1, types,
                                  values, NULL, NULL, 1),
                HF__PG_PENDING_SETTINGS);
}

/* Write the statement as it is sent. The schema goes before each table's name,
 * which is a word that begins with holdfast_ after a blank. (In a string,
 * 'holdfast_lock', it follows a quote.) */
static void write_whole(struct hf__pg_wire *w)
{
    const char *from = w->statement->text;
    const char *table;
    char schema[2 * HF__PG_NAME];
    size_t n = 0;

    for (const char *c = w->schema; *c != '\0'; c++) {
        if (*c == '"') {
            schema[n++] = '"';
        }
        schema[n++] = *c;
    }
    schema[n] = '\0';
    while ((table = strstr(from, " holdfast_")) != NULL) {
        hf__text_addf(&w->text, "%.*s \"%s\".holdfast_", (int)(table - from),
                      from, schema);
        from = table + strlen(" holdfast_");
    }
    hf__text_add(&w->text, from);
}

static bool is_named(const struct hf__pg *s)
{
    return s->wire.statement->number != 0 && !s->server.is_pooled;
}

static bool is_prepared(const struct hf__pg *s)
{
    return is_named(s) &&
           (s->wire.prepared >> s->wire.statement->number & 1) != 0;
}

/* The statement's name has the session's mark and epoch in it, lest it be one
 * that others have prepared, if a pooler shares the connection without our
 * knowledge. */
static void ask_named(struct hf__pg *s, const char *const values[],
                      const int lengths[], const int formats[])
{
    struct hf__pg_wire *w = &s->wire;
    int number = w->statement->number;
    char name[48];

    (void)snprintf(name, sizeof name, "h%d.%u.%016llx", number, w->epoch,
                   (unsigned long long)s->server.mark);
    if (!is_prepared(s)) {
        add_pending(s,
                    PQsendPrepare(w->handle, name, w->text.bytes, w->n_values,
                                  w->types),
                    HF__PG_PENDING_PREPARED + number);
        w->prepared |= UINT64_C(1) << number;
    }
    add_pending(s,
                PQsendQueryPrepared(w->handle, name, w->n_values, values,
                                    lengths, formats, 1),
                HF__PG_PENDING_REPLY);
}

/* Hand the statement that was asked last to libpq. */
static void hand_over(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;
    const char *values[HF__PG_PARAMETERS];
    int lengths[HF__PG_PARAMETERS];
    int formats[HF__PG_PARAMETERS];

    if (w->statement == NULL || w->is_handed || w->failed != HF_OK) {
        return;
    }
    w->is_handed = true;
    hf__text_clear(&w->text); /* hf__pg_run() may hand it over twice */
    if (!is_prepared(s)) {
        write_whole(w);
    }
    if (w->values.is_broken || w->text.is_broken) {
        fail(s, w->n_pending == 0 ? HF_ENOMEM : HF_EUNAVAIL);
        return;
    }
    w->at[w->n_values] = (int)w->values.length;
    for (int i = 0; i < w->n_values; i++) {
        values[i] = w->is_null[i] ? NULL : w->values.bytes + w->at[i];
        lengths[i] = w->at[i + 1] - w->at[i];
        formats[i] = 1;
    }
    if (!w->is_in_group && w->settings != NULL &&
        (s->server.is_pooled || !w->is_set)) {
        ask_settings(s);
    }
    w->is_in_group = true;
    if (is_named(s)) {
        ask_named(s, values, lengths, formats);
    } else {
        add_pending(s,
                    PQsendQueryParams(w->handle, w->text.bytes, w->n_values,
                                      w->types, values, lengths, formats, 1),
                    HF__PG_PENDING_REPLY);
    }
}

void hf__pg_ask(struct hf__pg *s, const struct hf__pg_statement *statement)
{
    hand_over(s);
    s->wire.statement = statement;
    s->wire.is_handed = false;
    s->wire.n_values = 0;
    hf__text_clear(&s->wire.values);
}

void hf__pg_end_group(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;

    hand_over(s);
    if (w->is_in_group && w->failed == HF_OK) {
        add_pending(s, PQpipelineSync(w->handle), HF__PG_PENDING_SYNC);
    }
    w->is_in_group = false;
}

/* ---- rows */

bool hf__pg_is_null(const struct hf__pg *s, int row, int column)
{
    return PQgetisnull(s->reply.rows, row, column) != 0;
}

int64_t hf__pg_i64(const struct hf__pg *s, int row, int column)
{
    const char *bytes = PQgetvalue(s->reply.rows, row, column);
    int length = PQgetlength(s->reply.rows, row, column);
    int64_t value = length > 0 && (signed char)bytes[0] < 0 ? -1 : 0;

    for (int i = 0; i < length && i < 8; i++) {
        value = (int64_t)((uint64_t)value << 8 | (unsigned char)bytes[i]);
    }
    return value;
}

const char *hf__pg_bytes(const struct hf__pg *s, int row, int column,
                         size_t *ret_length)
{
    *ret_length = (size_t)PQgetlength(s->reply.rows, row, column);
    return PQgetvalue(s->reply.rows, row, column);
}
