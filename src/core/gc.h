/* SPDX-License-Identifier: MIT */
/*
 * What a cleaning deleted: added up and told in the same way for hf_gc() and
 * for gc= in the URL.
 */
#ifndef HF_CORE_GC_H
#define HF_CORE_GC_H

#include "src/core/client.h"

/* What a slice deleted, counted for hf_stats() too. Thread: any. */
void hf__gc_add(hf_client *, hf_gc_info *, const struct hf__gc *slice,
                bool is_marks);
/* That it is over. Thread: any. */
void hf__gc_tell(hf_client *, hf_level, const hf_gc_info *, int result);

#endif
