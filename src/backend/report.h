/* SPDX-License-Identifier: MIT */
/*
 * Reports what a store's check() finds, item by item. Thread: the session's.
 */
#ifndef HF_BACKEND_REPORT_H
#define HF_BACKEND_REPORT_H

#include "src/backend/backend.h"

/* The callback for the items; is_over once it returned nonzero. */
struct hf__report {
    hf__check_fn fn;
    void *arg;
    bool is_over;
};

/* Report an item; the remedy is left out if the verdict is HF_FINE. */
HF_MODULE_API void hf__report_tell(struct hf__report *, const char *name,
                                   const char *value, hf_verdict verdict,
                                   const char *remedy);
/* Report an item that is HF_FINE without a remedy, else HF_WARN. */
HF_MODULE_API void hf__report_say(struct hf__report *, const char *name,
                                  const char *value, const char *remedy);

#endif
