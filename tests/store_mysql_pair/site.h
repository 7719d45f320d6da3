/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the MySQL store on two servers that replicate each other
 * share: URLs of both, clients of the public API, and what an operator does.
 */
#ifndef HF_TESTS_STORE_MYSQL_PAIR_SITE_H
#define HF_TESTS_STORE_MYSQL_PAIR_SITE_H

#include "tests/contract/api.h"
#include "tests/servers/mariadb_pair.h"
#include "tests/store_server/door.h"

/* The servers of this test: those of the program, which are left as they are
 * found, unless it has begun its own, which end with the scope. */
struct hf__mariadb_pair *pair(void);
struct own_pair {
    struct hf__mariadb_pair *its;
};
#define OWN_PAIR                                                               \
    __attribute__((cleanup(end_own_pair), unused)) struct own_pair own_ =      \
        begin_own_pair()
struct own_pair begin_own_pair(void);
void end_own_pair(struct own_pair *);

struct hf__mariadb *node(int which);
/* This test's database, which both have. */
const char *database(void);
/* What no lease of url_of() is longer than. */
int64_t longest_ms(void);
/* More than a server waits before it grants, twice. */
int64_t grant_ms(void);
/* Both servers, beginning with that one; with the longest lease, or other
 * options. Until the thread's next call, as the others. */
const char *url_of(int first);
const char *usual_options(void);
const char *url_with(int first, const char *options);
/* Of both it reaches that one only. */
const char *url_reaching(int which);
hf_client *client_of(const char *url);
/* A lease as long as may be, renewed; gives up at once, or after that. */
hf_acquire_opts longest(int64_t wait_ms);
int attempt_longest(hf_client *, const char *name, int64_t wait_ms);

/* The server that was the last to become the primary: 1 or 2; 0: none. */
int primary_at(int which);
/* What a server's own row of holdfast_server says there. */
int64_t told_by(int which, const char *column);
/* The second one is made the primary as after a loss of the first. */
void lose_the_first(void);
/* Nothing of what both have written kept the other from applying it. */
void expect_both_well(void);

#endif
