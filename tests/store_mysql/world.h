/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the MySQL store say besides the words of
 * tests/contract/api.h, which work here too: where the store is, what a
 * stranger does on the server, what its tables say. A test uses the server
 * that the program's tests share, unless it starts one of its own.
 */
#ifndef HF_TESTS_STORE_MYSQL_WORLD_H
#define HF_TESTS_STORE_MYSQL_WORLD_H

#include "tests/servers/mariadb.h"
#include "tests/store_table/tables.h"

#include <mysql.h>

#define AUTO_SERVER   __attribute__((cleanup(free_server))) struct hf__mariadb
#define AUTO_STRANGER __attribute__((cleanup(end_stranger))) MYSQL
void free_server(struct hf__mariadb **);
void end_stranger(MYSQL **);

/* A server of this test, with these options (NULL-ended, or NULL); the store
 * is a new database on it from now on. Before the test starts threads. */
struct hf__mariadb *own_server(const char *const *extra);
/* The same with its data on the disk. */
struct hf__mariadb *own_server_on_disk(const char *const *extra);
/* Where the store is. */
const struct hf__mariadb *server(void);
const char *database(void);
/* A URL of the test's database with other parts; till the next call. */
const char *url_as(const char *user_and_password, const char *host, int port,
                   const char *name);

/* ---- strangers */

/* A connection of the ordinary user's that is no client of ours. */
MYSQL *stranger(void);
/* One statement of it, which must succeed. */
__attribute__((format(printf, 2, 3))) void tell(MYSQL *db, const char *format,
                                                ...);
/* It begins a transaction and locks the row of that lock. */
void lock_row(MYSQL *db, const char *name);

#endif
