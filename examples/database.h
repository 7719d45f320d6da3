/* SPDX-License-Identifier: MIT */
/*
 * What the examples with tables of their own share: a connection to MySQL or
 * MariaDB as any program makes one, and statements on it. Holdfast has no part
 * in this; it is given the MYSQL.
 */
#ifndef EXAMPLES_DATABASE_H
#define EXAMPLES_DATABASE_H

#include <mysql.h>

/* The password is in MYSQL_PWD. Ends the program if nobody answers. */
MYSQL *connect_to(const char *host, unsigned port, const char *user,
                  const char *database);
/* argv: PROGRAM HOST PORT USER DATABASE; ends the program if that is not so. */
MYSQL *connect_as(int argc, char **argv);
/* A statement that must succeed. */
void run(MYSQL *db, const char *sql);
/* The first number of its first row. */
long long number(MYSQL *db, const char *sql);

#endif
