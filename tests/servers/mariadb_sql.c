/* SPDX-License-Identifier: MIT */
/*
 * The administrator's statements, each on a connection of its own by the
 * socket, so that any process of a test may give one and none keeps a
 * descriptor; and the databases of tests. Any process and thread may call
 * this.
 */
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_private.h"

#include <mysql.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SQL_BYTES = 4096, VALUE_BYTES = 4096, PATIENCE_S = 10 };

/* mysql_errno() says whether it is connected. */
static MYSQL *connect_admin(const struct hf__mariadb *m)
{
    unsigned patience = (unsigned)hf__test_patience(PATIENCE_S);
    MYSQL *db = mysql_init(NULL);

    if (!db) {
        hf__servers_fail("out of memory");
    }
    mysql_options(db, MYSQL_OPT_CONNECT_TIMEOUT, &patience);
    mysql_options(db, MYSQL_OPT_READ_TIMEOUT, &patience);
    mysql_real_connect(db, NULL, HF__MARIADB_ADMIN, HF__MARIADB_ADMIN_PASSWORD,
                       NULL, 0, m->socket, 0);
    return db;
}

bool hf__mariadb_answers(const struct hf__mariadb *m)
{
    MYSQL *db = connect_admin(m);
    bool answers = mysql_errno(db) == 0;

    mysql_close(db);
    return answers;
}

/* Where that column is in each row; the first if it has no name. */
static unsigned find(MYSQL_RES *rows, const char *column)
{
    unsigned n = mysql_num_fields(rows);
    unsigned at = 0;

    while (column && at < n &&
           strcmp(mysql_fetch_field_direct(rows, at)->name, column) != 0) {
        at++;
    }
    if (at == n) {
        hf__servers_fail("no column %s", column);
    }
    return at;
}

/* The error number of the server, or of the client; 0: it went well. */
static unsigned run(const struct hf__mariadb *m, const char *sql, char *value,
                    const char *column, bool may_fail)
{
    MYSQL *db = connect_admin(m);
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row = NULL;
    unsigned r;

    if (mysql_errno(db) == 0 && mysql_query(db, sql) == 0) {
        rows = mysql_store_result(db);
        row = rows ? mysql_fetch_row(rows) : NULL;
    }
    r = mysql_errno(db);
    if (r && !may_fail) {
        hf__servers_fail("%s: %s", sql, mysql_error(db));
    }
    if (row) {
        row += find(rows, column);
    }
    snprintf(value, VALUE_BYTES, "%s", row && row[0] ? row[0] : "");
    mysql_free_result(rows);
    mysql_close(db);
    return r;
}

__attribute__((format(printf, 2, 0))) static void
format_sql(char sql[SQL_BYTES], const char *format, va_list args)
{
    if (vsnprintf(sql, SQL_BYTES, format, args) >= SQL_BYTES) {
        hf__servers_fail("too long a statement: %.80s", sql);
    }
}

void hf__mariadb_sql(const struct hf__mariadb *m, const char *format, ...)
{
    char sql[SQL_BYTES];
    char value[VALUE_BYTES];
    va_list args;

    va_start(args, format);
    format_sql(sql, format, args);
    va_end(args);
    run(m, sql, value, NULL, false);
}

unsigned hf__mariadb_try(const struct hf__mariadb *m, const char *format, ...)
{
    char sql[SQL_BYTES];
    char value[VALUE_BYTES];
    va_list args;

    va_start(args, format);
    format_sql(sql, format, args);
    va_end(args);
    return run(m, sql, value, NULL, true);
}

const char *hf__mariadb_value(const struct hf__mariadb *m, const char *format,
                              ...)
{
    static _Thread_local char value[VALUE_BYTES];
    char sql[SQL_BYTES];
    va_list args;

    va_start(args, format);
    format_sql(sql, format, args);
    va_end(args);
    run(m, sql, value, NULL, false);
    return value;
}

const char *hf__mariadb_status(const struct hf__mariadb *m, const char *name)
{
    static _Thread_local char value[VALUE_BYTES];
    char sql[SQL_BYTES];

    snprintf(sql, sizeof sql, "SHOW GLOBAL STATUS LIKE '%s'", name);
    run(m, sql, value, "Value", true);
    return value;
}

const char *hf__mariadb_replica(const struct hf__mariadb *m, const char *name)
{
    static _Thread_local char value[VALUE_BYTES];

    run(m, "SHOW SLAVE STATUS", value, name, true);
    return value;
}

void hf__mariadb_database(const struct hf__mariadb *m,
                          char name[HF__MARIADB_NAME])
{
    static atomic_int made;

    snprintf(name, HF__MARIADB_NAME, "hf_%d_%d", getpid(),
             atomic_fetch_add(&made, 1) + 1);
    hf__mariadb_sql(m, "CREATE DATABASE %s", name);
}

void hf__mariadb_url(const struct hf__mariadb *m, const char *database,
                     char *url, size_t size)
{
    snprintf(url, size,
             "mysql://" HF__MARIADB_USER ":" HF__MARIADB_PASSWORD
             "@127.0.0.1:%d/%s",
             m->port, database);
}

void hf__mariadb_fresh_url(const struct hf__mariadb *m, char *url, size_t size)
{
    char name[HF__MARIADB_NAME];

    hf__mariadb_database(m, name);
    hf__mariadb_url(m, name, url, size);
}
