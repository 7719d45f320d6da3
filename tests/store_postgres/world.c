/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. Which server and which database is settled at first
 * use, in the test's first process, and the same in those it forks.
 */
#include "tests/store_postgres/world.h"

#include "tests/contract/urls.h"
#include "tests/servers/servers.h"

#include <stdarg.h>
#include <string.h>

enum { STATEMENT = 1024 };

static const struct hf__postgres *current; /* NULL: the shared one */
static char own_database[HF__POSTGRES_NAME];
static char other_url[1024];
static int other_port;

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__postgres_share);
}

void free_server(struct hf__postgres **s)
{
    hf__postgres_free(*s);
}

void end_stranger(PGconn **db)
{
    PQfinish(*db);
}

struct hf__postgres *own_server_as(const struct hf__postgres_opts *opts)
{
    struct hf__postgres *s = hf__postgres_start(opts);

    hf__postgres_database(s, own_database);
    current = s;
    return s;
}

struct hf__postgres *own_server(const char *const *extra)
{
    return own_server_as(&(struct hf__postgres_opts){.extra = extra});
}

const struct hf__postgres *server(void)
{
    return current ? current : hf__postgres_shared();
}

const char *database(void)
{
    if (!own_database[0]) {
        char url[HF__POSTGRES_URL];

        hf__postgres_test_url(url, sizeof url);
        snprintf(own_database, sizeof own_database, "%s",
                 strrchr(url, '/') + 1);
    }
    return own_database;
}

void reach_by_port(int port)
{
    other_port = port;
}

void reach_by_url(const char *url)
{
    snprintf(other_url, sizeof other_url, "%s", url ? url : "");
}

int hf__store_url(const char *scheme, char *url, size_t size)
{
    int port = other_port ? other_port : hf__postgres_port(server());

    if (other_url[0]) {
        snprintf(url, size, "%s", other_url);
    } else {
        snprintf(url, size, "%s://%s:%s@127.0.0.1:%d/%s", scheme,
                 HF__POSTGRES_USER, HF__POSTGRES_PASSWORD, port, database());
    }
    return 0;
}

/* ---- as the tests of every store on a server know it */

static struct hf__postgres *owned;

struct own_server begin_own_server(bool is_durable)
{
    static const char *const durable[] = {"fsync=on", NULL};

    owned = is_durable ? own_server(durable) : own_server(NULL);
    return (struct own_server){true};
}

void end_own_server(struct own_server *own)
{
    (void)own;
    hf__postgres_free(owned);
}

void stop_server(void)
{
    hf__postgres_stop(owned);
}

void kill_server(void)
{
    hf__postgres_kill(owned);
}

void restart_server(void)
{
    hf__postgres_restart(owned, NULL);
}

void pause_server(void)
{
    hf__postgres_pause(owned);
}

void resume_server(void)
{
    hf__postgres_resume(owned);
}

int server_port(void)
{
    return hf__postgres_port(server());
}

const struct hf__framing *server_framing(void)
{
    return &hf__framing_postgres;
}

void forget_all(void)
{
    hf__postgres_sql(server(), database(), "DELETE FROM holdfast_lock");
}

/* ---- strangers */

PGconn *stranger_as(const char *user)
{
    PGconn *db = NULL;
    char url[2 * HF__POSTGRES_URL];

    snprintf(url, sizeof url, "postgres://%s:%s@127.0.0.1:%d/%s", user,
             HF__POSTGRES_PASSWORD, hf__postgres_port(server()), database());
    db = PQconnectdb(url);
    if (PQstatus(db) != CONNECTION_OK) {
        hf__servers_fail("a stranger's connection: %s", PQerrorMessage(db));
    }
    return db;
}

PGconn *stranger(void)
{
    return stranger_as(HF__POSTGRES_USER);
}

void tell(PGconn *db, const char *format, ...)
{
    char sql[STATEMENT];
    PGresult *result;
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    result = PQexec(db, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_TUPLES_OK) {
        hf__servers_fail("%s: %s", sql, PQerrorMessage(db));
    }
    PQclear(result);
}

/* ---- tables; how the store spells a name: the client's prefix, ':', name */

void lock_row(PGconn *db, const char *name)
{
    tell(db, "BEGIN");
    tell(db,
         "SELECT FROM holdfast_lock WHERE name_key='holdfast:%s' FOR UPDATE",
         name);
}

const char *answer(const char *format, ...)
{
    char sql[STATEMENT];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    return hf__postgres_value(server(), database(), "%s", sql);
}

const char *row_says(const char *name, const char *expression)
{
    return answer("SELECT %s FROM holdfast_lock WHERE name_key='holdfast:%s'",
                  expression, name);
}

void set_row(const char *name, const char *assignments)
{
    hf__postgres_sql(server(), database(),
                     "UPDATE holdfast_lock SET %s WHERE "
                     "name_key='holdfast:%s'",
                     assignments, name);
}

const bool is_mysql = false;
const char sixteen_x[] = "repeat('x',16)::bytea";

void change(const char *format, ...)
{
    char sql[STATEMENT];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    hf__postgres_sql(server(), database(), "%s", sql);
}

void make_database_anew(void)
{
    change("DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
           "GRANT ALL ON SCHEMA public TO PUBLIC");
}
