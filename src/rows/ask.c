/* SPDX-License-Identifier: MIT */
/*
 * Statements on a connection that is not ours. A client library may be told
 * to connect anew by itself: then the transaction is gone and the statement
 * may have been sent twice, so the connection's number is compared after each.
 */
#include "src/rows/ask.h"

#include "src/base/error.h"

#include <string.h>

enum { LOST = 2013, OUT_OF_SYNC = 2014 };

int hf__rows_options(void *ours, size_t size, const void *theirs, hf_error *err)
{
    const unsigned char *bytes = theirs;
    size_t given = 0;

    if (theirs == NULL) {
        return HF_OK;
    }
    memcpy(&given, theirs, sizeof given);
    if (given < sizeof given) {
        return hf__fail(err, HF_EINVAL,
                        "a struct's size is %zu: begin with its INIT macro",
                        given);
    }
    for (size_t i = size; i < given; i++) {
        if (bytes[i] != 0) {
            return hf__fail(err, HF_EINVAL,
                            "a struct is of a newer version than this library "
                            "(" HF_VERSION ")");
        }
    }
    memcpy(ours, theirs, given < size ? given : size);
    memcpy(ours, &size, sizeof size);
    return HF_OK;
}

static int check_row(struct hf__rows *s)
{
    const hf_mysql_row *row = &s->row;
    bool is_utf8 = strncmp(s->charset, "utf8", 4) == 0;

    if (hf__sql_check_name("table", row->table, is_utf8, s->err) != HF_OK ||
        (row->database != NULL &&
         hf__sql_check_name("database", row->database, is_utf8, s->err) !=
             HF_OK)) {
        return HF_EINVAL;
    }
    if (row->key == NULL || row->n_key < 1 || row->n_key > HF_MYSQL_KEY_MAX) {
        return hf__fail(s->err, HF_EINVAL, "the key has %d columns: 1 to %d",
                        row->key == NULL ? 0 : row->n_key, HF_MYSQL_KEY_MAX);
    }
    for (int i = 0; i < row->n_key; i++) {
        const hf_mysql_column *k = &row->key[i];

        if (hf__sql_check_name("key's column", k->name, is_utf8, s->err) !=
                HF_OK ||
            hf__sql_check_value(k->name, &k->value, s->err) != HF_OK) {
            return HF_EINVAL;
        }
        if (k->value.type == HF_MYSQL_NULL) {
            return hf__fail(s->err, HF_EINVAL,
                            "the key's column %s is NULL, which is equal to "
                            "nothing: a unique index may have it many times",
                            k->name);
        }
    }
    return HF_OK;
}

void hf__rows_begin(struct hf__rows *s, MYSQL *db, hf_mysql_info *ret_info,
                    hf_error *ret_err)
{
    *s = (struct hf__rows){.db = db,
                           .own_err = HF_ERROR_INIT,
                           .ret_err = ret_err,
                           .ret_info = ret_info,
                           .row = HF_MYSQL_ROW_INIT,
                           .info = HF_MYSQL_INFO_INIT,
                           .knows_nowait = true,
                           .knows_skip = true};
    s->err = &s->own_err;
}

static size_t size_of(const hf_mysql_info *info)
{
    size_t size;

    memcpy(&size, info, sizeof size);
    return size;
}

int hf__rows_open(struct hf__rows *s, const hf_mysql_row *row)
{
    if (s->ret_info != NULL && (size_of(s->ret_info) < sizeof(size_t) ||
                                size_of(s->ret_info) > sizeof s->info)) {
        s->ret_info = NULL;
        return hf__fail(
            s->err, HF_EINVAL,
            "the info's size is not one of this library (" HF_VERSION
            "): begin with its INIT macro");
    }
    if (s->db == NULL || row == NULL) {
        return hf__fail(s->err, HF_EINVAL, "the %s is NULL",
                        s->db == NULL ? "connection" : "row");
    }
    s->thread = mysql_thread_id(s->db);
    if (s->thread == 0) {
        return hf__fail(s->err, HF_EUNAVAIL, "there is no connection yet");
    }
    s->charset = mysql_character_set_name(s->db);
    if (hf__rows_options(&s->row, sizeof s->row, row, s->err) != HF_OK) {
        return HF_EINVAL;
    }
    return check_row(s);
}

int hf__rows_end(struct hf__rows *s, int r)
{
    size_t size;

    hf__sql_fini(&s->sql);
    if (r != HF_OK) {
        hf__error_copy(s->ret_err, &s->own_err);
    }
    if (s->ret_info != NULL) {
        size = size_of(s->ret_info);
        memcpy(s->ret_info, &s->info, size);
        memcpy(s->ret_info, &size, sizeof size);
    }
    return r;
}

static unsigned send_words(struct hf__rows *s, const char *words, size_t length,
                           MYSQL_RES **ret_result)
{
    unsigned error;

    *ret_result = NULL;
    if (mysql_real_query(s->db, words, (unsigned long)length) != 0) {
        error = mysql_errno(s->db);
        /* libmariadb has no number for a result that is still to be read. */
        error = error == 0 ? OUT_OF_SYNC : error;
    } else {
        *ret_result = mysql_store_result(s->db);
        /* A deadlock may come with the result, and so without one. */
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
    if (s->row.database != NULL) {
        hf__sql_name(&s->sql, s->row.database);
        hf__sql_addf(&s->sql, ".");
    }
    hf__sql_name(&s->sql, s->row.table);
}

void hf__rows_add_key(struct hf__rows *s)
{
    for (int i = 0; i < s->row.n_key; i++) {
        hf__sql_addf(&s->sql, i == 0 ? " WHERE " : " AND ");
        hf__sql_name(&s->sql, s->row.key[i].name);
        hf__sql_addf(&s->sql, "=");
        hf__sql_value(&s->sql, &s->row.key[i].value, s->charset);
    }
}
