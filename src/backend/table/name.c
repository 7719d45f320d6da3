/* SPDX-License-Identifier: MIT */
/*
 * Judges what the rows of a name say, and reads single columns of any row for
 * the stores. Rows that are not as we write them are reported as damaged, where
 * that matters. Called by the session's thread.
 */
#include "src/backend/table/name.h"

#include "src/base/utf8.h"

#include <stdlib.h>
#include <string.h>

bool hf__column_token(const void *cell, size_t length,
                      struct hf__token *ret_token)
{
    memset(ret_token, 0, sizeof *ret_token);
    if (cell == NULL || length != sizeof ret_token->bytes) {
        return cell != NULL && length == 0;
    }
    memcpy(ret_token->bytes, cell, sizeof ret_token->bytes);
    return true;
}

bool hf__column_is_fence_of(uint64_t fence, const struct hf__token *token)
{
    return fence == 0 ? hf__token_is_zero(token) : fence < HF__FENCE_END;
}

void hf__column_text(const char *cell, size_t length, char *to, size_t size)
{
    size_t n = length < size ? length : size - 1;

    to[0] = '\0';
    if (cell == NULL || !hf__utf8_is_valid(cell, length)) {
        return;
    }
    memcpy(to, cell, n);
    to[n] = '\0';
    to[hf__utf8_cut(to, n)] = '\0';
}

/* ---- rows */

static bool read_lock_mode(const struct hf__table_row *r,
                           struct hf__lock_mode *ret_lock_mode)
{
    return hf__lock_mode_from(r->mode, r->slots, ret_lock_mode);
}

static bool read_token(const struct hf__table_row *r,
                       struct hf__token *ret_token)
{
    return hf__column_token(r->token, r->token_length, ret_token);
}

/* Add a grant or a ticket, with the fields that both have. */
static struct hf__participant *add(struct hf__participants *to,
                                   const struct hf__table_row *r,
                                   int64_t now_us, int slot)
{
    struct hf__participant *p = hf__participants_add(to, slot);

    if (p == NULL) {
        return NULL;
    }
    p->fence = r->number;
    p->life = r->life;
    p->since_us = r->since_us > 0 ? r->since_us : 0;
    p->holder_lives = -1;
    p->ends_us = now_us + hf__time_bounded(r->left_us);
    if (r->has_owner) {
        p->owner = r->owner;
    }
    return p;
}

static enum hf__participant_state by_lease(const struct hf__participant *g,
                                           int64_t now_us)
{
    return g->ends_us > now_us ? HF__PARTICIPANT_RUNNING
                               : HF__PARTICIPANT_ENDED;
}

static int read_record(const struct hf__table_row *r, struct hf__table_name *n)
{
    struct hf__name *name = &n->name;
    struct hf__token token;
    bool has_token = read_token(r, &token);
    struct hf__participant *g = NULL;

    name->is_there = true;
    name->fence = r->number;
    name->is_damaged =
        !has_token || !hf__column_is_fence_of(name->fence, &token);
    name->broken = r->broken;
    name->touched_us = r->changed_us;
    name->keep_until_us = name->now_us + hf__time_bounded(r->keep_left_us);
    n->revision = r->revision;
    n->fence = name->fence;
    n->crowd = (unsigned)r->crowd;
    if (hf__token_is_zero(&token) || name->is_damaged) {
        return HF_OK;
    }
    g = add(&name->grants, r, name->now_us, -1);
    if (g == NULL) {
        return HF_ENOMEM;
    }
    g->token = token;
    g->state = by_lease(g, name->now_us);
    return HF_OK;
}

/* Even a row that makes no sense is not taken for an exclusive grant. */
static int read_grant(const struct hf__table_row *r, struct hf__name *name)
{
    struct hf__lock_mode lock_mode = {HF__MODE_SHARED, 0};
    bool is_ours =
        read_lock_mode(r, &lock_mode) && lock_mode.mode != HF__MODE_EXCLUSIVE;
    bool has_slot = is_ours && lock_mode.mode == HF__MODE_SLOTS;
    struct hf__participant *g;

    is_ours =
        is_ours && (!has_slot || (r->slot >= 0 && r->slot < lock_mode.slots));
    g = add(&name->grants, r, name->now_us,
            is_ours && has_slot ? (int)r->slot : -1);
    if (g == NULL) {
        return HF_ENOMEM;
    }
    g->lock_mode =
        is_ours ? lock_mode : (struct hf__lock_mode){HF__MODE_SHARED, 0};
    is_ours = read_token(r, &g->token) && is_ours &&
              !hf__token_is_zero(&g->token) &&
              hf__column_is_fence_of(g->fence, &g->token);
    if (r->ended != 0) {
        g->state = HF__PARTICIPANT_BROKEN;
    } else {
        g->state =
            is_ours ? by_lease(g, name->now_us) : HF__PARTICIPANT_DAMAGED;
    }
    return HF_OK;
}

static enum hf__participant_state by_showing(const struct hf__participant *t,
                                             int64_t now_us)
{
    int64_t idle_us = now_us - t->seen_us;

    if (t->life != 0 || idle_us < HF__TICKET_PATIENCE_MS * INT64_C(1000)) {
        return HF__PARTICIPANT_RUNNING;
    }
    return idle_us < HF__TICKET_KEEP_MS * INT64_C(1000) ? HF__PARTICIPANT_DEAD
                                                        : HF__PARTICIPANT_ENDED;
}

/* A ticket that can't be read keeps nobody waiting. */
static int read_ticket(const struct hf__table_row *r, struct hf__name *name)
{
    struct hf__participant *t = add(&name->waiters, r, name->now_us, -1);
    bool is_ours;

    if (t == NULL) {
        return HF_ENOMEM;
    }
    t->seen_us = t->ends_us;
    is_ours = read_token(r, &t->token) && !hf__token_is_zero(&t->token);
    is_ours = read_lock_mode(r, &t->lock_mode) && is_ours;
    t->state = is_ours ? by_showing(t, name->now_us) : HF__PARTICIPANT_ENDED;
    return HF_OK;
}

/* ---- all of them */

static int read_row(const struct hf__table_row *r, struct hf__table_name *n)
{
    n->name.now_us = r->now_us;
    n->name.wall_us = n->name.now_us;
    n->name.fence_floor = n->name.now_us;
    switch (r->part) {
    case HF__PART_NAME:
        return read_record(r, n);
    case HF__PART_GRANT:
        return read_grant(r, &n->name);
    case HF__PART_TICKET:
    default:
        return read_ticket(r, &n->name);
    }
}

/* Sort tickets by number, which is by age, and grants first by slot. */
static int by_position(const void *a, const void *b)
{
    const struct hf__participant *x = *(struct hf__participant *const *)a;
    const struct hf__participant *y = *(struct hf__participant *const *)b;

    return x->slot != y->slot ? (x->slot > y->slot) - (x->slot < y->slot)
                              : (x->fence > y->fence) - (x->fence < y->fence);
}

static void sort(struct hf__participants *p)
{
    if (p->n > 1) {
        qsort(p->list, (size_t)p->n, sizeof(struct hf__participant *),
              by_position);
    }
}

/* Two running grants in one slot are damage: we never write that. */
static void judge_slots(struct hf__participants *grants)
{
    int taken = -1;

    for (int i = 0; i < grants->n; i++) {
        struct hf__participant *g = grants->list[i];

        if (g->slot >= 0 && g->state == HF__PARTICIPANT_RUNNING) {
            g->state = g->slot == taken ? HF__PARTICIPANT_DAMAGED
                                        : HF__PARTICIPANT_RUNNING;
            taken = g->slot;
        }
    }
}

void hf__table_name_init(struct hf__table_name *n, const struct hf__key *key)
{
    n->name.grants.inline_one = &n->inline_one;
    n->key = key;
    n->revision = 0;
    n->fence = 0;
    n->crowd = 0;
}

int hf__table_name_add(struct hf__table_name *n, const struct hf__table_row *r)
{
    bool is_its = r->key_length == n->key->length &&
                  memcmp(r->key, n->key->bytes, n->key->length) == 0;

    return is_its ? read_row(r, n) : HF_OK;
}

void hf__table_name_end(struct hf__table_name *n)
{
    sort(&n->name.grants);
    sort(&n->name.waiters);
    judge_slots(&n->name.grants);
}

void hf__table_name_fini(struct hf__table_name *n)
{
    hf__name_fini(&n->name);
}
