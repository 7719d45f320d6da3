/* SPDX-License-Identifier: MIT */
/*
 * Clock, statistics, processes and threads of the benchmarks. What is
 * measured, the other files decide.
 */
#include "bench/measure.h"

#include "bench/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A thousand threads must fit, and SQLite asks for little. */
#define STACK_BYTES ((size_t)256 * 1024)

int64_t bench_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void bench_pause_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_percentile(double *values, int n, double p)
{
    int i = (int)(p * n);

    qsort(values, (size_t)n, sizeof *values, compare);
    return n == 0 ? 0 : values[i < n ? i : n - 1];
}

double bench_median(double *values, int n)
{
    double high = bench_percentile(values, n, 0.5);

    return n % 2 ? high : (values[n / 2 - 1] + high) / 2;
}

void bench_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fputs("bench: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void bench_path(const struct bench *b, const char *name, char *path,
                size_t size)
{
    (void)snprintf(path, size, "%s/%s", b->folder, name);
}

hf_client *bench_open(const struct bench *b, const char *name)
{
    return bench_open_as(b, "sqlite", name);
}

hf_client *bench_open_as(const struct bench *b, const char *scheme,
                         const char *name)
{
    char url[600];
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;

    if (server_has(b->server, scheme)) {
        (void)snprintf(url, sizeof url, "%s", b->url ? b->url : b->server->url);
    } else {
        (void)snprintf(url, sizeof url, "%s:%s/%s", scheme, b->folder, name);
    }
    if (hf_open(url, NULL, &client, &err)) {
        bench_fail("%s: %s", url, err.text);
    }
    return client;
}

static hf_lock *acquire(hf_client *client, const char *name, bool is_fair)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;
    hf_error err = HF_ERROR_INIT;

    opts.fair = is_fair;
    if (hf_acquire(client, name, is_fair ? &opts : NULL, &lock, &err)) {
        bench_fail("acquire %s: %s", name, err.text);
    }
    return lock;
}

hf_lock *bench_acquire(hf_client *client, const char *name)
{
    return acquire(client, name, false);
}

hf_lock *bench_acquire_fair(hf_client *client, const char *name)
{
    return acquire(client, name, true);
}

void bench_release(hf_lock *lock)
{
    hf_error err = HF_ERROR_INIT;

    if (hf_release(lock, &err)) {
        bench_fail("release: %s", err.text);
    }
    hf_free(lock);
}

/* ---- processes ---------------------------------------------------------- */

void *bench_shared(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        bench_fail("no shared memory: %s", strerror(errno));
    }
    return p;
}

pid_t bench_fork(void (*fn)(void *arg), void *arg)
{
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    if (pid < 0) {
        bench_fail("no process: %s", strerror(errno));
    }
    if (pid == 0) {
        fn(arg);
        _exit(0);
    }
    return pid;
}

void bench_join(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            bench_fail("waitpid: %s", strerror(errno));
        }
    }
    if (status != 0) {
        bench_fail("a process of the benchmark failed (status %d)", status);
    }
}

/* ---- threads ------------------------------------------------------------ */

struct load {
    pthread_barrier_t start;
    atomic_bool is_over;
    bool (*turn)(struct bench_worker *);
};

struct runner {
    struct load *load;
    struct bench_worker worker;
    pthread_t thread;
};

static void *run(void *arg)
{
    struct runner *r = arg;

    (void)pthread_barrier_wait(&r->load->start);
    while (!atomic_load_explicit(&r->load->is_over, memory_order_relaxed)) {
        r->worker.rounds++;
        r->worker.errors += !r->load->turn(&r->worker);
    }
    return NULL;
}

double bench_load(int n, double seconds, bool (*turn)(struct bench_worker *),
                  /* cppcheck-suppress constParameter; a turn changes its own */
                  void *const args[], uint64_t *ret_errors)
{
    struct runner runner[BENCH_THREADS_MAX];
    struct load load = {.turn = turn};
    uint64_t rounds = 0;
    uint64_t errors = 0;
    pthread_attr_t small;
    int64_t begun;
    int i;

    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, STACK_BYTES);
    (void)pthread_barrier_init(&load.start, NULL, (unsigned)n + 1);
    for (i = 0; i < n; i++) {
        runner[i] = (struct runner){.load = &load,
                                    .worker = {.index = i, .arg = args[i]}};
        if (pthread_create(&runner[i].thread, &small, run, &runner[i])) {
            bench_fail("no thread");
        }
    }
    (void)pthread_barrier_wait(&load.start);
    begun = bench_now_ns();
    bench_pause_ms((int)(seconds * 1000));
    atomic_store(&load.is_over, true);
    for (i = 0; i < n; i++) {
        (void)pthread_join(runner[i].thread, NULL);
        rounds += runner[i].worker.rounds;
        errors += runner[i].worker.errors;
    }
    if (ret_errors) {
        *ret_errors = errors;
    }
    (void)pthread_barrier_destroy(&load.start);
    (void)pthread_attr_destroy(&small);
    return (double)(rounds - errors) * 1e9 / (double)(bench_now_ns() - begun);
}
