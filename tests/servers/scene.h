/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the proxy have in common: the shared MariaDB, a proxy
 * before it, and a table t (a INT) in a database of the test.
 */
#ifndef HF_TESTS_SERVERS_SCENE_H
#define HF_TESTS_SERVERS_SCENE_H

#include "tests/servers/mariadb.h"
#include "tests/servers/proxy.h"

#include <mysql.h>

struct scene {
    const struct hf__mariadb *server;
    struct hf__proxy *proxy;
    char database[HF__MARIADB_NAME];
};

struct scene scene_start(void);
void scene_end(struct scene *);
/* A connection through the proxy; mysql_errno() says how it went. Each call
 * waits as long as 2 s, or so many. */
MYSQL *scene_connect(const struct scene *, unsigned patience_s);
/* The error number; 0: it went well. */
unsigned scene_query(MYSQL *, const char *sql);
/* Adds a row. The error number. */
unsigned scene_insert(MYSQL *);
/* How many rows there are, as the administrator sees it. */
int scene_rows(const struct scene *);
/* Waits until there are so many. */
bool scene_wait_rows(const struct scene *, int rows);

#endif
