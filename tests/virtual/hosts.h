/* SPDX-License-Identifier: MIT */
/*
 * Hosts: threads that share clocks and are stopped together. Host 0 is the
 * world: its clocks are right and it never stops; all threads are of it until
 * they say otherwise, and a thread is of the host of who created it. A host
 * that stops does so where none of its threads holds a mutex, for those that
 * the process has are of several hosts here.
 *
 * For the thread whose turn it is. True time is that of hf__virtual_now().
 */
#ifndef HF_TESTS_VIRTUAL_HOSTS_H
#define HF_TESTS_VIRTUAL_HOSTS_H

#include "tests/virtual/virtual.h"

enum { HF__VIRTUAL_HOSTS = 8 };

enum hf__virtual_clock {
    HF__VIRTUAL_WALL,
    HF__VIRTUAL_MONOTONIC,
    HF__VIRTUAL_BOOTTIME,
    HF__VIRTUAL_CLOCKS
};

enum hf__virtual_stop {
    HF__VIRTUAL_PAUSE,   /* SIGSTOP: its clocks go on */
    HF__VIRTUAL_SUSPEND, /* that of sleeps stands still */
    HF__VIRTUAL_FREEZE   /* a virtual machine: all but the wall's do */
};

/* The caller is of that host from now on, and sees the clocks of that one. */
void hf__virtual_be(int host, int clocks);
int hf__virtual_host(void);
/* Its clocks are faster by so many millionths. */
void hf__virtual_drift(int host, int64_t ppm);
void hf__virtual_step(int host, enum hf__virtual_clock, int64_t ns);
/* Until then, HF__VIRTUAL_NEVER for one that is killed. False: it stands. */
bool hf__virtual_stop(int host, enum hf__virtual_stop, int64_t until);
/* How long it stood so far, that which is under way included. */
int64_t hf__virtual_stood(int host);
/* What a clock shows more than at the start, at a true time; and the first
 * true time at which it shows that. */
int64_t hf__virtual_shown(int host, enum hf__virtual_clock, int64_t at);
int64_t hf__virtual_true(int host, enum hf__virtual_clock, int64_t shown);
/* As hf__virtual_now(), but it takes no time. */
int64_t hf__virtual_elapsed(void);
/* A reading of CLOCK_BOOTTIME of that host, at this moment. Takes no time. */
int64_t hf__virtual_boottime(int host);
/* `look` runs whenever a turn may end, and when a turn begins. Its calls of the
 * clock and of mutexes are the system's own: it makes none. */
void hf__virtual_watch(void (*look)(void));

#endif
