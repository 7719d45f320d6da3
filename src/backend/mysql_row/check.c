/* SPDX-License-Identifier: MIT */
/*
 * What check() says of scheme=row beside what any store in the server has: how
 * many connections a client may have, and which locks are held for long, each
 * of which keeps one, and a transaction, open. Called by the front's thread.
 */
#include "src/backend/mysql_row/row.h"

#include "src/backend/mysql/row.h"
#include "src/backend/report.h"

#include <stdio.h>

#define LONG_S "60"

/* HF_OK; HF_BUSY: no answer in time; negative: the line is dead. */
static int tell_long(struct hf__ul_front *f, struct hf__ul_line *line,
                     struct hf__report *to)
{
    char value[96];
    MYSQL_ROW row;
    int r;

    hf__text_clear(&f->mysql.sql);
    hf__text_add(&f->mysql.sql,
                 "SELECT COUNT(*),MAX(" HF__SQL_NOW
                 "-acquired_at) DIV 1000000 FROM holdfast_row_holder WHERE "
                 "acquired_at<" HF__SQL_NOW "-" LONG_S "000000 AND "
                 "IS_USED_LOCK(NULLIF(lock_name,''))=connection");
    r = hf__ul_line_ask(f, line);
    row = r == HF_OK ? hf__wire_row(&f->mysql) : NULL;
    if (row == NULL) {
        return r;
    }
    (void)snprintf(value, sizeof value,
                   row[1] == NULL ? "none" : "%s, the longest for %s s", row[0],
                   row[1]);
    hf__report_tell(to, "held_over_a_minute", value,
                    row[1] == NULL ? HF_FINE : HF_WARN,
                    "each keeps a connection and a transaction open, and "
                    "ALTER TABLE holdfast_row waiting: hold them for less "
                    "long, or leave scheme= out");
    return HF_OK;
}

int hf__mysql_row_check(struct hf__ul_front *f, struct hf__ul_line *line,
                        struct hf__report *to)
{
    char value[32];

    (void)snprintf(value, sizeof value, "%d", f->link->apart_most);
    hf__report_tell(to, "max_connections", value, HF_FINE, NULL);
    hf__report_tell(to, "wait",
                    atomic_load(&f->link->has_nowait)
                        ? "NOWAIT"
                        : "innodb_lock_wait_timeout",
                    HF_FINE, NULL);
    return tell_long(f, line, to);
}
