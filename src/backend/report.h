/* SPDX-License-Identifier: MIT */
/*
 * What a store's check() says, item by item. Thread: the session's.
 */
#ifndef HF_BACKEND_REPORT_H
#define HF_BACKEND_REPORT_H

#include "src/backend/backend.h"

/* To whom items are told, until he has had enough. */
struct hf__report {
    hf__check_fn fn;
    void *arg;
    bool is_over;
};

/* The remedy is not told of what is fine. */
HF_MODULE_API void hf__report_tell(struct hf__report *, const char *name,
                                   const char *value, hf_verdict verdict,
                                   const char *remedy);
/* Fine without a remedy, else a warning. */
HF_MODULE_API void hf__report_say(struct hf__report *, const char *name,
                                  const char *value, const char *remedy);

#endif
