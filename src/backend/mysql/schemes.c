/* SPDX-License-Identifier: MIT */
/*
 * The stores mysql:// by the option scheme=: the table's, unless the URL says
 * otherwise. Each is a store of its own, whose session begins with the same
 * connection. Called as backend.h says.
 */
#include "src/backend/cell.h"
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/place.h"
#include "src/backend/mysql/schema.h"
#include "src/backend/mysql_row/row.h"
#include "src/backend/mysql_session/session.h"
#include "src/backend/registry.h"
#include "src/base/error.h"

#include <string.h>

static const struct hf__backend *scheme_of(const struct hf__url *url)
{
    const char *given = hf__url_option(url, "scheme");

    if (given != NULL && strcmp(given, "row") == 0) {
        return &hf__mysql_row_backend;
    }
    return given != NULL && strcmp(given, "session") == 0
               ? &hf__mysql_session_backend
               : &hf__mysql_table_backend;
}

/* Room for the session of any. */
union session {
    struct hf__mysql table;
    struct hf__ul_front session; /* of scheme=row, too */
};

static const struct hf__backend *scheme(void *state)
{
    return ((struct hf__mysql *)state)->scheme;
}

static unsigned mysql_caps_of(const struct hf__url *url)
{
    const struct hf__backend *chosen = scheme_of(url);

    return chosen->caps_of == NULL ? chosen->caps : chosen->caps_of(url);
}

static int mysql_open(void *state, const struct hf__url *url, const char *allow,
                      hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;

    s->scheme = scheme_of(url);
    return s->scheme->open(state, url, allow, deadline, err);
}

static void mysql_close_session(void *state)
{
    scheme(state)->close(state);
}

static int mysql_execute(void *state, struct hf__op *ops[], int n,
                         hf__time deadline, hf_error *err)
{
    return scheme(state)->execute(state, ops, n, deadline, err);
}

static int mysql_wait(void *state, struct hf__watch *w[], int n,
                      hf__time deadline, hf_error *err)
{
    return scheme(state)->wait(state, w, n, deadline, err);
}

static int mysql_listen(void *state, hf__broken_fn fn, void *arg,
                        hf__time deadline, hf_error *err)
{
    return scheme(state)->listen(state, fn, arg, deadline, err);
}

static int mysql_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                      void *arg, hf__time deadline, hf_error *err)
{
    return scheme(state)->list(state, prefix, fn, arg, deadline, err);
}

static int mysql_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                    hf__time deadline, hf_error *err)
{
    return scheme(state)->gc(state, prefix, g, deadline, err);
}

static int mysql_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                      hf_error *err)
{
    if (scheme(state)->cell == NULL) {
        op->result = hf__fail(op->err, HF_ENOTSUP,
                              "cells need scheme=table, which is the default");
        return HF_OK;
    }
    return scheme(state)->cell(state, op, deadline, err);
}

static int mysql_check(void *state, hf__check_fn fn, void *arg,
                       hf__time deadline, hf_error *err)
{
    return scheme(state)->check(state, fn, arg, deadline, err);
}

static const char *mysql_ddl(const struct hf__url *url)
{
    return scheme_of(url)->ddl(url);
}

const struct hf__backend hf__mysql_backend = {
    .scheme = "mysql",
    .caps_of = mysql_caps_of,
    .size = sizeof(union session),
    .options = hf__mysql_options,
    .has_kinds_apart = true,
    .open = mysql_open,
    .close = mysql_close_session,
    .execute = mysql_execute,
    .wait = mysql_wait,
    .listen = mysql_listen,
    .list = mysql_list,
    .gc = mysql_gc,
    .cell = mysql_cell,
    .check = mysql_check,
    .ddl = mysql_ddl,
    .interrupt = hf__mysql_interrupt,
};
