/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of a simulated client: sim_client.c is the application,
 * its timers and its pauses; sim_claim.c and sim_hold.c send, hear and obey
 * the core; sim_round.c asks all members at once; sim_debt.c gives back.
 */
#ifndef HF_TESTS_SIM_SIM_DRIVER_H
#define HF_TESTS_SIM_SIM_DRIVER_H

#include "tests/sim/sim_client.h"

/* ---- sim_round.c ---- */
/* Its own clock. */
hf__time hf__driver_now(const struct hf__sim_client *);
/* The true time at which that clock shows so much. */
int64_t hf__driver_true(const struct hf__sim_client *, hf__time);
/* A duration drawn evenly from [1, most], from now on. */
hf__time hf__driver_soon(struct hf__sim_client *, int64_t most_ns);
bool hf__driver_is_past(const struct hf__sim_client *, hf__time);
bool hf__driver_is_mutant(const struct hf__sim_client *, enum hf__mutant);
void hf__driver_note(struct hf__sim_client *, enum hf__deed, int op,
                     int64_t number);

#define HF__ALL_MEMBERS 0x1fu
/* Send a request to those members; their answers are awaited in the round. */
void hf__round_send(struct hf__sim_client *, struct hf__round *,
                    enum hf__op_kind, uint64_t fence, unsigned members);
void hf__round_end(struct hf__round *);
/* Is this an answer that the round waits for? */
bool hf__round_awaits(const struct hf__round *, const struct hf__message *);
/* Count it. True: decided. */
bool hf__round_note(struct hf__sim_client *, struct hf__round *,
                    const struct hf__message *);
/* Those that are out will not answer. */
void hf__round_give_up(struct hf__round *, unsigned members);
int hf__round_verdict(const struct hf__sim_client *, const struct hf__round *);

/* ---- sim_claim.c ---- */
/* Begin a claim with a token of its own. */
void hf__driver_claim(struct hf__sim_client *);
/* Adopt what somebody detached; true if there is something. */
bool hf__driver_adopt(struct hf__sim_client *);
/* One attempt of it. */
void hf__driver_attempt(struct hf__sim_client *);
/* A claim is on: its grant and what belongs to it are new. */
void hf__driver_begin(struct hf__sim_client *);
/* Granted by the attempt `won`; a quorum's fence is the one that was
 * raised. */
void hf__driver_grant(struct hf__sim_client *, const struct hf__round *won,
                      uint64_t fence);
/* The claim ends without a grant. */
void hf__driver_give_up(struct hf__sim_client *);
/* The verdict of an attempt, of the fence's raise. */
void hf__driver_claimed(struct hf__sim_client *, const struct hf__round *);
void hf__driver_raised(struct hf__sim_client *, const struct hf__round *);
/* Back to thinking: until the next claim. */
void hf__driver_think(struct hf__sim_client *);
/* A session that locks: closed, with what it owned. */
void hf__driver_end_session(struct hf__sim_client *);

/* ---- sim_hold.c ---- */
unsigned hf__driver_feed(struct hf__sim_client *, const struct hf__event *);
/* The holder renews by hand, or releases. */
void hf__driver_renew(struct hf__sim_client *);
void hf__driver_release(struct hf__sim_client *);
void hf__driver_detach(struct hf__sim_client *);
/* From when a lease is counted that was confirmed for a request of then. */
hf__time hf__driver_counted_from(const struct hf__sim_client *, hf__time sent);
bool hf__driver_is_ours(const struct hf__sim_client *);
void hf__driver_renewed(struct hf__sim_client *, const struct hf__round *);
void hf__driver_released(struct hf__sim_client *, const struct hf__round *);
/* What waits for something else to be settled. */
void hf__driver_hold_tick(struct hf__sim_client *);

/* ---- sim_driver.c ---- */
/* The store answered. */
void hf__driver_hear(struct hf__sim_client *, const struct hf__message *);
/* Its connection to a member is gone: no answer comes from there. */
void hf__driver_cut(struct hf__sim_client *, int member);
/* Time has passed: the core's timers, limits, polls, debts. */
void hf__driver_tick(struct hf__sim_client *);
/* When the next of them is due. */
hf__time hf__driver_next(const struct hf__sim_client *);

/* ---- sim_debt.c ---- */
/* Release the token on those members until each has answered. */
void hf__debt_owe(struct hf__sim_client *, uint64_t token, unsigned members);
/* The same for one that was told to nobody, on all members. */
void hf__debt_undo(struct hf__sim_client *, uint64_t token);
bool hf__debt_is_any(const struct hf__sim_client *);
/* True if the answer was to a debt. */
bool hf__debt_hear(struct hf__sim_client *, const struct hf__message *);
/* Ask again where no answer came. */
void hf__debt_tick(struct hf__sim_client *);
hf__time hf__debt_next(const struct hf__sim_client *);

/* ---- sim_work.c ---- */
/* Read the resource, later check that the lock is held, later write. */
void hf__work_begin(struct hf__sim_client *);
void hf__work_tick(struct hf__sim_client *);
/* What has not been checked yet is not done any more. */
void hf__work_stop(struct hf__sim_client *);

#endif
