/* SPDX-License-Identifier: MIT */
/*
 * What a module exports: its store, and the stamp of the contract that it was
 * built against. A module shares structs with the library and is not compatible
 * across versions: one whose stamp differs in anything is refused.
 */
#ifndef HF_BACKEND_MODULE_H
#define HF_BACKEND_MODULE_H

#include "src/backend/backend.h"
#include "src/backend/compatibility.h"
#include "src/backend/report.h"
#include "src/backend/shared.h"
#include "src/base/fork.h"
#include "src/base/heap.h"
#include "src/base/list.h"
#include "src/base/log.h"
#include "src/base/map.h"
#include "src/base/secret.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

/* All types that a store and the library hand to each other. */
#define HF__STAMP_MAP(X)                                                       \
    X(struct hf__backend)                                                      \
    X(struct hf__op)                                                           \
    X(struct hf__key)                                                          \
    X(struct hf__token)                                                        \
    X(struct hf__owner)                                                        \
    X(struct hf__lock_mode)                                                    \
    X(struct hf__record)                                                       \
    X(struct hf__participant_list)                                             \
    X(struct hf__contender)                                                    \
    X(struct hf__holders_waiters)                                              \
    X(struct hf__participant_info)                                             \
    X(struct hf__watch)                                                        \
    X(struct hf__head)                                                         \
    X(struct hf__server_info)                                                  \
    X(struct hf__stale_session)                                                \
    X(struct hf__gc)                                                           \
    X(struct hf__report)                                                       \
    X(struct hf__sleep_slot)                                                   \
    X(struct hf__parker)                                                       \
    X(struct hf__waker)                                                        \
    X(struct hf__mutex)                                                        \
    X(struct hf__heap)                                                         \
    X(struct hf__map)                                                          \
    X(struct hf__link)                                                         \
    X(struct hf__log)                                                          \
    X(struct hf__url)                                                          \
    X(struct hf__url_host)                                                     \
    X(struct hf__url_option)                                                   \
    X(struct hf__secret)                                                       \
    X(struct hf__time)                                                         \
    X(hf_check_item)                                                           \
    X(hf_error)

#define HF_X(type) +1
enum { HF__STAMP_SIZES = 0 HF__STAMP_MAP(HF_X) };
#undef HF_X

struct hf__module {
    const char *version; /* HF_VERSION; always first: it is compared first */
    uint32_t n_sizes;
    uint32_t sizes[HF__STAMP_SIZES]; /* of HF__STAMP_MAP, in its order */
    const struct hf__backend *backend;
};

/* The one symbol that a module exports; see entry.c. */
HF_MODULE_API extern const struct hf__module hf__module;

#endif
