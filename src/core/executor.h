/* SPDX-License-Identifier: MIT */
/*
 * The thread of a client that steps what nobody waits for: asynchronous
 * acquires and releases. A job is stepped when its parker was unparked or its
 * time has come; no step sleeps or asks a store, so that one thread serves
 * thousands. Started with the first job, ended by hf_close().
 */
#ifndef HF_CORE_EXECUTOR_H
#define HF_CORE_EXECUTOR_H

#include "src/base/heap.h"
#include "src/base/list.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

struct hf__job {
    struct hf__ready_item ready_item; /* its parker is what to unpark */
    struct hf__timer timer;
    struct hf__link link;
    bool is_over;
    /* Do what can be done now. True: it is over. Else it is stepped again
     * when it is unparked, or at *ret_until. */
    bool (*step)(struct hf__job *, hf__time *ret_until);
    /* It was over, and is its owner's again. */
    void (*end)(struct hf__job *);
    /* The client is being closed: come to an end soon. Thread: any, under the
     * executor's mutex; unparks. */
    void (*call_off)(struct hf__job *);
};

struct hf__executor {
    struct hf__ready_list ready_list;
    struct hf__heap timers; /* the thread's own */
    struct hf__thread thread;
    struct hf__mutex mutex;
    struct hf__link jobs;
    int n_jobs; /* those that end() is still to be called for */
    struct hf__parker idle;
    bool is_closing; /* jobs are called off at once */
    bool is_stopping;
};

void hf__executor_init(struct hf__executor *);
void hf__executor_fini(struct hf__executor *);
/* Start the thread unless it runs. HF_OK; HF_EUNAVAIL if the system gives no
 * thread. Thread: user. */
HF_MUST_CHECK int hf__executor_start(struct hf__executor *);
/* The job's parker can be used from now on; before it is added, unparking it
 * does nothing. Thread: any. */
void hf__executor_adopt(struct hf__executor *, struct hf__job *);
/* Step it from now on; after adopt() and start(). Thread: any. */
void hf__executor_add(struct hf__executor *, struct hf__job *);
/* Call all jobs off, those to come too. Thread: user. */
void hf__executor_call_off(struct hf__executor *);
/* Wait until the last job is over. Thread: user. Blocks: as long as jobs take
 * that were called off. */
void hf__executor_drain(struct hf__executor *);
/* End the thread, which has no jobs any more. */
void hf__executor_stop(struct hf__executor *);

#endif
