/* SPDX-License-Identifier: MIT */
/*
 * The store of a schedule. This file decides what a crash takes from a
 * member and when a member may be counted again; what statements do is in
 * row.c and line.c.
 */
#include "tests/sim/store.h"

#include <string.h>

void hf__store_init(struct hf__store *s, const struct hf__plan *plan)
{
    s->plan = plan;
    for (int i = 0; i < plan->members; i++) {
        hf__row_init(&s->members[i], plan, i);
    }
    hf__line_init(&s->line, &s->members[0]);
    memset(s->lives, 0, sizeof s->lives);
    s->name_lives = false;
}

bool hf__store_is_orphan(const struct hf__store *s, int member)
{
    const struct hf__row *row = &s->members[member].row;

    if (!s->plan->sees_death || row->token == 0) {
        return false;
    }
    return s->plan->mutant == HF__MUTANT_LIVENESS_BY_NAME &&
                   s->plan->model == HF__MODEL_ROW
               ? !s->name_lives
               : s->lives[row->client] != row->life;
}

const int *hf__store_lives(const struct hf__store *s)
{
    return s->plan->sees_death ? s->lives : NULL;
}

bool hf__store_is_held(const struct hf__store *s, int member, int64_t true_ns)
{
    const struct hf__member *m = &s->members[member];

    for (int i = 0; i < m->row.n_sharers; i++) {
        if (hf__crowd_is_sharing(&m->row.sharers[i], hf__row_now(m, true_ns),
                                 hf__store_lives(s))) {
            return true;
        }
    }
    return m->row.token != 0 && hf__row_now(m, true_ns) < m->row.ends &&
           !(s->plan->sees_death && s->lives[m->row.client] != m->row.life);
}

bool hf__store_counts(const struct hf__plan *plan, int64_t uptime_ns)
{
    /* As in lease.c: 2 % for the rates of both clocks. */
    return plan->is_durable ||
           uptime_ns >= plan->lease_ns + plan->lease_ns / 50;
}

static int64_t uptime(const struct hf__member *m, int64_t true_ns)
{
    return hf__plan_shown(true_ns - m->started, m->plan->member_ppm[m->index]);
}

static bool owns(const struct hf__member *m, uint64_t token, int64_t now)
{
    for (int i = 0; i < m->row.n_sharers; i++) {
        if (m->row.sharers[i].token == token) {
            return now < m->row.sharers[i].ends;
        }
    }
    return m->row.token == token && now < m->row.ends;
}

int hf__store_owned(const struct hf__store *s, uint64_t token, int64_t true_ns)
{
    int owned = 0;

    for (int i = 0; i < s->plan->members; i++) {
        const struct hf__member *m = &s->members[i];
        bool counts =
            s->plan->is_durable ||
            (m->is_up && hf__store_counts(s->plan, uptime(m, true_ns)));
        bool is_closed = s->plan->model == HF__MODEL_QUORUM && !counts;

        owned += is_closed || owns(m, token, hf__row_now(m, true_ns));
    }
    return owned;
}

void hf__store_apply(struct hf__store *s, struct hf__message *m,
                     int64_t true_ns)
{
    struct hf__member *member = &s->members[m->member];

    HF_ASSERT(member->is_up);
    if (s->plan->model == HF__MODEL_SESSION) {
        hf__line_apply(&s->line, m, true_ns);
    } else if (s->plan->model == HF__MODEL_CROWD) {
        hf__crowd_apply(member, m, hf__store_lives(s));
    } else {
        hf__row_apply(member, m, hf__store_is_orphan(s, m->member));
    }
    hf__row_remember(member, true_ns);
    m->uptime_ns = uptime(member, true_ns);
}

bool hf__store_down(struct hf__store *s, int member, int64_t true_ns,
                    int64_t lost_ns)
{
    struct hf__member *m = &s->members[member];
    uint64_t owner = m->row.token;
    int64_t ends = m->row.ends;

    m->is_up = false;
    m->incarnation++;
    if (s->plan->model == HF__MODEL_SESSION) {
        hf__line_stop(&s->line);
    }
    if (!s->plan->is_durable && lost_ns > s->plan->lag_ns) {
        memset(&m->row, 0, sizeof m->row);
    } else if (!s->plan->is_durable) {
        uint64_t free_now = m->row.token;

        hf__row_go_back(m, true_ns - lost_ns);
        if (s->plan->model == HF__MODEL_SESSION) {
            m->row.token = free_now;
        }
    }
    return owner != 0 && (m->row.token != owner || m->row.ends != ends);
}

void hf__store_up(struct hf__store *s, int member, int64_t true_ns)
{
    s->members[member].is_up = true;
    s->members[member].started = true_ns;
}
