/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h on PostgreSQL. The database is made at its first use in
 * the test. Thread: each connection is used by one at a time.
 */
#include "tests/rows/postgres/world.h"
#include "tests/servers/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hf__postgres *current;
static char own[HF__POSTGRES_NAME];

const struct dialect its = {
    .kind = ON_POSTGRES,
    .busy = "55P03",
    .deadlock = "40P01",
    .duplicate = "23505",
    .read_only = "25006",
    .no_savepoint = "3B001",
    .no_index = "unique index",
    .index_part = "unique index",
    .longest_name = 63,
    .quote = '"',
    .tick_ms = 200,
    .levels = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"},
    .n_fresh = 1,
    .n_patient = 1,
    .n_manners = 3,
    .far_limit = "SET lock_timeout='7min'",
    .near_limit = "SET LOCAL lock_timeout=20",
    .show_limit = "SHOW lock_timeout",
    .limit = "0",
    .close_table = "BEGIN;LOCK TABLE account",
    .be_lenient = "SELECT 1",
};
const struct hf__framing *const framing = &hf__framing_postgres;

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

int server_port(void)
{
    return hf__postgres_port(server());
}

const char *database(void)
{
    if (own[0] == '\0') {
        hf__postgres_database(server(), own);
    }
    return own;
}

/* ---- connections */

PGconn *pg_of(struct db *db)
{
    return (PGconn *)db;
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

struct db *enter_at(int port)
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
    return (struct db *)db;
}

struct db *enter(void)
{
    return enter_at(server_port());
}

int level_of(int manner)
{
    return manner;
}

struct db *enter_as(int manner)
{
    struct db *db = enter();

    set_level(db, its.levels[level_of(manner)]);
    return db;
}

void set_level(struct db *db, const char *level)
{
    tell(db, "SET default_transaction_isolation='%s'", level);
}

struct db *enter_nowhere(void)
{
    return (struct db *)PQconnectdb("host=/nobody connect_timeout=1");
}

void leave(struct db **db)
{
    PQfinish(pg_of(*db));
}

/* Several statements: the last one's result. */
void run(struct db *db, const char *sql, struct result *result)
{
    PGresult *r = PQexec(pg_of(db), sql);
    const char *found = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    ExecStatusType status = PQresultStatus(r);

    snprintf(result->error, sizeof result->error, "%s",
             status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? ""
             : found == NULL                                         ? "08006"
                                                                     : found);
    snprintf(result->value, sizeof result->value, "%s",
             PQntuples(r) == 0           ? "none"
             : PQgetisnull(r, 0, 0) != 0 ? "NULL"
                                         : PQgetvalue(r, 0, 0));
    result->changed = (int)strtol(PQcmdTuples(r), NULL, 10);
    PQclear(r);
}

const char *message_of(struct db *db)
{
    return PQerrorMessage(pg_of(db));
}

/* ---- sessions */

int waiting(void)
{
    const char *count = hf__postgres_value(
        server(), database(),
        "SELECT count(*) FROM pg_stat_activity WHERE "
        "datname=current_database() AND wait_event_type='Lock'");

    return (int)strtol(count, NULL, 10);
}

char state_of(struct db *db)
{
    PGTransactionStatusType status = PQtransactionStatus(pg_of(db));

    if (status == PQTRANS_IDLE) {
        return 'I';
    }
    return status == PQTRANS_INTRANS ? 'T' : 'E';
}

const char *session_of(struct db *db)
{
    return value(db, "SELECT concat_ws(' ',current_setting('lock_timeout'),"
                     "current_setting('statement_timeout'),"
                     "current_setting('default_transaction_isolation'),"
                     "current_setting('search_path'))");
}

void cancel(struct db *by, struct db *whom)
{
    tell(by, "SELECT pg_cancel_backend(%d)", PQbackendPID(pg_of(whom)));
}

void end_session(struct db *by, struct db *whom)
{
    tell(by, "SELECT pg_terminate_backend(%d)", PQbackendPID(pg_of(whom)));
}

/* ---- the library */

int lock_row(struct db *db, const hf_row *row, const hf_row_lock_opts *opts,
             hf_row_info *ret_info, hf_error *e)
{
    return hf_postgres_lock_row(pg_of(db), row, opts, ret_info, e);
}

int update_row(struct db *db, const hf_row *row, const hf_row_update *update,
               hf_row_info *ret_info, hf_error *e)
{
    return hf_postgres_update_versioned(pg_of(db), row, update, ret_info, e);
}

int guard_sql(char *buf, size_t size, const char *column, uint64_t fence)
{
    return hf_postgres_guard_sql(buf, size, column, fence, &err);
}

const char *status_name(int status)
{
    return hf_postgres_strstatus(status);
}
