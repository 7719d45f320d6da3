/* SPDX-License-Identifier: MIT */
/*
 * scheme=row: its tables, its statements on a connection, its options, and what
 * check() reports besides. A connection has autocommit=0, so that the statement
 * which locks the row begins the transaction. The server says with each reply
 * whether a transaction is open; if the lock's was rolled back, the lock is
 * lost, whatever else the connection still has. All calls are shared with
 * scheme=session, whose locks belong to a connection, too. Called by the
 * session's thread.
 */
#include "src/backend/mysql_row/row.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/backend/mysql_session/session.h"
#include "src/backend/report.h"
#include "src/base/error.h"

#include <stdio.h>

#define NO_SUCH_SYNTAX      1064
#define CONNECTIONS_DEFAULT 64
#define CONNECTIONS_MAX     10000
/* check() reports locks that are held for longer, in seconds. */
#define LONG_S "60"
/* MariaDB would end a connection whose transaction is idle, but only the lease
 * shall limit a lock. COMMIT must not begin the next transaction. */
#define CONN_SETTINGS                                                          \
    "SET SESSION completion_type=0,autocommit=0/*M!100300 ,"                   \
    "idle_transaction_timeout=0,idle_write_transaction_timeout=0,"             \
    "idle_readonly_transaction_timeout=0*/"

/* ---- the tables */

#define ROW_COLUMNS(X)                                                         \
    X(name_key, HF__KIND_BYTES, 320, true, "VARBINARY(320) NOT NULL")

static const char ddl[] = HF__SQL_CREATE("holdfast_row", ROW_COLUMNS,
                                         "name_key")
    HF__SQL_CREATE("holdfast_row_holder", HF__UL_HOLDER_COLUMNS, "name_key");
static const struct hf__column row_columns[] = {ROW_COLUMNS(HF__AS_COLUMN)};
static const struct hf__column holder_columns[] = {
    HF__UL_HOLDER_COLUMNS(HF__AS_COLUMN)};
static const struct hf__table tables[] = {
    {"holdfast_row_holder", holder_columns,
     sizeof holder_columns / sizeof *holder_columns, "name_key"},
    {"holdfast_row", row_columns, 1, "name_key"},
};
static const struct hf__schema schema = {ddl, tables, 2};

/* ---- statements before the lock */

/* Send the session's text and take all replies. Returns as
 * hf__ul_conn_ask(). */
static int run(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    int r = hf__ul_conn_ask(f, conn);

    return r == HF_OK ? hf__ul_conn_skip(f) : r;
}

/* Set how long the connection's statements wait for a row; ends its
 * transaction. */
static int set_wait(struct hf__ul_session *f, struct hf__ul_conn *conn,
                    int seconds)
{
    int r;

    hf__text_clear(&f->mysql.sql);
    hf__text_addf(&f->mysql.sql,
                  "ROLLBACK;SET SESSION innodb_lock_wait_timeout=%d", seconds);
    r = run(f, conn);
    if (r == HF_OK && f->mysql.reply.error != 0) {
        return hf__mysql_refusal(&f->mysql, f->mysql.t.err);
    }
    conn->wait_s = r == HF_OK ? seconds : conn->wait_s;
    return r;
}

static int least_wait(const struct hf__ul_session *f)
{
    return f->mysql.server.has_zero_wait ? 0 : 1;
}

/* Insert the row of a name that was never locked, in a transaction of its own:
 * two clients that lock a row that does not exist would both succeed. The
 * insert is refused if somebody has locked the row meanwhile. */
static int make_row(struct hf__ul_session *f, struct hf__ul_conn *conn,
                    const char *key, uint16_t length)
{
    int r = set_wait(f, conn, least_wait(f));

    if (r != HF_OK) {
        return r;
    }
    hf__text_clear(&f->mysql.sql);
    hf__text_add(&f->mysql.sql,
                 "INSERT IGNORE INTO holdfast_row(name_key) VALUES(");
    hf__text_hex(&f->mysql.sql, key, length);
    hf__text_add(&f->mysql.sql, ");COMMIT");
    return run(f, conn);
}

/* ---- statements about the lock */

static void write_row(struct hf__ul_session *f, const char *key,
                      uint16_t length)
{
    hf__text_add(&f->mysql.sql, " FROM holdfast_row WHERE name_key=");
    hf__text_hex(&f->mysql.sql, key, length);
    hf__text_add(&f->mysql.sql, " FOR UPDATE");
}

/* A connection has one lock, so its packet is about one. */
static const struct hf__ul_task *task_of(const struct hf__ul_session *f)
{
    int i = 0;

    while (f->tasks[i].lock == NULL) {
        i++;
    }
    return &f->tasks[i];
}

static bool is_open(const struct hf__ul_session *f)
{
    return (f->mysql.wire.handle->server_status & SERVER_STATUS_IN_TRANS) != 0;
}

static int send_try(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    const struct hf__ul_task *t = task_of(f);

    hf__ul_write_packet(f, conn);
    write_row(f, t->lock->key, t->lock->length);
    hf__text_add(&f->mysql.sql,
                 atomic_load(&f->pool->has_nowait) ? " NOWAIT" : "");
    return hf__ul_conn_ask(f, conn);
}

static int try_row(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    const struct hf__ul_task *t = task_of(f);
    int r = atomic_load(&f->pool->has_nowait) || conn->wait_s == least_wait(f)
                ? (int)HF_OK
                : set_wait(f, conn, least_wait(f));

    r = r == HF_OK ? send_try(f, conn) : r;
    if (r != HF_OK || f->mysql.reply.error != 0 ||
        mysql_num_rows(f->mysql.reply.rows) > 0) {
        return r;
    }
    r = make_row(f, conn, t->lock->key, t->lock->length);
    return r == HF_OK && f->mysql.reply.error == 0 ? send_try(f, conn) : r;
}

/* Take the reply to COMMIT, and keep the answer that came before it. */
static int commit(struct hf__ul_session *f)
{
    MYSQL_RES *answer = f->mysql.reply.rows;
    int r;

    f->mysql.reply.rows = NULL;
    r = hf__ul_conn_skip(f);
    r = r == HF_OK && f->mysql.reply.error != 0
            ? hf__mysql_refusal(&f->mysql, f->mysql.t.err)
            : r;
    f->mysql.reply.rows = answer;
    return r;
}

static int check_row(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    bool is_release = task_of(f)->op->kind == HF__OP_RELEASE;
    bool was_open;
    int r;

    hf__ul_write_packet(f, conn);
    hf__text_add(&f->mysql.sql, is_release ? ";COMMIT" : "");
    r = hf__ul_conn_ask(f, conn);
    if (r != HF_OK || f->mysql.reply.error != 0) {
        return r;
    }
    was_open = is_open(f);
    r = is_release ? commit(f) : r;
    return r == HF_OK && !was_open
               ? hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                          "the transaction that had the lock is over")
               : r;
}

static int ask(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    const struct hf__ul_task *t = task_of(f);

    return t->op->kind == HF__OP_ACQUIRE && t->lock->state == HF__UL_WANTED
               ? try_row(f, conn)
               : check_row(f, conn);
}

/* ---- waiting in the server's queue */

static int stand(struct hf__ul_session *f, struct hf__ul_conn *conn,
                 bool is_missing)
{
    int r = is_missing ? make_row(f, conn, f->queue_key, f->queue_length)
                       : (int)HF_OK;

    return r == HF_OK ? set_wait(f, conn, f->pool->lease_s) : r;
}

static void write_queue(struct hf__ul_session *f)
{
    hf__text_add(&f->mysql.sql, "1)");
    write_row(f, f->queue_key, f->queue_length);
}

/* ---- the rest */

static int fit(struct hf__ul_session *f)
{
    int r;

    hf__text_clear(&f->mysql.sql);
    hf__text_add(&f->mysql.sql, CONN_SETTINGS);
    r = hf__wire_run(&f->mysql);
    return r == HF_OK && f->mysql.reply.error != 0
               ? hf__mysql_refusal(&f->mysql, f->mysql.t.err)
               : r;
}

/* Does the server know NOWAIT? No name has the empty key, so the probe locks no
 * row. */
static int probe(struct hf__ul_session *f)
{
    struct hf__mysql *s = &f->mysql;
    unsigned error;
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "SELECT name_key FROM holdfast_row WHERE "
                          "name_key='' FOR UPDATE NOWAIT");
    r = hf__wire_run(s);
    if (r != HF_OK) {
        return r;
    }
    error = s->reply.error;
    if (error != 0 && error != NO_SUCH_SYNTAX &&
        hf__mysql_error_class(error) != HF__ERROR_AGAIN) {
        return hf__mysql_refusal(s, s->t.err);
    }
    atomic_store(&f->pool->has_nowait, error != NO_SUCH_SYNTAX);
    return HF_OK;
}

static void write_deletion(struct hf__text *to, const char *key, size_t length)
{
    hf__text_add(to, "DELETE FROM holdfast_row WHERE name_key=");
    hf__text_hex(to, key, length);
    hf__text_add(to, ";");
}

/* ---- check */

/* HF_OK; HF_BUSY: no answer in time; negative: the connection is dead. */
static int tell_long(struct hf__ul_session *f, struct hf__ul_conn *conn,
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
    r = hf__ul_conn_ask(f, conn);
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

static int check(struct hf__ul_session *f, struct hf__ul_conn *conn,
                 struct hf__report *to)
{
    char value[32];

    (void)snprintf(value, sizeof value, "%d", f->pool->dedicated_most);
    hf__report_tell(to, "max_connections", value, HF_FINE, NULL);
    hf__report_tell(to, "wait",
                    atomic_load(&f->pool->has_nowait)
                        ? "NOWAIT"
                        : "innodb_lock_wait_timeout",
                    HF_FINE, NULL);
    return tell_long(f, conn, to);
}

/* ---- the store */

static const struct hf__ul_scheme scheme = {
    .name = "row",
    .what = "row lock",
    .prefix = "hr",
    .patience = "1", /* seconds: the last holder's user lock is released after
                        its row */
    .table = "holdfast_row_holder",
    .schema = &schema,
    .is_dedicated = true,
    .fit = fit,
    .probe = probe,
    .ask = ask,
    .stand = stand,
    .write_queue = write_queue,
    .write_deletion = write_deletion,
    .check = check,
};

static int row_open(void *state, const struct hf__url *url, const char *allow,
                    hf__time deadline, hf_error *err)
{
    struct hf__ul_session *f = state;
    int64_t most = CONNECTIONS_DEFAULT;
    int r = hf__url_int(url, "max_connections", 1, CONNECTIONS_MAX, &most, err);

    hf__table_begin(&f->mysql.t, deadline, err);
    f->scheme = &scheme;
    return r == HF_OK ? hf__ul_open(f, url, allow, (int)most) : r;
}

static const char *row_ddl(const struct hf__url *url)
{
    (void)url;
    return ddl;
}

const struct hf__backend hf__mysql_row_backend = {
    .scheme = "mysql",
    .size = sizeof(struct hf__ul_session),
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
