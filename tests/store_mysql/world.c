/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. Which server and which database is settled at first
 * use, in the test's first process, and the same in those it forks.
 */
#include "tests/store_mysql/world.h"
#include "tests/contract/urls.h"
#include "tests/servers/servers.h"
#include "tests/store_server/server.h"

#include <stdarg.h>
#include <string.h>

enum { STATEMENT = 1024, PREFIX = 16 };

static const struct hf__mariadb *current; /* NULL: the shared one */
static char own_database[HF__MARIADB_NAME];
static int other_port;

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__mariadb_share);
}

void free_server(struct hf__mariadb **m)
{
    hf__mariadb_free(*m);
}

void end_stranger(MYSQL **db)
{
    mysql_close(*db);
}

static struct hf__mariadb *start(const struct hf__mariadb_opts *opts)
{
    struct hf__mariadb *m = hf__mariadb_start(opts);

    hf__mariadb_database(m, own_database);
    current = m;
    return m;
}

struct hf__mariadb *own_server(const char *const *extra)
{
    return start(&(struct hf__mariadb_opts){.extra = extra});
}

struct hf__mariadb *own_server_on_disk(const char *const *extra)
{
    return start(&(struct hf__mariadb_opts){.extra = extra, .on_disk = true});
}

const struct hf__mariadb *server(void)
{
    return current ? current : hf__mariadb_shared();
}

const char *database(void)
{
    if (!own_database[0]) {
        char url[HF__MARIADB_URL];

        hf__mariadb_test_url(url, sizeof url);
        snprintf(own_database, sizeof own_database, "%s",
                 strrchr(url, '/') + 1);
    }
    return own_database;
}

void reach_by_port(int port)
{
    other_port = port;
}

const char *url_as(const char *user_and_password, const char *host, int port,
                   const char *name)
{
    static _Thread_local char url[2 * HF__MARIADB_URL];

    snprintf(url, sizeof url, "mysql://%s@%s:%d/%s", user_and_password, host,
             port, name);
    return url;
}

int hf__store_url(const char *scheme, char *url, size_t size)
{
    int port = other_port ? other_port : hf__mariadb_port(server());

    snprintf(url, size, "%s://%s:%s@127.0.0.1:%d/%s", scheme, HF__MARIADB_USER,
             HF__MARIADB_PASSWORD, port, database());
    return 0;
}

/* ---- as the tests of every store on a server know it */

static struct hf__mariadb *owned;

struct own_server begin_own_server(bool is_durable)
{
    owned = is_durable ? own_server_on_disk(NULL) : own_server(NULL);
    return (struct own_server){true};
}

void end_own_server(struct own_server *own)
{
    (void)own;
    hf__mariadb_free(owned);
}

void stop_server(void)
{
    hf__mariadb_stop(owned);
}

void kill_server(void)
{
    hf__mariadb_kill(owned);
}

void restart_server(void)
{
    hf__mariadb_restart(owned, NULL);
}

void pause_server(void)
{
    hf__mariadb_pause(owned);
}

void resume_server(void)
{
    hf__mariadb_resume(owned);
}

int server_port(void)
{
    return hf__mariadb_port(server());
}

const struct hf__framing *server_framing(void)
{
    return &hf__framing_mysql;
}

void forget_all(void)
{
    hf__mariadb_sql(server(), "DELETE FROM %s.holdfast_lock", database());
}

/* ---- strangers */

MYSQL *stranger(void)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db);
    if (!mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                            HF__MARIADB_PASSWORD, database(),
                            (unsigned)hf__mariadb_port(server()), NULL, 0)) {
        hf__servers_fail("a stranger's connection: %s", mysql_error(db));
    }
    return db;
}

void tell(MYSQL *db, const char *format, ...)
{
    char sql[STATEMENT];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    if (mysql_query(db, sql) != 0) {
        hf__servers_fail("%s: %s", sql, mysql_error(db));
    }
    mysql_free_result(mysql_store_result(db));
}

/* How the store spells the name: the client's prefix, ':', name. */
static const char *key_of(const char *name)
{
    static _Thread_local char key[HF_NAME_MAX + PREFIX];

    snprintf(key, sizeof key, "holdfast:%s", name);
    return key;
}

void lock_row(MYSQL *db, const char *name)
{
    tell(db, "BEGIN");
    tell(db, "SELECT * FROM holdfast_lock WHERE name_key='%s' FOR UPDATE",
         key_of(name));
}

/* ---- tables */

const char *row_says(const char *name, const char *expression)
{
    return hf__mariadb_value(
        server(), "SELECT %s FROM %s.holdfast_lock WHERE name_key='%s'",
        expression, database(), key_of(name));
}

void set_row(const char *name, const char *assignments)
{
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_lock SET %s WHERE name_key='%s'",
                    database(), assignments, key_of(name));
}

const bool is_mysql = true;
const char sixteen_x[] = "REPEAT('x',16)";

void change(const char *format, ...)
{
    AUTO_STRANGER *db = stranger();
    char sql[STATEMENT];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    tell(db, "%s", sql);
}

void make_database_anew(void)
{
    change("DROP DATABASE %s", database());
    hf__mariadb_sql(server(), "CREATE DATABASE %s", database());
}
