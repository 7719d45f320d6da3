/* SPDX-License-Identifier: MIT */
/*
 * MySQL and MariaDB for the examples.
 */
#include "examples/database.h"

#include <holdfast-mysql.h>
#include <stdio.h>
#include <stdlib.h>

static void end(MYSQL *db)
{
    fprintf(stderr, "%s\n", mysql_error(db));
    exit(1);
}

static MYSQL *connect_by(const char *host, unsigned port, const char *user,
                         const char *database)
{
    const unsigned tcp = MYSQL_PROTOCOL_TCP; /* even if the host is localhost */
    MYSQL *db = mysql_init(NULL);

    if (db == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    mysql_options(db, MYSQL_OPT_PROTOCOL, &tcp);
    mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(db, host, user, getenv("MYSQL_PWD"), database, port,
                           NULL, 0) == NULL) {
        end(db);
    }
    return db;
}

static void *enter(const char *url)
{
    char user[81] = "";
    char host[256] = "";
    char database[65] = "";
    char port[6] = "3306";

    if (sscanf(url, "%*[a-z]://%80[^:@/]@%255[^:/]:%5[0-9]/%64[^?]", user, host,
               port, database) != 4 &&
        sscanf(url, "%*[a-z]://%80[^:@/]@%255[^:/]/%64[^?]", user, host,
               database) != 3) {
        fprintf(stderr, "the URL is to be mysql://USER@HOST:PORT/DATABASE, and "
                        "the password in MYSQL_PWD\n");
        exit(2);
    }
    return connect_by(host, (unsigned)strtoul(port, NULL, 10), user, database);
}

static void leave(void *db)
{
    mysql_close(db);
}

static long long take_number(MYSQL_RES *result, const char *sql)
{
    MYSQL_ROW row = result == NULL ? NULL : mysql_fetch_row(result);
    const char *last = row == NULL ? NULL : row[mysql_num_fields(result) - 1];

    if (last == NULL) {
        fprintf(stderr, "no number: %s\n", sql);
        exit(1);
    }
    return strtoll(last, NULL, 10);
}

static long long run_mysql(void *db, const char *sql, long long *ret_number)
{
    MYSQL_RES *result;

    if (mysql_query(db, sql) != 0) {
        end(db);
    }
    result = mysql_store_result(db);
    if (ret_number != NULL) {
        *ret_number = take_number(result, sql);
    }
    mysql_free_result(result);
    return (long long)mysql_affected_rows(db);
}

static int lock_mysql(void *db, const hf_row *row, const hf_row_lock_opts *opts,
                      hf_row_info *ret_info, hf_error *err)
{
    return hf_mysql_lock_row(db, row, opts, ret_info, err);
}

static int update_mysql(void *db, const hf_row *row,
                        const hf_row_update *update, hf_row_info *ret_info,
                        hf_error *err)
{
    return hf_mysql_update_versioned(db, row, update, ret_info, err);
}

const struct database_kind mysql_database = {
    .enter = enter,
    .leave = leave,
    .run = run_mysql,
    .lock = lock_mysql,
    .update = update_mysql,
    .guard = hf_mysql_guard_sql,
    .status = hf_mysql_strstatus,
};
