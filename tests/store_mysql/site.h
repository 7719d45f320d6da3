/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the MySQL store share: a server of the program's, a
 * database of the test's, and sessions at the contract with it. Each test has
 * its own database; one that needs another server starts it.
 */
#ifndef HF_TESTS_STORE_MYSQL_SITE_H
#define HF_TESTS_STORE_MYSQL_SITE_H

#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/store_server/door.h"

#include <mysql.h>
#include <stdio.h>

/* The shared server, and this test's database on it. */
const struct hf__mariadb *server(void);
const char *database(void);
/* Its URL with these options ("" for none), for the ordinary user. */
const char *url_with(const char *options);
/* One at that port of 127.0.0.1, for that user ("" for none), of this
 * database; "user:password@". */
const char *url_as(const char *user);

/* A connection of the ordinary user's to the test's database that is no session
 * of ours. The caller closes it. */
MYSQL *stranger(void);

/* One attempt at a name: its result; *fence if not NULL. */
int claim(struct door *d, const char *name, uint64_t *fence);
/* claim() and let go: expects both to do. */
void use(struct door *d, const char *name);

/* Names holdfast:STEM000 and so on, each with a token of its own. */
enum { BATCH_MAX = 256 };
struct batch {
    struct hf__op op[BATCH_MAX];
    struct hf__op *ops[BATCH_MAX];
    char key[BATCH_MAX][32];
    int n;
};

void prepare(struct batch *b, const char *stem, int n, int64_t lease_us);
void prepare_shared(struct batch *b, const char *stem, int n, int64_t lease_us);
/* In one call: what it gives, and how many have that result then. */
int ask(struct door *d, struct batch *b, enum hf__op_kind kind, int64_t ms);
int count(const struct batch *b, int result);
/* ask() with 15 s: expects all of it to be done. */
void ask_all(struct door *d, struct batch *b, enum hf__op_kind kind);

#endif
