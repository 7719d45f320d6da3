/* SPDX-License-Identifier: MIT */
/*
 * The words of database.h.
 */
#include "examples/database.h"

#include <stdio.h>
#include <stdlib.h>

static void end(MYSQL *db)
{
    fprintf(stderr, "%s\n", mysql_error(db));
    exit(1);
}

MYSQL *connect_as(int argc, char **argv)
{
    MYSQL *db = mysql_init(NULL);

    if (argc != 5 || db == NULL) {
        fprintf(stderr,
                "usage: MYSQL_PWD=… %s HOST PORT USER DATABASE\n"
                "makes a table there, and drops it in the end\n",
                argv[0]);
        exit(64);
    }
    mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(db, argv[1], argv[3], getenv("MYSQL_PWD"), argv[4],
                           (unsigned)strtoul(argv[2], NULL, 10), NULL,
                           0) == NULL) {
        end(db);
    }
    return db;
}

void run(MYSQL *db, const char *sql)
{
    if (mysql_query(db, sql) != 0) {
        end(db);
    }
}

long long number(MYSQL *db, const char *sql)
{
    MYSQL_RES *result;
    MYSQL_ROW row;
    long long found;

    run(db, sql);
    result = mysql_store_result(db);
    row = result == NULL ? NULL : mysql_fetch_row(result);
    if (row == NULL || row[0] == NULL) {
        fprintf(stderr, "no number: %s\n", sql);
        exit(1);
    }
    found = strtoll(row[0], NULL, 10);
    mysql_free_result(result);
    return found;
}
