/* SPDX-License-Identifier: MIT */
/*
 * The mark that a task was started (once_ms): a record in a key space of its
 * own. It is acquired with a min_hold_ms as long as the start counts, and then
 * left alone; only its token opens it again. Only the lock's holder sets a
 * mark. Thread: user. Blocks: checking, marking and undoing up to io_timeout
 * each, marking up to twice that if it fails.
 */
#ifndef HF_CORE_ONCE_H
#define HF_CORE_ONCE_H

#include "src/core/client.h"

struct hf__once {
    struct hf__key key;
    struct hf__token token;
    int64_t keep_ms;            /* how long the start counts */
    struct hf__owner owner;     /* of the acquire */
    char name[HF_NAME_MAX + 1]; /* the lock's, for error texts */
    char key_bytes[HF__KEY_MAX];
};

/* HF_OK; HF_EINVAL (name and key together are too long); HF_ENOMEM. */
HF_MUST_CHECK int hf__once_new(struct hf_client *, const char *name,
                               const hf_acquire_opts *,
                               struct hf__once **ret_once, hf_error *err);
enum hf__once_do {
    HF__ONCE_PEEK, /* HF_OK: not started; HF_CONFLICT: started; or a failure */
    HF__ONCE_MARK, /* the same; HF_OK marks it, HF_EUNKNOWN may have */
    HF__ONCE_UNDO  /* remove the mark; HF_OK also if there is none */
};

/* One of the three in steps. The caller sets client, once, what, parker and err
 * (NULL: not wanted); all else starts as zero. */
struct hf__once_ask {
    struct hf_client *client;
    const struct hf__once *once;
    enum hf__once_do what;
    struct hf__parker *parker;
    hf_error *err;

    struct hf__query *query; /* the try under way */
    hf__time limit;          /* set when the first try begins */
    hf__time by;             /* upper bound of limit; 0: none */
    hf__time pause_until;
    bool is_unknown; /* a try got no answer */
    bool is_undoing; /* it takes back a mark that may have been set */
    int result;
};

/* A step as base/wake.h wants it; once it is over, `result` is that of one of
 * the three. After a step that returned true, the caller may ask again. Thread:
 * one at a time. */
HF_MUST_CHECK bool hf__once_step(void *ask, hf__time *ret_until);
/* Step until there is a result; needs no parker. Thread: user. */
HF_MUST_CHECK int hf__once_answer(struct hf__once_ask);
/* Set the upper bound of its time limit. Call it before a step. */
void hf__once_hurry(struct hf__once_ask *, hf__time by);

/* Turn a key of a lock into the prefix of all keys of marks. */
void hf__once_space(struct hf__key *, char *bytes);

#endif
