/* SPDX-License-Identifier: MIT */
/*
 * The state of a check(), shared by check.c and acl.c. Thread: the session's.
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

/* acl.c: send one command of words (hf__bytes_words()) and get its reply, which
 * may be an error. HF_OK; else the session is dead, or (HF_ENOMEM) nothing was
 * sent; err is set. */
HF_MUST_CHECK int hf__check_ask(struct hf__checking *c,
                                const char *const words[],
                                redisReply **ret_reply);

/* acl.c: report the user and its permissions. Returns as above. */
HF_MUST_CHECK int hf__check_user(struct hf__checking *c);

#endif
