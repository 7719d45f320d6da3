/* SPDX-License-Identifier: MIT */
/*
 * What one schedule is like: each seed gets a kind of store, faults, times
 * and clocks of its own ("swarm testing", Groce et al. 2012: a random subset
 * of the faults finds more than all of them at once). Faults end at half of
 * the time; then what was promised for quiet times is asked for as well.
 *
 * A crowd has several names, each a member of its own, and processes that may
 * want several at once: they have a client for each name.
 */
#ifndef HF_TESTS_SIM_PLAN_H
#define HF_TESTS_SIM_PLAN_H

#include "tests/sim/mutants.h"
#include "tests/sim/world.h"

#define HF__FAULT_LOSE_REQUEST 0x00001u
#define HF__FAULT_LOSE_REPLY   0x00002u
#define HF__FAULT_DUPLICATE    0x00004u /* a request arrives twice */
#define HF__FAULT_LATE         0x00008u /* a thousand times the delay */
#define HF__FAULT_BLOCKED      0x00010u /* a statement waits with an old NOW */
#define HF__FAULT_RESET        0x00020u /* of a connection */
#define HF__FAULT_HALF_OPEN    0x00040u /* one direction is dead in silence */
#define HF__FAULT_PAUSE        0x00080u /* a client stops for a while */
#define HF__FAULT_SUSPEND      0x00100u
#define HF__FAULT_CRASH        0x00200u
#define HF__FAULT_WALL_STEP    0x00400u
#define HF__FAULT_SPURIOUS     0x00800u /* a client wakes for nothing */
#define HF__FAULT_STUCK        0x01000u /* a claim for another name hangs */
#define HF__FAULT_MEMBER_CRASH 0x02000u
#define HF__FAULT_FAILOVER     0x04000u /* to a replica that lags */
/* What no client can foresee. */
#define HF__FAULT_BREAK      0x08000u
#define HF__FAULT_CLOCK_STEP 0x10000u /* of a member */
#define HF__FAULT_VM_STOP    0x20000u

enum hf__model {
    HF__MODEL_ROW,     /* one row with a lease */
    HF__MODEL_SESSION, /* a queue of sessions */
    HF__MODEL_QUORUM,  /* several rows and a majority */
    HF__MODEL_CROWD    /* rows with co-holders and a line, one for each name */
};

enum { HF__NAMES_MAX = 3 };

struct hf__plan {
    enum hf__mutant mutant;
    enum hf__model model;
    unsigned faults;
    int clients;  /* processes times names */
    int members;  /* of a crowd: names */
    int names;    /* 1, but for a crowd */
    int permille; /* of messages that meet a given fault */
    int buggify;  /* permille of steps that meet one; 1 to 5 % */
    bool auto_renew;
    bool hears_late; /* an answer past its limit is looked at all the same */
    bool is_hybrid;  /* fences follow the store's clock, as a real one's */
    bool is_durable; /* a crash loses nothing */
    bool sees_death; /* the store knows that a holder's process died */
    bool detaches;   /* some grants are left to their lease */
    int shared;      /* permille of claims; of a crowd, as the next */
    int slotted;     /* permille of those that are not shared */
    int fair;        /* permille of those that wait */
    int many;        /* permille that want several names */
    int slots[HF__NAMES_MAX]; /* of each name */
    bool promises_fence;      /* nothing in this plan can take the fence back */
    bool promises_update;     /* nor can anything lose an update */
    int64_t lease_ms;
    int64_t lease_ns;
    int64_t delay_ns;    /* the most a message takes, if not late */
    int64_t limit_ns;    /* of one attempt */
    int64_t poll_ns;     /* between a BUSY and the next attempt */
    int64_t think_ns;    /* the most between two claims */
    int64_t hold_ns;     /* the most a grant is wanted */
    int64_t max_hold_ms; /* 0: no limit */
    int64_t work_ns;     /* between reading and writing the resource */
    int64_t detect_ns;   /* until a dead waiter is seen; −1: never */
    int64_t lag_ns;      /* the most a replica or the disk is behind */
    int64_t patience_ns;
    int64_t client_ppm[HF__SIM_CLIENTS]; /* how fast each one's clock is */
    int64_t member_ppm[HF__MEMBERS_MAX];
    int64_t heal_ns;   /* from here on no faults */
    int64_t settle_ns; /* and here the last of them has worn off */
    int64_t drain_ns;  /* from here on nobody claims */
    int64_t end_ns;
};

/* Draws from the world's chance. */
void hf__plan_make(struct hf__plan *, struct hf__world *, enum hf__mutant);
/* The name that a client is for, and the process that it is part of. */
static inline int hf__plan_name(const struct hf__plan *p, int client)
{
    return client % p->names;
}
static inline int hf__plan_process(const struct hf__plan *p, int client)
{
    return client / p->names;
}
/* True time from which on no grant may be left to its lease any more. */
int64_t hf__plan_detaches_until(const struct hf__plan *);
/* The plan in words, to standard output, as TAP comments. */
void hf__plan_print(const struct hf__plan *);
/* A clock with such a rate shows this after so much true time, and back:
 * the first true time at which it shows at least `shown`. */
int64_t hf__plan_shown(int64_t true_ns, int64_t ppm);
int64_t hf__plan_true(int64_t shown_ns, int64_t ppm);

#endif
