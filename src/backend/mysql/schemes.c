/* SPDX-License-Identifier: MIT */
/*
 * The stores mysql:// by the option scheme=, which is table unless the URL says
 * otherwise. Each is a separate store whose session begins with the same
 * struct. Called by any thread.
 */
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/schema.h"
#include "src/backend/mysql/target.h"
#include "src/backend/mysql_row/row.h"
#include "src/backend/mysql_session/session.h"
#include "src/backend/registry.h"

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

/* Room for the session of any scheme. */
union session {
    struct hf__mysql table;
    struct hf__ul_session session; /* also of scheme=row */
};

static unsigned mysql_caps_of(const struct hf__url *url)
{
    const struct hf__backend *chosen = scheme_of(url);

    return chosen->caps_of == NULL ? chosen->caps : chosen->caps_of(url);
}

static const char *mysql_ddl(const struct hf__url *url)
{
    return scheme_of(url)->ddl(url);
}

const struct hf__backend hf__mysql_backend = {
    .scheme = "mysql",
    .of = scheme_of,
    .caps_of = mysql_caps_of,
    .size = sizeof(union session),
    .options = hf__mysql_options,
    .has_kinds_apart = true,
    .wait = hf__pair_wait,
    .list = hf__mysql_list,
    .gc = hf__mysql_gc,
    .cell = hf__mysql_cell,
    .ddl = mysql_ddl,
};
