/* SPDX-License-Identifier: MIT */
/*
 * One call on the caller's connection: the state that its steps share,
 * statements, their errors, and a column's value for the caller. It uses only
 * calls that libmariadb and libmysqlclient both have, and never looks into a
 * MYSQL. Thread: the caller's.
 */
#ifndef HF_ROWS_MYSQL_ASK_H
#define HF_ROWS_MYSQL_ASK_H

#include "include/holdfast-mysql.h"
#include "src/rows/rows.h"

#include <mysql.h>

/* The value of a column; it points into the result's row. */
hf_row_value hf__value_of(const MYSQL_FIELD *, const char *text,
                          unsigned long length);
/* Add a value that was checked; a text is in that character set. */
void hf__value_add(struct hf__sql *, const hf_row_value *, const char *charset);

enum { HF__ROWS_INDEX = 64 * 4 + 1 };

struct hf__rows {
    MYSQL *db;
    struct hf__call call;
    const char *charset; /* the connection's; the client library's string */
    struct hf__names names;
    unsigned long thread; /* the connection's number on the server */
    bool is_inside;       /* in the caller's transaction */
    bool is_lost;         /* no answer, or another connection */
    bool knows_nowait;    /* until the server refuses NOWAIT */
    bool knows_skip;
    bool rolls_back;            /* innodb_rollback_on_timeout is on */
    char index[HF__ROWS_INDEX]; /* by which the row is found; "": unknown */
    struct hf__sql sql;
};

/* Take the caller's pointers. The struct must not be moved afterwards. */
void hf__rows_begin(struct hf__rows *, MYSQL *, hf_row_info *ret_info,
                    hf_error *ret_err);
/* Check the arguments that every call has, and copy the row. HF_OK, HF_EINVAL;
 * HF_EUNAVAIL: not connected. */
HF_MUST_CHECK int hf__rows_open(struct hf__rows *, const hf_row *);
/* End the call: the caller gets the info, and the error unless r is HF_OK.
 * Gives r. */
HF_MUST_CHECK int hf__rows_end(struct hf__rows *, int r);

/* Run one statement. Gives 0 and its result, NULL if it has none, for
 * mysql_free_result(); or the error's number. */
HF_MUST_CHECK unsigned hf__rows_run(struct hf__rows *, const char *words,
                                    MYSQL_RES **ret_result);
/* Run the statement that was built in s->sql. */
HF_MUST_CHECK unsigned hf__rows_send(struct hf__rows *, MYSQL_RES **ret_result);
/* Run a statement whose result, if any, does not matter. */
HF_MUST_CHECK unsigned hf__rows_do(struct hf__rows *, const char *words);

static inline void hf__sql_name(struct hf__sql *sql, const char *name)
{
    hf__sql_quoted(sql, '`', name);
}
/* Add "`db`.`table`". */
void hf__rows_add_table(struct hf__rows *);
/* Add " WHERE `a`=1 AND …". */
void hf__rows_add_key(struct hf__rows *);

enum { HF__ROWS_NO_MEMORY = 1037 };

/* Fail with the status and text of a statement's error. */
HF_MUST_CHECK int hf__rows_fail(struct hf__rows *, unsigned error);
/* May a write that failed with this error have been done nevertheless? */
HF_MUST_CHECK bool hf__rows_may_be_done(unsigned error);

static inline void hf__result_auto(MYSQL_RES **result)
{
    if (*result != NULL) {
        mysql_free_result(*result);
    }
}

#endif
