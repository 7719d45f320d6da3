/* SPDX-License-Identifier: MIT */
/*
 * What a cleaning deleted: added up and told in the same way for hf_gc() and
 * for gc= in the URL.
 */
#ifndef HF_CORE_GC_H
#define HF_CORE_GC_H

#include "src/core/client.h"

/* What is cleaned, one after the other. */
enum hf__gc_space {
    HF__GC_NAMES,
    HF__GC_MARKS, /* of starts */
    HF__GC_CELLS, /* that were deleted */
    HF__GC_SPACES
};

/* Prepare a slice of that space: g->idle_us, and the key of "" becomes what
 * keys there begin with. False: the store has none of it. */
bool hf__gc_begin(const hf_client *, enum hf__gc_space, int64_t idle_ms,
                  struct hf__gc *g, struct hf__key *key, char *bytes);
/* What a slice deleted, counted for hf_stats() too. Thread: any. */
void hf__gc_add(hf_client *, hf_gc_info *, const struct hf__gc *slice,
                enum hf__gc_space);
/* That it is over. Thread: any. */
void hf__gc_tell(hf_client *, hf_level, const hf_gc_info *, int result);

#endif
