/* SPDX-License-Identifier: MIT */
/*
 * The loop of libuv with locks in it: three jobs take turns on one lock while
 * a timer of the same loop ticks, and another timer cancels a fourth job that
 * has waited too long. uv_poll_t watches hf_fd(), and its callback calls
 * hf_dispatch(); the two libraries need nothing else of each other.
 *
 *     eventloop_uv [URL]     without a URL: a store in memory
 */
#include <holdfast.h>
#include <stdio.h>
#include <uv.h>

#define JOBS    3
#define WORK_MS 100
#define TICK_MS 10
#define NAME    "report"

struct job {
    uv_timer_t work;
    hf_lock *lock;
    int number;
};

static hf_client *client;
static hf_cancel *cancel;
static uv_poll_t poller;
static uv_timer_t ticker;
static uv_timer_t impatience;
static struct job jobs[JOBS];
static int working; /* the job that has the lock; 0: none */
static int pending; /* calls whose callback has not run yet */
static int ticks;
static int mistakes;

static void mistake(const char *what)
{
    printf("MISTAKE: %s\n", what);
    mistakes++;
}

/* The loop ends when no libuv handle is active. */
static void answered(void)
{
    if (--pending == 0) {
        uv_poll_stop(&poller);
        uv_timer_stop(&ticker);
        uv_timer_stop(&impatience);
    }
}

static void on_released(void *arg, int status, const hf_error *err)
{
    struct job *j = arg;

    if (status != HF_OK) {
        mistake(err->text);
    }
    printf("job %d: released\n", j->number);
    answered();
}

static void on_worked(uv_timer_t *timer)
{
    struct job *j = timer->data;
    hf_error err = HF_ERROR_INIT;

    if (!hf_held(j->lock)) {
        mistake("the lock was lost");
    }
    working = 0;
    if (hf_release_async(j->lock, on_released, j, &err) != HF_OK) {
        mistake(err.text);
        answered();
    }
    hf_free(j->lock); /* allowed at once: the release goes on */
}

static void on_granted(void *arg, int status, hf_lock *lock,
                       const hf_error *err)
{
    struct job *j = arg;

    if (status != HF_OK) {
        mistake(err->text);
        answered();
        return;
    }
    if (working != 0) {
        mistake("two jobs work at once");
    }
    working = j->number;
    j->lock = lock;
    printf("job %d: works, fence %llu\n", j->number,
           (unsigned long long)hf_fence(lock));
    uv_timer_start(&j->work, on_worked, WORK_MS, 0);
}

/* The callback of the cancelled job: it never gets the lock. */
static void on_vain(void *arg, int status, hf_lock *lock, const hf_error *err)
{
    (void)arg;
    (void)lock;
    printf("the job that waited in vain: %s\n", err->text);
    if (status != HF_CANCELLED) {
        mistake("it was not cancelled");
        hf_free(lock);
    }
    answered();
}

static void on_impatience(uv_timer_t *timer)
{
    (void)timer;
    hf_cancel_fire(cancel);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    ticks++;
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
    hf_error err = HF_ERROR_INIT;

    (void)handle;
    (void)status;
    (void)events;
    if (hf_dispatch(client, &err) < 0) {
        mistake(err.text);
    }
}

static void begin(hf_acquire_fn fn, struct job *j, hf_cancel *with)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;

    opts.cancel = with;
    pending++;
    if (hf_acquire_async(client, NAME, &opts, fn, j, &err) != HF_OK) {
        mistake(err.text);
        pending--;
    }
}

static void run(uv_loop_t *loop)
{
    uv_poll_init(loop, &poller, hf_fd(client));
    uv_poll_start(&poller, UV_READABLE, on_ready);
    uv_timer_init(loop, &ticker);
    uv_timer_start(&ticker, on_tick, TICK_MS, TICK_MS);
    uv_timer_init(loop, &impatience);
    uv_timer_start(&impatience, on_impatience, WORK_MS / 2, 0);
    for (int i = 0; i < JOBS; i++) {
        jobs[i].number = i + 1;
        jobs[i].work.data = &jobs[i];
        uv_timer_init(loop, &jobs[i].work);
        begin(on_granted, &jobs[i], NULL);
    }
    begin(on_vain, NULL, cancel);
    uv_run(loop, UV_RUN_DEFAULT);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    uv_close(handle, NULL);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    hf_error err = HF_ERROR_INIT;

    if (hf_open(argc > 1 ? argv[1] : "memory:", NULL, &client, &err) != HF_OK ||
        hf_cancel_new(&cancel) != HF_OK || hf_fd(client) < 0) {
        fprintf(stderr, "%s\n", err.text);
        hf_close(client);
        return 1;
    }
    run(loop);
    /* The poller must close before the client closes its descriptor. */
    uv_walk(loop, close_handle, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    hf_close(client);
    hf_cancel_free(cancel);
    printf("the loop went on: %s; mistakes: %d\n", ticks > JOBS ? "yes" : "no",
           mistakes);
    return mistakes == 0 && ticks > JOBS ? 0 : 1;
}
