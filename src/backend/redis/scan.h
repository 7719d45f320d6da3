/* SPDX-License-Identifier: MIT */
/*
 * The names that a server has records of: SCAN in pages, each name once; for a
 * store on one server and for a quorum's members. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_SCAN_H
#define HF_BACKEND_REDIS_SCAN_H

#include "src/backend/redis/wire.h"

#include <hiredis/hiredis.h>

/* A scan of all records whose stored key starts with `prefix`. */
struct hf__scan {
    const struct hf__key *prefix; /* owned by the caller */
    char cursor[24];              /* the server's, "0" at the beginning */
    bool is_over;
    char pattern[2 * HF__KEY_MAX + 8];
    size_t pattern_length;
};

void hf__scan_begin(struct hf__scan *, const struct hf__key *prefix);
/* Continue from an earlier cursor. False: it is not a cursor. */
HF_MUST_CHECK bool hf__scan_resume(struct hf__scan *, const char *cursor,
                                   size_t length);
/* Add the command for the next page. */
void hf__scan_add(struct hf__bytes *, const struct hf__scan *);

/* Stored keys, "prefix:name". */
struct hf__names {
    struct hf__key *keys; /* point into bytes once sorted */
    size_t n;
    size_t room;
    char *bytes;
    size_t used;
    size_t size;
};

void hf__names_clear(struct hf__names *);
/* Also a cleanup function. */
void hf__names_fini(struct hf__names *);
/* Add the names of a page, and prepare for the next. HF_OK; HF_ENOMEM;
 * HF_EPROTO (not a page). The caller handles error replies. */
HF_MUST_CHECK int hf__scan_take(struct hf__scan *, const redisReply *,
                                struct hf__names *);
/* Sort by hf__key_compare() and drop duplicates. Nothing is added after. */
void hf__names_sort(struct hf__names *);

#endif
