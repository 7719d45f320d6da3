/* SPDX-License-Identifier: MIT */
/*
 * What the tests of rows say on MySQL alone.
 */
#ifndef HF_TESTS_ROWS_MYSQL_WORLD_H
#define HF_TESTS_ROWS_MYSQL_WORLD_H

#include "include/holdfast-mysql.h"
#include "tests/rows/world.h"
#include "tests/servers/mariadb.h"

MYSQL *mysql_of(struct db *);
/* From now on the test's tables are there. */
void use_server(const struct hf__mariadb *);

#endif
