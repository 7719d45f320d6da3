/* SPDX-License-Identifier: MIT */
/*
 * check(): the server as it is for any store in it, then what a user lock
 * means there. It has a connection of its own, which it may lose. Called by the
 * front's thread.
 */
#include "src/backend/mysql_session/scheme.h"

#include "src/backend/report.h"

#include <stdio.h>

static void check_session(struct hf__ul_front *f, struct hf__report *to)
{
    struct hf__ul_link *link = f->link;
    char value[64];
    bool has_several;

    hf__mutex_lock(&link->mutex);
    has_several = link->most > 1;
    hf__mutex_unlock(&link->mutex);
    (void)snprintf(value, sizeof value, "%d s", link->lease_s);
    hf__report_tell(to, "session_timeout", value, HF_FINE, NULL);
    hf__report_tell(to, "locks_of_a_connection",
                    has_several ? "several" : "one", HF_FINE, NULL);
    hf__report_tell(to, "fences",
                    link->has_database ? f->scheme->table : "none",
                    link->has_database ? HF_FINE : HF_WARN,
                    "name a database in the URL, and each grant has a fence");
}

int hf__ul_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err)
{
    struct hf__ul_front *f = state;
    struct hf__report to = {.fn = fn, .arg = arg};
    struct hf__ul_line *line = NULL;
    int r;

    hf__table_begin(&f->mysql.t, deadline, err);
    r = hf__ul_line_new(f, &line);
    if (r != HF_OK) {
        return r;
    }
    r = hf__mysql_check_server(
        &f->mysql, f->link->has_database ? f->scheme->schema : NULL, &to);
    check_session(f, &to);
    if (r == HF_OK && f->scheme->check != NULL) {
        r = f->scheme->check(f, line, &to);
    }
    hf__ul_line_give(f, line);
    return r;
}
