/* SPDX-License-Identifier: MIT */
/*
 * The store's side of a schedule: requests as they come, sessions as they
 * end, crashes, failovers, operators, clocks. This file sees to it that the
 * oracles are told, and that who loses its grant unforeseen is excused; what
 * a statement does is in row.c and line.c.
 */
#include "tests/sim/run.h"

void hf__sim_note(struct hf__sim *s, enum hf__deed deed, int member,
                  int64_t number)
{
    hf__world_note(&s->world, &(struct hf__trace_line){
                                  .deed = deed,
                                  .client = -1,
                                  .member = member,
                                  .op = -1,
                                  .token = s->store.members[member].row.token,
                                  .number = number});
}

void hf__sim_add(struct hf__sim *s, enum hf__sim_kind kind, int client,
                 uint64_t id, int64_t after_ns)
{
    hf__world_add(&s->world,
                  &(struct hf__sim_event){.at = s->world.now + after_ns,
                                          .kind = kind,
                                          .client = client,
                                          .id = id});
}

static void excuse(struct hf__sim *s, uint64_t token)
{
    s->tally.excused += token != 0;
    hf__oracle_excuse(&s->oracle, token);
}

static bool has_still(const struct hf__row *row, const struct hf__sharer *s)
{
    for (int i = 0; i < row->n_sharers; i++) {
        if (row->sharers[i].token == s->token &&
            row->sharers[i].ends == s->ends) {
            return true;
        }
    }
    return false;
}

/* Those that were granted before and are not now, or not for as long. */
static void excuse_lost(struct hf__sim *s, const struct hf__row *before,
                        const struct hf__row *after)
{
    if (before->token != after->token || before->ends != after->ends) {
        excuse(s, before->token);
    }
    for (int i = 0; i < before->n_sharers; i++) {
        if (!has_still(after, &before->sharers[i])) {
            excuse(s, before->sharers[i].token);
        }
    }
}

static void excuse_all(struct hf__sim *s, const struct hf__row *row)
{
    excuse_lost(s, row, &(struct hf__row){.ends = INT64_MAX});
}

/* ---- the line ----------------------------------------------------------- */

static void wake_served(struct hf__sim *s, const struct hf__seat *seat)
{
    struct hf__message m = {.op = HF__OP_ACQUIRE,
                            .client = seat->client,
                            .life = seat->life,
                            .epoch = s->network.links[seat->client][0].epoch,
                            .is_wake = true,
                            .session = seat->session,
                            .token = seat->token};

    s->store.line.served = 0;
    s->tally.served++;
    hf__network_reply(&s->network, &m);
}

static void arm_check(struct hf__sim *s, uint64_t session)
{
    int64_t at = hf__line_silent_at(&s->store.line, session);

    if (at != INT64_MAX) {
        hf__sim_add(s, HF__SIM_SESSION_CHECK, -1, session, at - s->world.now);
    }
}

static void tell_departures(struct hf__sim *s)
{
    for (int i = s->oracle.queue_count - 1; i >= 0; i--) {
        if (hf__line_find(&s->store.line, s->oracle.queue[i]) == NULL) {
            hf__oracle_left(&s->oracle, s->oracle.queue[i]);
        }
    }
}

/* What changed in the line, by looking at it from outside. */
static void watch_line(struct hf__sim *s)
{
    const struct hf__seat *owner = NULL;

    tell_departures(s);
    for (int i = 0; i < s->store.line.count; i++) {
        const struct hf__seat *seat = &s->store.line.seats[i];

        if (!seat->owns || seat->session != s->owner_session) {
            hf__oracle_came(&s->oracle, seat->session);
        }
        owner = seat->owns ? seat : owner;
    }
    if (owner == NULL) {
        s->owner_session = 0;
        return;
    }
    if (owner->session == s->owner_session) {
        return;
    }
    s->owner_session = owner->session;
    hf__oracle_served(&s->oracle, owner->session);
    arm_check(s, owner->session);
    if (s->store.line.served == owner->session) {
        wake_served(s, owner);
    }
}

void hf__sim_leave(struct hf__sim *s, uint64_t session)
{
    hf__line_leave(&s->store.line, session, s->world.now);
    if (hf__line_find(&s->store.line, session) != NULL &&
        s->plan.detect_ns >= 0) {
        hf__sim_add(s, HF__SIM_DETECT, -1, session, s->plan.detect_ns);
    }
    watch_line(s);
}

void hf__sim_detect(struct hf__sim *s, uint64_t session)
{
    const struct hf__seat *seat = hf__line_find(&s->store.line, session);

    if (seat != NULL && seat->is_left) {
        s->tally.detected++;
        hf__line_end(&s->store.line, session, s->world.now);
        watch_line(s);
    }
}

void hf__sim_check_session(struct hf__sim *s, uint64_t session)
{
    int64_t silent_at = hf__line_silent_at(&s->store.line, session);

    if (silent_at > s->world.now) {
        arm_check(s, session);
        return;
    }
    s->tally.silent++;
    hf__sim_note(s, HF__DEED_SESSION_ENDS, 0, (int64_t)session);
    hf__line_end(&s->store.line, session, s->world.now);
    watch_line(s);
}

/* ---- requests ----------------------------------------------------------- */

static bool is_taken(const struct hf__applied *a)
{
    return a->m->op == HF__OP_ACQUIRE && a->m->result == HF_OK &&
           a->before->token != 0 && a->before->token != a->m->token;
}

static void apply(struct hf__sim *s, struct hf__message *m)
{
    struct hf__member *member = &s->store.members[m->member];
    bool is_orphan = hf__store_is_orphan(&s->store, m->member);
    struct hf__row before;
    struct hf__applied a = {.m = m,
                            .before = &before,
                            .after = &member->row,
                            .lives = hf__store_lives(&s->store)};

    hf__row_copy(&before, &member->row);
    /* By a clock that was stepped since, it may have been over. */
    a.was_running = m->stepped == member->stepped_ns &&
                    hf__store_is_held(&s->store, m->member, s->world.now);
    hf__store_apply(&s->store, m, s->world.now);
    hf__world_note(&s->world,
                   &(struct hf__trace_line){.deed = HF__DEED_IS_APPLIED,
                                            .client = m->client,
                                            .member = m->member,
                                            .op = (int)m->op,
                                            .token = m->token,
                                            .number = m->result});
    s->tally.takeovers += is_taken(&a);
    s->tally.orphans += is_taken(&a) && is_orphan;
    hf__oracle_applied(&s->oracle, &a);
    if (is_taken(&a) && hf__network_meets(&s->network, HF__FAULT_FAILOVER)) {
        /* It hurts most before the replica knows of the new owner. */
        hf__sim_add(s, HF__SIM_FAILOVER, -1, 1,
                    hf__world_between(&s->world, 1, s->plan.lease_ns));
    }
    if (m->stepped != member->stepped_ns) {
        /* By a clock that is no more it gave a lease, and may have ended one.
         */
        excuse(s, m->token);
        excuse(s, m->next_token);
        excuse_all(s, &before);
    }
    if (s->plan.model == HF__MODEL_SESSION) {
        watch_line(s);
    }
    hf__network_reply(&s->network, m);
}

void hf__sim_serve(struct hf__sim *s, const struct hf__message *request)
{
    struct hf__message m = *request;
    struct hf__member *member = &s->store.members[m.member];

    if (!hf__network_brings(&s->network, &m, HF__WAY_OUT)) {
        return;
    }
    m.begun = hf__row_now(member, s->world.now);
    m.stepped = member->stepped_ns;
    if (hf__network_meets(&s->network, HF__FAULT_BLOCKED)) {
        struct hf__sim_event e = {
            .at = s->world.now +
                  hf__world_between(&s->world, 1, s->plan.lease_ns),
            .kind = HF__SIM_STATEMENT,
            .client = m.client,
            .message = m};

        hf__sim_note(s, HF__DEED_IS_BLOCKED, m.member, (int64_t)m.id);
        hf__world_add(&s->world, &e);
        return;
    }
    apply(s, &m);
}

void hf__sim_go_on(struct hf__sim *s, const struct hf__message *request)
{
    struct hf__message m = *request;
    const struct hf__member *member = &s->store.members[m.member];

    if (member->is_up && m.incarnation == member->incarnation) {
        s->tally.blocked++;
        apply(s, &m);
    }
}

/* ---- members ------------------------------------------------------------ */

static void cut_all(struct hf__sim *s, int member)
{
    for (int i = 0; i < s->plan.clients; i++) {
        if (hf__world_chance(&s->world, 500)) {
            hf__network_reset(&s->network, i, member);
        }
    }
}

void hf__sim_member_down(struct hf__sim *s, int member)
{
    struct hf__row before = s->store.members[member].row;
    int64_t lost = hf__world_between(&s->world, 0, 2 * s->plan.lag_ns);
    int64_t down = 0;

    if (!s->store.members[member].is_up) {
        return;
    }
    hf__sim_note(s, HF__DEED_MEMBER_DOWN, member, lost);
    if (hf__store_down(&s->store, member, s->world.now, lost)) {
        s->tally.rolled_back++;
        /* A quorum counts no member that may have forgotten. */
        if (s->plan.model != HF__MODEL_QUORUM) {
            excuse(s, before.token);
        }
    }
    if (s->plan.model == HF__MODEL_CROWD) {
        excuse_lost(s, &before, &s->store.members[member].row);
        hf__oracle_line_is(&s->oracle, member, &s->store.members[member].row);
    }
    if (s->plan.model == HF__MODEL_SESSION) {
        watch_line(s);
    }
    cut_all(s, member);
    /* It is soonest dangerous when it is back before the leases it forgot
     * are over. */
    down = hf__world_chance(&s->world, 500) ? s->plan.lease_ns / 10
                                            : 2 * s->plan.lease_ns;
    hf__sim_add(s, HF__SIM_MEMBER_UP, -1, (uint64_t)member,
                hf__world_between(&s->world, 1, down));
}

void hf__sim_member_up(struct hf__sim *s, int member)
{
    if (!s->store.members[member].is_up) {
        hf__store_up(&s->store, member, s->world.now);
        hf__sim_note(s, HF__DEED_MEMBER_UP, member, 0);
    }
}

void hf__sim_failover(struct hf__sim *s)
{
    struct hf__member *m = &s->store.members[0];
    struct hf__row before = m->row;
    int64_t lag = hf__world_between(&s->world, 0, s->plan.lag_ns);

    if (!m->is_up) {
        return;
    }
    hf__sim_note(s, HF__DEED_FAILOVER, 0, lag);
    m->incarnation++;
    hf__row_go_back(m, s->world.now - lag);
    hf__row_remember(m, s->world.now);
    s->tally.rolled_back +=
        before.token != m->row.token || before.ends != m->row.ends;
    excuse_lost(s, &before, &m->row);
    if (s->plan.model == HF__MODEL_CROWD) {
        hf__oracle_line_is(&s->oracle, 0, &m->row);
    }
    cut_all(s, 0);
}

/* ---- what no client can foresee ----------------------------------------- */

static void break_row(struct hf__sim *s, int member)
{
    struct hf__member *m = &s->store.members[member];

    if (hf__store_is_held(&s->store, member, s->world.now)) {
        excuse_all(s, &m->row);
        hf__sim_note(s, HF__DEED_IS_BROKEN, member, (int64_t)m->row.fence);
        hf__row_break(m);
        hf__row_remember(m, s->world.now);
    }
}

void hf__sim_break(struct hf__sim *s)
{
    if (s->plan.model == HF__MODEL_SESSION) {
        excuse(s, s->store.members[0].row.token);
        hf__sim_note(s, HF__DEED_IS_BROKEN, 0, (int64_t)s->owner_session);
        hf__line_end(&s->store.line, s->owner_session, s->world.now);
        watch_line(s);
        return;
    }
    for (int i = 0; i < s->plan.members; i++) {
        break_row(s, i);
    }
}

void hf__sim_step_clock(struct hf__sim *s, int member, int64_t by_ns)
{
    struct hf__member *m = &s->store.members[member];

    hf__sim_note(s, HF__DEED_CLOCK_STEPS, member, by_ns);
    m->stepped_ns += by_ns;
    if (s->plan.model == HF__MODEL_SESSION) {
        m->row.ends += by_ns; /* silence is counted on a clock of its own */
        return;
    }
    excuse_all(s, &m->row);
}
