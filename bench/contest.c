/* SPDX-License-Identifier: MIT */
/*
 * Many who want one name and give it back at once: hand-overs per second,
 * Jain's index of fairness over who got it how often (1: all the same), the
 * longest wait of anybody, and what the store does for one hand-over. That two
 * never hold it at once is looked at by the way. Thread: main, and those of
 * each contest.
 */
#include "bench/contest.h"

#include "bench/report.h"
#include "bench/server.h"
#include "bench/traffic.h"

#include <stdatomic.h>
#include <string.h>

#define NAME "contested"
/* On a server, until all have connected and wait: each connects more than once,
 * when it first waits, and holds. */
#define WARM_MS     1000
#define WARM_MAX_MS 10000
/* The last so many hand-overs. */
#define HANDED_MAX 65536

struct rival {
    uint64_t grants;
    int64_t longest_ns;
};

/* In memory that processes share. */
struct contest {
    const struct bench *b;
    const char *scheme;
    bool is_fair;
    int n;
    hf_client *client;
    struct server_counts begun;
    double seconds; /* of processor time, that the server had used then */
    atomic_int ready;
    atomic_bool has_begun;
    atomic_bool is_over;
    atomic_int inside;
    atomic_int clashes;
    atomic_llong released_ns; /* hf_release() was called */
    uint64_t n_handed;        /* that, and the next, are the holder's */
    double handed_us[HANDED_MAX];
    struct rival rival[BENCH_THREADS_MAX];
};

static void take_once(struct contest *c, hf_client *client, struct rival *rival)
{
    int64_t begun = bench_now_ns();
    hf_lock *lock = c->is_fair ? bench_acquire_fair(client, NAME)
                               : bench_acquire(client, NAME);
    int64_t granted = bench_now_ns();
    int64_t waited = granted - begun;
    int64_t released = atomic_load(&c->released_ns);

    if (atomic_fetch_add(&c->inside, 1) != 0) {
        atomic_fetch_add(&c->clashes, 1);
    }
    /* Who came after that had nobody to wait for. */
    if (begun < released) {
        c->handed_us[c->n_handed++ % HANDED_MAX] =
            (double)(granted - released) / 1e3;
    }
    rival->grants++;
    rival->longest_ns = waited > rival->longest_ns ? waited : rival->longest_ns;
    atomic_fetch_sub(&c->inside, 1);
    atomic_store(&c->released_ns, bench_now_ns());
    bench_release(lock);
}

static void report(const struct contest *c, const char *kind, double rate)
{
    struct report_figure f = {.value = rate, .unit = "/s"};
    int64_t longest = 0;
    double sum = 0;
    double squares = 0;
    int i;

    for (i = 0; i < c->n; i++) {
        double grants = (double)c->rival[i].grants;

        sum += grants;
        squares += grants * grants;
        longest =
            c->rival[i].longest_ns > longest ? c->rival[i].longest_ns : longest;
    }
    (void)snprintf(f.name, sizeof f.name, "%d %s, one name: hand-overs", c->n,
                   kind);
    report_add(&f);
    f = (struct report_figure){.value = sum * sum / (c->n * squares)};
    (void)snprintf(f.name, sizeof f.name, "%d %s, one name: Jain's index", c->n,
                   kind);
    report_add(&f);
    f = (struct report_figure){.value = (double)longest / 1e6, .unit = "ms"};
    (void)snprintf(f.name, sizeof f.name, "%d %s, one name: longest wait", c->n,
                   kind);
    report_add(&f);
    if (atomic_load(&c->clashes) != 0) {
        bench_fail("two held one lock at the same time, %d times",
                   atomic_load(&c->clashes));
    }
}

static double length(const struct bench *b)
{
    return b->is_quick ? 1 : 4;
}

static uint64_t grants_of(const struct contest *c)
{
    uint64_t grants = 0;
    int i;

    for (i = 0; i < c->n; i++) {
        grants += c->rival[i].grants;
    }
    return grants;
}

/* ---- what the store did -------------------------------------------------- */

/* For each grant; of this process only. */
static double report_traffic(const struct contest *c,
                             const struct traffic *traffic)
{
    struct report_figure f = {.unit = "a hand-over"};
    uint64_t grants = grants_of(c);

    f.value = (double)traffic->transactions / (double)grants;
    (void)snprintf(f.name, sizeof f.name, "%d threads, one name: transactions",
                   c->n);
    report_add(&f);
    f.value = (double)traffic->looks / (double)grants;
    (void)snprintf(f.name, sizeof f.name, "%d threads, one name: looks", c->n);
    report_add(&f);
    f.value = (double)traffic->statements / (double)grants;
    (void)snprintf(f.name, sizeof f.name, "%d threads, one name: statements",
                   c->n);
    report_add(&f);
    return f.value;
}

/* What was before that is forgotten. */
static void begin_counting(struct contest *c)
{
    memset(c->rival, 0, sizeof c->rival);
    c->seconds = c->b->server->seconds(c->b->server);
    c->begun = c->b->server->count(c->b->server);
}

static void add_cost(const struct contest *c, const char *kind,
                     const char *what, const char *unit, double value)
{
    struct report_figure f = {.value = value};

    (void)snprintf(f.name, sizeof f.name, "%d %s, one name: %s", c->n, kind,
                   what);
    (void)snprintf(f.unit, sizeof f.unit, "%s", unit);
    report_add(&f);
}

static void report_deadlocks(const struct contest *c, const char *kind,
                             uint64_t deadlocks)
{
    struct report_figure f = {
        .value = (double)deadlocks, .goal = REPORT_BELOW, .target = 1};

    (void)snprintf(f.name, sizeof f.name, "%d %s, one name: deadlocks", c->n,
                   kind);
    report_add(&f);
}

/* Of all processes: the server counts them. */
static struct contest_cost report_server(const struct contest *c,
                                         const char *kind, uint64_t grants)
{
    const struct server *server = c->b->server;
    struct server_counts now = server->count(server);
    struct contest_cost cost = {
        .asked = (double)(now.asked - c->begun.asked) / (double)grants,
        .server_us =
            (server->seconds(server) - c->seconds) * 1e6 / (double)grants,
    };

    add_cost(c, kind, server->asked, "a hand-over", cost.asked);
    add_cost(c, kind, "CPU of servers", "us/hand-over", cost.server_us);
    if (server->has_deadlocks) {
        report_deadlocks(c, kind, now.deadlocks - c->begun.deadlocks);
    }
    return cost;
}

/* When nobody hands over any more: the median of the last ones. */
static double report_handed(struct contest *c, const char *kind)
{
    int n = (int)(c->n_handed < HANDED_MAX ? c->n_handed : HANDED_MAX);
    double p50 = bench_percentile(c->handed_us, n, 0.5);

    add_cost(c, kind, "handed on, p50", "us", p50);
    return p50;
}

/* ---- threads ------------------------------------------------------------ */

static bool turn(struct bench_worker *w)
{
    struct contest *c = w->arg;

    take_once(c, c->client, &c->rival[w->index]);
    return true;
}

double contest_threads(const struct bench *b, const struct contest_field *f)
{
    struct contest *c = bench_shared(sizeof *c);
    bool is_server = server_has(b->server, f->scheme);
    void *args[BENCH_THREADS_MAX];
    struct traffic traffic;
    char kind[40];
    double rate;
    int i;

    c->b = b;
    c->n = f->n;
    c->is_fair = f->is_fair;
    traffic_start();
    c->client = bench_open_as(b, f->scheme, "contest.db");
    for (i = 0; i < f->n; i++) {
        args[i] = c;
    }
    if (is_server) {
        (void)bench_load(f->n, WARM_MS / 1e3, turn, args, NULL);
        begin_counting(c);
    }
    rate = bench_load(f->n, length(b), turn, args, NULL);
    traffic = traffic_since();
    hf_close(c->client);
    traffic_stop();
    (void)snprintf(kind, sizeof kind, "threads%s%s%s", is_server ? ", " : "",
                   is_server ? f->scheme : "", f->is_fair ? ", fair" : "");
    report(c, kind, rate);
    if (!is_server) {
        return report_traffic(c, &traffic);
    }
    (void)report_handed(c, kind);
    return report_server(c, kind, grants_of(c)).asked;
}

void contest_steady(const struct bench *b, const char *scheme, const int n[],
                    size_t count)
{
    struct report_figure f = {.unit = "x", .goal = REPORT_BELOW, .target = 1.3};
    double asked[8] = {0};
    size_t i;

    for (i = 0; i < count; i++) {
        asked[i] =
            contest_threads(b, &(struct contest_field){scheme, n[i], false});
    }
    (void)snprintf(f.name, sizeof f.name, "%s, %s a hand-over, %d thr / %d",
                   scheme, b->server->asked, n[count - 1], n[0]);
    f.value = asked[count - 1] / asked[0];
    report_add(&f);
}

/* ---- processes ---------------------------------------------------------- */

struct competitor {
    struct contest *c;
    struct rival *rival;
};

static void compete(void *arg)
{
    struct competitor *self = arg;
    struct contest *c = self->c;
    hf_client *client = bench_open_as(c->b, c->scheme, c->scheme);

    atomic_fetch_add(&c->ready, 1);
    while (!atomic_load(&c->has_begun)) {
        bench_pause_ms(1);
    }
    while (!atomic_load(&c->is_over)) {
        take_once(c, client, self->rival);
    }
    hf_close(client);
}

/* Asked in a process of its own: those that compete are forked from one
 * without a client. */
static void ask_for_fair(void *arg)
{
    struct contest *c = arg;
    hf_client *client = bench_open_as(c->b, c->scheme, c->scheme);
    hf_caps_info caps = HF_CAPS_INFO_INIT;

    if (hf_caps(client, &caps)) {
        bench_fail("%s: what it can do is not known", c->scheme);
    }
    c->is_fair = (caps.flags & HF_CAP_FAIR) != 0;
    hf_close(client);
}

static bool has_fair(const struct bench *b, const char *scheme)
{
    struct contest *c = bench_shared(sizeof *c);

    c->b = b;
    c->scheme = scheme;
    bench_join(bench_fork(ask_for_fair, c));
    return c->is_fair;
}

static void start_all(struct contest *c, pid_t pid[])
{
    int i;

    for (i = 0; i < c->n; i++) {
        pid[i] = bench_fork(compete, &(struct competitor){c, &c->rival[i]});
    }
    while (atomic_load(&c->ready) < c->n) {
        bench_pause_ms(5);
    }
    atomic_store(&c->has_begun, true);
}

/* Until each has had it. */
static void warm_up(const struct contest *c)
{
    int i = 0;

    for (int ms = 0; ms < WARM_MAX_MS && i < c->n; ms += 10) {
        for (i = 0; i < c->n && c->rival[i].grants > 0; i++) {
        }
        bench_pause_ms(10);
    }
    bench_pause_ms(WARM_MS);
}

static void end_all(struct contest *c, const pid_t pid[])
{
    int i;

    atomic_store(&c->is_over, true);
    for (i = 0; i < c->n; i++) {
        bench_join(pid[i]);
    }
}

struct contest_cost contest_processes(const struct bench *b,
                                      const struct contest_field *f)
{
    struct contest *c = bench_shared(sizeof *c);
    bool is_server = server_has(b->server, f->scheme);
    pid_t pid[BENCH_THREADS_MAX] = {0};
    struct contest_cost cost = {0};
    uint64_t grants;
    int64_t begun;
    char kind[40];

    c->b = b;
    c->scheme = f->scheme;
    c->is_fair = f->is_fair;
    c->n = f->n;
    (void)snprintf(kind, sizeof kind, "processes, %s%s", f->scheme,
                   f->is_fair ? ", fair" : "");
    start_all(c, pid);
    if (is_server) {
        warm_up(c);
        begin_counting(c);
    }
    begun = bench_now_ns();
    bench_pause_ms((int)(length(b) * 1000));
    grants = grants_of(c);
    begun = bench_now_ns() - begun;
    if (is_server) {
        cost = report_server(c, kind, grants);
    }
    end_all(c, pid);
    report(c, kind, (double)grants * 1e9 / (double)begun);
    cost.handed_us = report_handed(c, kind);
    return cost;
}

/* In line each is told of all the others: there is no goal. */
static void report_growth(const struct contest_field *f, const char *what,
                          double growth, double target)
{
    struct report_figure figure = {
        .value = growth,
        .unit = "x",
        .goal = target > 0 && !f->is_fair ? REPORT_BELOW : REPORT_NO_GOAL,
        .target = target,
    };

    (void)snprintf(figure.name, sizeof figure.name,
                   "%s%s, one name: %s, 64 processes / 8", f->scheme,
                   f->is_fair ? ", fair" : "", what);
    report_add(&figure);
}

void contest_crowds(const struct bench *b, const char *scheme, double target)
{
    int i;

    for (i = 0; i < 2; i++) {
        struct contest_field f = {scheme, 8, i > 0};
        struct contest_cost few = contest_processes(b, &f);
        struct contest_cost many;

        f.n = 64;
        many = contest_processes(b, &f);
        report_growth(&f, "handed on, p50", many.handed_us / few.handed_us,
                      target);
        report_growth(&f, "CPU of servers", many.server_us / few.server_us,
                      target);
    }
}

/* As many as a machine's jobs may be, in line and not. */
static void crowd(const struct bench *b, const char *scheme)
{
    (void)contest_processes(b, &(struct contest_field){scheme, 64, false});
    if (has_fair(b, scheme)) {
        (void)contest_processes(b, &(struct contest_field){scheme, 64, true});
    }
}

void bench_contest(const struct bench *b)
{
    static const int n[] = {8, 64, 1000};
    size_t i;

    for (i = 0; i < sizeof n / sizeof n[0]; i++) {
        (void)contest_threads(b,
                              &(struct contest_field){"sqlite", n[i], false});
    }
    (void)contest_processes(b, &(struct contest_field){"sqlite", 8, false});
    (void)contest_processes(b, &(struct contest_field){"sqlite", 8, true});
    crowd(b, "sqlite");
    crowd(b, "file");
}
