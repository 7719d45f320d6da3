/* SPDX-License-Identifier: MIT */
/*
 * The Sentinels of a URL: which server is the primary of its service, and that
 * it is not any more. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_SENTINEL_H
#define HF_BACKEND_REDIS_SENTINEL_H

#include "src/backend/redis/redis.h"

/* The hosts of a URL are no more. */
enum { HF__SENTINELS_MAX = 16 };

struct hf__sentinels {
    struct hf__url *url;
    char service[HF__SERVICE_MAX + 1];
    char host[256];  /* of the primary that was found; s->peer's */
    hf__time ask_at; /* of who listens: again */
    int answered;
    int known; /* Sentinels of the service: as many as any of them says, or
                  the URL */
    const struct hf__sentinel_reply *best; /* the newest configuration that any
                                             of them says; NULL: none did */
    int n;
    struct hf__peer peers[];
};

/* Ask them for the primary and connect to it: s->peer. Whoever stands for it
 * and is none, or does not answer, is asked about again until the deadline. As
 * the backend's open(). */
HF_MUST_CHECK int hf__sentinel_open(struct hf__redis *s,
                                    const struct hf__url *url,
                                    const char *allow, hf__time deadline,
                                    hf_error *err);
/* All of them, side by side: fills what s->sentinels says besides its peers.
 * HF_OK: a majority answered, and knows a primary that is not down; else err is
 * told: HF_EUNAVAIL, HF_EUNSAFE (the URL names too few), what all that answered
 * refused. */
HF_MUST_CHECK int hf__sentinel_ask(struct hf__redis *s, hf__time until,
                                   hf_error *err);
/* What was asked and is not listened to is closed; what they said is gone. */
void hf__sentinel_hang_up(struct hf__redis *s);
int hf__redis_listen(void *state, hf__broken_fn fn, void *arg,
                     hf__time deadline, hf_error *err);
/* At the end of the session. */
void hf__sentinel_fini(struct hf__redis *s);

#endif
