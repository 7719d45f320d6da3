/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the store redlock: say besides the words of
 * tests/contract/api.h: a group of servers of the test's own, who of it is
 * down, stands still, or belongs to a stranger, and what each of them keeps of
 * a name.
 */
#ifndef HF_TESTS_STORE_REDLOCK_WORLD_H
#define HF_TESTS_STORE_REDLOCK_WORLD_H

#include "tests/contract/api.h"
#include "tests/servers/redis.h"

#define AUTO_GROUP __attribute__((cleanup(free_group))) struct hf__redis_group
void free_group(struct hf__redis_group **);

/* So many servers, which keep all they are told, or only remember it; the
 * store is that group from now on. */
struct hf__redis_group *durable_group(int n);
/* One until the end of the scope. First in a test. */
#define GROUP(n)                                                               \
    AUTO_GROUP *own_group = durable_group(n);                                  \
    (void)own_group
struct hf__redis_group *forgetful_group(int n);
/* A durable one that no client has ever seen. */
struct hf__redis_group *new_group(int n);
/* More options of the store's URL, "longest_lease=1s"; "" at first. */
void say_options(const char *options);
/* The URL of some of the members (bits), with those options. */
const char *url_of(unsigned members, const char *options);
struct hf__redis *member(int i);
int port_of(int i);

/* Opens the store when its members have been up for long enough to count. */
hf_client *open_counted(void);

/* ---- those who wait for "job", with a lease, each on a thread of its own */

struct waiter {
    struct hf__test_thread *thread;
    const char *options; /* of the store's URL */
    int64_t lease_ms;
    int result;
};
void begin_to_wait(struct waiter w[], int n, const char *options,
                   int64_t lease_ms);
/* Fails the test unless each has had it. */
void expect_served(struct waiter w[], int n);

/* A grant on 0, 1 and 2 of five; 3 and 4 never heard of it. */
hf_lock *hold_on_three(hf_client *);

/* ---- one member's record */

/* The token that has the name there, "" if none; till the next call. */
const char *token_at(int i, const char *name);
/* A stranger has it there for a minute. */
void take_at(int i, const char *name);
/* Nobody knows of it there. */
void clear_at(int i, const char *name);
#define STRANGER "00112233445566778899aabbccddeeff"
/* Fails the test unless soon none of the members (bits) has the name for
 * anybody but the stranger. */
void expect_nothing_left(unsigned members, const char *name);

#endif
