/* SPDX-License-Identifier: MIT */
/*
 * One call on the caller's connection: what all its steps share, statements,
 * what they came to, and what a column had as a value for the caller. Only
 * calls that libmariadb and libmysqlclient both have; no look into a MYSQL.
 * Thread: the caller's.
 */
#ifndef HF_ROWS_MYSQL_ASK_H
#define HF_ROWS_MYSQL_ASK_H

#include "include/holdfast-mysql.h"
#include "src/rows/rows.h"

#include <mysql.h>

/* It points into the row. */
hf_row_value hf__value_of(const MYSQL_FIELD *, const char *text,
                          unsigned long length);
/* A value that was checked; its text is in that character set. */
void hf__value_add(struct hf__sql *, const hf_row_value *, const char *charset);

enum { HF__ROWS_INDEX = 64 * 4 + 1 };

struct hf__rows {
    MYSQL *db;
    struct hf__call call;
    const char *charset; /* of the connection; the client library's */
    struct hf__names names;
    unsigned long thread; /* the connection's number on the server */
    bool is_inside;       /* the caller's transaction */
    bool is_lost;         /* no answer, or another connection */
    bool knows_nowait;    /* until the server said that it does not */
    bool knows_skip;
    bool rolls_back;            /* innodb_rollback_on_timeout */
    char index[HF__ROWS_INDEX]; /* by which the row is found; "": unknown */
    struct hf__sql sql;
};

/* What the caller gave. Not to be moved then. */
void hf__rows_begin(struct hf__rows *, MYSQL *, hf_row_info *ret_info,
                    hf_error *ret_err);
/* Checks the arguments that every call has; the row is copied. HF_OK,
 * HF_EINVAL; HF_EUNAVAIL: not connected. */
HF_MUST_CHECK int hf__rows_open(struct hf__rows *, const hf_row *);
/* The end of the call: what is known goes to the caller, and the error unless
 * r is HF_OK. Gives r. */
HF_MUST_CHECK int hf__rows_end(struct hf__rows *, int r);

/* One statement. Gives 0 and its result, NULL if it has none, for
 * mysql_free_result(); or the error's number. */
HF_MUST_CHECK unsigned hf__rows_run(struct hf__rows *, const char *words,
                                    MYSQL_RES **ret_result);
/* The one that was built in s->sql. */
HF_MUST_CHECK unsigned hf__rows_send(struct hf__rows *, MYSQL_RES **ret_result);
/* One whose result, if any, does not count. */
HF_MUST_CHECK unsigned hf__rows_do(struct hf__rows *, const char *words);

static inline void hf__sql_name(struct hf__sql *sql, const char *name)
{
    hf__sql_quoted(sql, '`', name);
}
/* "`db`.`table`" */
void hf__rows_add_table(struct hf__rows *);
/* " WHERE `a`=1 AND …" */
void hf__rows_add_key(struct hf__rows *);

enum { HF__ROWS_NO_MEMORY = 1037 };

/* Tells the error of a statement: its status. */
HF_MUST_CHECK int hf__rows_fail(struct hf__rows *, unsigned error);
/* Was the write that ended so possibly done? */
HF_MUST_CHECK bool hf__rows_may_be_done(unsigned error);

static inline void hf__result_auto(MYSQL_RES **result)
{
    if (*result != NULL) {
        mysql_free_result(*result);
    }
}

#endif
