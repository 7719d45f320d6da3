/* SPDX-License-Identifier: MIT */
/*
 * Asking one server about many names: for list() and gc(). Thread: the
 * session's.
 */
#ifndef HF_BACKEND_REDIS_SURVEY_H
#define HF_BACKEND_REDIS_SURVEY_H

#include "src/backend/redis/redis.h"
#include "src/backend/redis/scan.h"

struct hf__survey {
    struct hf__redis *s;
    hf__time deadline;
    hf_error *err;
    void *arg; /* of the two functions */
    /* One command for the name. */
    void (*add)(const struct hf__survey *, struct hf__bytes *,
                const struct hf__key *, bool with_text);
    /* Its reply. HF_OK; HF__AGAIN: the server does not know the script;
     * HF_BUSY: enough, ask no more; negative, with err told why: the session is
     * of no use. */
    int (*take)(const struct hf__survey *, const struct hf__key *,
                const redisReply *);
};

/* The next page of names. HF_OK, or the session is dead. */
HF_MUST_CHECK int hf__survey_page(const struct hf__survey *, struct hf__scan *,
                                  struct hf__names *);
/* Ask about all of them, in their order. HF_OK; HF_BUSY: it was enough; else
 * the session is dead. */
HF_MUST_CHECK int hf__survey_ask(const struct hf__survey *,
                                 const struct hf__names *);
/* An error that tells of something at the key which is no record of ours. */
bool hf__survey_is_strange(const redisReply *);
/* The session is dead; err is told why. */
HF_MUST_CHECK int hf__survey_fail(const struct hf__survey *, int status,
                                  const char *why);

#endif
