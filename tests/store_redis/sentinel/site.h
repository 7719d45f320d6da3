/* SPDX-License-Identifier: MIT */
/*
 * What these tests share: a primary, two replicas and three Sentinels of the
 * test's own, which the store's URL names from then on; and what to wait for.
 * The other words are those of tests/contract/api.h.
 */
#ifndef HF_TESTS_STORE_REDIS_SENTINEL_SITE_H
#define HF_TESTS_STORE_REDIS_SENTINEL_SITE_H

#include "tests/contract/api.h"
#include "tests/servers/redis_sentinel.h"

/* Ended at the end of the scope. */
#define AUTO_SITE                                                              \
    __attribute__((cleanup(end_site), unused)) struct hf__redis_sentinels
void end_site(struct hf__redis_sentinels **);
#define AUTO_SERVER __attribute__((cleanup(end_server))) struct hf__redis
void end_server(struct hf__redis **);

/* Before the test starts threads. With an append-only file; without opts with a
 * password, too, without which Sentinels and replicas are let in as anybody. */
struct hf__redis_sentinels *begin_site(const struct hf__redis_sentinels_opts *);
/* A Sentinel that has heard of nothing but that server, its primary. */
struct hf__redis *stale_sentinel(const struct hf__redis *primary);

/* One of a server with TLS, which it has itself, by that one's certificates. */
struct hf__redis *tls_sentinel(const struct hf__redis *primary);

/* "127.0.0.1:PORT", till the sixteenth call from then on. */
const char *at(const struct hf__redis *);
/* "redis+sentinel://:PASSWORD@A,B,C/SERVICE?OPTIONS" of these; NULL: none; till
 * the next call. */
const char *url_at(const char *a, const char *b, const char *c,
                   const char *options);
/* A client there, with such options of its URL. */
hf_client *open_there(const char *options);

/* ---- what to wait for */

/* Number of the server that the Sentinel names as the primary; −1: another. */
int primary(const struct hf__redis_sentinels *);
/* Until that is another one than `before`; gives its number. */
int await_failover(const struct hf__redis_sentinels *, int before);
/* Has that server a grant of the name? */
bool has_grant(const struct hf__redis *, const char *name);

#endif
