/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets share. A target is a file with
 * LLVMFuzzerTestOneInput(): any bytes in, and nothing wrong may come out; what
 * it must hold it says with REQUIRE(). With -Dfuzzers=true (clang) the fuzzer
 * drives it, else replay.c runs it on its corpus as a test.
 */
#ifndef HF_TESTS_FUZZ_FUZZ_H
#define HF_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                     \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,         \
                    #condition);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a string in a block of exactly its size; free() it. What is
 * behind a NUL is not seen by who takes strings. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    REQUIRE(text);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

#endif
