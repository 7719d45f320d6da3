/* SPDX-License-Identifier: MIT */
/*
 * Virtual time: the threads of a test take turns, one runs at a time, and
 * when all sleep the clock jumps to the first deadline. So nothing is waited
 * for, nothing is late on a busy machine, and who runs when is drawn from the
 * seed: another seed is another schedule.
 *
 * A program that is linked with virtual_dep has its calls of clocks, sleeps,
 * mutexes and threads in calls.c. They are the system's own until a test's
 * process starts virtual time, which it does at its begin where
 * HOLDFAST_TEST_VIRTUAL is in the environment. It is for tests that live in
 * one process: what another one does takes no time.
 *
 * A turn ends only in such a call. All but hf__virtual_ring() and the clock
 * are for the thread whose turn it is.
 */
#ifndef HF_TESTS_VIRTUAL_VIRTUAL_H
#define HF_TESTS_VIRTUAL_VIRTUAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HF__VIRTUAL_NEVER INT64_MAX

/* From now on, for this process: the caller has the turn. */
void hf__virtual_start(uint64_t seed);
/* Is the caller one of the threads that take turns? */
bool hf__virtual_is_on(void);
/* Nanoseconds since the start. Each look takes a microsecond, so that who
 * only looks at the clock comes to an end. Thread: any; async-signal-safe. */
int64_t hf__virtual_now(void);
uint64_t hf__virtual_random(void);
/* The system's clocks show from now on what they show, and virtual time. */
void hf__virtual_start_clocks(void);

/* Perhaps another's turn; true of must_pass: another's if one can run. */
void hf__virtual_pass(bool must_pass);
/* Sleeps until `place` is rung or `deadline` is there: false. */
bool hf__virtual_sleep(const void *place, int64_t deadline);
/* Sleeps until is_due(data), or `deadline`: false. Somebody outside of the
 * process may make it due. */
bool hf__virtual_await(bool (*is_due)(void *), void *data, int64_t deadline);
/* From now on nothing is made due to who polls but by a write() of this
 * process, or by a timer: it is looked at then alone, which is the most of what
 * turns cost. */
void hf__virtual_be_alone(void);
/* Wakes up to `count` who sleep at `place`, gives how many. From a signal's
 * handler, or from a thread that takes no turns, it is done a little later, for
 * all who sleep there, and gives 0. */
int hf__virtual_ring(const void *place, int count);

int hf__virtual_create(pthread_t *native, const pthread_attr_t *attr,
                       void *(*run)(void *), void *arg);
/* The same if virtual time is on, else the system's own: for a program that
 * has a __wrap_pthread_create() itself. */
int hf__virtual_pthread_create(pthread_t *, const pthread_attr_t *,
                               void *(*run)(void *), void *arg);
int hf__virtual_join(pthread_t native, void **result);
pid_t hf__virtual_fork(void);

#endif
