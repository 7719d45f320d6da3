/* SPDX-License-Identifier: MIT */
/*
 * Who counts at a name that was read, and what is told of them: to the rule
 * of crowd.h, to a claim that is refused, to people. Called by the session's
 * thread.
 */
#include "src/backend/mysql/name.h"

#include "src/base/alloc.h"

#include <stdlib.h>

const struct hf__mysql_grant *
hf__mysql_grant_of(const struct hf__mysql_name *name,
                   const struct hf__token *token)
{
    for (int i = 0; i < name->n_grants; i++) {
        if (hf__token_equal(&name->grants[i].token, token)) {
            return &name->grants[i];
        }
    }
    return NULL;
}

const struct hf__mysql_ticket *
hf__mysql_ticket_of(const struct hf__mysql_name *name,
                    const struct hf__token *token)
{
    for (int i = 0; i < name->n_tickets; i++) {
        if (hf__token_equal(&name->tickets[i].token, token)) {
            return &name->tickets[i];
        }
    }
    return NULL;
}

bool hf__mysql_grant_runs(const struct hf__mysql_grant *g)
{
    return !g->is_ended && !g->is_damaged && g->expires_in > 0;
}

bool hf__mysql_name_is_of(const struct hf__mysql_name *name,
                          const struct hf__token *token)
{
    return hf__mysql_row_is_held(&name->row) &&
           hf__token_equal(&name->row.token, token);
}

struct hf__stands hf__mysql_name_stands(const struct hf__mysql_name *name,
                                        const struct hf__token *token)
{
    struct hf__stand *at = name->stands;
    struct hf__stands s = {.holders = at};

    for (int i = 0; i < name->n_grants; i++) {
        const struct hf__mysql_grant *g = &name->grants[i];

        if (hf__mysql_grant_runs(g)) {
            *at++ = (struct hf__stand){g->token, g->manner, g->slot};
            s.n_holders++;
        }
    }
    s.line = at;
    for (int i = 0; i < name->n_tickets; i++) {
        const struct hf__mysql_ticket *t = &name->tickets[i];

        if (t->presence == HF__IN_LINE || hf__token_equal(&t->token, token)) {
            *at++ = (struct hf__stand){t->token, t->manner, -1};
            s.n_line++;
        }
    }
    return s;
}

/* Two who have the same slot. */
static bool is_slot_taken_twice(const struct hf__mysql_name *name, int at)
{
    const struct hf__mysql_grant *g = &name->grants[at];

    for (int i = 0; i < at && g->slot >= 0; i++) {
        if (name->grants[i].slot == g->slot &&
            hf__mysql_grant_runs(&name->grants[i])) {
            return hf__mysql_grant_runs(g);
        }
    }
    return false;
}

bool hf__mysql_name_is_damaged(const struct hf__mysql_name *name,
                               const struct hf__token *token)
{
    if (name->row.is_damaged) {
        return true;
    }
    for (int i = 0; i < name->n_grants; i++) {
        const struct hf__mysql_grant *g = &name->grants[i];

        if (!g->is_ended && !hf__token_equal(&g->token, token) &&
            (g->is_damaged || is_slot_taken_twice(name, i))) {
            return true;
        }
    }
    return false;
}

/* ---- to a claim */

static bool is_awaited(const struct hf__mysql_name *name)
{
    for (int i = 0; i < name->n_tickets; i++) {
        if (name->tickets[i].presence == HF__IN_LINE) {
            return true;
        }
    }
    return false;
}

void hf__mysql_grant_tell(const struct hf__mysql_grant *g,
                          struct hf__record *record)
{
    *record = (struct hf__record){
        .is_held = true,
        .manner = g->manner,
        .slot = g->slot,
        .holder_lives = -1,
        .fence = g->fence,
        .token = g->token,
        .remaining_us = g->expires_in,
        .acquired_us = g->acquired_at,
        .owner = g->owner,
    };
}

void hf__mysql_name_tell(const struct hf__mysql_name *name,
                         struct hf__record *record)
{
    if (record == NULL) {
        return;
    }
    hf__mysql_row_tell(&name->row, record);
    for (int i = 0; i < name->n_grants && !record->is_held && !record->is_kept;
         i++) {
        if (hf__mysql_grant_runs(&name->grants[i])) {
            hf__mysql_grant_tell(&name->grants[i], record);
        }
    }
    record->fence = name->row.fence;
    record->is_promised =
        !record->is_held && !record->is_kept && is_awaited(name);
}

/* ---- to people */

static int by_slot_and_age(const void *a, const void *b)
{
    const struct hf__mysql_grant *x = *(const struct hf__mysql_grant *const *)a;
    const struct hf__mysql_grant *y = *(const struct hf__mysql_grant *const *)b;

    return x->slot != y->slot ? (x->slot > y->slot) - (x->slot < y->slot)
                              : (x->fence > y->fence) - (x->fence < y->fence);
}

static int tell_grants(const struct hf__mysql_name *name,
                       struct hf__crowd *crowd)
{
    const struct hf__mysql_grant **sorted = NULL;
    int r = HF_OK;

    if (name->n_grants == 0) {
        return HF_OK;
    }
    sorted = hf__alloc((size_t)name->n_grants * sizeof *sorted);
    if (sorted == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < name->n_grants; i++) {
        sorted[i] = &name->grants[i];
    }
    qsort(sorted, (size_t)name->n_grants, sizeof *sorted, by_slot_and_age);
    for (int i = 0; i < name->n_grants && r == HF_OK; i++) {
        struct hf__party party = {0};

        if (hf__mysql_grant_runs(sorted[i])) {
            hf__mysql_grant_tell(sorted[i], &party.record);
            r = hf__crowd_add(crowd, &party);
        }
    }
    hf__free(sorted);
    return r;
}

int hf__mysql_name_tell_all(const struct hf__mysql_name *name,
                            struct hf__crowd *crowd)
{
    struct hf__party holder = {0};
    int r = HF_OK;

    hf__mysql_row_tell(&name->row, &holder.record);
    if (holder.record.is_held) {
        r = hf__crowd_add(crowd, &holder);
    }
    if (r == HF_OK) {
        r = tell_grants(name, crowd);
    }
    for (int i = 0; i < name->n_tickets && r == HF_OK; i++) {
        const struct hf__mysql_ticket *t = &name->tickets[i];
        struct hf__party party = {
            .is_waiting = true,
            .record = {.manner = t->manner,
                       .slot = -1,
                       .holder_lives = -1,
                       .remaining_us = -1,
                       .acquired_us = t->since,
                       .owner = t->owner},
        };

        if (t->presence == HF__IN_LINE) {
            r = hf__crowd_add(crowd, &party);
        }
    }
    return r;
}
