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

MYSQL *connect_to(const char *host, unsigned port, const char *user,
                  const char *database)
{
    const unsigned tcp = MYSQL_PROTOCOL_TCP; /* also where it is localhost */
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

MYSQL *connect_as(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr,
                "usage: MYSQL_PWD=… %s HOST PORT USER DATABASE\n"
                "makes a table there, and drops it in the end\n",
                argv[0]);
        exit(64);
    }
    return connect_to(argv[1], (unsigned)strtoul(argv[2], NULL, 10), argv[3],
                      argv[4]);
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
