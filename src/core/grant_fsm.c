/* SPDX-License-Identifier: MIT */
/*
 * The state machine of a grant. This file decides how much of a lease the
 * client may believe, when a grant is held, at risk, lost or released, and what
 * must be sent for it; grant.c sends it and tells the waiters. Called under the
 * grant's mutex by any thread.
 *
 * Two rules carry the safety. The deadline counts from before the request was
 * sent and is checked first in every event, so that a late answer cannot revive
 * what the clock has ended. And LOST is final: a grant that the store may still
 * think is ours is given back by token instead.
 */
#include "src/core/grant_fsm.h"

#include "src/base/base.h"

#include <string.h>

/* 1 % covers NTP slewing (500 ppm) and oscillators (100 ppm) many times
 * over; 5 ms covers the granularity of timers and short leases. */
#define DRIFT_DIVISOR  100
#define DRIFT_FLOOR_NS (5 * HF__MS)

#define MOOT_DIVISOR  50
#define MOOT_FLOOR_MS 1000
/* The longest pause between two tries to give a grant back. */
#define GIVE_BACK_MAX_MS 2000

/* ---- the arithmetic of leases */

hf__time hf__lease_deadline(hf__time sent, int64_t lease_ms)
{
    int64_t lease_ns = lease_ms * HF__MS;

    return hf__after_ns(sent,
                        lease_ns - lease_ns / DRIFT_DIVISOR - DRIFT_FLOOR_NS);
}

hf__time hf__lease_renew_at(hf__time sent, int64_t lease_ms)
{
    return hf__after_ns(sent, lease_ms * HF__MS / 3);
}

hf__time hf__lease_moot_at(hf__time sent, int64_t lease_ms)
{
    return hf__after_ms(sent,
                        lease_ms + lease_ms / MOOT_DIVISOR + MOOT_FLOOR_MS);
}

/* When a renewal that began at `now` has gone so long without an answer that
 * its holder should know: twice the time that a batch may wait for one, since
 * another renewal's batch may be ahead of its own. */
static hf__time risk_at(hf__time now, int64_t lease_ms)
{
    return hf__after_ns(now, lease_ms * HF__MS / 3);
}

hf__time hf__lease_retry_at(hf__time now, int64_t lease_ms)
{
    return hf__after_ns(now, lease_ms * HF__MS / 12);
}

hf__time hf__lease_give_back_at(hf__time now, int64_t lease_ms)
{
    return hf__earlier(hf__lease_retry_at(now, lease_ms),
                       hf__after_ms(now, GIVE_BACK_MAX_MS));
}

/* ---- the grant */

#define TO(phase) (1u << HF__PHASE_##phase)

/* From which phase a grant may move to which; the last three are final. */
static const unsigned moves[] = {
    [HF__PHASE_CLAIMING] = TO(HELD) | TO(LOST),
    [HF__PHASE_HELD] = TO(AT_RISK) | TO(RELEASING) | TO(DETACHED) | TO(LOST),
    [HF__PHASE_AT_RISK] = TO(HELD) | TO(RELEASING) | TO(DETACHED) | TO(LOST),
    [HF__PHASE_RELEASING] = TO(RELEASED) | TO(LOST),
    [HF__PHASE_RELEASED] = 0,
    [HF__PHASE_DETACHED] = 0,
    [HF__PHASE_LOST] = 0,
};

static void move(struct hf__grant_fsm *g, enum hf__phase to)
{
    HF_ASSERT(g->phase == to || (moves[g->phase] & (1u << to)) != 0);
    g->phase = to;
}

void hf__grant_fsm_init(struct hf__grant_fsm *g, int64_t lease_ms,
                        bool auto_renew)
{
    memset(g, 0, sizeof *g);
    g->phase = HF__PHASE_CLAIMING;
    g->lease_ms = lease_ms;
    g->auto_renew = auto_renew;
    g->renew_at = HF__NEVER;
}

static bool is_ours(const struct hf__grant_fsm *g)
{
    return g->phase == HF__PHASE_HELD || g->phase == HF__PHASE_AT_RISK;
}

static unsigned lose(struct hf__grant_fsm *g, hf_reason reason)
{
    move(g, HF__PHASE_LOST);
    g->reason = reason;
    g->renew_at = HF__NEVER;
    return HF__DO_TELL;
}

/* Promise 2: our deadline comes before the store may grant it to another. */
static unsigned expire(struct hf__grant_fsm *g, hf__time now)
{
    if (!is_ours(g) || hf__before(now, g->deadline)) {
        return 0;
    }
    return lose(g, HF_REASON_EXPIRED) | HF__DO_GIVE_BACK;
}

static void believe(struct hf__grant_fsm *g, hf__time sent)
{
    g->deadline = hf__later(g->deadline, hf__grant_fsm_promise(g, sent));
    g->renew_at = g->auto_renew && hf__before(g->deadline, g->hold_end)
                      ? hf__lease_renew_at(sent, g->lease_ms)
                      : HF__NEVER;
}

static unsigned granted(struct hf__grant_fsm *g, const struct hf__fsm_event *e)
{
    if (g->phase == HF__PHASE_LOST) {
        return HF__DO_GIVE_BACK; /* closed while the request was under way */
    }
    HF_ASSERT(g->phase == HF__PHASE_CLAIMING);
    /* The grant came too late to be of use, or from a store that forgot: it is
     * never held and is given back (promise 3: a fence must rise). */
    if (!hf__before(e->now, hf__lease_deadline(e->sent, g->lease_ms)) ||
        (e->fence != 0 && e->fence <= e->seen_fence)) {
        return HF__DO_GIVE_BACK;
    }
    move(g, HF__PHASE_HELD);
    g->fence = e->fence;
    g->hold_end =
        g->max_hold_ms == 0 ? HF__NEVER : hf__after_ms(e->now, g->max_hold_ms);
    believe(g, e->sent);
    return 0;
}

static void begin_renewing(struct hf__grant_fsm *g, hf__time now)
{
    g->is_renewing = true;
    g->risk_at = risk_at(now, g->lease_ms);
}

static unsigned tick(struct hf__grant_fsm *g, hf__time now)
{
    unsigned actions = expire(g, now);

    if (!is_ours(g)) {
        return actions;
    }
    if (!g->is_renewing && !hf__before(now, g->renew_at)) {
        begin_renewing(g, now);
        actions |= HF__DO_RENEW;
    } else if (g->is_renewing && !hf__before(now, g->risk_at)) {
        move(g, HF__PHASE_AT_RISK); /* the store hangs, or is slow */
    }
    return actions;
}

static unsigned renew_begun(struct hf__grant_fsm *g, hf__time now)
{
    unsigned actions = expire(g, now);

    if (is_ours(g)) {
        begin_renewing(g, now);
    }
    return actions;
}

static unsigned renewed(struct hf__grant_fsm *g, const struct hf__fsm_event *e)
{
    unsigned actions = expire(g, e->now);

    g->is_renewing = false;
    if (!is_ours(g)) {
        /* The renewal came after the end: the store's new lease must not
         * linger. */
        return g->phase == HF__PHASE_LOST ? actions | HF__DO_GIVE_BACK
                                          : actions;
    }
    move(g, HF__PHASE_HELD);
    believe(g, e->sent);
    return actions;
}

static unsigned renew_failed(struct hf__grant_fsm *g, hf__time now)
{
    unsigned actions = expire(g, now);

    g->is_renewing = false;
    if (is_ours(g)) {
        move(g, HF__PHASE_AT_RISK);
        g->renew_at =
            g->auto_renew ? hf__lease_retry_at(now, g->lease_ms) : HF__NEVER;
    }
    return actions;
}

static unsigned refused(struct hf__grant_fsm *g, hf_reason reason)
{
    g->is_renewing = false;
    return is_ours(g) ? lose(g, reason) : 0;
}

static unsigned release(struct hf__grant_fsm *g, hf__time now)
{
    unsigned actions = expire(g, now);

    if (is_ours(g)) {
        move(g, HF__PHASE_RELEASING);
        g->renew_at = HF__NEVER;
        actions |= HF__DO_RELEASE;
    }
    return actions;
}

static unsigned release_ended(struct hf__grant_fsm *g,
                              const struct hf__fsm_event *e)
{
    if (g->phase != HF__PHASE_RELEASING) {
        return 0;
    }
    if (e->result == HF_LOST) {
        return lose(g, e->reason);
    }
    move(g, HF__PHASE_RELEASED);
    return e->result == HF_OK ? 0 : HF__DO_GIVE_BACK;
}

static unsigned detached(struct hf__grant_fsm *g, hf__time now)
{
    unsigned actions = expire(g, now);

    if (is_ours(g)) {
        move(g, HF__PHASE_DETACHED);
        g->renew_at = HF__NEVER;
    }
    return actions;
}

static unsigned closed(struct hf__grant_fsm *g, hf_reason reason)
{
    bool is_open = is_ours(g) || g->phase == HF__PHASE_CLAIMING;

    return is_open ? lose(g, reason) : 0;
}

unsigned hf__grant_fsm_step(struct hf__grant_fsm *g,
                            const struct hf__fsm_event *e)
{
    switch (e->kind) {
    case HF__FSM_GRANTED:
        return granted(g, e);
    case HF__FSM_TICK:
        return tick(g, e->now);
    case HF__FSM_RENEW_BEGUN:
        return renew_begun(g, e->now);
    case HF__FSM_RENEWED:
        return renewed(g, e);
    case HF__FSM_RENEW_FAILED:
        return renew_failed(g, e->now);
    case HF__FSM_REFUSED:
        return refused(g, e->reason);
    case HF__FSM_RELEASE:
        return release(g, e->now);
    case HF__FSM_RELEASE_ENDED:
        return release_ended(g, e);
    case HF__FSM_DETACHED:
        return detached(g, e->now);
    case HF__FSM_CLOSED:
        return closed(g, e->reason);
    }
    HF_ASSERT(false && "an event of no kind");
    return 0;
}

void hf__grant_fsm_begin(struct hf__grant_fsm *g, int64_t max_hold_ms,
                         bool auto_renew, hf__time now)
{
    g->max_hold_ms = max_hold_ms;
    g->auto_renew = auto_renew;
    if (!is_ours(g)) {
        return;
    }
    g->hold_end = max_hold_ms == 0 ? HF__NEVER : hf__after_ms(now, max_hold_ms);
    g->deadline = hf__earlier(g->deadline, g->hold_end);
    if (!auto_renew || !hf__before(g->deadline, g->hold_end)) {
        g->renew_at = HF__NEVER;
    }
}

hf__time hf__grant_fsm_promise(const struct hf__grant_fsm *g, hf__time sent)
{
    return hf__earlier(hf__lease_deadline(sent, g->lease_ms), g->hold_end);
}

bool hf__grant_fsm_is_held(const struct hf__grant_fsm *g, hf__time now)
{
    return is_ours(g) && hf__before(now, g->deadline);
}

hf__time hf__grant_fsm_next_tick(const struct hf__grant_fsm *g)
{
    if (!is_ours(g)) {
        return HF__NEVER;
    }
    if (!g->is_renewing) {
        return hf__earlier(g->renew_at, g->deadline);
    }
    return g->phase == HF__PHASE_HELD ? hf__earlier(g->risk_at, g->deadline)
                                      : g->deadline;
}
