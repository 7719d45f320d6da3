/* SPDX-License-Identifier: MIT */
/*
 * Waiters in other processes: from the call of hf_release() in one process
 * to the return of hf_acquire() in the next, and the processor time of those
 * who wait for nothing. Thread: main, and that of each child.
 */
#include "bench/waiting.h"

#include "bench/report.h"
#include "bench/server.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS_MAX  1000
#define WAITERS_MAX 50
#define NAME        "awaited"

struct stage {
    const struct bench *b;
    const char *scheme;
    int sockets[2]; /* of the parent, of the children */
    int rounds;
    int wait_ms;
    atomic_llong asked_ns;     /* hf_acquire() was called */
    atomic_llong granted_ns;   /* and has returned */
    double share[WAITERS_MAX]; /* of a core */
};

static void say(int fd)
{
    if (write(fd, "x", 1) != 1) {
        bench_fail("write: %s", strerror(errno));
    }
}

static void hear(int fd)
{
    char c;

    if (read(fd, &c, 1) != 1) {
        bench_fail("the other process has ended");
    }
}

static struct stage *set_up(const struct bench *b)
{
    struct stage *stage = bench_shared(sizeof *stage);

    stage->b = b;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, stage->sockets)) {
        bench_fail("socketpair: %s", strerror(errno));
    }
    return stage;
}

static void tear_down(struct stage *stage)
{
    (void)close(stage->sockets[0]);
    (void)close(stage->sockets[1]);
}

/* ---- waking ------------------------------------------------------------- */

static void be_woken(void *arg)
{
    struct stage *stage = arg;
    hf_client *client = bench_open_as(stage->b, stage->scheme, "waiting.db");
    int i;

    for (i = 0; i < stage->rounds; i++) {
        hf_lock *lock;

        hear(stage->sockets[1]);
        atomic_store(&stage->asked_ns, bench_now_ns());
        lock = bench_acquire(client, NAME);
        atomic_store(&stage->granted_ns, bench_now_ns());
        bench_release(lock);
        say(stage->sockets[1]);
    }
    hf_close(client);
}

/* One hand-over to the other process, in microseconds. */
static double wake_once(struct stage *stage, hf_client *client)
{
    hf_lock *lock = bench_acquire(client, NAME);
    int64_t released_ns;

    atomic_store(&stage->asked_ns, 0);
    say(stage->sockets[0]);
    /* Long enough to be asleep; not in step with any timer. */
    do {
        bench_pause_ms(5 + (int)(random() % 7));
    } while (atomic_load(&stage->asked_ns) == 0);
    released_ns = bench_now_ns();
    bench_release(lock);
    hear(stage->sockets[0]);
    return (double)(atomic_load(&stage->granted_ns) - released_ns) / 1000;
}

static void report_waking(const struct stage *stage, double us[],
                          double goal_ms)
{
    static const int percents[] = {50, 90, 99};
    bool is_server = server_has(stage->b->server, stage->scheme);
    size_t i;

    for (i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        struct report_figure f = {.unit = "ms"};

        (void)snprintf(f.name, sizeof f.name, "wake-up after release%s%s, p%d",
                       is_server ? ", " : "", is_server ? stage->scheme : "",
                       percents[i]);
        f.value =
            bench_percentile(us, stage->rounds, percents[i] / 100.0) / 1000;
        f.goal = i == 0 && goal_ms > 0 ? REPORT_BELOW : REPORT_NO_GOAL;
        f.target = goal_ms;
        report_add(&f);
    }
}

void waiting_wake(const struct bench *b, const char *scheme, double goal_ms)
{
    static double us[ROUNDS_MAX];
    struct stage *stage = set_up(b);
    hf_client *client;
    pid_t pid;
    int i;

    stage->scheme = scheme;
    stage->rounds = b->is_quick ? 100 : 400;
    pid = bench_fork(be_woken, stage);
    client = bench_open_as(b, scheme, "waiting.db");
    for (i = 0; i < stage->rounds; i++) {
        us[i] = wake_once(stage, client);
    }
    bench_join(pid);
    hf_close(client);
    tear_down(stage);
    report_waking(stage, us, goal_ms);
}

/* ---- idling ------------------------------------------------------------- */

static double used_us(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct idler {
    struct stage *stage;
    int index;
};

static void idle(void *arg)
{
    struct idler *self = arg;
    struct stage *stage = self->stage;
    hf_client *client = bench_open(stage->b, "waiting.db");
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;
    int64_t begun = bench_now_ns();
    hf_error err = HF_ERROR_INIT;
    double used = used_us();
    int r;

    opts.wait_ms = stage->wait_ms;
    r = hf_acquire(client, NAME, &opts, &lock, &err);
    if (r != HF_TIMEDOUT) {
        bench_fail("a waiter was told %s: %s", hf_strstatus(r), err.text);
    }
    stage->share[self->index] =
        (used_us() - used) * 1000 / (double)(bench_now_ns() - begun);
    hf_close(client);
}

/* A holder that waits until it is told to go. */
static void hold(void *arg)
{
    struct stage *stage = arg;
    hf_client *client = bench_open(stage->b, "waiting.db");
    hf_lock *lock = bench_acquire(client, NAME);

    say(stage->sockets[1]);
    hear(stage->sockets[1]);
    bench_release(lock);
    hf_close(client);
}

static void idling(const struct bench *b, int n)
{
    struct report_figure f = {.unit = "% of a core"};
    struct stage *stage = set_up(b);
    pid_t holder = bench_fork(hold, stage);
    pid_t pid[WAITERS_MAX];
    int i;

    hear(stage->sockets[0]);
    stage->wait_ms = b->is_quick ? 2000 : 10000;
    for (i = 0; i < n; i++) {
        pid[i] = bench_fork(idle, &(struct idler){stage, i});
    }
    for (i = 0; i < n; i++) {
        bench_join(pid[i]);
    }
    say(stage->sockets[0]);
    bench_join(holder);
    tear_down(stage);
    (void)snprintf(f.name, sizeof f.name, "idle waiter, %s %d process%s",
                   n == 1 ? "of" : "median of", n, n == 1 ? "" : "es");
    f.value = bench_median(stage->share, n) * 100;
    f.goal = REPORT_BELOW;
    f.target = 0.5;
    report_add(&f);
}

void bench_waiting(const struct bench *b)
{
    waiting_wake(b, "sqlite", 1);
    idling(b, 1);
    idling(b, WAITERS_MAX);
}
