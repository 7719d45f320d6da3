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

int __real_clock_gettime(clockid_t, struct timespec *);
int __real_clock_nanosleep(clockid_t, int, const struct timespec *,
                           struct timespec *);
int __real_close(int);
pid_t __real_fork(void);
ssize_t __real_getrandom(void *, size_t, unsigned);
int __real_poll(struct pollfd *, nfds_t, int);
int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __real_pthread_mutex_lock(pthread_mutex_t *);
int __real_pthread_mutex_unlock(pthread_mutex_t *);
int __real_sched_yield(void);
long __real_syscall(long number, ...);
ssize_t __real_write(int, const void *, size_t);
int __real_timerfd_settime(int, int, const struct itimerspec *,
                           struct itimerspec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_nanosleep(clockid_t, int, const struct timespec *,
                           struct timespec *);
int __wrap_close(int);
pid_t __wrap_fork(void);
ssize_t __wrap_getrandom(void *, size_t, unsigned);
int __wrap_poll(struct pollfd *, nfds_t, int);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_join(pthread_t, void **);
int __wrap_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_sched_yield(void);
long __wrap_syscall(long number, ...);
ssize_t __wrap_write(int, const void *, size_t);
int __wrap_timerfd_settime(int, int, const struct itimerspec *,
                           struct itimerspec *);

#endif
