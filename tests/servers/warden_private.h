/* SPDX-License-Identifier: MIT */
/*
 * What the two sides of a warden share: its owner, who gives orders one at a
 * time, and its process, which answers each with a number.
 */
#ifndef HF_TESTS_SERVERS_WARDEN_PRIVATE_H
#define HF_TESTS_SERVERS_WARDEN_PRIVATE_H

#include "tests/servers/servers.h"

enum { HF__WARDEN_ARGV = 64, HF__WARDEN_ARGV_BYTES = 8192 };

enum hf__warden_op {
    HF__WARDEN_START,
    HF__WARDEN_SIGNAL,
    HF__WARDEN_WAIT,
    HF__WARDEN_END
};

struct hf__warden_order {
    enum hf__warden_op op;
    int64_t value;
    char argv[HF__WARDEN_ARGV_BYTES]; /* each ended by NUL */
    size_t argv_length;
};

struct hf__warden {
    char folder[HF__SERVERS_PATH];
    int fd; /* to the warden's process, from it to its owner */
    int lock;
    pid_t owner;
    uint64_t owner_birth;
    pid_t server; /* in the warden: 0: none */
};

/* When a process was started, which with its number is its own; 0: it is
 * gone. */
uint64_t hf__warden_birth(pid_t);
/* The warden's process, from its beginning to its end. */
_Noreturn void hf__warden_keep(struct hf__warden *);

#endif
