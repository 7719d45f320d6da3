/* SPDX-License-Identifier: MIT */
/*
 * Three private MariaDB servers that are nodes of one Galera cluster: each has
 * all data, takes writes, and is killed, paused, cut off and started again by
 * itself. Who finds that one has gone needs half a second here; with the
 * provider's own limits five.
 *
 *     struct hf__galera *g = hf__galera_start(NULL);
 *
 *     hf__galera_kill(g, 0);
 *     …
 *     hf__galera_free(g);
 */
#ifndef HF_TESTS_SERVERS_GALERA_H
#define HF_TESTS_SERVERS_GALERA_H

#include "tests/servers/mariadb.h"

enum { HF__GALERA_NODES = 3 };

struct hf__galera;

struct hf__galera_opts {
    bool has_usual_limits; /* of the provider: what operators have */
    bool is_single;        /* one node, a cluster that is not the others' */
};

bool hf__galera_is_installed(void);
/* Ends the test where it is not: skipped; failed in CI. */
void hf__galera_need(void);

/* Starts them and waits until all are in step. Without opts: the default. Not
 * to be called beside threads of the test. */
struct hf__galera *hf__galera_start(const struct hf__galera_opts *);
/* NULL is fine. */
void hf__galera_free(struct hf__galera *);
struct hf__mariadb *hf__galera_node(const struct hf__galera *, int);

/* For the process that started it: */
/* By SIGKILL; the data stay. */
void hf__galera_kill(struct hf__galera *, int);
/* After that: it gets what it has missed, and is in step when this returns. */
void hf__galera_restart(struct hf__galera *, int);
/* The same without waiting. */
void hf__galera_relaunch(struct hf__galera *, int);

/* For any process and thread: */
/* A node hears nobody and nobody hears it; clients do. */
void hf__galera_cut_off(const struct hf__galera *, int);
void hf__galera_let_back(const struct hf__galera *, int);
/* Until that node sees as many, itself among them, and is in step with them. */
void hf__galera_await(const struct hf__galera *, int node, int n);
/* Until that node knows that it is not with the most. */
void hf__galera_await_alone(const struct hf__galera *, int node);
/* mysql://USER:PASSWORD@HOSTS/DATABASE: n of them, beginning with that one. */
void hf__galera_url(const struct hf__galera *, int first, int n,
                    const char *database, char *url, size_t size);

/* ---- one cluster for all tests of a program; as of mariadb.h */

void hf__galera_share(void);
struct hf__galera *hf__galera_shared(void);
/* The database of this test; with each call another node comes first. */
void hf__galera_test_url(char *url, size_t size);

#endif
