/* SPDX-License-Identifier: MIT */
/*
 * A snapshot of one name, as hf_inspect() and hf_list() give it.
 */
#ifndef HF_CORE_INFO_H
#define HF_CORE_INFO_H

#include "src/backend/compatibility.h"
#include "src/base/list.h"

struct hf_info {
    struct hf__link link; /* in the list that is being collected */
    struct hf__record record;
    bool is_waiting;             /* one who waits in the queue */
    struct hf_info *participant; /* all holders, then all in the queue; NULL:
                                    none */
    int n_holders;               /* −1: the store does not tell */
    int n_waiters;               /* −1: the store keeps no queue */
    char name[HF_NAME_MAX + 1];
};

/* A snapshot that owns all it shows; NULL without memory. */
HF_MUST_CHECK struct hf_info *hf__info_new(const char *name, size_t length,
                                           const struct hf__record *);
/* Note who is there, as a store with those caps tells it: HF_OK or
 * HF_ENOMEM. */
HF_MUST_CHECK int
hf__info_set_participants(struct hf_info *, unsigned caps,
                          const struct hf__participant_list *);

#endif
