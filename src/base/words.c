/* SPDX-License-Identifier: MIT */
/*
 * System calls on shared words, and atomics on those of this process alone. The
 * callers decide what a word means. Thread: any.
 */
#include "src/base/words.h"

#include "src/base/ofd.h"
#include "src/base/rand.h"
#include "src/base/wake.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

/* All tries together take about two milliseconds. */
#define LOCK_TRIES    20
#define LOCK_PAUSE_NS (HF__MS / 10)

/* Beyond the limit each write would be refused and a signal sent, even where
 * the file does not grow. */
static bool is_within_limit(size_t size)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= size;
}

int hf__words_map(struct hf__words *w, int fd, size_t size)
{
    void *map;

    if (!is_within_limit(size)) {
        errno = EFBIG;
        return HF_EUNAVAIL;
    }
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return HF_EUNAVAIL;
    }
    /* A forked child must not use it; see fork.h. */
    (void)madvise(map, size, MADV_DONTFORK);
    w->fd = fd;
    w->map = map;
    w->size = size;
    hf__mutex_init(&w->lock);
    return HF_OK;
}

void hf__words_own(struct hf__words *w, void *memory, size_t size)
{
    w->fd = -1;
    w->map = memory;
    w->size = size;
    hf__mutex_init(&w->lock);
}

void hf__words_fini(struct hf__words *w)
{
    if (w->map == NULL) {
        return;
    }
    if (w->fd >= 0) {
        (void)munmap(w->map, w->size);
    }
    hf__mutex_fini(&w->lock);
    w->map = NULL;
}

atomic_uint *hf__words_name(const struct hf__words *w, size_t at)
{
    HF_ASSERT(at % sizeof(atomic_uint) == 0 && at < w->size);
    return (atomic_uint *)(void *)(w->map + at);
}

/* For memory of this process alone. */
static _Atomic uint64_t *own_at(const struct hf__words *w, size_t at)
{
    HF_ASSERT(at % sizeof(uint64_t) == 0 && at < w->size);
    return (_Atomic uint64_t *)(void *)(w->map + at);
}

static void read_own(const struct hf__words *w, size_t at, unsigned char *bytes,
                     size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t value = atomic_load(own_at(w, at + i));

        memcpy(bytes + i, &value, sizeof value);
    }
}

static void write_own(const struct hf__words *w, size_t at,
                      const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t value;

        memcpy(&value, bytes + i, sizeof value);
        atomic_store(own_at(w, at + i), value);
    }
}

static void read_file(const struct hf__words *w, size_t at,
                      unsigned char *bytes, size_t size)
{
    int saved = errno;
    ssize_t n = pread(w->fd, bytes, size, (off_t)at);

    n = n < 0 ? 0 : n;
    memset(bytes + n, 0, size - (size_t)n);
    errno = saved;
}

/* Has the kernel write into the mapping: it gives an error where the file was
 * truncated, and has no limit on the sizes of files. */
static bool write_map(const struct hf__words *w, size_t at, const void *bytes,
                      size_t size)
{
    struct iovec from = {(void *)(uintptr_t)bytes, size};
    struct iovec to = {w->map + at, size};

    return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == (ssize_t)size;
}

static bool write_file(const struct hf__words *w, size_t at, const void *bytes,
                       size_t size)
{
    int saved = errno;
    bool is_written = pwrite(w->fd, bytes, size, (off_t)at) == (ssize_t)size ||
                      write_map(w, at, bytes, size);

    errno = saved;
    /* Reads that follow must not happen before this write. */
    hf__barrier();
    return is_written;
}

void hf__words_read(const struct hf__words *w, size_t at, void *ret_value,
                    size_t size)
{
    (w->fd < 0 ? read_own : read_file)(w, at, ret_value, size);
}

bool hf__words_write(const struct hf__words *w, size_t at, const void *value,
                     size_t size)
{
    if (w->fd < 0) {
        write_own(w, at, value, size);
        return true;
    }
    return write_file(w, at, value, size);
}

unsigned hf__words_get(const struct hf__words *w, size_t at)
{
    unsigned value = 0;

    if (w->fd < 0) {
        return atomic_load(hf__words_name(w, at));
    }
    read_file(w, at, (unsigned char *)&value, sizeof value);
    return value;
}

void hf__words_set(const struct hf__words *w, size_t at, unsigned value)
{
    if (w->fd < 0) {
        atomic_store(hf__words_name(w, at), value);
    } else {
        (void)write_file(w, at, &value, sizeof value);
    }
}

void hf__words_add(const struct hf__words *w, size_t at, int by, size_t idle)
{
    (void)hf__futex_add_shared(hf__words_name(w, at), by,
                               hf__words_name(w, idle), 1);
}

int hf__words_ring(const struct hf__words *w, size_t at, int count)
{
    return hf__futex_ring_shared(hf__words_name(w, at), count);
}

void hf__words_lock(struct hf__words *w)
{
    hf__mutex_lock(&w->lock);
    for (int i = 0; w->fd >= 0 && i < LOCK_TRIES; i++) {
        if (hf__ofd_lock(w->fd, F_WRLCK, HF__BYTE_WORDS) == 0) {
            return;
        }
        hf__sleep_until(hf__after_ns(
            hf__now(), hf__random_between(LOCK_PAUSE_NS / 5, LOCK_PAUSE_NS)));
    }
}

void hf__words_unlock(struct hf__words *w)
{
    if (w->fd >= 0) {
        (void)hf__ofd_lock(w->fd, F_UNLCK, HF__BYTE_WORDS);
    }
    hf__mutex_unlock(&w->lock);
}
