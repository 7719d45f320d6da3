/* SPDX-License-Identifier: MIT */
/*
 * Cleaning up by itself: gc=PERIOD in the URL. A timer of the timer thread's
 * has the runner of a session delete idle records, a slice at a time, about
 * once a period. Thread: as said at each function.
 */
#ifndef HF_CORE_SWEEPER_H
#define HF_CORE_SWEEPER_H

#include "src/core/session.h"
#include "src/core/timer_thread.h"

struct hf_client;

struct hf__sweeper {
    int64_t period_ms; /* 0: it was not asked for */
    int64_t idle_ms;
    struct hf__timer_task timer_task;
    struct hf__request request;
    struct hf__gc gc;
    hf_gc_info info; /* of the whole round */
    int space;       /* one of gc.c */
    hf_error err;
    struct hf__key key;
    char key_bytes[HF__KEY_MAX];
};

/* Its options of the URL. HF_OK or HF_EINVAL. Thread: user. */
HF_MUST_CHECK int hf__sweeper_read(struct hf_client *, hf_error *err);
/* Once the client is connected: set the timer, if it was asked for. HF_OK,
 * HF_EUNAVAIL (no thread). It ends with the timer thread and the session.
 * Thread: user. */
HF_MUST_CHECK int hf__sweeper_start(struct hf_client *, hf_error *err);

#endif
