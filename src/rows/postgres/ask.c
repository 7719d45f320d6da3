/* SPDX-License-Identifier: MIT */
/*
 * Statements on a connection that is not ours. Values are parameters, so no
 * value is ever a part of a statement. An integer is a bigint, which the server
 * compares with and converts to each number type by itself; a text takes the
 * type of its column. SQLSTATEs: which status each becomes, and which of the
 * server's messages may be repeated. Messages of class 22 repeat a value, which
 * may be a secret, so they are left out. Other messages have values only in
 * their details, which are never reported. Thread: the caller's.
 */
#include "src/rows/postgres/ask.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct meaning {
    const char *state; /* or its beginning */
    int status;
    const char *words; /* NULL: use the server's */
};

/* The first entry that fits counts. */
static const struct meaning meanings[] = {
    {"55P03", HF_BUSY, "somebody else has the row, or the table, locked"},
    {"40P01", HF_DEADLOCK,
     "a deadlock: roll the transaction back and begin it again"},
    {"40001", HF_DEADLOCK,
     "others changed what the transaction has seen or locks: roll it back and "
     "begin it again"},
    {"57014", HF_EUNAVAIL, "the statement was ended from outside"},
    {"25006", HF_ROW_EREFUSED, NULL},
    {"42501", HF_EAUTH, NULL},
    {"28", HF_EAUTH, NULL},
    {"3F", HF_EINVAL, NULL},
    {"42", HF_EINVAL, NULL},
    {"22", HF_ROW_EREFUSED, "the server refuses a value"},
    {"08", HF_EUNAVAIL, NULL},
    {"53", HF_EUNAVAIL, NULL},
    {"57", HF_EUNAVAIL, NULL},
    {"58", HF_EUNAVAIL, NULL},
    {"", HF_ROW_EREFUSED, NULL},
};

static const struct meaning *meaning_of(const char *state)
{
    const struct meaning *m = meanings;

    while (strncmp(state, m->state, strlen(m->state)) != 0) {
        m++;
    }
    return m;
}

static void set_state(hf_error *err, const char *state)
{
    if (err->size > offsetof(hf_error, sqlstate) + 5) {
        memcpy(err->sqlstate, state, 5);
        err->sqlstate[5] = '\0';
    }
}

/* A standby writes for nobody; the server reports that it is one. */
static bool is_standby(PGconn *db)
{
    const char *is_one = PQparameterStatus(db, "in_hot_standby");

    return is_one != NULL && strcmp(is_one, "on") == 0;
}

/* The server sent no message: the client library has one, on several lines. */
static int fail_without(struct hf__pg *s)
{
    const char *words = PQerrorMessage(s->db);

    return hf__fail(s->call.err, s->is_lost ? HF_EUNAVAIL : HF_EINVAL,
                    "table %s: no answer: %.*s", s->call.row.table,
                    (int)strcspn(words, "\n"), words);
}

/* Fail with the status and text for a missing result. */
static int fail(struct hf__pg *s, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct meaning *m;
    int status;

    if (state == NULL || strlen(state) != 5) {
        return fail_without(s);
    }
    m = meaning_of(state);
    status = s->is_lost ? HF_EUNAVAIL : m->status;
    if (strcmp(state, "25006") == 0 && is_standby(s->db)) {
        status = HF_EUNAVAIL;
    }
    (void)hf__fail(s->call.err, status, "table %s: %s%s", s->call.row.table,
                   m->words != NULL ? m->words : "the server says: ",
                   m->words != NULL ? ""
                   : words != NULL  ? words
                                    : state);
    set_state(s->call.err, state);
    return status;
}

int hf__rows_pg_value(const PGresult *result, int column, hf_row_value *v,
                      unsigned char **ret_bytes)
{
    const char *text = PQgetvalue(result, 0, column);
    Oid type = PQftype(result, column);
    size_t length = 0;

    *ret_bytes = NULL;
    *v = (hf_row_value){HF_ROW_TEXT, 0, text, strlen(text)};
    if (PQgetisnull(result, 0, column)) {
        *v = (hf_row_value){.type = HF_ROW_NULL};
    } else if (type == HF__PG_BYTEA) {
        *ret_bytes = PQunescapeBytea((const unsigned char *)text, &length);
        *v = (hf_row_value){HF_ROW_BYTES, 0, *ret_bytes, length};
        return *ret_bytes == NULL ? HF_ENOMEM : HF_OK;
    } else if (type == HF__PG_INT2 || type == HF__PG_INT4 ||
               type == HF__PG_INT8) {
        errno = 0;
        v->number = strtoll(text, NULL, 10);
        v->type = errno == 0 ? HF_ROW_INT : HF_ROW_TEXT;
    }
    return HF_OK;
}

enum { OF_COLUMN = 0, BYTEA = 17, BIGINT = 20 };

static struct hf__names names_of(bool is_utf8)
{
    return (struct hf__names){.quote = '"',
                              .longest = 63,
                              .is_in_bytes = true,
                              .is_utf8 = is_utf8,
                              .encoding = "client_encoding is UTF8"};
}

/* ---- the call */

void hf__rows_pg_begin(struct hf__pg *s, PGconn *db, hf_row_info *ret_info,
                       hf_error *ret_err)
{
    *s = (struct hf__pg){.db = db};
    hf__call_begin(&s->call, ret_info, ret_err);
}

static int check_connection(struct hf__pg *s)
{
    PGTransactionStatusType status = PQtransactionStatus(s->db);

    if (PQstatus(s->db) != CONNECTION_OK || status == PQTRANS_UNKNOWN) {
        return hf__fail(s->call.err, HF_EUNAVAIL, "there is no connection");
    }
    s->call.info.in_transaction = status == PQTRANS_INTRANS;
    if (status == PQTRANS_ACTIVE) {
        s->call.info.in_transaction = -1;
        return hf__fail(s->call.err, HF_EINVAL,
                        "the connection has a result that is still to be read");
    }
    if (status == PQTRANS_INERROR) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "a statement of the transaction has failed, so the "
                        "server does no other: ROLLBACK first");
    }
    s->is_inside = status == PQTRANS_INTRANS;
    return HF_OK;
}

int hf__rows_pg_open(struct hf__pg *s, const hf_row *row)
{
    const char *encoding;
    int r = hf__call_open(&s->call, s->db, row);

    if (r == HF_OK) {
        r = check_connection(s);
    }
    if (r != HF_OK) {
        return r;
    }
    encoding = PQparameterStatus(s->db, "client_encoding");
    s->names = names_of(encoding != NULL && strcmp(encoding, "UTF8") == 0);
    r = hf__call_check_row(&s->call, &s->names);
    for (int i = 0; r == HF_OK && i < s->call.row.n_key; i++) {
        const hf_row_column *k = &s->call.row.key[i];

        r = hf__rows_pg_check_value(s, k->name, &k->value);
    }
    return r;
}

int hf__rows_pg_end(struct hf__pg *s, int r)
{
    hf__rows_pg_clear(s);
    hf__sql_fini(&s->sql);
    return hf__call_end(&s->call, r);
}

/* ---- statements */

static int take(struct hf__pg *s, PGresult *result, PGresult **ret_result)
{
    ExecStatusType status = PQresultStatus(result);
    int r;

    s->is_lost = s->is_lost || PQstatus(s->db) != CONNECTION_OK;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        *ret_result = result;
        return HF_OK;
    }
    r = fail(s, result);
    PQclear(result);
    return r;
}

int hf__rows_pg_run(struct hf__pg *s, const char *words, PGresult **ret_result)
{
    *ret_result = NULL;
    return take(s, PQexec(s->db, words), ret_result);
}

int hf__rows_pg_do(struct hf__pg *s, const char *words)
{
    PGresult *result;
    int r = hf__rows_pg_run(s, words, &result);

    PQclear(result);
    return r;
}

void hf__rows_pg_clear(struct hf__pg *s)
{
    while (s->n > 0) {
        hf__free(s->values[--s->n]);
    }
    hf__sql_clear(&s->sql);
}

int hf__rows_pg_send(struct hf__pg *s, PGresult **ret_result)
{
    const char *values[HF__PG_VALUES];

    *ret_result = NULL;
    if (s->sql.is_broken) {
        return hf__fail(s->call.err, HF_ENOMEM, "out of memory");
    }
    for (int i = 0; i < s->n; i++) {
        values[i] = s->values[i];
    }
    return take(s,
                PQexecParams(s->db, s->sql.bytes, s->n, s->types, values,
                             s->lengths, s->formats, 0),
                ret_result);
}

/* ---- building statements */

/* Add a parameter; bytes NULL is SQL NULL. The copy gets a NUL, which a text
 * needs. */
static void add(struct hf__pg *s, Oid type, const void *bytes, size_t length)
{
    int i = s->n;
    char *copy = bytes == NULL ? NULL : hf__alloc(length + 1);

    if (i == HF__PG_VALUES || (bytes != NULL && copy == NULL)) {
        hf__free(copy);
        s->sql.is_broken = true;
        return;
    }
    if (copy != NULL) {
        memcpy(copy, bytes, length);
    }
    s->types[i] = type;
    s->values[i] = copy;
    s->lengths[i] = (int)length;
    s->formats[i] = type == BYTEA;
    s->n++;
    hf__sql_addf(&s->sql, "$%d", s->n);
}

void hf__rows_pg_add_value(struct hf__pg *s, const hf_row_value *value)
{
    const void *bytes = value->bytes == NULL ? "" : value->bytes;
    char number[24];

    if (value->type == HF_ROW_NULL) {
        add(s, OF_COLUMN, NULL, 0);
    } else if (value->type == HF_ROW_INT) {
        (void)snprintf(number, sizeof number, "%" PRId64, value->number);
        add(s, BIGINT, number, strlen(number));
    } else {
        add(s, value->type == HF_ROW_BYTES ? BYTEA : OF_COLUMN, bytes,
            value->length);
    }
}

void hf__rows_pg_add_text(struct hf__pg *s, const char *text)
{
    add(s, OF_COLUMN, text, strlen(text));
}

void hf__rows_pg_add_name(struct hf__sql *sql, const char *name)
{
    hf__sql_quoted(sql, '"', name);
}

void hf__rows_pg_add_table(struct hf__pg *s, struct hf__sql *sql)
{
    if (s->call.row.database != NULL) {
        hf__rows_pg_add_name(sql, s->call.row.database);
        hf__sql_addf(sql, ".");
    }
    hf__rows_pg_add_name(sql, s->call.row.table);
}

void hf__rows_pg_add_key(struct hf__pg *s)
{
    for (int i = 0; i < s->call.row.n_key; i++) {
        hf__sql_addf(&s->sql, i == 0 ? " WHERE " : " AND ");
        hf__rows_pg_add_name(&s->sql, s->call.row.key[i].name);
        hf__sql_addf(&s->sql, "=");
        hf__rows_pg_add_value(s, &s->call.row.key[i].value);
    }
}

int hf__rows_pg_check_value(struct hf__pg *s, const char *name,
                            const hf_row_value *value)
{
    if (value->type != HF_ROW_TEXT && value->type != HF_ROW_BYTES) {
        return HF_OK;
    }
    if (value->length >= INT_MAX) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the value of %s has %zu bytes, which no column has",
                        name, value->length);
    }
    if (value->type == HF_ROW_TEXT && value->length > 0 &&
        memchr(value->bytes, '\0', value->length) != NULL) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the value of %s has a byte 0, which no text has here",
                        name);
    }
    return HF_OK;
}

/* ---- calls without a connection */

int hf_postgres_guard_sql(char *buf, size_t size, const char *column,
                          uint64_t fence, hf_error *err)
{
    struct hf__names names = names_of(true);

    if (buf != NULL && size > 0 && fence > INT64_MAX) {
        buf[0] = '\0';
        return hf__fail(err, HF_EINVAL,
                        "the fence %" PRIu64 " is larger than a bigint", fence);
    }
    return hf__sql_guard(buf, size, column, fence, &names, err);
}

const char *hf_postgres_strstatus(int status)
{
    return hf__sql_strstatus(status);
}
