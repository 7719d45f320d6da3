/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. The database is made at its first use in the test.
 */
#include "tests/rows/postgres/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT = 2048, VALUE = 512 };

static const struct hf__postgres *current;
static char own[HF__POSTGRES_NAME];

_Thread_local hf_error err = HF_ERROR_INIT;
_Thread_local hf_row_info info = HF_ROW_INFO_INIT;

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__postgres_share);
}

const struct hf__postgres *server(void)
{
    return current != NULL ? current : hf__postgres_shared();
}

void use_server(const struct hf__postgres *s)
{
    current = s;
}

const char *database(void)
{
    if (own[0] == '\0') {
        hf__postgres_database(server(), own);
    }
    return own;
}

/* A call that warns has begun or ended what was not to be. */
static void take_notice(void *unused, const PGresult *notice)
{
    (void)unused;
    if (strcmp(PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED),
               "WARNING") == 0) {
        EXPECT_TEXT(PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY), "");
    }
}

PGconn *enter_at(int port)
{
    char number[16];
    const char *const words[] = {
        "host", "port", "user", "password", "client_encoding", "dbname", NULL};
    const char *const values[] = {
        "127.0.0.1", number, HF__POSTGRES_USER, HF__POSTGRES_PASSWORD, "UTF8",
        database(),  NULL};
    PGconn *db;

    snprintf(number, sizeof number, "%d", port);
    db = PQconnectdbParams(words, values, 0);
    if (PQstatus(db) != CONNECTION_OK) {
        EXPECT_TEXT(PQerrorMessage(db), "");
    }
    (void)PQsetNoticeReceiver(db, take_notice, NULL);
    return db;
}

PGconn *enter(void)
{
    return enter_at(hf__postgres_port(server()));
}

void leave(PGconn **db)
{
    PQfinish(*db);
}

/* Several statements: the last one's result. */
static PGresult *run(PGconn *db, const char *sql, char state[6])
{
    PGresult *result = PQexec(db, sql);
    const char *found = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    ExecStatusType status = PQresultStatus(result);

    snprintf(state, 6, "%s",
             status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? ""
             : found == NULL                                         ? "08006"
                                                                     : found);
    return result;
}

static PGresult *must(PGconn *db, const char *sql)
{
    char state[6];
    PGresult *result = run(db, sql, state);

    if (*state != '\0') {
        EXPECT_TEXT(PQerrorMessage(db), sql);
    }
    return result;
}

#define FORMAT_INTO(sql, format)                                               \
    do {                                                                       \
        va_list args_;                                                         \
        va_start(args_, format);                                               \
        EXPECT(vsnprintf(sql, sizeof sql, format, args_) < (int)sizeof sql);   \
        va_end(args_);                                                         \
    } while (0)

void tell(PGconn *db, const char *format, ...)
{
    char sql[STATEMENT];

    FORMAT_INTO(sql, format);
    PQclear(must(db, sql));
}

const char *attempt(PGconn *db, const char *format, ...)
{
    static _Thread_local char state[6];
    char sql[STATEMENT];

    FORMAT_INTO(sql, format);
    PQclear(run(db, sql, state));
    return state;
}

const char *value(PGconn *db, const char *format, ...)
{
    static _Thread_local char found[VALUE];
    char sql[STATEMENT];
    PGresult *result;

    FORMAT_INTO(sql, format);
    result = must(db, sql);
    snprintf(found, sizeof found, "%s",
             PQntuples(result) == 0           ? "none"
             : PQgetisnull(result, 0, 0) != 0 ? "NULL"
                                              : PQgetvalue(result, 0, 0));
    PQclear(result);
    return found;
}

int changed(PGconn *db, const char *format, ...)
{
    char sql[STATEMENT];
    PGresult *result;
    int count;

    FORMAT_INTO(sql, format);
    result = must(db, sql);
    count = (int)strtol(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    return count;
}

int waiting(void)
{
    const char *count = hf__postgres_value(
        server(), database(),
        "SELECT count(*) FROM pg_stat_activity WHERE "
        "datname=current_database() AND wait_event_type='Lock'");

    return (int)strtol(count, NULL, 10);
}

void make_accounts(PGconn *db)
{
    tell(db, "CREATE TABLE account(id INT PRIMARY KEY,n INT NOT NULL,"
             "version INT NOT NULL DEFAULT 1)");
    tell(db, "INSERT INTO account(id,n) VALUES(1,100),(2,200),(3,300)");
}

const hf_row *row_of(const char *table, int64_t id)
{
    static _Thread_local hf_row_column key;
    static _Thread_local hf_row row;

    key = (hf_row_column){"id", {HF_ROW_INT, id, NULL, 0}};
    row = (hf_row){sizeof row, NULL, table, &key, 1};
    return &row;
}

int lock_for(PGconn *db, int64_t id, int64_t wait_ms)
{
    hf_row_lock_opts opts = HF_ROW_LOCK_OPTS_INIT;

    opts.wait_ms = wait_ms;
    return hf_postgres_lock_row(db, row_of("account", id), &opts, &info, &err);
}

int lock_skipping(PGconn *db, int64_t id)
{
    hf_row_lock_opts opts = HF_ROW_LOCK_OPTS_INIT;

    opts.wait_ms = 0;
    opts.skip_locked = 1;
    return hf_postgres_lock_row(db, row_of("account", id), &opts, &info, &err);
}

const char *session_of(PGconn *db)
{
    return value(db, "SELECT concat_ws(' ',current_setting('lock_timeout'),"
                     "current_setting('statement_timeout'),"
                     "current_setting('default_transaction_isolation'),"
                     "current_setting('search_path'))");
}

void wait_for_row(void *arg)
{
    struct waiter *w = arg;

    w->status = lock_for(w->db, w->id, w->wait_ms);
    w->info = info;
}

/* ---- changes */

static int add(void *arg, const hf_row_value *old_values,
               hf_row_value *new_values)
{
    struct change *c = arg;

    c->calls++;
    EXPECT_IS(old_values[0].type, HF_ROW_INT);
    c->seen = old_values[0].number;
    if (c->rival != NULL && c->calls <= c->times) {
        tell(c->rival, "%s", c->meanwhile);
    }
    new_values[0] = (hf_row_value){HF_ROW_INT, c->seen + c->by, NULL, 0};
    return 0;
}

hf_row_update by_version(struct change *c)
{
    static const char *const columns[] = {"n"};
    hf_row_update update = HF_ROW_UPDATE_INIT;

    update.version = "version";
    update.columns = columns;
    update.n_columns = 1;
    update.change = add;
    update.arg = c;
    return update;
}

int change(PGconn *db, int64_t id, const hf_row_update *update)
{
    return hf_postgres_update_versioned(db, row_of("account", id), update,
                                        &info, &err);
}

const char *row_says(PGconn *db, int64_t id)
{
    return value(db, "SELECT concat_ws(' ',n,version) FROM account WHERE id=%d",
                 (int)id);
}
