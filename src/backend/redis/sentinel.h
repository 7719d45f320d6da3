/* SPDX-License-Identifier: MIT */
/*
 * The Sentinels of a URL: they tell which server is the primary of a service,
 * and when that changes. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_SENTINEL_H
#define HF_BACKEND_REDIS_SENTINEL_H

#include "src/backend/redis/redis.h"

/* The most hosts of a URL. */
enum { HF__SENTINELS_MAX = 16 };

struct hf__sentinels {
    struct hf__url *url;
    char service[HF__SERVICE_MAX + 1];
    char host[256];  /* the primary that was found; s->peer points to it */
    hf__time ask_at; /* when a listener asks again */
    int answered;
    int known; /* Sentinels of the service: the most that one of them reports,
                  or as many as the URL names */
    const struct hf__sentinel_reply *best; /* newest report; NULL: none */
    int n;
    struct hf__peer peers[];
};

/* Ask the Sentinels for the primary and connect s->peer to it. If that server
 * is not a primary, or does not answer, ask again until the deadline. Returns
 * as the backend's open(). */
HF_MUST_CHECK int hf__sentinel_open(struct hf__redis *s,
                                    const struct hf__url *url,
                                    const char *allow, hf__time deadline,
                                    hf_error *err);
/* Ask all Sentinels at the same time, and set s->sentinels from their answers.
 * HF_OK: a majority answered, and knows a primary that is not down; else err is
 * set: HF_EUNAVAIL, HF_EUNSAFE (the URL names too few), or the status with
 * which all that answered refused. */
HF_MUST_CHECK int hf__sentinel_ask(struct hf__redis *s, hf__time until,
                                   hf_error *err);
/* Close the connections to Sentinels that are not listened to; their answers
 * are dropped. */
void hf__sentinel_hang_up(struct hf__redis *s);
int hf__redis_listen(void *state, hf__broken_fn fn, void *arg,
                     hf__time deadline, hf_error *err);
/* Call at the end of the session. */
void hf__sentinel_fini(struct hf__redis *s);

#endif
