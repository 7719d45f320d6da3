/* SPDX-License-Identifier: MIT */
/*
 * The fork handlers, the mutexes that they hold, and the register of
 * descriptors that a child must not keep: a bit for each descriptor number. A
 * fork() locks, in this order: the mutex that forbids forks, the mutex of the
 * list of process mutexes, each process mutex, and the register's mutex. So the
 * child finds all of them free and what they guard complete. The code that
 * opens a descriptor decides whether to register it. Thread: any.
 */
#include "src/base/fork.h"

#include "src/base/alloc.h"
#include "src/base/thread.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct hf__mutex forbidding = HF__MUTEX_INIT;
static struct hf__mutex listing = HF__MUTEX_INIT;
static struct hf__process_mutex *process_mutexes; /* guarded by listing */
static struct hf__mutex lock = HF__MUTEX_INIT;
static unsigned char *bits; /* guarded by lock, as n_bytes is */
static size_t n_bytes;
static hf__once_flag watch_once = HF__ONCE_INIT;
static bool is_watching;
static atomic_uint generation = 1;

static void before_fork(void)
{
    hf__mutex_lock(&forbidding);
    hf__mutex_lock(&listing);
    for (struct hf__process_mutex *m = process_mutexes; m; m = m->next) {
        hf__mutex_lock(&m->mutex);
    }
    hf__mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
    hf__mutex_unlock(&lock);
    for (struct hf__process_mutex *m = process_mutexes; m; m = m->next) {
        hf__mutex_unlock(&m->mutex);
    }
    hf__mutex_unlock(&listing);
    hf__mutex_unlock(&forbidding);
}

static void after_fork_in_child(void)
{
    for (size_t i = 0; i < n_bytes * CHAR_BIT; i++) {
        if ((bits[i / CHAR_BIT] >> (i % CHAR_BIT) & 1) != 0) {
            close((int)i);
        }
    }
    if (n_bytes > 0) {
        memset(bits, 0, n_bytes);
    }
    atomic_fetch_add(&generation, 1);
    after_fork_in_parent(); /* unlocks the same mutexes */
}

/* The handler that was registered last runs first. An allocator's handler takes
 * the allocator's lock, and a thread that holds one of our mutexes may be
 * waiting for that lock: so ours must run before it. Many allocators register
 * theirs at their first call, which hf__alloc_wake() makes. */
static void install(void)
{
    hf__alloc_wake();
    is_watching = pthread_atfork(before_fork, after_fork_in_parent,
                                 after_fork_in_child) == 0;
}

/*
 * Runs at load, not at the first use: a fork() that began before the handlers
 * were there would copy the lock as it is, perhaps held by a thread that the
 * child does not have.
 */
__attribute__((constructor)) static void install_at_load(void)
{
    hf__once_run(&watch_once, install);
}

int hf__fork_watch(void)
{
    hf__once_run(&watch_once, install);
    return is_watching ? HF_OK : HF_ENOMEM;
}

void hf__fork_forbid(void)
{
    hf__mutex_lock(&forbidding);
}

void hf__fork_allow(void)
{
    hf__mutex_unlock(&forbidding);
}

struct hf__mutex *hf__process_mutex(struct hf__process_mutex *m)
{
    if (!atomic_load(&m->is_known)) {
        HF_SCOPED_LOCK(&listing);
        if (!atomic_load(&m->is_known)) {
            hf__mutex_init(&m->mutex);
            m->next = process_mutexes;
            process_mutexes = m;
            atomic_store(&m->is_known, true);
        }
    }
    return &m->mutex;
}

unsigned hf__fork_generation(void)
{
    return atomic_load(&generation);
}

static int make_room(size_t byte)
{
    if (byte < n_bytes) {
        return HF_OK;
    }
    size_t size = 2 * byte + 32;
    unsigned char *grown = hf__resize(bits, size);
    if (grown == NULL) {
        return HF_ENOMEM;
    }
    memset(grown + n_bytes, 0, size - n_bytes);
    bits = grown;
    n_bytes = size;
    return HF_OK;
}

int hf__fd_register(int fd)
{
    HF_ASSERT(fd >= 0);
    int r = hf__fork_watch();
    if (r != HF_OK) {
        return r;
    }
    HF_SCOPED_LOCK(&lock);
    size_t byte = (size_t)fd / CHAR_BIT;
    r = make_room(byte);
    if (r == HF_OK) {
        bits[byte] |= (unsigned char)(1u << ((unsigned)fd % CHAR_BIT));
    }
    return r;
}

static void unregister_locked(int fd)
{
    size_t byte = (size_t)fd / CHAR_BIT;

    if (fd >= 0 && byte < n_bytes) {
        bits[byte] &= (unsigned char)~(1u << ((unsigned)fd % CHAR_BIT));
    }
}

void hf__fd_unregister(int fd)
{
    HF_SCOPED_LOCK(&lock);
    unregister_locked(fd);
}

int hf__fd_adopt(int *kept, int fd)
{
    int r = HF_OK;

    if (fd >= 0) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        r = hf__fd_register(fd);
    }
    *kept = r == HF_OK ? fd : -1;
    return r;
}

void hf__fd_leave(int *kept)
{
    hf__fd_unregister(*kept);
    *kept = -1;
}

void hf__fd_close(int fd)
{
    /* Closed under the lock: a fork() between unregistering and closing would
     * leave the child with a descriptor that nothing closes. */
    HF_SCOPED_LOCK(&lock);
    unregister_locked(fd);
    if (fd >= 0) {
        close(fd);
    }
}
