/* SPDX-License-Identifier: MIT */
/*
 * Two private MariaDB servers that replicate each other, by GTIDs of one
 * domain: what is written at one comes to the other a moment later. The first
 * is writable when they start, the second read_only; who is, is changed as an
 * operator does it. Each reaches the other by a proxy, so that the link between
 * them can be cut and its clients go on.
 *
 *     struct hf__mariadb_pair *p = hf__mariadb_pair_start(NULL);
 *
 *     hf__mariadb_pair_switch_over(p, 1);
 *     …
 *     hf__mariadb_pair_free(p);
 */
#ifndef HF_TESTS_SERVERS_MARIADB_PAIR_H
#define HF_TESTS_SERVERS_MARIADB_PAIR_H

#include "tests/servers/mariadb.h"

enum { HF__MARIADB_PAIR = 2 };

struct hf__mariadb_pair;

struct hf__mariadb_pair_opts {
    bool is_semi_sync; /* a commit is answered when the other has got it, if
                        * that is connected */
    bool is_never_cut; /* the link needs no proxy then, which would end with
                        * the test that is under way */
};

/* Starts them and waits until each gets what the other writes. Without opts:
 * the default. Not to be called beside threads of the test. */
struct hf__mariadb_pair *
hf__mariadb_pair_start(const struct hf__mariadb_pair_opts *);
/* NULL is fine. */
void hf__mariadb_pair_free(struct hf__mariadb_pair *);
struct hf__mariadb *hf__mariadb_pair_node(const struct hf__mariadb_pair *, int);

/* For the process that started them: */
/* By SIGKILL; the data stay. */
void hf__mariadb_pair_kill(struct hf__mariadb_pair *, int);
/* After that: it answers when this returns, and may lack what the other has
 * written meanwhile. */
void hf__mariadb_pair_restart(struct hf__mariadb_pair *, int,
                              bool is_read_only);
/* The same without waiting. */
void hf__mariadb_pair_relaunch(struct hf__mariadb_pair *, int,
                               bool is_read_only);
/* Nothing passes between the two, either way … */
void hf__mariadb_pair_cut_link(const struct hf__mariadb_pair *);
/* … until here; each comes back to the other by itself, within a second. */
void hf__mariadb_pair_heal_link(const struct hf__mariadb_pair *);

/* For any process and thread: */
void hf__mariadb_pair_set_read_only(const struct hf__mariadb_pair *, int,
                                    bool is_read_only);
/* Waiting ends at once, and fails the test, where a server has met a row that
 * it did not expect. */
/* Until that one has applied all that the other had written at the call. */
void hf__mariadb_pair_await_caught_up(const struct hf__mariadb_pair *, int);
/* Until it has applied all that it got, for when the other is gone. */
void hf__mariadb_pair_await_applied(const struct hf__mariadb_pair *, int);
/* In order, as an operator does it: nothing is missing at the new one. */
void hf__mariadb_pair_switch_over(const struct hf__mariadb_pair *, int to);
/* Until that one gets what the other writes, and applies it. */
void hf__mariadb_pair_expect_well(const struct hf__mariadb_pair *, int);
/* mysql://USER:PASSWORD@HOSTS/DATABASE: both, beginning with that one. */
void hf__mariadb_pair_url(const struct hf__mariadb_pair *, int first,
                          const char *database, char *url, size_t size);

/* ---- one pair for all tests of a program; as of mariadb.h */

void hf__mariadb_pair_share(void);
struct hf__mariadb_pair *hf__mariadb_pair_shared(void);
/* The database of this test; with each call the other one comes first. */
void hf__mariadb_pair_test_url(char *url, size_t size);

#endif
