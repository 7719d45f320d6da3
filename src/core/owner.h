/* SPDX-License-Identifier: MIT */
/*
 * Who asks, for people: the label with its fields filled in, the host, the
 * process and the thread. Thread: any; the calling one is told of.
 */
#ifndef HF_CORE_OWNER_H
#define HF_CORE_OWNER_H

#include "src/core/client.h"

/* If opts->owner has fields: fill them in, once for all names of the attempt,
 * into label, to which opts->owner then points. HF_OK or HF_EINVAL. */
HF_MUST_CHECK int hf__owner_fill(hf_acquire_opts *opts,
                                 char label[HF_NOTE_MAX + 1], hf_error *err);
/* All that a store keeps of who asks; a label of NULL is the program's name. */
void hf__owner_set(const struct hf_client *, const char *label,
                   const char *note, struct hf__owner *ret_owner);
/* What a record's thread consists of: its id, 0 if there is none, and its
 * name, inside of the text. */
int64_t hf__owner_tid(const struct hf__owner *);
const char *hf__owner_thread(const struct hf__owner *);

#endif
