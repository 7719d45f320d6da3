/* SPDX-License-Identifier: MIT */
/*
 * What the tests of this folder need to know of a store of SQL tables: each
 * store's world.c has these words, so that one body shows for MySQL and
 * PostgreSQL what becomes of somebody who writes into the tables. The other
 * words are those of tests/store_server/server.h.
 */
#ifndef HF_TESTS_STORE_TABLE_TABLES_H
#define HF_TESTS_STORE_TABLE_TABLES_H

#include "tests/store_server/server.h"

/* Where numbers have no sign. Else it is PostgreSQL. */
extern const bool is_mysql;
/* What SQL takes for sixteen bytes 'x'. */
extern const char sixteen_x[];
/* A statement of somebody's in the test's database, which must do. */
__attribute__((format(printf, 1, 2))) void change(const char *format, ...);
/* All that is in the database goes, and it is there again. */
void make_database_anew(void);

/* One value of the row of that lock, "" if there is none; till the next
 * call. */
const char *row_says(const char *name, const char *expression);
/* "fence=7,token=''" */
void set_row(const char *name, const char *assignments);

#endif
