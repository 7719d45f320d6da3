/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. The database is made at its first use in the test.
 */
#include "tests/rows/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT = 2048, VALUE = 512 };

static const struct hf__mariadb *current;
static char own[HF__MARIADB_NAME];

_Thread_local hf_error err = HF_ERROR_INIT;
_Thread_local hf_mysql_info info = HF_MYSQL_INFO_INIT;

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__mariadb_share);
}

const struct hf__mariadb *server(void)
{
    return current != NULL ? current : hf__mariadb_shared();
}

void use_server(const struct hf__mariadb *m)
{
    current = m;
}

const char *database(void)
{
    if (own[0] == '\0') {
        hf__mariadb_database(server(), own);
    }
    return own;
}

MYSQL *enter_with(unsigned long flags, int port)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db != NULL);
    mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                           HF__MARIADB_PASSWORD, database(), (unsigned)port,
                           NULL, flags) == NULL) {
        EXPECT_TEXT(mysql_error(db), "");
    }
    return db;
}

MYSQL *enter(void)
{
    return enter_with(0, hf__mariadb_port(server()));
}

void leave(MYSQL **db)
{
    mysql_close(*db);
}

static unsigned run(MYSQL *db, const char *sql, char *ret_value)
{
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row = NULL;
    unsigned error;

    if (mysql_query(db, sql) == 0) {
        rows = mysql_store_result(db);
        row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    }
    error = mysql_errno(db);
    if (ret_value != NULL) {
        snprintf(ret_value, VALUE, "%s",
                 row == NULL      ? "none"
                 : row[0] == NULL ? "NULL"
                                  : row[0]);
    }
    mysql_free_result(rows);
    return error;
}

#define FORMAT_INTO(sql, format)                                               \
    do {                                                                       \
        va_list args_;                                                         \
        va_start(args_, format);                                               \
        EXPECT(vsnprintf(sql, sizeof sql, format, args_) < (int)sizeof sql);   \
        va_end(args_);                                                         \
    } while (0)

void tell(MYSQL *db, const char *format, ...)
{
    char sql[STATEMENT];

    FORMAT_INTO(sql, format);
    if (run(db, sql, NULL) != 0) {
        EXPECT_TEXT(mysql_error(db), sql);
    }
}

unsigned attempt(MYSQL *db, const char *format, ...)
{
    char sql[STATEMENT];

    FORMAT_INTO(sql, format);
    return run(db, sql, NULL);
}

const char *value(MYSQL *db, const char *format, ...)
{
    static _Thread_local char found[VALUE];
    char sql[STATEMENT];

    FORMAT_INTO(sql, format);
    if (run(db, sql, found) != 0) {
        EXPECT_TEXT(mysql_error(db), sql);
    }
    return found;
}

int waiting(void)
{
    /* INNODB_TRX is as old as somebody looks at it without a pause. */
    const char *count = hf__mariadb_value(
        server(), "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                  "WHERE VARIABLE_NAME='Innodb_row_lock_current_waits'");

    return (int)strtol(count, NULL, 10);
}

void make_accounts(MYSQL *db)
{
    tell(db, "CREATE TABLE account(id INT PRIMARY KEY,n INT NOT NULL,"
             "version INT NOT NULL DEFAULT 1)ENGINE=InnoDB");
    tell(db, "INSERT INTO account(id,n) VALUES(1,100),(2,200),(3,300)");
}

const hf_mysql_row *row_of(const char *table, int64_t id)
{
    static _Thread_local hf_mysql_column key;
    static _Thread_local hf_mysql_row row;

    key = (hf_mysql_column){"id", {HF_MYSQL_INT, id, NULL, 0}};
    row = (hf_mysql_row){sizeof row, NULL, table, &key, 1};
    return &row;
}

int lock_for(MYSQL *db, int64_t id, int64_t wait_ms)
{
    hf_mysql_lock_opts opts = HF_MYSQL_LOCK_OPTS_INIT;

    opts.wait_ms = wait_ms;
    return hf_mysql_lock_row(db, row_of("account", id), &opts, &info, &err);
}

const char *session_of(MYSQL *db)
{
    return value(db, "SELECT CONCAT_WS(' ',@@tx_isolation,"
                     "@@innodb_lock_wait_timeout,@@lock_wait_timeout,"
                     "@@autocommit,@@sql_mode,@@time_zone,"
                     "@@character_set_client,@@max_statement_time)");
}
