/* SPDX-License-Identifier: MIT */
/*
 * The application on top of a simulated client, and its process: when it
 * claims, holds and releases, how it pauses, crashes and starts again. This
 * file decides the order of what is due at once; after a pause the
 * application's thread comes first, as it may on a real machine, and then
 * answers and timers in any order.
 */
#include "tests/sim/sim_client.h"

#include "tests/sim/sim_driver.h"

#include <string.h>

enum { OFFSET_DAYS = 30 };

static bool is_settled(const struct hf__sim_client *c)
{
    return c->app == HF__APP_THINKS && c->role == HF__ROLE_ALONE &&
           !hf__debt_is_any(c) && c->claim.id == 0 && c->raise.id == 0 &&
           c->release.id == 0 && c->session == 0;
}

void hf__sim_client_view(const struct hf__sim_client *c, struct hf__view *view)
{
    hf__time now = hf__driver_now(c);

    *view = (struct hf__view){
        .is_claiming = c->is_up && c->app == HF__APP_CLAIMS,
        .is_held = c->is_up && hf__grant_is_held(&c->grant, now),
        .is_awake = c->is_up && !c->is_paused,
        .phase = c->grant.phase,
        .reason = c->grant.reason,
        .claim = c->claim_no,
        .token = c->token,
        .session = c->session,
        .now = now,
        .is_settled = is_settled(c),
        .manner = c->manner,
        .slot = c->slot,
        .is_idle = c->app == HF__APP_THINKS,
        .is_part = c->role != HF__ROLE_ALONE,
        .is_kept = c->role == HF__ROLE_KEEPS && c->many->phase != HF__MANY_HAS};
}

/* ---- timers ------------------------------------------------------------- */

/* Ask to be woken at the next thing due; an older timer counts no more. */
void hf__sim_client_arm(struct hf__sim_client *c)
{
    hf__time next = hf__earlier(c->app_at, hf__driver_next(c));
    int64_t at = INT64_MAX;

    next = hf__earlier(next, c->work_at);
    if (c->is_up && !c->is_paused && !hf__is_never(next)) {
        at = hf__driver_true(c, next);
    }
    if (at == c->wakes_at) {
        return;
    }
    c->wakes_at = at;
    c->wake_id++;
    if (at != INT64_MAX) {
        hf__world_add(c->world, &(struct hf__sim_event){.at = at,
                                                        .kind = HF__SIM_WAKE,
                                                        .client = c->index,
                                                        .id = c->wake_id});
    }
}

/* ---- the application ---------------------------------------------------- */

static void begin(struct hf__sim_client *c)
{
    if (c->is_draining) {
        c->app_at = HF__NEVER;
        return;
    }
    if (hf__debt_is_any(c)) {
        /* A new claim waits behind what is still to be settled. */
        c->app_at = hf__driver_soon(c, c->plan->poll_ns);
        return;
    }
    if (!hf__driver_is_past(c, c->stuck_until)) {
        c->app_at = c->stuck_until;
        return;
    }
    if (c->plan->many > 0 && hf__world_chance(c->world, c->plan->many) &&
        hf__many_begin(c)) {
        return;
    }
    c->app = HF__APP_CLAIMS;
    c->app_at = hf__after_ns(hf__driver_now(c), c->plan->patience_ns);
    if (!hf__driver_adopt(c)) {
        hf__driver_claim(c);
    }
}

static void stop_waiting(struct hf__sim_client *c)
{
    hf__time now = hf__driver_now(c);

    if (hf__driver_is_mutant(c, HF__MUTANT_WAITS_FOR_ANSWER) &&
        c->claim.id != 0) {
        c->app_at = hf__driver_soon(c, c->plan->limit_ns);
        return;
    }
    if (!c->has_napped) {
        hf__oracle_timed_out(c->oracle, c->index,
                             hf__between_ns(c->claimed_at, now));
    }
    hf__driver_give_up(c);
}

/* To another claim of its own process. */
static bool may_hand_over(const struct hf__sim_client *c)
{
    return c->manner.mode == HF__MODE_EXCLUSIVE && !c->is_draining &&
           hf__grant_is_held(&c->grant, hf__driver_now(c));
}

/* Its hold is over, or (without automatic renewal) it renews by hand, sooner
 * or later than it should. */
static void use(struct hf__sim_client *c)
{
    if (!hf__before(hf__driver_now(c), c->hold_until)) {
        if (c->work == HF__WORK_HAS_CHECKED) {
            c->app_at = c->work_at; /* a write is being done */
            return;
        }
        if (c->plan->model == HF__MODEL_CROWD && may_hand_over(c) &&
            hf__world_chance(c->world, 300)) {
            c->heir = ++c->world->seq;
            hf__driver_release(c);
        } else if (c->plan->detaches && hf__world_chance(c->world, 300) &&
                   c->world->now < hf__plan_detaches_until(c->plan)) {
            hf__driver_detach(c);
        } else {
            hf__driver_release(c);
        }
        return;
    }
    c->app_at =
        hf__earlier(c->hold_until, hf__driver_soon(c, c->plan->lease_ns));
    hf__driver_renew(c);
}

static void act(struct hf__sim_client *c)
{
    hf__work_tick(c);
    if (hf__before(hf__driver_now(c), c->app_at)) {
        return;
    }
    if (c->role != HF__ROLE_ALONE) {
        hf__many_tick(c);
        return;
    }
    switch (c->app) {
    case HF__APP_THINKS:
        begin(c);
        return;
    case HF__APP_CLAIMS:
        stop_waiting(c);
        return;
    case HF__APP_HOLDS:
        use(c);
        return;
    case HF__APP_RELEASES:
        return;
    }
}

void hf__sim_client_drain(struct hf__sim_client *c)
{
    c->is_draining = true;
    if (c->role != HF__ROLE_ALONE) {
        hf__many_end(c->many);
    } else if (c->app == HF__APP_CLAIMS) {
        hf__driver_give_up(c);
    } else if (c->app == HF__APP_HOLDS) {
        c->hold_until = hf__driver_now(c);
        c->app_at = c->hold_until;
    }
    hf__sim_client_arm(c);
}

void hf__sim_client_stick(struct hf__sim_client *c, int64_t for_ns)
{
    if (c->is_up && !c->is_paused && c->app == HF__APP_HOLDS) {
        c->tally->stuck++;
        hf__driver_note(c, HF__DEED_IS_STUCK, -1, for_ns);
        c->stuck_until = hf__after_ns(hf__driver_now(c), for_ns);
    }
}

/* ---- the process -------------------------------------------------------- */

void hf__sim_client_start(struct hf__sim_client *c)
{
    struct hf__round none = {.until = HF__NEVER};

    c->life++;
    c->is_up = true;
    c->is_paused = false;
    c->offset =
        hf__plan_name(c->plan, c->index) > 0
            ? c->many->clients[0].offset
            : hf__world_between(c->world, 1, OFFSET_DAYS * INT64_C(86400)) *
                  HF__SECOND;
    c->role = HF__ROLE_ALONE;
    c->many->phase = HF__MANY_IDLE;
    c->has_ticket = false;
    c->heir = 0;
    c->wakes_at = INT64_MAX;
    c->suspended_ns = 0;
    c->stopped_ns = 0;
    c->wall_ns = 0;
    hf__grant_init(&c->grant, c->plan->lease_ms, c->plan->auto_renew);
    c->token = 0;
    c->session = 0;
    c->seen_fence = 0;
    c->poll_at = HF__NEVER;
    c->stuck_until = hf__driver_now(c);
    c->has_release_due = false;
    c->has_renewal_due = false;
    c->claim = c->raise = c->renewal = c->release = none;
    memset(c->debts, 0, sizeof c->debts);
    c->inbox_count = 0;
    c->work = HF__WORK_NONE;
    c->work_at = HF__NEVER;
    c->store->lives[c->index] = c->life;
    hf__driver_think(c);
    hf__oracle_forget(c->oracle, c->index);
    hf__driver_note(c, HF__DEED_RESTARTS, -1, c->life);
    hf__sim_client_arm(c);
}

void hf__sim_client_crash(struct hf__sim_client *c)
{
    c->tally->crashed_holding +=
        hf__grant_is_held(&c->grant, hf__driver_now(c));
    hf__driver_note(c, HF__DEED_CRASHES, -1, c->life);
    c->is_up = false;
    c->store->lives[c->index] = 0;
    c->store->name_lives = false;
    hf__driver_end_session(c); /* its kernel does */
    hf__sim_client_arm(c);
}

void hf__sim_client_wake(struct hf__sim_client *c, uint64_t wake_id)
{
    bool is_timer = wake_id == c->wake_id;

    if ((!is_timer && wake_id != 0) || !c->is_up || c->is_paused) {
        return;
    }
    if (is_timer) {
        c->wakes_at = INT64_MAX;
    }
    if (hf__world_chance(c->world, 500)) {
        act(c);
        hf__driver_tick(c);
    } else {
        hf__driver_tick(c);
        act(c);
    }
    hf__sim_client_arm(c);
}

void hf__sim_client_hear(struct hf__sim_client *c, const struct hf__message *m)
{
    if (!c->is_up || m->life != c->life) {
        return;
    }
    if (c->is_paused) {
        HF_ASSERT(c->inbox_count < HF__INBOX_MAX);
        c->inbox[c->inbox_count++] = *m;
        return;
    }
    hf__driver_hear(c, m);
    hf__sim_client_arm(c);
}

void hf__sim_client_cut(struct hf__sim_client *c, int member)
{
    if (c->is_up && !c->is_paused) {
        hf__driver_cut(c, member);
        hf__sim_client_arm(c);
    } /* Else its limits tell it. */
}

void hf__sim_client_step_wall(struct hf__sim_client *c, int64_t by_ns)
{
    hf__driver_note(c, HF__DEED_WALL_STEPS, -1, by_ns);
    c->wall_ns += by_ns;
    if (c->plan->mutant == HF__MUTANT_WALL_CLOCK) {
        hf__sim_client_arm(c);
    }
}

void hf__sim_client_pause(struct hf__sim_client *c, enum hf__nap nap)
{
    if (!c->is_up || c->is_paused) {
        return;
    }
    hf__driver_note(c, HF__DEED_PAUSES, -1, nap);
    c->has_napped = true;
    c->many->has_napped = true;
    c->nap = nap;
    c->paused_at = c->world->now;
    c->is_paused = true;
    hf__sim_client_arm(c);
}

/* What came meanwhile, in any order. */
static void empty_inbox(struct hf__sim_client *c)
{
    while (c->inbox_count > 0) {
        int i = (int)hf__world_between(c->world, 0, c->inbox_count - 1);
        struct hf__message m = c->inbox[i];

        c->inbox[i] = c->inbox[--c->inbox_count];
        hf__driver_hear(c, &m);
    }
}

void hf__sim_client_resume(struct hf__sim_client *c)
{
    int64_t slept = c->world->now - c->paused_at;
    bool was_holding = c->app == HF__APP_HOLDS;

    if (!c->is_up || !c->is_paused) {
        return;
    }
    c->is_paused = false;
    c->suspended_ns += c->nap == HF__NAP_SUSPEND ? slept : 0;
    c->stopped_ns += c->nap == HF__NAP_VM ? slept : 0;
    c->tally->slept_over += was_holding && slept > c->plan->lease_ns;
    hf__driver_note(c, HF__DEED_RESUMES, -1, slept);
    act(c);
    if (hf__world_chance(c->world, 500)) {
        hf__driver_tick(c);
        empty_inbox(c);
    } else {
        empty_inbox(c);
        hf__driver_tick(c);
    }
    hf__sim_client_arm(c);
}
