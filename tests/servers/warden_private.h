/* SPDX-License-Identifier: MIT */
/*
 * What the two sides of a warden share: its owner, who gives orders one at a
 * time by a connection to a socket in the folder, and its process, which
 * answers each with a number. The owner may leave it to the next.
 */
#ifndef HF_TESTS_SERVERS_WARDEN_PRIVATE_H
#define HF_TESTS_SERVERS_WARDEN_PRIVATE_H

#include "tests/servers/servers.h"

enum { HF__WARDEN_ARGV = 64, HF__WARDEN_ARGV_BYTES = 8192 };

enum hf__warden_op {
    HF__WARDEN_START,
    HF__WARDEN_SIGNAL,
    HF__WARDEN_SIGNAL_ALL,
    HF__WARDEN_WAIT,
    HF__WARDEN_PORT,
    HF__WARDEN_LEAVE,
    HF__WARDEN_END
};

struct hf__warden_order {
    enum hf__warden_op op;
    int64_t value;
    char argv[HF__WARDEN_ARGV_BYTES]; /* each ended by NUL */
    size_t argv_length;
};

/* A process: its number, and when it was started. */
struct hf__warden_life {
    pid_t pid;
    uint64_t birth; /* 0: there is none */
};

struct hf__warden {
    char folder[HF__SERVERS_PATH];
    int fd; /* between the owner and the warden's process; −1: no owner now */
    /* In the warden's process: */
    int listener;
    int lock;
    struct hf__warden_life owner;
    struct hf__warden_life run; /* of tests; its servers end with it */
    int64_t left_ms;            /* since when it has no owner */
    pid_t server;               /* 0: none */
};

/* In the folder: where the owner comes to, and what is there while whoever
 * wants one may have it. */
#define HF__WARDEN_SOCKET "orders"
#define HF__WARDEN_LEFT   "left"

/* When a process was started, which with its number is its own; 0: it is
 * gone. */
uint64_t hf__warden_birth(pid_t);
bool hf__warden_lives(const struct hf__warden_life *);
/* warden_family.c: stops our child, and returns when it has stopped. */
void hf__warden_stop(pid_t server);
/* SIGSTOP, SIGCONT or SIGKILL to our child and its children; returns when it
 * has come to these. */
void hf__warden_signal_family(pid_t server, int number);
/* nursery.c: the run of tests that this program is part of. */
struct hf__warden_life hf__warden_run(void);
/* Begins a warden's process there. False: there is no nursery. */
bool hf__warden_bear(const struct hf__warden *);
/* Nothing of who forked us but those two descriptors. */
void hf__warden_forget_all(int fd, int other);
/* The warden's process, from its beginning to its end. */
_Noreturn void hf__warden_keep(struct hf__warden *);

#endif
