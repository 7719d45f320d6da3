/* SPDX-License-Identifier: MIT */
/*
 * The administrator's statements, each on a connection of its own by the
 * socket, so that any process of a test may give one and none keeps a
 * descriptor; and the databases of tests. Any process and thread may call
 * this.
 */
#include "tests/lib/test.h"
#include "tests/servers/postgres_private.h"

#include <libpq-fe.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NO_SERVER "08006"
enum { SQL_BYTES = 4096, VALUE_BYTES = 4096, PATIENCE_S = 10, NUMBER = 16 };
enum { SQLSTATE = 6 };

/* PQstatus() says whether it is connected. */
static PGconn *connect_admin(const struct hf__postgres *s, const char *database)
{
    static const char *const words[] = {
        "host", "port", "user", "dbname", "connect_timeout", NULL};
    char port[NUMBER];
    char patience[NUMBER];
    const char *const values[] = {
        s->socket, port, HF__POSTGRES_ADMIN, database ? database : "postgres",
        patience,  NULL};
    PGconn *db;

    snprintf(port, sizeof port, "%d", s->port);
    snprintf(patience, sizeof patience, "%d",
             (int)hf__test_patience(PATIENCE_S));
    db = PQconnectdbParams(words, values, 0);
    if (!db) {
        hf__servers_fail("out of memory");
    }
    return db;
}

bool hf__postgres_answers(const struct hf__postgres *s)
{
    PGconn *db = connect_admin(s, NULL);
    bool answers = PQstatus(db) == CONNECTION_OK;

    PQfinish(db);
    return answers;
}

static bool went_well(const PGresult *rows)
{
    ExecStatusType status = PQresultStatus(rows);

    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ||
           status == PGRES_EMPTY_QUERY;
}

/* A failure to connect has no SQLSTATE. */
static void run(const struct hf__postgres *s, const char *database,
                const char *sql, char value[VALUE_BYTES], char *state)
{
    PGconn *db = connect_admin(s, database);
    PGresult *rows = PQstatus(db) == CONNECTION_OK ? PQexec(db, sql) : NULL;
    const char *told = PQresultErrorField(rows, PG_DIAG_SQLSTATE);
    bool is_well = went_well(rows);

    if (!is_well && !state) {
        hf__servers_fail("%s: %s", sql, PQerrorMessage(db));
    }
    if (state) {
        snprintf(state, SQLSTATE, "%s", is_well ? "" : told ? told : NO_SERVER);
    }
    snprintf(value, VALUE_BYTES, "%s",
             PQntuples(rows) > 0 && PQnfields(rows) > 0 ? PQgetvalue(rows, 0, 0)
                                                        : "");
    PQclear(rows);
    PQfinish(db);
}

__attribute__((format(printf, 2, 0))) static void
format_sql(char sql[SQL_BYTES], const char *format, va_list args)
{
    if (vsnprintf(sql, SQL_BYTES, format, args) >= SQL_BYTES) {
        hf__servers_fail("too long a statement: %.80s", sql);
    }
}

void hf__postgres_sql(const struct hf__postgres *s, const char *database,
                      const char *format, ...)
{
    char sql[SQL_BYTES];
    char value[VALUE_BYTES];
    va_list args;

    va_start(args, format);
    format_sql(sql, format, args);
    va_end(args);
    run(s, database, sql, value, NULL);
}

const char *hf__postgres_try(const struct hf__postgres *s, const char *database,
                             const char *format, ...)
{
    static _Thread_local char state[SQLSTATE];
    char sql[SQL_BYTES];
    char value[VALUE_BYTES];
    va_list args;

    va_start(args, format);
    format_sql(sql, format, args);
    va_end(args);
    run(s, database, sql, value, state);
    return state;
}

const char *hf__postgres_value(const struct hf__postgres *s,
                               const char *database, const char *format, ...)
{
    static _Thread_local char value[VALUE_BYTES];
    char sql[SQL_BYTES];
    va_list args;

    va_start(args, format);
    format_sql(sql, format, args);
    va_end(args);
    run(s, database, sql, value, NULL);
    return value;
}

/* ---- databases */

void hf__postgres_database(const struct hf__postgres *s,
                           char name[HF__POSTGRES_NAME])
{
    static atomic_int made;

    snprintf(name, HF__POSTGRES_NAME, "hf_%d_%d", getpid(),
             atomic_fetch_add(&made, 1) + 1);
    hf__postgres_sql(s, NULL, "CREATE DATABASE %s OWNER " HF__POSTGRES_USER,
                     name);
}

void hf__postgres_url(const struct hf__postgres *s, const char *database,
                      char *url, size_t size)
{
    snprintf(url, size, "postgres://" HF__POSTGRES_USER "%s@127.0.0.1:%d/%s",
             s->with_password ? ":" HF__POSTGRES_PASSWORD : "", s->port,
             database);
}

void hf__postgres_fresh_url(const struct hf__postgres *s, char *url,
                            size_t size)
{
    char name[HF__POSTGRES_NAME];

    hf__postgres_database(s, name);
    hf__postgres_url(s, name, url, size);
}
