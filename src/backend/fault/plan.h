/* SPDX-License-Identifier: MIT */
/*
 * When which fault happens: the option fault= of a fault+X: URL is a list of
 * rules separated by commas, in the syntax below. The first rule that matches
 * acts; all rules count the call. The plan, with its counts, belongs to the
 * text of the URL until the process ends: all sessions share it, so that it
 * continues when a dead session is opened again. Thread: any.
 */
#ifndef HF_BACKEND_FAULT_PLAN_H
#define HF_BACKEND_FAULT_PLAN_H

#include "src/backend/backend.h"

/*
 * The syntax of a rule.
 *
 *     WHAT:TARGET:WHICH:TIME        lose_reply:acquire:2
 *                                   delay:renew:*:50ms,die:open:3-
 *
 * WHAT    lose_request   not applied, HF_EUNKNOWN, the session is dead
 *         lose_reply     applied, HF_EUNKNOWN, the session is dead
 *         delay          TIME passes, then it is applied
 *         late_reply     applied, then TIME passes
 *         duplicate      applied twice, the first answer counts
 *         again          not applied, HF__AGAIN (operations and cell only)
 *         move           an open gets another server_id than the one before
 *         die            the session is dead before anything is sent:
 *                        HF_EUNAVAIL, also for the rest of the batch
 * TARGET  acquire renew release handover raise inspect break · op (each of
 *         these) · open wait list gc check cell · any (all). Only acquire,
 *         renew, release and cell can be duplicated. An open that fails is
 *         HF_EUNAVAIL.
 * WHICH   2 (the second one) · 2-4 · 2- (and all later ones) · * (default) ·
 *         p0.05 (each with that probability; seed=N gives other draws)
 * TIME    a duration, for delay and late_reply only. If the deadline or an
 *         interrupt cuts it short, the call ends as if the reply were lost.
 */

enum hf__fault_what {
    HF__FAULT_NONE,
    HF__FAULT_LOSE_REQUEST,
    HF__FAULT_LOSE_REPLY,
    HF__FAULT_DELAY,
    HF__FAULT_LATE_REPLY,
    HF__FAULT_DUPLICATE,
    HF__FAULT_AGAIN,
    HF__FAULT_MOVE,
    HF__FAULT_DIE
};

/* What a fault can hit: an operation by its kind, or another call. */
enum hf__fault_target {
    HF__FAULT_OPEN = HF__OP_BREAK + 1,
    HF__FAULT_WAIT,
    HF__FAULT_LIST,
    HF__FAULT_GC,
    HF__FAULT_CHECK,
    HF__FAULT_CELL,
    HF__FAULT_TARGETS
};

struct hf__fault {
    enum hf__fault_what what;
    int64_t pause_ms;
};

struct hf__fault_plan;

/* Find or make the URL's plan. Returns HF_OK, HF_EINVAL with a text that names
 * the rule, or HF_ENOMEM. */
HF_MUST_CHECK int hf__fault_plan_of(const struct hf__url *,
                                    struct hf__fault_plan **ret_plan,
                                    hf_error *err);
/* Count one call of that target, and return the fault that hits it. `target` is
 * a hf__fault_target or a hf__op_kind. */
struct hf__fault hf__fault_next(struct hf__fault_plan *, int target);
/* Returns how many faults happened in this process so far; for tests that raise
 * the number of a rule until it no longer fires. */
unsigned hf__fault_count(void);

#endif
