/* SPDX-License-Identifier: MIT */
/*
 * What the tests of rows say on PostgreSQL alone.
 */
#ifndef HF_TESTS_ROWS_POSTGRES_WORLD_H
#define HF_TESTS_ROWS_POSTGRES_WORLD_H

#include "include/holdfast-postgres.h"
#include "tests/rows/world.h"
#include "tests/servers/postgres.h"

PGconn *pg_of(struct db *);
/* Where the test's tables are: the shared server, or another from now on. */
const struct hf__postgres *server(void);
void use_server(const struct hf__postgres *);

#endif
