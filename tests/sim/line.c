/* SPDX-License-Identifier: MIT */
/*
 * The line of sessions. This file decides who is next and what the end of a
 * session frees; when the server learns of an end is left to store.c.
 */
#include "tests/sim/line.h"

#include <string.h>

static bool is_mutant(const struct hf__line *l, enum hf__mutant mutant)
{
    return l->member->plan->mutant == mutant;
}

void hf__line_init(struct hf__line *l, struct hf__member *member)
{
    memset(l, 0, sizeof *l);
    l->member = member;
}

static struct hf__seat *find(struct hf__line *l, uint64_t session)
{
    for (int i = 0; i < l->count; i++) {
        if (l->seats[i].session == session) {
            return &l->seats[i];
        }
    }
    return NULL;
}

const struct hf__seat *hf__line_find(const struct hf__line *l, uint64_t session)
{
    for (int i = 0; i < l->count; i++) {
        if (l->seats[i].session == session) {
            return &l->seats[i];
        }
    }
    return NULL;
}

static bool has_ended(const struct hf__line *l, uint64_t session)
{
    for (int i = 0; i < HF__SEATS_MAX; i++) {
        if (l->ended[i] == session) {
            return true;
        }
    }
    return false;
}

static void remove_seat(struct hf__line *l, struct hf__seat *seat)
{
    int at = (int)(seat - l->seats);

    l->ended[l->ended_count++ % HF__SEATS_MAX] = seat->session;
    l->count--;
    memmove(seat, seat + 1, (size_t)(l->count - at) * sizeof *seat);
}

static void hear(struct hf__line *l, struct hf__seat *seat, int64_t true_ns)
{
    seat->heard = true_ns;
    seat->has_spoken = true;
    if (seat->owns) {
        l->member->row.ends =
            hf__row_now(l->member, true_ns) + l->member->plan->lease_ns;
    }
}

static bool is_owned(const struct hf__line *l)
{
    for (int i = 0; i < l->count; i++) {
        if (l->seats[i].owns) {
            return true;
        }
    }
    return false;
}

/* The first that is not known to have left becomes the owner. */
static void serve(struct hf__line *l, int64_t true_ns)
{
    struct hf__seat *seat = NULL;

    if (is_owned(l)) {
        return;
    }
    while (l->count > 0 && l->seats[0].is_left) {
        remove_seat(l, &l->seats[0]);
    }
    if (l->count == 0) {
        return;
    }
    seat = &l->seats[is_mutant(l, HF__MUTANT_QUEUE_JUMPS) ? l->count - 1 : 0];
    seat->owns = true;
    l->served = seat->session;
    l->member->row.token = seat->token;
    l->member->row.fence =
        hf__row_next_fence(l->member, hf__row_now(l->member, true_ns));
    hear(l, seat, true_ns);
    seat->has_spoken = false; /* it was served while it slept */
}

void hf__line_end(struct hf__line *l, uint64_t session, int64_t true_ns)
{
    struct hf__seat *seat = find(l, session);
    bool did_own = seat != NULL && seat->owns;

    if (seat == NULL ||
        (did_own && is_mutant(l, HF__MUTANT_GRANT_OUTLIVES_SESSION))) {
        return;
    }
    remove_seat(l, seat);
    if (did_own) {
        l->member->row.token = 0;
        serve(l, true_ns);
    }
}

void hf__line_leave(struct hf__line *l, uint64_t session, int64_t true_ns)
{
    struct hf__seat *seat = find(l, session);

    if (seat != NULL && !seat->owns) {
        seat->is_left = true; /* it sleeps in a statement: seen later */
        return;
    }
    hf__line_end(l, session, true_ns);
}

int64_t hf__line_silent_at(const struct hf__line *l, uint64_t session)
{
    const struct hf__seat *seat = hf__line_find(l, session);
    const struct hf__plan *plan = l->member->plan;

    if (seat == NULL || !seat->owns ||
        (is_mutant(l, HF__MUTANT_NO_OFFER_TTL) && !seat->has_spoken)) {
        return INT64_MAX;
    }
    return hf__plan_true(
        hf__plan_shown(seat->heard, plan->member_ppm[l->member->index]) +
            plan->lease_ns,
        plan->member_ppm[l->member->index]);
}

static int acquire(struct hf__line *l, const struct hf__message *m,
                   int64_t true_ns)
{
    struct hf__seat *seat = find(l, m->session);

    if (seat == NULL) {
        HF_ASSERT(l->count < HF__SEATS_MAX);
        seat = &l->seats[l->count++];
        *seat = (struct hf__seat){.session = m->session,
                                  .token = m->token,
                                  .client = m->client,
                                  .life = m->life};
    }
    hear(l, seat, true_ns);
    serve(l, true_ns);
    seat = find(l, m->session); /* those before it may have left */
    HF_ASSERT(seat != NULL);
    if (seat->owns && l->served == m->session) {
        l->served = 0; /* its answer tells it */
        seat->has_spoken = true;
    }
    return seat->owns ? HF_OK : HF_BUSY;
}

static int release(struct hf__line *l, struct hf__seat *seat, int64_t true_ns)
{
    remove_seat(l, seat);
    l->member->row.token = 0;
    serve(l, true_ns);
    return HF_OK;
}

void hf__line_apply(struct hf__line *l, struct hf__message *m, int64_t true_ns)
{
    struct hf__seat *seat = find(l, m->session);
    bool is_ours = seat != NULL && seat->owns && seat->token == m->token;

    m->reason = HF_REASON_NONE;
    if (has_ended(l, m->session)) {
        m->result = m->op == HF__OP_ACQUIRE ? HF_EUNAVAIL : HF_LOST;
    } else if (m->op == HF__OP_ACQUIRE) {
        m->result = acquire(l, m, true_ns);
    } else if (!is_ours) {
        m->result = HF_LOST;
    } else if (m->op == HF__OP_RENEW) {
        hear(l, seat, true_ns);
        m->result = HF_OK;
    } else {
        HF_ASSERT(m->op == HF__OP_RELEASE);
        m->result = release(l, seat, true_ns);
    }
    if (m->result == HF_LOST) {
        m->reason = HF_REASON_SESSION;
    }
    m->fence = l->member->row.fence;
}

void hf__line_stop(struct hf__line *l)
{
    while (l->count > 0) {
        remove_seat(l, &l->seats[0]);
    }
    l->served = 0;
    l->member->row.token = 0;
}
