/* SPDX-License-Identifier: MIT */
/*
 * All names with a prefix, by the listing of their folders. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_NAMES_H
#define HF_BACKEND_ZOOKEEPER_NAMES_H

#include "src/backend/zookeeper/node.h"
#include "src/backend/zookeeper/zookeeper.h"

struct hf__zk_keys {
    struct hf__key *list; /* sorted */
    size_t n;
    char *bytes; /* theirs */
};

/* Those that begin with the bytes of `prefix`. HF_OK; negative: err says why.
 */
HF_MUST_CHECK int hf__zk_keys_read(struct hf__zk *,
                                   const struct hf__key *prefix,
                                   struct hf__zk_keys *, hf__time deadline,
                                   hf_error *);
void hf__zk_keys_fini(struct hf__zk_keys *);

#endif
