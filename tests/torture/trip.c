/* SPDX-License-Identifier: MIT */
/*
 * Counts requests and refuses one. It decides what a refusal looks like:
 * NULL, EAGAIN of pthread_create(), EMFILE of what makes a descriptor.
 */
#include "tests/torture/trip.h"

#include "include/holdfast.h"
#include "tests/lib/test.h"
#include "tests/virtual/virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int kind = -1;
static atomic_int first; /* which request fails */
static atomic_int left;  /* requests until then */
static atomic_bool is_lasting;
static atomic_bool has_tripped;
static atomic_int n_blocks;
static _Thread_local bool is_spared;
static sqlite3_mem_methods sqlite_memory;
static int (*sqlite_open)(const char *, int, int);

static bool trips(enum trip which)
{
    int n;

    if (atomic_load(&kind) != (int)which || is_spared) {
        return false;
    }
    n = atomic_fetch_sub(&left, 1);
    if (n == 1 || (n < 1 && atomic_load(&is_lasting))) {
        atomic_store(&has_tripped, true);
        return true;
    }
    return false;
}

void trip_arm(enum trip which, int n, bool stays)
{
    atomic_store(&has_tripped, false);
    atomic_store(&first, n);
    atomic_store(&left, n);
    atomic_store(&is_lasting, stays);
    atomic_store(&kind, (int)which);
}

bool trip_disarm(void)
{
    atomic_store(&kind, -1);
    return atomic_load(&has_tripped);
}

void trip_spare_me(void)
{
    is_spared = true;
}

int trip_count(void)
{
    return atomic_load(&first) - atomic_load(&left);
}

int trip_blocks(void)
{
    return atomic_load(&n_blocks);
}

int64_t trip_bytes(void)
{
    return sqlite3_memory_used();
}

/* ---- memory */

static void *resize(void *p, size_t size)
{
    void *q = trips(TRIP_MEMORY) ? NULL : realloc(p, size);

    if (q && !p) {
        atomic_fetch_add(&n_blocks, 1);
    }
    return q;
}

static void release(void *p)
{
    atomic_fetch_sub(&n_blocks, 1);
    free(p);
}

static void *sqlite_malloc(int size)
{
    return trips(TRIP_STORE_MEMORY) ? NULL : sqlite_memory.xMalloc(size);
}

static void *sqlite_realloc(void *p, int size)
{
    return trips(TRIP_STORE_MEMORY) ? NULL : sqlite_memory.xRealloc(p, size);
}

/* ---- threads and descriptors */

int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*fn)(void *), void *arg)
{
    /* The library says how large a stack it wants, a test does not. */
    return attr && trips(TRIP_SYSTEM)
               ? EAGAIN
               : hf__virtual_pthread_create(thread, attr, fn, arg);
}

static bool lacks_descriptor(void)
{
    bool is_lacking = trips(TRIP_SYSTEM);

    errno = is_lacking ? EMFILE : errno;
    return is_lacking;
}

int __real_eventfd(unsigned, int);
int __wrap_eventfd(unsigned, int);
int __wrap_eventfd(unsigned count, int flags)
{
    return lacks_descriptor() ? -1 : __real_eventfd(count, flags);
}

int __real_timerfd_create(int, int);
int __wrap_timerfd_create(int, int);
int __wrap_timerfd_create(int clock, int flags)
{
    return lacks_descriptor() ? -1 : __real_timerfd_create(clock, flags);
}

int __wrap_open(const char *, int, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    int mode;

    va_start(list, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(list, int) : 0;
    va_end(list);
    return lacks_descriptor() ? -1 : openat(AT_FDCWD, path, flags, mode);
}

/* The same where files may be large. */
int __wrap_open64(const char *, int, ...) __attribute__((alias("__wrap_open")));

static int sqlite_open_or_fail(const char *path, int flags, int mode)
{
    return lacks_descriptor() ? -1 : sqlite_open(path, flags, mode);
}

/* ---- */

static void setup_sqlite(void)
{
    sqlite3_mem_methods memory;
    sqlite3_vfs *vfs;

    EXPECT_IS(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory), 0);
    memory = sqlite_memory;
    memory.xMalloc = sqlite_malloc;
    memory.xRealloc = sqlite_realloc;
    EXPECT_IS(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory), 0);
    EXPECT_IS(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), 0);
    EXPECT_IS(sqlite3_initialize(), 0);
    vfs = sqlite3_vfs_find(NULL);
    EXPECT(vfs && vfs->iVersion >= 3);
    sqlite_open =
        (int (*)(const char *, int, int))vfs->xGetSystemCall(vfs, "open");
    EXPECT(sqlite_open);
    EXPECT_IS(vfs->xSetSystemCall(vfs, "open",
                                  (sqlite3_syscall_ptr)sqlite_open_or_fail),
              0);
}

void trip_setup(void)
{
    EXPECT_IS(hf_set_allocator(resize, release), HF_OK);
    setup_sqlite();
}
