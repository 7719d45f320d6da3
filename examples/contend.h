/* SPDX-License-Identifier: MIT */
/*
 * What the files of the example contend share: the workers are in contend.c,
 * what is told in contend_report.c, and a file for each of the two options
 * that show what becomes of the locks of programs that crash. From the folder
 * above: cc -D_GNU_SOURCE -I. examples/contend*.c $(pkg-config --cflags
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

/* Also the name by which the records of this thread's locks have it. */
void call_me(const char *name);
void start_clock(void);
double seconds(void); /* since then */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
void fail(const char *what); /* on stderr */
/* Says it, and counts it: it is to happen on no store. */
void mistake(const char *what);
extern atomic_int mistakes;
/* Says what came of an attempt to get NAME, and the record that the store has
 * of it now. `ours` must be in it if it is held; NULL: none. */
void report(hf_client *client, const char *what, const hf_lock *ours);

/* contend.c */

extern hf_caps_info caps; /* of the store, but its name */
/* A client of one's own; NULL: it has been said why there is none. */
hf_client *enter(void);
/* For hf_acquire_opts: so long, where the store lets us choose. */
int64_t lease(int64_t wanted_ms);
/* The work under the lock of NAME, for so long, and its end. */
void work(hf_client *client, hf_lock *lock, int ms);
/* Of the last grant; each must have a higher one. */
extern atomic_ullong last_fence;
extern atomic_bool is_over; /* all workers have ended, or are to */
extern hf_cancel *stop;     /* ends each wait for a lock: Ctrl-C */

/* contend_cleaner.c: a thread, until is_over. */
void *run_cleaner(void *unused);

/* contend_stale.c: false if the next one did not get the lock. */
bool show_stale(void);

#endif
