/* SPDX-License-Identifier: MIT */
/*
 * A snapshot of one name, as hf_inspect() and hf_list() give it.
 */
#ifndef HF_CORE_INFO_H
#define HF_CORE_INFO_H

#include "src/backend/backend.h"
#include "src/base/list.h"

struct hf_info {
    struct hf__link link; /* in the list that is being collected */
    struct hf__record record;
    char name[HF_NAME_MAX + 1];
};

/* A snapshot that owns all it shows; NULL without memory. */
HF_MUST_CHECK struct hf_info *hf__info_new(const char *name, size_t length,
                                           const struct hf__record *);

#endif
