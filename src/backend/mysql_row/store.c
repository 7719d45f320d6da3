/* SPDX-License-Identifier: MIT */
/*
 * The store mysql://…?scheme=row: its options and what it can. All its calls
 * are those of the other schemes whose locks are a connection's. Called as
 * backend.h says.
 */
#include "src/backend/mysql_row/row.h"

#define CONNECTIONS_DEFAULT 64
#define CONNECTIONS_MAX     10000

static int row_open(void *state, const struct hf__url *url, const char *allow,
                    hf__time deadline, hf_error *err)
{
    struct hf__ul_front *f = state;
    int64_t most = CONNECTIONS_DEFAULT;
    int r = hf__url_int(url, "max_connections", 1, CONNECTIONS_MAX, &most, err);

    hf__table_begin(&f->mysql.t, deadline, err);
    f->scheme = &hf__mysql_row_scheme;
    return r == HF_OK ? hf__ul_open(f, url, allow, (int)most) : r;
}

static const char *row_ddl(const struct hf__url *url)
{
    (void)url;
    return hf__mysql_row_scheme.schema->ddl;
}

const struct hf__backend hf__mysql_row_backend = {
    .scheme = "mysql",
    .size = sizeof(struct hf__ul_front),
    .caps = HF_CAP_WAIT | HF_CAP_SESSION | HF_CAP_PUSH | HF_CAP_FENCE |
            HF_CAP_LIST | HF__CAP_WAIT_ONE | HF__CAP_WAIT_LEAVES,
    .open = row_open,
    .close = hf__ul_close,
    .execute = hf__ul_execute,
    .wait = hf__ul_wait,
    .listen = hf__ul_listen,
    .list = hf__ul_list,
    .gc = hf__ul_gc,
    .cell = hf__mysql_no_cell,
    .check = hf__ul_check,
    .ddl = row_ddl,
    .interrupt = hf__mysql_interrupt,
};
