/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the PostgreSQL store share: a server of the program's, a
 * database of the test's, and sessions at the contract with it. Each test has
 * its own database; one that needs another server starts it.
 */
#ifndef HF_TESTS_STORE_POSTGRES_SITE_H
#define HF_TESTS_STORE_POSTGRES_SITE_H

#include "tests/servers/postgres.h"
#include "tests/store_table/site.h"

#include <libpq-fe.h>

/* The shared server, and this test's database on it. */
const struct hf__postgres *server(void);
const char *database(void);
/* The same for that user; "user" or "user:password". */
const char *url_as(const char *user);

/* A user of this test's by that name: the database's is before it, so that no
 * other test has it. Until the next call. */
const char *make_user(const char *name);

/* A connection of the ordinary user's to the test's database that is no session
 * of ours. The caller ends it. */
PGconn *stranger(void);
/* One statement of his, which must do. */
void say(PGconn *who, const char *statement);

#endif
