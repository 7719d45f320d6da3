/* SPDX-License-Identifier: MIT */
/*
 * How busy the machine is, by what the kernel says of it (PSI): so long has
 * something waited for a processor. What a test allows for a time is as much
 * longer, so that no crowd makes a test fail and none that is alone is lax.
 */
#include "tests/lib/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A bound is stretched so far at most: beyond, the test's own limit counts. */
enum { MOST = 10 };

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Since the machine started; -1: the kernel does not tell. */
static int64_t stalled_us(void)
{
    FILE *file = fopen("/proc/pressure/cpu", "re");
    int64_t total = -1;

    if (file == NULL) {
        return -1;
    }
    if (fscanf(file, "some %*s %*s %*s total=%" SCNd64, &total) != 1) {
        total = -1;
    }
    fclose(file);
    return total;
}

void hf__test_note_pressure(void)
{
    hf__test_page->began_us = now_us();
    hf__test_page->stalled_us = stalled_us();
}

int64_t hf__test_stretched(int64_t bound)
{
    int64_t took = now_us() - hf__test_page->began_us;
    int64_t stalled = stalled_us() - hf__test_page->stalled_us;
    int64_t idle = took - stalled;

    /* Virtual time is nobody's but the test's. */
    if (getenv("HOLDFAST_TEST_VIRTUAL") != NULL ||
        hf__test_page->stalled_us < 0 || stalled < 0) {
        return bound;
    }
    idle = idle < took / MOST ? took / MOST : idle;
    return (int64_t)((double)bound * (double)took / (double)(idle + 1));
}
