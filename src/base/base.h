/* SPDX-License-Identifier: MIT */
/*
 * The six macros that every file may use. Nothing here knows of locks, threads
 * or stores.
 */
#ifndef HF_BASE_BASE_H
#define HF_BASE_BASE_H

#include "include/holdfast.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks internal functions that the modules of stores may call; no other
 * internal symbol is exported. A test compares the marks with what the modules
 * need. */
#define HF_MODULE_API __attribute__((visibility("default")))

/* Run fn(&variable) when the variable leaves its scope. */
#define HF_AUTO(fn) __attribute__((cleanup(fn)))

/* Yield a pointer and forget it: `*out = HF_MOVE(x);` hands over ownership. */
#define HF_MOVE(p)                                                             \
    __extension__({                                                            \
        __typeof__(p) moved_ = (p);                                            \
        (p) = NULL;                                                            \
        moved_;                                                                \
    })

/* Define fn##_auto(type **), for HF_AUTO, from a destructor fn(type *). */
#define HF_CLEANUP_FN(type, fn)                                                \
    static inline void fn##_auto(type **p)                                     \
    {                                                                          \
        fn(*p);                                                                \
    }                                                                          \
    struct hf__cleanup_needs_semicolon

/* Hold a struct hf__mutex until the end of the scope. */
#define HF_SCOPED_LOCK(m)                                                      \
    HF_AUTO(hf__mutex_unlock_auto)                                             \
    __attribute__((unused)) struct hf__mutex *scoped_lock_ = hf__mutex_hold(m)

/* Checks one of our own invariants, in every build. Never use it for input, the
 * network or a lack of memory. */
#define HF_ASSERT(condition)                                                   \
    ((condition) ? (void)0 : hf__assert_failed(#condition, __FILE__, __LINE__))

HF_MODULE_API _Noreturn void hf__assert_failed(const char *text,
                                               const char *file, int line);

#endif
