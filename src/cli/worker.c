/* SPDX-License-Identifier: MIT */
/*
 * The only file of the command that makes threads. The library blocks, the
 * wrapper's main thread must not: it forwards signals. Thread: main.
 */
#include "src/cli/worker.h"
#include "src/cli/memory.h"

#include <pthread.h>
#include <signal.h>

struct cli_worker {
    pthread_t thread;
    void (*fn)(void *);
    void *arg;
};

static void *run(void *arg)
{
    struct cli_worker *worker = arg;

    worker->fn(worker->arg);
    return NULL;
}

struct cli_worker *cli_worker_start(void (*fn)(void *), void *arg)
{
    struct cli_worker *worker = cli_alloc(sizeof *worker);
    sigset_t all;
    sigset_t before;
    int code;

    worker->fn = fn;
    worker->arg = arg;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&worker->thread, NULL, run, worker);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code) {
        cli_free(worker);
        return NULL;
    }
    return worker;
}

void cli_worker_leave(struct cli_worker *worker)
{
    (void)pthread_detach(worker->thread);
}

void cli_worker_join(struct cli_worker *worker)
{
    if (worker) {
        (void)pthread_join(worker->thread, NULL);
        cli_free(worker);
    }
}
