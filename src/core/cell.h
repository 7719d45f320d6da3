/* SPDX-License-Identifier: MIT */
/*
 * Asking the store for a cell, or to change one, as often as it takes to get
 * an answer. Thread: user.
 */
#ifndef HF_CORE_CELL_H
#define HF_CORE_CELL_H

#include "src/core/query.h"

/* The space of a client's cells, as that of once.h: from the key of "". */
void hf__cell_space(struct hf__key *key, char *bytes);

/* One change that is asked for, or (HF__CELL_GET) none. */
struct hf__cell_ask {
    enum hf__cell_do what;
    const char *key;
    uint64_t version;
    const void *value;
    size_t length;
    struct hf__query *query; /* out: of the last try, to be given back */
};

/* The client, the key, the length and the version are fit. HF_OK, HF_EINVAL,
 * HF_ENOTSUP, HF_EFORK. */
HF_MUST_CHECK int hf__cell_check(hf_client *, const struct hf__cell_ask *,
                                 hf_error *err);
/* Gives HF_OK and look->cell; HF_CONFLICT, HF_EUNKNOWN as holdfast-cell.h has
 * them, or another failure. Counts. Blocks: up to io_timeout. */
HF_MUST_CHECK int hf__cell_run(hf_client *, struct hf__cell_ask *,
                               hf_error *err);

#endif
