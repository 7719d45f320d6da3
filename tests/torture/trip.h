/* SPDX-License-Identifier: MIT */
/*
 * The n-th request for a resource fails: a block of the library's memory, a
 * block of SQLite's, a thread, a descriptor. The library has no part in it:
 * its memory comes through hf_set_allocator(), SQLite's through its own
 * configuration, the rest through the linker's --wrap. Thread: any.
 */
#ifndef HF_TESTS_TORTURE_TRIP_H
#define HF_TESTS_TORTURE_TRIP_H

#include <stdbool.h>
#include <stdint.h>

enum trip {
    TRIP_MEMORY,       /* of the library */
    TRIP_STORE_MEMORY, /* of SQLite, also what it takes in small pieces */
    TRIP_SYSTEM        /* threads and descriptors */
};

/* Before the first call of the library and of SQLite. */
void trip_setup(void);
/* From now on the n-th request of that kind fails, and if `stays` all later
 * ones. n counts from 1. */
void trip_arm(enum trip, int n, bool stays);
/* Nothing fails any more. True if something has. */
bool trip_disarm(void);
/* Nothing fails on this thread. */
void trip_spare_me(void);
/* How many requests were made since it was armed. */
int trip_count(void);
/* What is allocated now: blocks of the library, bytes of SQLite. */
int trip_blocks(void);
int64_t trip_bytes(void);

#endif
