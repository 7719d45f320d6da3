/* SPDX-License-Identifier: MIT */
/*
 * Which sanitizer is in this program, whichever compiler put it there. Any
 * thread.
 */
#include "tests/lib/test.h"

#include <stddef.h>

extern void __tsan_init(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));

bool hf__test_has_tsan(void)
{
    return __tsan_init != NULL;
}

bool hf__test_has_asan(void)
{
    return __asan_init != NULL;
}

bool hf__test_may_fork_beside_threads(void)
{
    return !hf__test_has_tsan() && !hf__test_has_asan();
}
