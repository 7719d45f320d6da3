/* SPDX-License-Identifier: MIT */
/*
 * The store mysql://…?scheme=session. This file opens and closes a session;
 * session.h says where the rest is. Called as backend.h says.
 */
#include "src/backend/mysql_session/session.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

/* The server's own limits are a second and a year. */
#define LEASE_MIN_MS     1000
#define LEASE_MAX_MS     3600000
#define LEASE_DEFAULT_MS 30000
#define MOST_DEFAULT     100
#define MOST_MAX         10000

/* The server counts whole seconds. */
static int read_lease(const struct hf__url *url, int *ret_lease_s,
                      hf_error *err)
{
    int64_t ms = LEASE_DEFAULT_MS;
    int r = hf__url_duration(url, "session_timeout", LEASE_MIN_MS, LEASE_MAX_MS,
                             &ms, err);

    if (r == HF_OK && ms % 1000 != 0) {
        r = hf__fail(err, HF_EINVAL,
                     "session_timeout: the server counts whole seconds, and "
                     "%lld ms is none of them",
                     (long long)ms);
    }
    *ret_lease_s = (int)(ms / 1000);
    return r;
}

/* The first connection shows whether the server is fit; a session that only
 * listens needs none. */
static int meet_server(struct hf__ul_session *f)
{
    struct hf__ul_conn *conn = NULL;
    int r;

    if (f->mysql.t.head.only_listens) {
        return HF_OK;
    }
    r = hf__ul_conn_home(f, false, &conn);
    if (r != HF_OK) {
        return r;
    }
    if (f->pool->has_database) {
        r = hf__mysql_schema_ready(&f->mysql, f->scheme->schema);
    }
    r = r == HF_OK && f->scheme->probe != NULL ? f->scheme->probe(f) : r;
    f->mysql.wire.is_dead |= r != HF_OK;
    hf__ul_conn_give(f, conn);
    return r;
}

/* The limit on locks of one connection, which are lost together. */
static int read_most(const struct hf__url *url, int *ret_most, hf_error *err)
{
    int64_t most = MOST_DEFAULT;
    int r = hf__url_int(url, "locks_per_connection", 1, MOST_MAX, &most, err);

    *ret_most = (int)most;
    return r;
}

int hf__ul_open(struct hf__ul_session *f, const struct hf__url *url,
                const char *allow, int most)
{
    int lease_s = 0;
    int r = read_lease(url, &lease_s, f->mysql.t.err);

    hf__list_init(&f->in_pool);
    r = r == HF_OK ? hf__wire_init(&f->mysql) : r;
    r = r == HF_OK ? hf__ul_join(f, url, allow, lease_s, most) : r;
    r = r == HF_OK ? meet_server(f) : r;
    f->mysql.t.head.server_info = (struct hf__server_info){
        .grade = 'S',
        .reach = HF_REACH_HOSTS,
        .lease_us = lease_s * INT64_C(1000000),
    };
    return r == HF_EUNKNOWN ? (int)HF_EUNAVAIL : r; /* no lock was touched */
}

static int session_open(void *state, const struct hf__url *url,
                        const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__ul_session *f = state;
    int most = 0;
    int r = read_most(url, &most, err);

    hf__table_begin(&f->mysql.t, deadline, err);
    f->scheme = &hf__ul_session_scheme;
    return r == HF_OK ? hf__ul_open(f, url, allow, most) : r;
}

void hf__ul_close(void *state)
{
    struct hf__ul_session *f = state;

    f->mysql.t.err = NULL;
    hf__ul_wait_leave(f);
    hf__ul_leave(f);
    hf__wire_fini(&f->mysql);
    hf__text_fini(&f->mysql.sql);
    hf__free(f->tasks);
}

/* ---- the scheme */

static const char ddl[] =
    HF__SQL_CREATE("holdfast_session", HF__UL_HOLDER_COLUMNS, "name_key");
static const struct hf__column columns[] = {
    HF__UL_HOLDER_COLUMNS(HF__AS_COLUMN)};
static const struct hf__table table = {
    "holdfast_session", columns, sizeof columns / sizeof *columns, "name_key"};
static const struct hf__schema schema = {ddl, &table, 1};

static int ask(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    hf__ul_write_packet(f, conn);
    return hf__ul_conn_ask(f, conn);
}

static void write_queue(struct hf__ul_session *f)
{
    hf__text_addf(&f->mysql.sql, "%d)", f->pool->lease_s);
}

const struct hf__ul_scheme hf__ul_session_scheme = {
    .name = "session",
    .what = "user lock",
    .prefix = "hf",
    .patience = "0",
    .table = "holdfast_session",
    .schema = &schema,
    .ask = ask,
    .write_queue = write_queue,
};

/* Names and fences are in a table, which needs a database. */
static unsigned session_caps_of(const struct hf__url *url)
{
    unsigned caps = HF_CAP_WAIT | HF_CAP_SESSION | HF_CAP_PUSH |
                    HF__CAP_WAIT_ONE | HF__CAP_WAIT_LEAVES;

    return url->path[0] == '/' && url->path[1] != '\0'
               ? caps | HF_CAP_FENCE | HF_CAP_LIST
               : caps;
}

static const char *session_ddl(const struct hf__url *url)
{
    (void)url;
    return ddl;
}

const struct hf__backend hf__mysql_session_backend = {
    .scheme = "mysql",
    .size = sizeof(struct hf__ul_session),
    .caps_of = session_caps_of,
    .open = session_open,
    .close = hf__ul_close,
    .execute = hf__ul_execute,
    .wait = hf__ul_wait,
    .listen = hf__ul_listen,
    .list = hf__ul_list,
    .gc = hf__ul_gc,
    .cell = hf__mysql_no_cell,
    .check = hf__ul_check,
    .ddl = session_ddl,
    .interrupt = hf__mysql_interrupt,
};
