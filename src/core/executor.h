/* SPDX-License-Identifier: MIT */
/*
 * The client's thread that steps asynchronous acquires and releases. A job is
 * stepped when its parker is unparked or its time has come. No step sleeps or
 * asks a store itself, so one thread serves thousands of jobs. Started with the
 * first job, ended by hf_close().
 */
#ifndef HF_CORE_EXECUTOR_H
#define HF_CORE_EXECUTOR_H

#include "src/base/heap.h"
#include "src/base/list.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

struct hf__job {
    struct hf__ready_item ready_item; /* its parker is the one to unpark */
    struct hf__timer timer;
    struct hf__link link;
    bool is_over;
    /* Do what can be done now. True: the job is over. Else it is stepped again
     * when it is unparked, or at *ret_until. */
    bool (*step)(struct hf__job *, hf__time *ret_until);
    /* Called when the job is over; it belongs to its owner again. */
    void (*end)(struct hf__job *);
    /* The client is being closed: end soon. Must unpark the job. Thread: any,
     * under the executor's mutex. */
    void (*call_off)(struct hf__job *);
};

struct hf__executor {
    struct hf__ready_list ready_list;
    struct hf__heap timers; /* used by the thread alone */
    struct hf__thread thread;
    struct hf__mutex mutex;
    struct hf__link jobs;
    int n_jobs; /* jobs whose end() has not returned yet */
    struct hf__parker idle;
    bool is_closing; /* jobs that are added are called off at once */
    bool is_stopping;
};

void hf__executor_init(struct hf__executor *);
void hf__executor_fini(struct hf__executor *);
/* Start the thread unless it runs. HF_OK; HF_EUNAVAIL if the system gives no
 * thread. Thread: user. */
HF_MUST_CHECK int hf__executor_start(struct hf__executor *);
/* Make the job's parker usable; until the job is added, unparking it does
 * nothing. Thread: any. */
void hf__executor_adopt(struct hf__executor *, struct hf__job *);
/* Step the job from now on; after adopt() and start(). Thread: any. */
void hf__executor_add(struct hf__executor *, struct hf__job *);
/* Call off all jobs, including those added later. Thread: user. */
void hf__executor_call_off(struct hf__executor *);
/* Wait until the last job is over. Thread: user. Blocks: as long as called-off
 * jobs take. */
void hf__executor_drain(struct hf__executor *);
/* End the thread; it must have no jobs any more. */
void hf__executor_stop(struct hf__executor *);

#endif
