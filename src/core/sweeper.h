/* SPDX-License-Identifier: MIT */
/*
 * Automatic garbage collection: gc=PERIOD in the URL. About once a period, a
 * timer makes the runner of a session delete idle records, a slice at a time.
 * Thread: see each function.
 */
#ifndef HF_CORE_SWEEPER_H
#define HF_CORE_SWEEPER_H

#include "src/core/session.h"
#include "src/core/timer_thread.h"

struct hf_client;

struct hf__sweeper {
    int64_t period_ms; /* 0: not asked for */
    int64_t idle_ms;
    struct hf__timer_task timer_task;
    struct hf__request request;
    struct hf__gc gc;
    hf_gc_info info; /* of the whole collection */
    int space;       /* index of the space, see gc.c */
    hf_error err;
    struct hf__key key;
    char key_bytes[HF__KEY_MAX];
};

/* Read its options from the URL. HF_OK or HF_EINVAL. Thread: user. */
HF_MUST_CHECK int hf__sweeper_read(struct hf_client *, hf_error *err);
/* Set the timer, if it was asked for, once the client is connected. HF_OK,
 * HF_EUNAVAIL (no thread). It ends with the timer thread and the session.
 * Thread: user. */
HF_MUST_CHECK int hf__sweeper_start(struct hf_client *, hf_error *err);

#endif
