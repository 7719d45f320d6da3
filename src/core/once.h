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
    char name[HF_NAME_MAX + 1]; /* for people */
    char key_bytes[HF__KEY_MAX];
};

/* HF_OK; HF_EINVAL (name and key are too long together); HF_ENOMEM. */
HF_MUST_CHECK int hf__once_new(struct hf_client *, const char *name,
                               const hf_acquire_opts *,
                               struct hf__once **ret_once, hf_error *err);
/* HF_OK: it may start; HF_CONFLICT: it has started; or a failure. */
HF_MUST_CHECK int hf__once_peek(struct hf_client *, const struct hf__once *,
                                hf_error *err);
/* The same, and from now on it has. After a failure it has not. */
HF_MUST_CHECK int hf__once_mark(struct hf_client *, const struct hf__once *,
                                const hf_acquire_opts *, hf_error *err);
/* As if it had not; HF_OK also if it had not. */
HF_MUST_CHECK int hf__once_undo(struct hf_client *, const struct hf__once *,
                                hf_error *err);

/* A key of locks becomes the beginning of all keys of marks. */
void hf__once_space(struct hf__key *, char *bytes);

#endif
