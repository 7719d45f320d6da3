/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an input, used up from the front; behind its end all are zero.
 * Numbers are often such as have gone wrong somewhere, or a point in time.
 */
#ifndef HF_TESTS_FUZZ_BYTES_H
#define HF_TESTS_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define FENCE_END (INT64_C(1) << 53)

struct bytes {
    const uint8_t *at;
    size_t left;
};

static inline unsigned take(struct bytes *b)
{
    if (b->left == 0) {
        return 0;
    }
    b->left--;
    return *b->at++;
}

static inline int64_t boot_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t take_number(struct bytes *b)
{
    static const int64_t odd[] = {0,
                                  1,
                                  -1,
                                  INT64_MAX,
                                  INT64_MIN,
                                  FENCE_END,
                                  INT64_C(99),
                                  FENCE_END - 1,
                                  FENCE_END - 2};
    unsigned kind = take(b) % 12;
    int64_t number = 0;

    if (kind < sizeof odd / sizeof *odd) {
        return odd[kind];
    }
    for (int i = 0; i < 8; i++) {
        number = (int64_t)((uint64_t)number << 8 | take(b));
    }
    return kind == 9 ? boot_us() + number % 200000000 : number;
}

#endif
