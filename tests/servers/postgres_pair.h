/* SPDX-License-Identifier: MIT */
/*
 * Two private PostgreSQL servers, of which one follows the other by streaming
 * replication and may be read: the first is the primary when they start. Who
 * is, is changed as an operator does it. Each reaches the other by a proxy, so
 * that the link between them can be cut and their clients go on.
 *
 *     struct hf__postgres_pair *p = hf__postgres_pair_start(NULL);
 *
 *     hf__postgres_pair_kill(p, 0);
 *     hf__postgres_pair_promote(p, 1);
 *     …
 *     hf__postgres_pair_free(p);
 */
#ifndef HF_TESTS_SERVERS_POSTGRES_PAIR_H
#define HF_TESTS_SERVERS_POSTGRES_PAIR_H

#include "tests/servers/postgres.h"

enum { HF__POSTGRES_PAIR = 2 };

struct hf__postgres_pair;

struct hf__postgres_pair_opts {
    struct hf__postgres_opts server; /* of both */
    bool is_synchronous; /* a commit is answered when the standby has it, and
                          * waits for as long as there is none */
    bool is_never_cut;   /* the link needs no proxy then, which would end with
                          * the test that is under way */
};

/* Starts them and waits until the second follows. Without opts: the default.
 * Not to be called beside threads of the test. */
struct hf__postgres_pair *
hf__postgres_pair_start(const struct hf__postgres_pair_opts *);
/* NULL is fine. */
void hf__postgres_pair_free(struct hf__postgres_pair *);
struct hf__postgres *hf__postgres_pair_node(const struct hf__postgres_pair *,
                                            int);

/* For the process that started them: */
/* By SIGKILL; the data stay. */
void hf__postgres_pair_kill(struct hf__postgres_pair *, int);
/* After that: it answers when this returns, and is what it was, so that there
 * are two primaries if the other was promoted meanwhile. */
void hf__postgres_pair_restart(struct hf__postgres_pair *, int);
/* Makes it a standby of the other, with a copy of the other's data instead of
 * its own, and waits until it follows. Kills it first, if it runs. */
void hf__postgres_pair_follow(struct hf__postgres_pair *, int);
/* In order, as an operator does it: nothing is missing at the new one, and the
 * old one follows it. */
void hf__postgres_pair_switch_over(struct hf__postgres_pair *, int to);
/* Nothing passes between the two, either way … */
void hf__postgres_pair_cut_link(const struct hf__postgres_pair *);
/* … until here; a standby comes back by itself, within a second. */
void hf__postgres_pair_heal_link(const struct hf__postgres_pair *);

/* For any process and thread: */
/* Makes a standby a primary, with all that it has got; what the other, if it
 * runs, writes from then on is not known there. Returns when it takes writes.
 * It waits for no standby. */
void hf__postgres_pair_promote(const struct hf__postgres_pair *, int);
/* Whether that one, as a primary, waits for its standby. */
void hf__postgres_pair_set_synchronous(const struct hf__postgres_pair *, int,
                                       bool is_synchronous);
/* Until that one has applied all that the other had written at the call. */
void hf__postgres_pair_await_caught_up(const struct hf__postgres_pair *, int);
/* Until that one gets what the other writes. */
void hf__postgres_pair_expect_well(const struct hf__postgres_pair *, int);
/* postgres://USER@HOSTS/DATABASE: both, beginning with that one. */
void hf__postgres_pair_url(const struct hf__postgres_pair *, int first,
                           const char *database, char *url, size_t size);

/* ---- one pair for all tests of a program; as of postgres.h */

void hf__postgres_pair_share(void);
struct hf__postgres_pair *hf__postgres_pair_shared(void);
/* The database of this test; with each call the other one comes first. */
void hf__postgres_pair_test_url(char *url, size_t size);

#endif
