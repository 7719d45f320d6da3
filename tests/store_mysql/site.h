/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the MySQL store share: a server of the program's, a
 * database of the test's, and sessions at the contract with it. Each test has
 * its own database; one that needs another server starts it.
 */
#ifndef HF_TESTS_STORE_MYSQL_SITE_H
#define HF_TESTS_STORE_MYSQL_SITE_H

#include "tests/servers/mariadb.h"
#include "tests/store_table/site.h"

#include <mysql.h>

/* The shared server, and this test's database on it. */
const struct hf__mariadb *server(void);
const char *database(void);
/* One at that port of 127.0.0.1, for that user ("" for none), of this
 * database; "user:password@". */
const char *url_as(const char *user);

/* A connection of the ordinary user's to the test's database that is no session
 * of ours. The caller closes it. */
MYSQL *stranger(void);

/* One value of that cell's row, "" if there is none; till the next call. */
const char *cell_says(const char *name, const char *expression);

#endif
