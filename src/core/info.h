/* SPDX-License-Identifier: MIT */
/*
 * A snapshot of one name, as hf_inspect() and hf_list() return it.
 */
#ifndef HF_CORE_INFO_H
#define HF_CORE_INFO_H

#include "src/backend/compatibility.h"
#include "src/base/list.h"

struct hf_info {
    struct hf__link link; /* in the list that hf_list() collects */
    struct hf__record record;
    bool is_waiting;             /* describes a waiter in the queue */
    struct hf_info *participant; /* all holders, then all waiters; NULL: none */
    int n_holders;               /* −1: the store does not tell */
    int n_waiters;               /* −1: the store keeps no queue */
    char name[HF_NAME_MAX + 1];
};

/* A snapshot that owns all it contains; NULL: out of memory. */
HF_MUST_CHECK struct hf_info *hf__info_new(const char *name, size_t length,
                                           const struct hf__record *);

#endif
