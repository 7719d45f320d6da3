/* SPDX-License-Identifier: MIT */
/*
 * The thread of the asynchronous calls: at whatever point of its rounds it is
 * told to stop, it does.
 */
#include "src/core/executor.h"
#include "tests/lib/test.h"

enum { LOOKS = 4 };

int __real_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *);
void __real_hf__unpark(struct hf__parker *);
void __wrap_hf__unpark(struct hf__parker *);

static struct hf__executor executor;
static atomic_int looks_left; /* of its thread, until it is told to stop */
static atomic_bool is_told;
static _Thread_local bool is_caller;
static _Thread_local bool is_stopping;

/* Each of its looks for the word to stop ends with this. The word comes right
 * after the last one. */
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int r = __real_pthread_mutex_unlock(m);

    if (m == &executor.mutex.native && !is_caller &&
        atomic_fetch_sub(&looks_left, 1) == 1) {
        while (!atomic_load(&is_told)) {
            hf__thread_yield();
        }
    }
    return r;
}

void __wrap_hf__unpark(struct hf__parker *p)
{
    __real_hf__unpark(p);
    if (is_stopping) {
        atomic_store(&is_told, true);
    }
}

TEST(it_stops_although_it_has_just_looked)
{
    is_caller = true;
    for (int n = 1; n <= LOOKS; n++) {
        hf__executor_init(&executor);
        atomic_store(&looks_left, n);
        atomic_store(&is_told, false);
        EXPECT_IS(hf__executor_start(&executor), HF_OK);
        while (atomic_load(&looks_left) > 0) {
            hf__unpark(&executor.ready_list.parker); /* another round */
            hf__thread_yield();
        }
        is_stopping = true;
        hf__executor_stop(&executor);
        is_stopping = false;
        hf__executor_fini(&executor);
        executor = (struct hf__executor){0};
    }
}
