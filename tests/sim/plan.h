/* SPDX-License-Identifier: MIT */
/*
 * What one schedule is like: each seed gets faults, times and clocks of its
 * own ("swarm testing", Groce et al. 2012: a random subset of the faults finds
 * more than all of them at once). And the mutants: broken variants that the
 * same schedules must find.
 */
#ifndef HF_TESTS_SIM_PLAN_H
#define HF_TESTS_SIM_PLAN_H

#include "tests/sim/world.h"

#define HF__FAULT_LOSE_REQUEST 0x01u
#define HF__FAULT_LOSE_REPLY   0x02u
#define HF__FAULT_DUPLICATE    0x04u /* a request arrives twice */
#define HF__FAULT_LATE         0x08u /* up to three leases on the way */
#define HF__FAULT_PAUSE        0x10u /* a client stops for up to four leases */
#define HF__FAULT_CRASH        0x20u
#define HF__FAULT_BREAK        0x40u
#define HF__FAULT_CLOCK_STEP   0x80u /* of the store */

enum hf__mutant {
    HF__MUTANT_NONE,
    HF__MUTANT_LEASE_FROM_REPLY,
    HF__MUTANT_RELEASE_ANYBODY, /* no owner check in the store */
    HF__MUTANT_RENEW_ANYBODY,   /* no owner check in the store */
    HF__MUTANT_FENCE_RESET,     /* at release */
    HF__MUTANT_REVIVES,         /* a late renewal is believed */
    HF__MUTANT_CLOCK_STOPS,     /* the client's, while it is paused */
    HF__MUTANT_TOKEN_REUSED,
    HF__MUTANT_NO_MARGIN,      /* the lease is believed to its last moment */
    HF__MUTANT_RENEWS_BLINDLY, /* without asking the core whether it may */
    HF__MUTANT_NEVER_RENEWS,
    HF__MUTANT_NEVER_EXPIRES /* the store waits for the owner for ever */
};

struct hf__plan {
    enum hf__mutant mutant;
    unsigned faults;
    int clients;
    int permille; /* of messages that meet a given fault */
    bool auto_renew;
    bool hears_late; /* an answer past its limit is looked at all the same */
    bool is_hybrid;  /* fences follow the store's clock, as a real one's */
    int64_t lease_ms;
    int64_t lease_ns;
    int64_t delay_ns; /* the most a message takes, if not late */
    int64_t limit_ns; /* of one attempt */
    int64_t poll_ns;  /* between a BUSY and the next attempt */
    int64_t think_ns; /* the most between two claims */
    int64_t hold_ns;  /* the most a grant is wanted */
    int64_t patience_ns;
    int64_t client_ppm[HF__SIM_CLIENTS]; /* how fast each one's clock is */
    int64_t store_ppm;
    int64_t heal_ns;   /* from here on no faults */
    int64_t settle_ns; /* and here the last of them has worn off */
    int64_t end_ns;
};

/* Draws from the world's chance. */
void hf__plan_make(struct hf__plan *, struct hf__world *, enum hf__mutant);
/* A clock with such a rate shows this after so much true time, and back:
 * the first true time at which it shows at least `shown`. */
int64_t hf__plan_shown(int64_t true_ns, int64_t ppm);
int64_t hf__plan_true(int64_t shown_ns, int64_t ppm);

#endif
