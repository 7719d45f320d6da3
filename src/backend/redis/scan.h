/* SPDX-License-Identifier: MIT */
/*
 * Which names a server has a record of: SCAN in pages, each name once; of a
 * store on one server or of a quorum's members. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_SCAN_H
#define HF_BACKEND_REDIS_SCAN_H

#include "src/backend/redis/wire.h"

#include <hiredis/hiredis.h>

/* A way through all records whose stored key starts with some bytes. */
struct hf__scan {
    const struct hf__key *prefix; /* lent */
    char cursor[24];              /* the server's, "0" at the beginning */
    bool is_over;
    char pattern[2 * HF__KEY_MAX + 8];
    size_t pattern_length;
};

void hf__scan_begin(struct hf__scan *, const struct hf__key *prefix);
/* Go on from a cursor of before. False: it is none. */
HF_MUST_CHECK bool hf__scan_resume(struct hf__scan *, const char *cursor,
                                   size_t length);
/* Add the command for the next page. */
void hf__scan_add(struct hf__bytes *, const struct hf__scan *);

/* Stored keys, "prefix:name". */
struct hf__names {
    struct hf__key *keys; /* point into bytes once they are sorted */
    size_t n;
    size_t room;
    char *bytes;
    size_t used;
    size_t size;
};

void hf__names_clear(struct hf__names *);
/* Also as a cleanup. */
void hf__names_fini(struct hf__names *);
/* Add those of the page, and be ready for the next. HF_OK; HF_ENOMEM;
 * HF_EPROTO (no page). An error reply is the caller's. */
HF_MUST_CHECK int hf__scan_take(struct hf__scan *, const redisReply *,
                                struct hf__names *);
/* In the order of hf__key_compare(), each once. Nothing is added after. */
void hf__names_sort(struct hf__names *);

#endif
