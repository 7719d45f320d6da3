/* SPDX-License-Identifier: MIT */
/*
 * Reads or changes a cell in the store, trying again until there is an answer.
 * Thread: user.
 */
#ifndef HF_CORE_CELL_H
#define HF_CORE_CELL_H

#include "src/core/query.h"

/* Move a key from the space of locks to that of cells; the key of "" becomes
 * the prefix of the client's cells. */
void hf__cell_space(struct hf__key *key, char *bytes);

/* The change that is asked for; HF__CELL_GET asks for none. */
struct hf__cell_ask {
    enum hf__cell_do what;
    const char *key;
    uint64_t version;
    const void *value;
    size_t length;
    /* out: the last try's query; the caller drops it */
    struct hf__query *query;
};

/* Check the client, the key, the length and the version. HF_OK, HF_EINVAL,
 * HF_ENOTSUP, HF_EFORK. */
HF_MUST_CHECK int hf__cell_check(hf_client *, const struct hf__cell_ask *,
                                 hf_error *err);
/* Returns HF_OK and sets query->cell; or HF_CONFLICT, HF_EUNKNOWN as in
 * holdfast-cell.h, or another failure. Counts the result. Blocks: up to
 * io_timeout. */
HF_MUST_CHECK int hf__cell_run(hf_client *, struct hf__cell_ask *,
                               hf_error *err);

#endif
