/* SPDX-License-Identifier: MIT */
/*
 * Statements on a connection that is not ours. A client library may be set to
 * reconnect by itself: then the transaction is gone and the statement may have
 * been sent twice, so the connection's number is compared after each statement.
 * Values of a result come as text whatever their type. A value of the caller's
 * is written in hexadecimal, so that no byte of it can end the literal.
 *
 * Some of the server's messages repeat a value of a row, which may be a secret.
 * These are cut: only what follows the last " for " is reported, the column or
 * the index. Thread: the caller's.
 */
#include "src/rows/mysql/ask.h"
#include "src/base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct meaning {
    unsigned error;
    int status;
    const char *words; /* NULL: use the server's */
};

static const struct meaning meanings[] = {
    {1205, HF_BUSY, "somebody else has the row, or the table, locked"},
    {3572, HF_BUSY, "somebody else has the row locked"},
    {1213, HF_DEADLOCK,
     "a deadlock: the server rolled the transaction back; begin it again"},
    {1020, HF_CONFLICT,
     "the row was changed after the transaction's snapshot was taken; roll "
     "back and begin again"},
    {2014, HF_EINVAL, "the connection has a result that is still to be read"},
    {1044, HF_EAUTH, NULL},
    {1045, HF_EAUTH, NULL},
    {1142, HF_EAUTH, NULL},
    {1143, HF_EAUTH, NULL},
    {1227, HF_EAUTH, NULL},
    {1046, HF_EINVAL, NULL},
    {1049, HF_EINVAL, NULL},
    {1054, HF_EINVAL, NULL},
    {1059, HF_EINVAL, NULL},
    {1102, HF_EINVAL, NULL},
    {1103, HF_EINVAL, NULL},
    {1146, HF_EINVAL, NULL},
    {1193, HF_EUNSAFE, "the server has no InnoDB"},
    {HF__ROWS_NO_MEMORY, HF_ENOMEM, "out of memory"},
    /* The statement was not done. */
    {1040, HF_EUNAVAIL, NULL},
    {1290, HF_EUNAVAIL, NULL},
    {1317, HF_EUNAVAIL, "the statement was ended from outside"},
    {1836, HF_EUNAVAIL, NULL},
    {1969, HF_EUNAVAIL, "the statement took longer than max_statement_time"},
    {3024, HF_EUNAVAIL, "the statement took longer than max_execution_time"},
};

/* The connection has ended, or the node no longer takes part. */
static const unsigned ends[] = {1047, 1053, 1152, 1158, 1159, 1160,
                                1161, 1180, 1927, 4031, 1079};
/* Errors whose messages repeat a value. */
static const unsigned repeating[] = {1062, 1064, 1292, 1300, 1366,
                                     1367, 1411, 1586, 1761, 3140};

static bool is_in(unsigned error, const unsigned *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == error) {
            return true;
        }
    }
    return false;
}

bool hf__rows_may_be_done(unsigned error)
{
    return (error >= 2000 && error < 3000 && error != 2014) ||
           is_in(error, ends, sizeof ends / sizeof *ends);
}

static const struct meaning *meaning_of(unsigned error)
{
    static const struct meaning ended = {0, HF_EUNAVAIL, NULL};
    static const struct meaning refused = {0, HF_ROW_EREFUSED, NULL};

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].error == error) {
            return &meanings[i];
        }
    }
    return hf__rows_may_be_done(error) ? &ended : &refused;
}

static const char *server_words(MYSQL *db, unsigned error)
{
    const char *words = mysql_error(db);
    const char *rest = NULL;

    if (!is_in(error, repeating, sizeof repeating / sizeof *repeating)) {
        return *words == '\0' ? "no answer" : words;
    }
    for (const char *at = strstr(words, " for "); at != NULL;
         at = strstr(at + 1, " for ")) {
        rest = at + 1;
    }
    return rest == NULL ? "a value" : rest;
}

int hf__rows_fail(struct hf__rows *s, unsigned error)
{
    const struct meaning *m = meaning_of(error);
    hf_error *err = s->call.err;
    int r;

    if (s->is_lost && mysql_thread_id(s->db) != s->thread) {
        return hf__fail_native(
            err, HF_EUNAVAIL, (int)error,
            "table %s: the client library connected anew, so the transaction "
            "is gone; turn MYSQL_OPT_RECONNECT off",
            s->call.row.table);
    }
    r = m->words != NULL
            ? hf__fail_native(err, m->status, (int)error, "table %s: %s",
                              s->call.row.table, m->words)
            : hf__fail_native(
                  err, m->status, (int)error, "table %s: the server %s%s",
                  s->call.row.table,
                  is_in(error, repeating, sizeof repeating / sizeof *repeating)
                      ? "refuses the statement "
                      : "says: ",
                  server_words(s->db, error));
    if (err != NULL && error != HF__ROWS_NO_MEMORY &&
        err->size > offsetof(hf_error, sqlstate) + 5) {
        memcpy(err->sqlstate, mysql_sqlstate(s->db), 5);
        err->sqlstate[5] = '\0';
    }
    return r;
}

enum { BINARY = 63 /* charsetnr of values without a character set */ };

static bool is_whole(const MYSQL_FIELD *field)
{
    return field->type == MYSQL_TYPE_TINY || field->type == MYSQL_TYPE_SHORT ||
           field->type == MYSQL_TYPE_INT24 || field->type == MYSQL_TYPE_LONG ||
           field->type == MYSQL_TYPE_LONGLONG || field->type == MYSQL_TYPE_YEAR;
}

/* The type is checked too: numbers and times also have that character set. */
static bool is_binary(const MYSQL_FIELD *field)
{
    return field->charsetnr == BINARY &&
           (field->type == MYSQL_TYPE_BIT ||
            field->type == MYSQL_TYPE_GEOMETRY ||
            (field->type >= MYSQL_TYPE_TINY_BLOB &&
             field->type <= MYSQL_TYPE_STRING));
}

hf_row_value hf__value_of(const MYSQL_FIELD *field, const char *text,
                          unsigned long length)
{
    hf_row_value v = {HF_ROW_TEXT, 0, text, length};

    if (text == NULL) {
        v = (hf_row_value){.type = HF_ROW_NULL};
    } else if (is_binary(field)) {
        v.type = HF_ROW_BYTES;
    } else if (is_whole(field)) {
        errno = 0;
        v.number = strtoll(text, NULL, 10);
        v.type = errno == 0 ? HF_ROW_INT : HF_ROW_TEXT;
    }
    return v;
}

static void add_hex(struct hf__sql *t, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *to = hf__sql_room(t, 2 * length + 3);

    if (to == NULL) {
        return;
    }
    *to++ = 'x';
    *to++ = '\'';
    for (size_t i = 0; i < length; i++) {
        *to++ = digits[from[i] >> 4];
        *to++ = digits[from[i] & 15];
    }
    *to++ = '\'';
    *to = '\0';
    t->length += 2 * length + 3;
}

void hf__value_add(struct hf__sql *t, const hf_row_value *value,
                   const char *charset)
{
    if (value->type == HF_ROW_NULL) {
        hf__sql_addf(t, "NULL");
    } else if (value->type == HF_ROW_INT) {
        hf__sql_addf(t, "%" PRId64, value->number);
    } else {
        if (value->type == HF_ROW_TEXT) {
            hf__sql_addf(t, "_%s ", charset);
        }
        add_hex(t, value->bytes, value->length);
    }
}

enum { LOST = 2013, OUT_OF_SYNC = 2014 };

static struct hf__names names_of(bool is_utf8)
{
    return (struct hf__names){.quote = '`',
                              .longest = 64,
                              .is_utf8 = is_utf8,
                              .encoding = "character set is utf8mb4"};
}

void hf__rows_begin(struct hf__rows *s, MYSQL *db, hf_row_info *ret_info,
                    hf_error *ret_err)
{
    *s = (struct hf__rows){.db = db, .knows_nowait = true, .knows_skip = true};
    hf__call_begin(&s->call, ret_info, ret_err);
}

int hf__rows_open(struct hf__rows *s, const hf_row *row)
{
    int r = hf__call_open(&s->call, s->db, row);

    if (r != HF_OK) {
        return r;
    }
    s->thread = mysql_thread_id(s->db);
    if (s->thread == 0) {
        return hf__fail(s->call.err, HF_EUNAVAIL, "there is no connection yet");
    }
    s->charset = mysql_character_set_name(s->db);
    s->names = names_of(strncmp(s->charset, "utf8", 4) == 0);
    return hf__call_check_row(&s->call, &s->names);
}

int hf__rows_end(struct hf__rows *s, int r)
{
    hf__sql_fini(&s->sql);
    return hf__call_end(&s->call, r);
}

static unsigned send_words(struct hf__rows *s, const char *words, size_t length,
                           MYSQL_RES **ret_result)
{
    unsigned error;

    *ret_result = NULL;
    if (mysql_real_query(s->db, words, (unsigned long)length) != 0) {
        error = mysql_errno(s->db);
        /* libmariadb gives no number for a result that is still to be read. */
        error = error == 0 ? OUT_OF_SYNC : error;
    } else {
        *ret_result = mysql_store_result(s->db);
        /* A deadlock may be reported with the result, which is then missing. */
        error = *ret_result == NULL ? mysql_errno(s->db) : 0;
    }
    if (mysql_thread_id(s->db) != s->thread) {
        hf__result_auto(ret_result);
        *ret_result = NULL;
        error = LOST;
    }
    s->is_lost =
        s->is_lost || (error >= 2000 && error < 3000 && error != OUT_OF_SYNC);
    return error;
}

unsigned hf__rows_run(struct hf__rows *s, const char *words,
                      MYSQL_RES **ret_result)
{
    return send_words(s, words, strlen(words), ret_result);
}

unsigned hf__rows_send(struct hf__rows *s, MYSQL_RES **ret_result)
{
    if (s->sql.is_broken) {
        *ret_result = NULL;
        return HF__ROWS_NO_MEMORY;
    }
    return send_words(s, s->sql.bytes, s->sql.length, ret_result);
}

unsigned hf__rows_do(struct hf__rows *s, const char *words)
{
    MYSQL_RES *result;
    unsigned error = hf__rows_run(s, words, &result);

    hf__result_auto(&result);
    return error;
}

void hf__rows_add_table(struct hf__rows *s)
{
    if (s->call.row.database != NULL) {
        hf__sql_name(&s->sql, s->call.row.database);
        hf__sql_addf(&s->sql, ".");
    }
    hf__sql_name(&s->sql, s->call.row.table);
}

void hf__rows_add_key(struct hf__rows *s)
{
    for (int i = 0; i < s->call.row.n_key; i++) {
        hf__sql_addf(&s->sql, i == 0 ? " WHERE " : " AND ");
        hf__sql_name(&s->sql, s->call.row.key[i].name);
        hf__sql_addf(&s->sql, "=");
        hf__value_add(&s->sql, &s->call.row.key[i].value, s->charset);
    }
}

/* ---- calls without a connection */

int hf_mysql_guard_sql(char *buf, size_t size, const char *column,
                       uint64_t fence, hf_error *err)
{
    struct hf__names names = names_of(true);

    return hf__sql_guard(buf, size, column, fence, &names, err);
}

const char *hf_mysql_strstatus(int status)
{
    return hf__sql_strstatus(status);
}
