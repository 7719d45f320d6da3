/* SPDX-License-Identifier: MIT */
/*
 * The threads that take turns, between turns.c, which knows whose turn it is,
 * and threads.c, where they begin and end. For the thread whose turn it is.
 */
#ifndef HF_TESTS_VIRTUAL_TURNS_H
#define HF_TESTS_VIRTUAL_TURNS_H

#include "tests/virtual/virtual.h"

#include <stdatomic.h>

struct hf__turns_thread {
    enum { FREE, READY, ASLEEP, ENDED } state;
    const void *place; /* where it sleeps; NULL: nowhere */
    bool (*is_due)(void *);
    void *data;
    int64_t deadline;
    bool is_rung;
    atomic_uint turn; /* 1: it is its own */
    uint64_t rank;    /* the higher one runs, where ranks count */
    pthread_t native;
    void *(*run)(void *);
    void *arg;
    unsigned rounds; /* of its destructors */
    int host;        /* with which it stops */
    int clocks;      /* the host whose clocks it sees */
    int locks;       /* mutexes that it holds */
};

/* A new one, which can run; NULL: there are too many. */
struct hf__turns_thread *hf__turns_add(void);
/* By the thread itself: returns when it is its turn. */
void hf__turns_begin(struct hf__turns_thread *);
/* By the thread itself: it gives the turn away for good, and wakes who sleeps
 * at it. */
void hf__turns_end(struct hf__turns_thread *);
struct hf__turns_thread *hf__turns_find(pthread_t native);
void hf__turns_forget_others(void);
struct hf__turns_thread *hf__turns_self(void);
/* The i-th, also one that is free; NULL past the last. */
struct hf__turns_thread *hf__turns_at(int i);
_Noreturn void hf__turns_tell_deadlock(void);
/* True time. It stands before that. */
int64_t hf__turns_stands_until(int host);
/* Is this the child of a fork() that the caller is in? Then it is alone. */
void hf__turns_look_for_fork(void);

#endif
