/* SPDX-License-Identifier: MIT */
/*
 * Private servers that Sentinels watch: a primary, two replicas and three
 * Sentinels, each a struct hf__redis with all that redis.h has for one. A
 * server that is started again is what it was at first: the first a primary.
 */
#ifndef HF_TESTS_SERVERS_REDIS_SENTINEL_H
#define HF_TESTS_SERVERS_REDIS_SENTINEL_H

#include "tests/servers/redis.h"

#include <stdint.h>

/* As the Sentinels call what they watch. */
#define HF__REDIS_SERVICE "holdfast-test"

struct hf__redis_sentinels;

struct hf__redis_sentinels_opts {
    const char *const *extra;      /* of each server, as in hf__redis_opts */
    const char *users;             /* also */
    const char *password;          /* of each server's default user */
    const char *sentinel_password; /* of each Sentinel's */
    bool has_aof;
    int64_t down_ms; /* a server that is silent for so long is down; 0: 500.
                        Stretched as all patience is */
};

/* Starts all and waits until they know each other. Without opts: all unset. As
 * hf__redis_start(). */
struct hf__redis_sentinels *
hf__redis_sentinels_start(const struct hf__redis_sentinels_opts *);
/* NULL is fine. */
void hf__redis_sentinels_free(struct hf__redis_sentinels *);
/* Of three each, from 0; of the servers the first is the primary at first. */
struct hf__redis *hf__redis_sentinel(const struct hf__redis_sentinels *, int);
struct hf__redis *hf__redis_watched(const struct hf__redis_sentinels *, int);
/* redis+sentinel://[:PASSWORD@]127.0.0.1:PORT,…/SERVICE/DATABASE */
void hf__redis_sentinels_url(const struct hf__redis_sentinels *, int database,
                             char *url, size_t size);
/* No Sentinel and no replica is let in there any more, or all are again;
 * clients are in any case. Where the default user has a password. */
void hf__redis_keep_out(const struct hf__redis *server, bool is_out);

/* As hf__redis_share() and hf__redis_test_url(); these Sentinels hold nobody
 * for down. */
void hf__redis_share_sentinels(void);
void hf__redis_sentinels_test_url(char *url, size_t size);

#endif
