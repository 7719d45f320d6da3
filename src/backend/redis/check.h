/* SPDX-License-Identifier: MIT */
/*
 * A check under way, as check.c and may.c share it. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_CHECK_H
#define HF_BACKEND_REDIS_CHECK_H

#include "src/backend/redis/redis.h"
#include "src/backend/report.h"

struct hf__checking {
    struct hf__report to;
    struct hf__redis *s;
    hf__time deadline;
    hf_error *err;
    bool has_channels; /* waiters can be woken */
};

/* One command and its reply, which may be an error. HF_OK, or the session is
 * dead. */
HF_MUST_CHECK int hf__check_ask(struct hf__checking *c,
                                const struct hf__args *args,
                                redisReply **ret_reply);
/* A cleanup. */
void hf__check_free_reply(redisReply **reply);

/* check_sentinels.c: those of the URL, if it names any. */
void hf__check_sentinels(struct hf__checking *c);
/* may.c: who we are and what we may. The same. */
HF_MUST_CHECK int hf__check_user(struct hf__checking *c);

#endif
