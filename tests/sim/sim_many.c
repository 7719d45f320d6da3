/* SPDX-License-Identifier: MIT */
/*
 * Several names in one wish, all of them or none, as core/many.c does it: all
 * that are missing are tried at once; those before the first that is busy are
 * kept, the rest goes back, and that one is waited for; then the rest again.
 * This file decides what each client of the process does for that; how it
 * claims, renews and releases its name is its own affair.
 */
#include "tests/sim/sim_driver.h"

static bool is_in(const struct hf__sim_many *m, int name)
{
    return (m->set >> name & 1) != 0;
}

/* It wants nothing, and nothing of it is left at the store. */
static bool is_quiet(const struct hf__sim_client *c)
{
    return c->app == HF__APP_THINKS && !hf__debt_is_any(c) &&
           c->work == HF__WORK_NONE && hf__driver_is_past(c, c->stuck_until);
}

static void set_timer(struct hf__sim_many *m, struct hf__sim_client *c)
{
    c->app_at = c->app == HF__APP_THINKS ? HF__NEVER : m->until;
    if (c->app == HF__APP_HOLDS && !c->plan->auto_renew) {
        c->app_at =
            hf__earlier(m->until, hf__driver_soon(c, c->plan->lease_ns / 2));
    }
}

/* ---- asking ------------------------------------------------------------- */

static void claim(struct hf__sim_many *m, struct hf__sim_client *c,
                  enum hf__role role)
{
    c->role = role;
    c->manner = m->manner;
    c->queueing = role == HF__ROLE_TRIES ? HF__QUEUE_NEVER : m->queueing;
    c->app = HF__APP_CLAIMS;
    hf__driver_claim(c);
    set_timer(m, c);
}

/* All that are missing. */
static void try_rest(struct hf__sim_many *m)
{
    m->phase = HF__MANY_TRIES;
    for (int i = 0; i < m->names; i++) {
        if (is_in(m, i) && m->clients[i].role != HF__ROLE_KEEPS) {
            claim(m, &m->clients[i], HF__ROLE_TRIES);
        }
    }
}

static void give_back(struct hf__sim_client *c)
{
    c->role = HF__ROLE_IS_BACK;
    if (hf__driver_is_ours(c) && c->app == HF__APP_HOLDS) {
        hf__driver_release(c);
    } else if (c->app == HF__APP_CLAIMS) {
        hf__driver_give_up(c);
    }
    if (c->app == HF__APP_THINKS) {
        c->app_at = HF__NEVER;
    }
}

/* Of what was granted, only what is before the busy one is kept: who keeps
 * nothing above what it waits for can't wait in a circle. */
static void wait_for(struct hf__sim_many *m, int busy)
{
    m->phase = HF__MANY_WAITS;
    m->busy = busy;
    m->clients->tally->many_waits++;
    for (int i = busy + 1; i < m->names; i++) {
        struct hf__sim_client *c = &m->clients[i];

        if (is_in(m, i) && !(hf__driver_is_mutant(c, HF__MUTANT_KEEPS_ABOVE) &&
                             c->role == HF__ROLE_KEEPS)) {
            give_back(c);
        }
    }
    claim(m, &m->clients[busy], HF__ROLE_QUEUES);
}

static void draw(struct hf__sim_client *c)
{
    struct hf__sim_many *m = c->many;

    m->manner =
        (struct hf__manner){.mode = hf__world_chance(c->world, c->plan->shared)
                                        ? HF__MODE_SHARED
                                        : HF__MODE_EXCLUSIVE};
    m->queueing = hf__world_chance(c->world, c->plan->fair)
                      ? HF__QUEUE_ALWAYS
                      : HF__QUEUE_BEHIND_SHARED;
    m->set = (1u << m->names) - 1;
    if (m->names > 2 && hf__world_chance(c->world, 500)) {
        m->set &= ~(1u << hf__world_between(c->world, 0, m->names - 1));
    }
}

bool hf__many_begin(struct hf__sim_client *c)
{
    struct hf__sim_many *m = c->many;

    if (m->phase != HF__MANY_IDLE) {
        return false; /* one more wish would forget who has a part in it */
    }
    for (int i = 0; i < m->names; i++) {
        if (!is_quiet(&m->clients[i])) {
            return false;
        }
    }
    draw(c);
    m->claimed_at = hf__driver_now(c);
    m->until = hf__after_ns(m->claimed_at, c->plan->patience_ns);
    m->has_napped = false;
    hf__driver_note(c, HF__DEED_WANTS_MANY, -1, (int64_t)m->set);
    try_rest(m);
    return true;
}

/* ---- going on ----------------------------------------------------------- */

static void begin_hold(struct hf__sim_many *m)
{
    struct hf__sim_client *c = m->clients;
    int held = 0;

    m->phase = HF__MANY_HAS;
    m->until = hf__driver_soon(c, c->plan->hold_ns);
    for (int i = 0; i < m->names; i++) {
        if (is_in(m, i)) {
            held += hf__grant_is_held(&m->clients[i].grant, hf__driver_now(c));
            set_timer(m, &m->clients[i]);
        }
    }
    c->tally->many++;
    hf__driver_note(c, HF__DEED_HAS_MANY, -1, (int64_t)m->set);
    hf__oracle_many_granted(c->oracle, held, __builtin_popcount(m->set));
}

/* All have been tried. */
static void decide(struct hf__sim_many *m)
{
    for (int i = 0; i < m->names; i++) {
        if (is_in(m, i) && m->clients[i].role != HF__ROLE_KEEPS) {
            wait_for(m, i);
            return;
        }
    }
    begin_hold(m);
}

/* What it gave back is settled: the next round. */
static void gather(struct hf__sim_many *m)
{
    bool is_all = true;

    for (int i = 0; i < m->names; i++) {
        struct hf__sim_client *c = &m->clients[i];

        if (is_in(m, i) && c->role != HF__ROLE_KEEPS && !is_quiet(c)) {
            return;
        }
        is_all = is_all && (!is_in(m, i) || c->role == HF__ROLE_KEEPS);
    }
    if (is_all) {
        begin_hold(m);
    } else {
        try_rest(m);
    }
}

static bool is_any(const struct hf__sim_many *m, enum hf__role role)
{
    for (int i = 0; i < m->names; i++) {
        if (is_in(m, i) && m->clients[i].role == role) {
            return true;
        }
    }
    return false;
}

/* Something that was kept is lost, or an outcome is unknown. */
static bool has_failed(const struct hf__sim_many *m)
{
    for (int i = 0; i < m->names; i++) {
        const struct hf__sim_client *c = &m->clients[i];

        if (is_in(m, i) && c->role == HF__ROLE_KEEPS &&
            !hf__driver_is_ours(c)) {
            return true;
        }
    }
    return is_any(m, HF__ROLE_FAILED);
}

/* When everything is given back, each is on its own again. */
static void finish(struct hf__sim_many *m)
{
    for (int i = 0; i < m->names; i++) {
        if (is_in(m, i) && m->clients[i].app != HF__APP_THINKS) {
            return;
        }
    }
    m->phase = HF__MANY_IDLE;
    for (int i = 0; i < m->names; i++) {
        if (is_in(m, i)) {
            m->clients[i].role = HF__ROLE_ALONE;
            hf__driver_think(&m->clients[i]);
        }
    }
}

void hf__many_end(struct hf__sim_many *m)
{
    struct hf__sim_client *c = m->clients;

    if (m->phase == HF__MANY_IDLE || m->phase == HF__MANY_ENDS) {
        return;
    }
    c->tally->many_failed += m->phase != HF__MANY_HAS;
    hf__driver_note(c, HF__DEED_ENDS_MANY, -1, (int64_t)m->phase);
    for (int i = 0; i < m->names; i++) {
        bool is_kept = hf__driver_is_mutant(c, HF__MUTANT_KEEPS_PART) &&
                       m->phase != HF__MANY_HAS &&
                       m->clients[i].role == HF__ROLE_KEEPS;

        if (is_in(m, i) && is_kept) {
            m->clients[i].app = HF__APP_THINKS; /* and the keeper renews it */
        }
        if (is_in(m, i) && !is_kept) {
            give_back(&m->clients[i]);
        }
    }
    m->phase = HF__MANY_ENDS;
}

void hf__many_step(struct hf__sim_many *m)
{
    if (m->phase != HF__MANY_ENDS && has_failed(m)) {
        hf__many_end(m);
    }
    if (m->phase == HF__MANY_TRIES && !is_any(m, HF__ROLE_TRIES)) {
        decide(m);
    }
    if (m->phase == HF__MANY_WAITS && !is_any(m, HF__ROLE_QUEUES)) {
        m->phase = HF__MANY_GATHERS;
    }
    if (m->phase == HF__MANY_GATHERS) {
        gather(m);
    }
    if (m->phase == HF__MANY_ENDS) {
        finish(m);
    }
}

void hf__many_tick(struct hf__sim_client *c)
{
    struct hf__sim_many *m = c->many;

    if (c->app == HF__APP_THINKS || c->app == HF__APP_RELEASES) {
        c->app_at = HF__NEVER;
        return;
    }
    if (hf__driver_is_past(c, m->until)) {
        if (m->phase != HF__MANY_HAS && !m->has_napped) {
            hf__oracle_timed_out(
                c->oracle, c->index,
                hf__between_ns(m->claimed_at, hf__driver_now(c)));
        }
        hf__many_end(m);
        return;
    }
    hf__driver_renew(c);
    set_timer(m, c);
}
