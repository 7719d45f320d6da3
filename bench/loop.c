/* SPDX-License-Identifier: MIT */
/*
 * Pairs of acquire and release per second, of n in flight from one thread with
 * poll() and hf_dispatch(), and of n threads that wait; on names of their own,
 * and all on one. The two take turns in short segments; the ratio is the
 * median over the rounds. Thread: main, and those that wait.
 */
#include "bench/loop.h"

#include "bench/report.h"

#include <poll.h>
#include <stdio.h>

#define ROUNDS_MAX 16

struct loop;

struct lane {
    struct loop *loop;
    char name[24];
};

/* One segment of the lanes that are in flight. */
struct loop {
    hf_client *client;
    int in_flight;
    bool is_over;
    uint64_t pairs;
};

struct duel {
    struct loop loop;
    struct lane lane[BENCH_THREADS_MAX];
    void *args[BENCH_THREADS_MAX];
    int n;
    double seconds;
};

static bool turn(struct bench_worker *w)
{
    struct lane *lane = w->arg;

    bench_release(bench_acquire(lane->loop->client, lane->name));
    return true;
}

/* ---- in flight ---------------------------------------------------------- */

static void launch(struct lane *lane);

static void released(void *arg, int status, const hf_error *err)
{
    struct lane *lane = arg;

    if (status != HF_OK) {
        bench_fail("release: %s", err->text);
    }
    lane->loop->pairs++;
    lane->loop->in_flight--;
    if (!lane->loop->is_over) {
        launch(lane);
    }
}

static void granted(void *arg, int status, hf_lock *lock, const hf_error *err)
{
    hf_error refusal = HF_ERROR_INIT;

    if (status != HF_OK) {
        bench_fail("acquire: %s", err->text);
    }
    if (hf_release_async(lock, released, arg, &refusal) != HF_OK) {
        bench_fail("release: %s", refusal.text);
    }
    hf_free(lock);
}

static void launch(struct lane *lane)
{
    hf_error err = HF_ERROR_INIT;

    if (hf_acquire_async(lane->loop->client, lane->name, NULL, granted, lane,
                         &err) != HF_OK) {
        bench_fail("acquire: %s", err.text);
    }
    lane->loop->in_flight++;
}

static double fly(struct duel *d)
{
    struct loop *loop = &d->loop;
    struct pollfd p = {.fd = hf_fd(loop->client), .events = POLLIN};
    int64_t begun = bench_now_ns();
    int64_t over = begun + (int64_t)(d->seconds * 1e9);
    int i;

    loop->is_over = false;
    loop->pairs = 0;
    for (i = 0; i < d->n; i++) {
        launch(&d->lane[i]);
    }
    while (loop->in_flight > 0) {
        (void)poll(&p, 1, -1);
        if (hf_dispatch(loop->client, NULL) < 0) {
            bench_fail("dispatch");
        }
        loop->is_over = bench_now_ns() >= over;
    }
    return (double)loop->pairs * 1e9 / (double)(bench_now_ns() - begun);
}

/* ---- the comparison ----------------------------------------------------- */

static void add(int n, const char *where, const char *what, const char *unit,
                double value)
{
    struct report_figure f = {.value = value};

    (void)snprintf(f.name, sizeof f.name, "%d %s, %s", n, what, where);
    (void)snprintf(f.unit, sizeof f.unit, "%s", unit);
    report_add(&f);
}

static void prepare(struct duel *d, hf_client *client, int n, bool is_one)
{
    int i;

    d->n = n;
    d->loop.client = client;
    for (i = 0; i < n; i++) {
        d->lane[i].loop = &d->loop;
        d->args[i] = &d->lane[i];
        (void)snprintf(d->lane[i].name, sizeof d->lane[i].name, "job:%d",
                       is_one ? 0 : i);
    }
}

double loop_fly(hf_client *client, int n, double seconds)
{
    static struct duel d;

    prepare(&d, client, n, false);
    d.seconds = seconds;
    return fly(&d);
}

static void compare(const struct bench *b, int n, bool is_one, int rounds)
{
    static struct duel d;
    const char *where = is_one ? "one name" : "own names";
    double threads[ROUNDS_MAX];
    double flights[ROUNDS_MAX];
    double ratio[ROUNDS_MAX];
    int i;

    prepare(&d, bench_open(b, "loop.db"), n, is_one);
    d.seconds = b->is_quick ? 0.3 : 0.6;
    /* The first of each opens, prepares and fills caches. */
    (void)bench_load(n, 0.05, turn, d.args, NULL);
    (void)fly(&d);
    for (i = 0; i < rounds; i++) {
        threads[i] = bench_load(n, d.seconds, turn, d.args, NULL);
        flights[i] = fly(&d);
        ratio[i] = flights[i] / threads[i];
    }
    hf_close(d.loop.client);
    add(n, where, "threads", "pairs/s", bench_median(threads, rounds));
    add(n, where, "in flight", "pairs/s", bench_median(flights, rounds));
    add(n, where, "in flight / threads", "x", bench_median(ratio, rounds));
}

void bench_loop(const struct bench *b)
{
    int rounds = b->is_quick ? 3 : 7;

    compare(b, 256, false, rounds);
    compare(b, 256, true, rounds);
    compare(b, 1, false, rounds);
}
