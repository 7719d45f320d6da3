/* SPDX-License-Identifier: MIT */
/*
 * Each thread draws a block of random bytes from the kernel, gives out each
 * byte once and wipes it. Two processes must never give out the same block, or
 * two claims would have one token and both would hold the lock. So a block is
 * bound to an epoch that lies in a page which the kernel itself clears in every
 * forked child, however it was forked; the fork handlers of fork.c would miss a
 * bare clone(). If the kernel has no such page, each call draws its bytes
 * directly. Thread: any.
 */
#include "src/base/rand.h"

#include "src/base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

static hf__once_flag page_once = HF__ONCE_INIT;
static _Atomic uint64_t *epoch_page; /* NULL: the kernel has no such page */

static _Thread_local struct {
    uint64_t epoch; /* 0: no block yet */
    size_t left;
    unsigned char bytes[256];
} block;

static void draw(void *bytes, size_t size)
{
    unsigned char *at = bytes;

    while (size > 0) {
        ssize_t n = getrandom(at, size, 0);

        HF_ASSERT(n > 0 || errno == EINTR);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
}

static void map_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) {
        return;
    }
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        munmap(page, size);
        return;
    }
    epoch_page = page;
}

/* An epoch that no other process has; 0 if that can't be promised. */
static uint64_t current_epoch(void)
{
    hf__once_run(&page_once, map_page);
    if (epoch_page == NULL) {
        return 0;
    }
    uint64_t epoch = atomic_load(epoch_page);
    while (epoch == 0) {
        uint64_t fresh = 0;

        draw(&fresh, sizeof fresh);
        if (atomic_compare_exchange_strong(epoch_page, &epoch, fresh)) {
            epoch = fresh;
        }
    }
    return epoch;
}

void hf__random(void *bytes, size_t size)
{
    int saved = errno;
    uint64_t epoch = current_epoch();

    if (epoch == 0 || size > sizeof block.bytes) {
        draw(bytes, size);
    } else {
        if (block.epoch != epoch || block.left < size) {
            draw(block.bytes, sizeof block.bytes);
            block.left = sizeof block.bytes;
            block.epoch = epoch;
        }
        block.left -= size;
        memcpy(bytes, block.bytes + block.left, size);
        explicit_bzero(block.bytes + block.left, size);
    }
    errno = saved;
}

int64_t hf__random_between(int64_t low, int64_t high)
{
    HF_ASSERT(low <= high);
    /* How many values there are; 0 stands for all 2^64. */
    uint64_t range = (uint64_t)high - (uint64_t)low + 1;
    uint64_t value = 0;

    hf__random(&value, sizeof value);
    /* cppcheck-suppress knownConditionTrueFalse; it wraps around */
    if (range != 0) {
        /* Values below 2^64 mod range would favour some results: draw again. */
        uint64_t reject = (0 - range) % range;
        while (value < reject) {
            hf__random(&value, sizeof value);
        }
        value %= range;
    }
    return (int64_t)((uint64_t)low + value);
}

uint64_t hf__random_of_thread(void)
{
    static _Thread_local uint64_t number;

    while (number == 0) {
        hf__random(&number, sizeof number);
    }
    return number;
}
