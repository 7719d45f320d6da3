/* SPDX-License-Identifier: MIT */
/*
 * The mark of a start: a record in a key space of its own that is acquired,
 * keeps itself closed for as long as the start counts, and is otherwise left
 * alone. Its token alone opens it again. Only who holds the lock sets one.
 * Thread: user. Blocks: peeking, marking and undoing up to io_timeout each,
 * marking up to twice that if it fails.
 */
#ifndef HF_CORE_ONCE_H
#define HF_CORE_ONCE_H

#include "src/core/client.h"

struct hf__once {
    struct hf__key key;
    struct hf__token token;
    int64_t keep_ms;            /* how long the start counts */
    struct hf__owner owner;     /* who asks for it */
    char name[HF_NAME_MAX + 1]; /* for people */
    char key_bytes[HF__KEY_MAX];
};

/* HF_OK; HF_EINVAL (name and key are too long together); HF_ENOMEM. */
HF_MUST_CHECK int hf__once_new(struct hf_client *, const char *name,
                               const hf_acquire_opts *,
                               struct hf__once **ret_once, hf_error *err);
enum hf__once_do {
    HF__ONCE_PEEK, /* HF_OK: it may start; HF_CONFLICT: it has; or a failure */
    HF__ONCE_MARK, /* the same, and from now on it has; not after a failure */
    HF__ONCE_UNDO  /* as if it had not; HF_OK also if it had not */
};

/* One of the three in steps. Client, once, what, parker and
 * err (NULL: nobody reads it) are the caller's to set, all else is zero at
 * first. */
struct hf__once_ask {
    struct hf_client *client;
    const struct hf__once *once;
    enum hf__once_do what;
    struct hf__parker *parker;
    hf_error *err;

    struct hf__query *query; /* under way */
    hf__time limit;          /* set with the first try */
    hf__time by;             /* no limit is later; 0: none */
    hf__time pause_until;
    bool is_unknown; /* a try got no answer */
    bool is_undoing; /* the mark of which nobody knows */
    int result;
};

/* As a step of base/wake.h; then the result is that of the three above. A step
 * that gave true may be followed by another question. Thread: one at a time. */
HF_MUST_CHECK bool hf__once_step(void *ask, hf__time *ret_until);
/* The same until it has its result; it needs no parker. Thread: user. */
HF_MUST_CHECK int hf__once_answer(struct hf__once_ask);
/* It must not take longer than that. Before a step. */
void hf__once_hurry(struct hf__once_ask *, hf__time by);

/* A key of locks becomes the beginning of all keys of marks. */
void hf__once_space(struct hf__key *, char *bytes);

#endif
