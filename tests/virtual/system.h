/* SPDX-License-Identifier: MIT */
/*
 * The system's own calls, and those that the linker puts in their place where a
 * program is linked with virtual_dep.
 */
#ifndef HF_TESTS_VIRTUAL_SYSTEM_H
#define HF_TESTS_VIRTUAL_SYSTEM_H

#include <poll.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <time.h>

#define HF__CALL(type, name, ...)                                              \
    type __real_##name(__VA_ARGS__);                                           \
    type __wrap_##name(__VA_ARGS__)

HF__CALL(int, clock_gettime, clockid_t, struct timespec *);
HF__CALL(int, clock_nanosleep, clockid_t, int, const struct timespec *,
         struct timespec *);
HF__CALL(int, close, int);
HF__CALL(pid_t, fork, void);
HF__CALL(ssize_t, getrandom, void *, size_t, unsigned);
HF__CALL(int, poll, struct pollfd *, nfds_t, int);
HF__CALL(int, pthread_create, pthread_t *, const pthread_attr_t *,
         void *(*)(void *), void *);
HF__CALL(int, pthread_join, pthread_t, void **);
HF__CALL(int, pthread_mutex_lock, pthread_mutex_t *);
HF__CALL(int, pthread_mutex_unlock, pthread_mutex_t *);
HF__CALL(int, sched_yield, void);
HF__CALL(long, syscall, long number, ...);
HF__CALL(ssize_t, write, int, const void *, size_t);
HF__CALL(int, timerfd_settime, int, int, const struct itimerspec *,
         struct itimerspec *);

#endif
