/* SPDX-License-Identifier: MIT */
/*
 * Where threads begin and end, and what is left of them in the child of a
 * fork(); and where virtual time begins: in each test's process, if the
 * environment says so.
 */
#include "tests/lib/test.h"
#include "tests/virtual/system.h"
#include "tests/virtual/turns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of a thread's destructors, of which there may be four. */
enum { LAST_ROUND = 3 };

static __thread pid_t forks_from; /* the process, while it calls fork() */
static pthread_key_t at_end;

struct hf__turns_thread *hf__turns_find(pthread_t native)
{
    struct hf__turns_thread *t;

    for (int i = 0; (t = hf__turns_at(i)) != NULL; i++) {
        if (t->state != FREE && pthread_equal(t->native, native)) {
            break;
        }
    }
    return t;
}

_Noreturn void hf__turns_tell_deadlock(void)
{
    static const char *const states[] = {"free", "ready", "asleep", "ended"};
    struct hf__turns_thread *t;

    fprintf(stderr, "virtual: all threads sleep, and nobody will wake them\n");
    for (int i = 0; (t = hf__turns_at(i)) != NULL; i++) {
        char name[16] = "";

        if (t->state != FREE) {
            pthread_getname_np(t->native, name, sizeof name);
            fprintf(stderr, "  %d %s: %s at %p, host %d%s\n", i, name,
                    states[t->state], t->place, t->host,
                    t == hf__turns_self() ? ", the last to run" : "");
        }
    }
    abort();
}

/* Behind the last destructor of the thread's own, for they call as well. */
static void end_thread(void *arg)
{
    struct hf__turns_thread *t = arg;

    if (++t->rounds < LAST_ROUND) {
        pthread_setspecific(at_end, t);
    } else {
        hf__turns_end(t);
    }
}

static void *begin_thread(void *arg)
{
    struct hf__turns_thread *t = arg;

    pthread_setspecific(at_end, t);
    hf__turns_begin(t);
    return t->run(t->arg);
}

int hf__virtual_create(pthread_t *native, const pthread_attr_t *attr,
                       void *(*run)(void *), void *arg)
{
    struct hf__turns_thread *t = hf__turns_add();

    if (t == NULL) {
        return EAGAIN;
    }
    t->run = run;
    t->arg = arg;
    int failed = __real_pthread_create(&t->native, attr, begin_thread, t);
    if (failed) {
        t->state = FREE;
        return failed;
    }
    *native = t->native;
    hf__virtual_pass(false);
    return 0;
}

int hf__virtual_join(pthread_t native, void **result)
{
    struct hf__turns_thread *t = hf__turns_find(native);

    while (t != NULL && t->state != ENDED) {
        hf__virtual_sleep(t, HF__VIRTUAL_NEVER);
    }
    int failed = __real_pthread_join(native, result);
    if (t != NULL) {
        t->state = FREE;
    }
    return failed;
}

void hf__turns_look_for_fork(void)
{
    if (forks_from != 0 && getpid() != forks_from) {
        hf__turns_forget_others();
        forks_from = 0;
    }
}

/* The handlers of fork(), in parent and child, lock and unlock as well. */
pid_t hf__virtual_fork(void)
{
    forks_from = getpid();
    pid_t pid = __real_fork();
    hf__turns_look_for_fork();
    forks_from = 0;
    return pid;
}

/* Nothing is late here, so nothing is stretched. */
static void begin_test(void)
{
    unsetenv("HOLDFAST_TEST_SLOW");
    hf__virtual_start(hf__test_seed());
}

__attribute__((constructor)) static void look_at_environment(void)
{
    if (pthread_key_create(&at_end, end_thread) != 0) {
        abort();
    }
    if (getenv("HOLDFAST_TEST_VIRTUAL") != NULL) {
        hf__test_before(begin_test);
    }
}

int __wrap_sched_yield(void)
{
    if (!hf__virtual_is_on()) {
        return __real_sched_yield();
    }
    hf__virtual_pass(true);
    return 0;
}
