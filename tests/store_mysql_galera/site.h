/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the MySQL store on a Galera cluster share: URLs of its
 * nodes, one operation at one of them, clients of the public API.
 */
#ifndef HF_TESTS_STORE_MYSQL_GALERA_SITE_H
#define HF_TESTS_STORE_MYSQL_GALERA_SITE_H

#include "tests/contract/api.h"
#include "tests/servers/galera.h"
#include "tests/store_server/door.h"

/* The cluster of this test: that of the program, unless it has begun its own,
 * which ends with the scope. */
struct hf__galera *cluster(void);
struct own_cluster {
    struct hf__galera *its;
};
#define OWN_CLUSTER                                                            \
    __attribute__((cleanup(end_own_cluster),                                   \
                   unused)) struct own_cluster own_ = begin_own_cluster()
struct own_cluster begin_own_cluster(void);
void end_own_cluster(struct own_cluster *);

struct hf__mariadb *node(int which);
/* This test's database, which all nodes have. */
const char *database(void);
/* n nodes beginning with that one; options as of store_url(). */
const char *url_of(int first, int n, const char *options);
hf_client *client_of(int first, int n, const char *options);

/* An operation on "job" with that token, at that session: its result. */
int do_by(struct door *d, enum hf__op_kind kind, const struct hf__token *token);
struct hf__token new_token(void);
/* Node 0 is told much at once, which the others need some time for. */
void keep_busy(void);

#endif
