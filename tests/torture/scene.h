/* SPDX-License-Identifier: MIT */
/*
 * The scenes of the torture: one public call each, short enough that a new
 * call of the library is a few lines in scene.c. A scene has something to
 * prepare, which nothing disturbs, and the act, in which one thing goes
 * wrong. It gives the status of the act; what is allowed when is said by who
 * disturbs it.
 */
#ifndef HF_TESTS_TORTURE_SCENE_H
#define HF_TESTS_TORTURE_SCENE_H

#include "include/holdfast.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Alice meets the trouble; bob sees the store as it is, and holds "taken"
 * for the whole test. */
struct scene {
    const char *url; /* alice's */
    hf_client *bob;
    hf_client *alice;
    hf_lock *job;      /* alice's, of "job" */
    hf_lock *earlier;  /* another grant of alice's on "job" */
    hf_lock *prepared; /* bob's, for this scene only */
    hf_cancel *cancel;
    hf_info *info;
    bool can_gc; /* as bob was told */
};

struct act {
    const char *name;
    unsigned needs; /* HF_CAP_…; 0: any store */
    int (*prepare)(struct scene *);
    int (*play)(struct scene *);
    int result;      /* of the play when nothing goes wrong */
    bool is_certain; /* needs no memory of the library: always the result */
};

/* The i-th act; NULL past the last. */
const struct act *act_at(int i);
/* Of beside.c: fair, shared and slotted acquires. */
const struct act *act_beside_at(int i);

/* The lease that is asked for, before patience(). */
enum { LEASE_MS = 1000 };

/* Acquire with a short lease: what can't be given back ends soon. */
int acquire_as(hf_client *client, const char *name, int64_t wait_ms,
               hf_lock **ret_lock);
/* To prepare: bob holds it, and does not meet the trouble. */
int with_other(struct scene *);
/* A thread that frees the lock in a moment. */
void free_soon(void *lock);

/* Opens alice's client; undisturbed it is HF_OK. */
int scene_open(struct scene *);
/* Ends what the scene still has; bob's client stays. */
void scene_clear(struct scene *);
/* While alice believes to hold it, bob does not get it. */
void scene_expect_exclusive(struct scene *);
/* The store as alice has it: a session, where the store has them, gives the
 * lease that she would ask for. */
void scene_url(char *to, size_t size, const char *options);
/* Cleared, it leaves no lock behind for longer than the lease that it had, or
 * than its session is given, and so much more. */
void scene_expect_free(int64_t more_ms);

#endif
