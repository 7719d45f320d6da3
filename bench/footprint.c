/* SPDX-License-Identifier: MIT */
/*
 * Memory of a held lock: what the library's allocator gave out for it, by
 * hf_set_allocator(), and what malloc() did on the whole (SQLite's share
 * included). In a child, because an allocator is set before all else.
 * Thread: the child's.
 */
#include "bench/footprint.h"

#include "bench/report.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOCKS 1000

struct footprint {
    const struct bench *b;
    double per_client;
    double per_lock;
    double per_lock_in_all;
};

static atomic_llong in_use;

static void *count_resize(void *p, size_t size)
{
    size_t before = p ? malloc_usable_size(p) : 0;
    void *q = realloc(p, size);

    if (q) {
        atomic_fetch_add(&in_use, (long long)malloc_usable_size(q));
        atomic_fetch_sub(&in_use, (long long)before);
    }
    return q;
}

static void count_release(void *p)
{
    if (p) {
        atomic_fetch_sub(&in_use, (long long)malloc_usable_size(p));
        free(p);
    }
}

static void weigh(void *arg)
{
    struct footprint *f = arg;
    static hf_lock *lock[LOCKS];
    hf_client *client;
    long long library;
    size_t all;
    int i;

    if (hf_set_allocator(count_resize, count_release)) {
        bench_fail("hf_set_allocator() came too late");
    }
    client = bench_open(f->b, "footprint.db");
    bench_release(bench_acquire(client, "the first connects"));
    library = atomic_load(&in_use);
    f->per_client = (double)library;
    all = mallinfo2().uordblks;
    for (i = 0; i < LOCKS; i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "job:%d", i);
        lock[i] = bench_acquire(client, name);
    }
    f->per_lock = (double)(atomic_load(&in_use) - library) / LOCKS;
    f->per_lock_in_all = (double)(mallinfo2().uordblks - all) / LOCKS;
    for (i = 0; i < LOCKS; i++) {
        bench_release(lock[i]);
    }
    hf_close(client);
}

void bench_footprint(const struct bench *b)
{
    struct footprint *f = bench_shared(sizeof *f);

    f->b = b;
    bench_join(bench_fork(weigh, f));
    report_add(&(struct report_figure){"memory of a client (library)", "bytes",
                                       f->per_client, REPORT_NO_GOAL, 0});
    report_add(&(struct report_figure){"memory of a held lock (library)",
                                       "bytes", f->per_lock, REPORT_NO_GOAL,
                                       0});
    report_add(&(struct report_figure){"memory of a held lock (all of malloc)",
                                       "bytes", f->per_lock_in_all,
                                       REPORT_BELOW, 1025});
}
