/* SPDX-License-Identifier: MIT */
/*
 * What the files of the example contend share: the workers are in contend.c,
 * the output is in contend_report.c, and there is a file for each of the two
 * options that show what happens to the locks of programs that crash. From the
 * folder above: cc -D_GNU_SOURCE -I. examples/contend*.c $(pkg-config --cflags
 * --libs holdfast)
 */
#ifndef CONTEND_H
#define CONTEND_H

#include <holdfast.h>

#include <stdatomic.h>
#include <stdbool.h>

#define NAME     "contend:1001"
#define LEASE_MS 10000

/* contend_report.c: each line begins with the time and the thread. */

/* Name this thread, also in the records of its locks. */
void call_me(const char *name);
void start_clock(void);
double seconds(void); /* since start_clock() */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
void fail(const char *what); /* says it on stderr */
/* Say that something is wrong that must not happen on any store, and
 * count it. */
void mistake(const char *what);
extern atomic_int mistakes;
/* Say the result of an attempt to acquire NAME, and the store's record of it
 * now. `ours` must be in it if it is held; NULL: we hold no lock. */
void report(hf_client *client, const char *what, const hf_lock *ours);

/* contend.c */

extern hf_caps_info caps; /* of the store; its name is not kept */
/* Open a client for this thread; NULL after having said what failed. */
hf_client *enter(void);
/* For hf_acquire_opts: the wanted lease, where the store lets us choose. */
int64_t lease(int64_t wanted_ms);
/* Work under the lock of NAME for so long, then release it. */
void work(hf_client *client, hf_lock *lock, int ms);
/* The last grant's fence; each grant must have a higher one. */
extern atomic_ullong last_fence;
extern atomic_bool is_over; /* all workers have ended, or must end */
extern hf_cancel *stop;     /* cancels every wait for a lock on Ctrl-C */

/* contend_cleaner.c: a thread that runs until is_over. */
void *run_cleaner(void *unused);

/* contend_stale.c: returns false if the next holder did not get the lock. */
bool show_stale(void);

#endif
