/* SPDX-License-Identifier: MIT */
/*
 * What the tests of rows say: connections of their own to the server that all
 * tests of a program share, statements on them, the usual row. A test has a
 * database of its own.
 */
#ifndef HF_TESTS_ROWS_WORLD_H
#define HF_TESTS_ROWS_WORLD_H

#include "include/holdfast-mysql.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"

/* A connection of the ordinary user's with those flags of
 * mysql_real_connect(), closed at the end of its scope. */
#define AUTO_DB __attribute__((cleanup(leave))) MYSQL
MYSQL *enter(void);
MYSQL *enter_with(unsigned long flags, int port);
void leave(MYSQL **);

/* Where the test's tables are: the shared server, or another from now on. */
const struct hf__mariadb *server(void);
void use_server(const struct hf__mariadb *);
const char *database(void);

/* A statement that must succeed; its rows are dropped. */
__attribute__((format(printf, 2, 3))) void tell(MYSQL *, const char *, ...);
/* The same, which may fail: the error's number. */
__attribute__((format(printf, 2, 3))) unsigned attempt(MYSQL *, const char *,
                                                       ...);
/* The first value of its first row, "NULL" or "none"; till the next call. */
__attribute__((format(printf, 2, 3))) const char *value(MYSQL *, const char *,
                                                        ...);
/* Who waits for a row on the server. */
int waiting(void);

/* A table account(id, n, version) with the rows 1 to 3: n is 100·id. */
void make_accounts(MYSQL *);
/* The row of that table with an integer for id; till the next call. */
const hf_mysql_row *row_of(const char *table, int64_t id);
/* Locks it, with a patience. */
int lock_for(MYSQL *, int64_t id, int64_t wait_ms);
/* What the last call of the thread told. */
extern _Thread_local hf_error err;
extern _Thread_local hf_mysql_info info;

/* All that a session can be told apart by: isolation, timeouts, mode. */
const char *session_of(MYSQL *);

#endif
