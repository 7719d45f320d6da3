/* SPDX-License-Identifier: MIT */
/*
 * Statements on a connection that is not ours. A client library may be told
 * to connect anew by itself: then the transaction is gone and the statement
 * may have been sent twice, so the connection's number is compared after each.
 */
#include "src/rows/mysql/ask.h"

#include "src/base/error.h"
#include "src/rows/mysql/value.h"

#include <string.h>

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

/* ---- what needs no connection */

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
