/* SPDX-License-Identifier: MIT */
/*
 * Grants side by side and a line. This file decides which of them still
 * count, and what becomes of them; who may enter is src/backend/crowd.c's.
 * For the mutants that live here it decides wrongly.
 */
#include "tests/sim/crowd.h"

#include "src/backend/crowd.h"

#include <string.h>

#define PATIENCE_NS (HF__TICKET_PATIENCE_MS * HF__MS)
/* A ticket that was not asked for in so long is forgotten. */
#define CLEAN_NS (60 * HF__SECOND)

/* Those at the name, as the rule wants them. */
struct gathered {
    struct hf__stands stands;
    struct hf__stand holders[HF__SHARERS_MAX + 1];
    struct hf__stand line[HF__TICKETS_MAX];
};

static bool lives_on(const int *lives, int client, int life)
{
    return lives == NULL || lives[client] == life;
}

bool hf__crowd_is_waiting(const struct hf__ticket *t, int64_t now,
                          const int *lives)
{
    return now - t->beat <= PATIENCE_NS && lives_on(lives, t->client, t->life);
}

bool hf__crowd_is_sharing(const struct hf__sharer *s, int64_t now,
                          const int *lives)
{
    return now < s->ends && lives_on(lives, s->client, s->life);
}

static bool is_mutant(const struct hf__member *s, enum hf__mutant mutant)
{
    return s->plan->mutant == mutant;
}

static bool is_waiting(const struct hf__member *s, const struct hf__ticket *t,
                       int64_t now, const int *lives)
{
    return is_mutant(s, HF__MUTANT_TICKET_FOR_EVER) ||
           hf__crowd_is_waiting(t, now, lives);
}

static bool is_owned(const struct hf__member *s, int64_t now, const int *lives)
{
    return hf__row_is_held(s, now) &&
           lives_on(lives, s->row.client, s->row.life);
}

static struct hf__token token_of(uint64_t number)
{
    struct hf__token token = {{0}};

    memcpy(token.bytes, &number, sizeof number);
    return token;
}

static struct hf__sharer *find_sharer(struct hf__member *s, uint64_t token)
{
    for (int i = 0; i < s->row.n_sharers; i++) {
        if (s->row.sharers[i].token == token) {
            return &s->row.sharers[i];
        }
    }
    return NULL;
}

static struct hf__ticket *find_ticket(struct hf__member *s, uint64_t token)
{
    for (int i = 0; i < s->row.n_line; i++) {
        if (s->row.line[i].token == token) {
            return &s->row.line[i];
        }
    }
    return NULL;
}

static void remove_sharer(struct hf__member *s, struct hf__sharer *gone)
{
    *gone = s->row.sharers[--s->row.n_sharers];
}

static void remove_ticket(struct hf__member *s, int at)
{
    s->row.n_line--;
    memmove(&s->row.line[at], &s->row.line[at + 1],
            (size_t)(s->row.n_line - at) * sizeof s->row.line[0]);
}

static void leave_line(struct hf__member *s, uint64_t token)
{
    struct hf__ticket *t = find_ticket(s, token);

    if (t != NULL) {
        remove_ticket(s, (int)(t - s->row.line));
    }
}

/* ---- who counts --------------------------------------------------------- */

static void gather(const struct hf__member *s, int64_t now, const int *lives,
                   struct gathered *g)
{
    g->stands = (struct hf__stands){.holders = g->holders, .line = g->line};
    if (is_owned(s, now, lives)) {
        g->holders[g->stands.n_holders++] =
            (struct hf__stand){.token = token_of(s->row.token), .slot = -1};
    }
    for (int i = 0; i < s->row.n_sharers; i++) {
        const struct hf__sharer *h = &s->row.sharers[i];

        if (hf__crowd_is_sharing(h, now, lives)) {
            g->holders[g->stands.n_holders++] =
                (struct hf__stand){.token = token_of(h->token),
                                   .manner = h->manner,
                                   .slot = h->slot};
        }
    }
    for (int i = 0; i < s->row.n_line; i++) {
        const struct hf__ticket *t = &s->row.line[i];

        if (is_waiting(s, t, now, lives)) {
            g->line[g->stands.n_line++] = (struct hf__stand){
                .token = token_of(t->token), .manner = t->manner};
        }
    }
}

/* Grants that are over, tickets of the dead and of those long silent. */
static void clean(struct hf__member *s, int64_t now, const int *lives)
{
    if (!is_owned(s, now, lives)) {
        s->row.token = 0;
    }
    for (int i = s->row.n_sharers - 1; i >= 0; i--) {
        if (!hf__crowd_is_sharing(&s->row.sharers[i], now, lives)) {
            remove_sharer(s, &s->row.sharers[i]);
        }
    }
    for (int i = s->row.n_line - 1; i >= 0; i--) {
        const struct hf__ticket *t = &s->row.line[i];

        if (!is_mutant(s, HF__MUTANT_TICKET_FOR_EVER) &&
            (now - t->beat > CLEAN_NS ||
             !lives_on(lives, t->client, t->life))) {
            remove_ticket(s, i);
        }
    }
}

/* ---- the rule, and those who break it ----------------------------------- */

/* The claim sees nobody in line before it of whom the mutant is blind. */
static void blind(const struct hf__member *s, const struct hf__message *m,
                  struct hf__stands *stands)
{
    bool barges =
        is_mutant(s, HF__MUTANT_BARGES) && m->queueing != HF__QUEUE_ALWAYS;
    bool overlooks = is_mutant(s, HF__MUTANT_READERS_PASS) &&
                     m->manner.mode == HF__MODE_SHARED;

    if (barges || overlooks) {
        stands->n_line = 0;
    }
}

static enum hf__entry may_enter(const struct hf__member *s,
                                const struct hf__message *m, struct gathered *g,
                                int *ret_slot)
{
    struct hf__token mine = token_of(m->token);
    struct hf__manner manner = m->manner;

    blind(s, m, &g->stands);
    if (is_mutant(s, HF__MUTANT_SLOT_TOO_MANY)) {
        manner.slots++;
        for (int i = 0; i < g->stands.n_holders; i++) {
            g->holders[i].manner.slots++;
        }
        for (int i = 0; i < g->stands.n_line; i++) {
            g->line[i].manner.slots++;
        }
    }
    if (is_mutant(s, HF__MUTANT_SLOT_TWICE)) {
        for (int i = 0; i < g->stands.n_holders; i++) {
            g->holders[i].slot += g->holders[i].manner.slots > 1;
        }
    }
    return hf__may_enter(&g->stands, &mine, manner, ret_slot);
}

/* ---- operations --------------------------------------------------------- */

static void enter(struct hf__member *s, struct hf__message *m)
{
    uint64_t fence = hf__row_next_fence(s, m->begun);

    if (m->manner.mode == HF__MODE_EXCLUSIVE) {
        s->row.fence = fence;
        s->row.token = m->token;
        s->row.ends = m->begun + s->plan->lease_ns;
        s->row.client = m->client;
        s->row.life = m->life;
    } else {
        HF_ASSERT(s->row.n_sharers < HF__SHARERS_MAX);
        if (!is_mutant(s, HF__MUTANT_SHARED_FENCE_STAYS)) {
            s->row.fence = fence;
        }
        s->row.sharers[s->row.n_sharers++] =
            (struct hf__sharer){.token = m->token,
                                .ends = m->begun + s->plan->lease_ns,
                                .fence = s->row.fence,
                                .manner = m->manner,
                                .slot = m->slot,
                                .client = m->client,
                                .life = m->life};
    }
    leave_line(s, m->token);
    m->fence = s->row.fence;
}

/* It is ours already: the lease is renewed, the grant stays as it is. */
static bool is_again(struct hf__member *s, struct hf__message *m)
{
    struct hf__sharer *h = find_sharer(s, m->token);

    bool is_held = hf__row_is_held(s, m->begun) ||
                   is_mutant(s, HF__MUTANT_LAPSED_KEEPS_FENCE);

    if (s->row.token == m->token && is_held) {
        hf__row_extend(s->plan, m->begun, &s->row.ends);
        m->fence = s->row.fence;
        m->slot = -1;
        return true;
    }
    if (h != NULL && m->begun < h->ends) {
        hf__row_extend(s->plan, m->begun, &h->ends);
        m->fence = h->fence;
        m->slot = h->slot;
        return true;
    }
    return false;
}

static void stand_in_line(struct hf__member *s, struct hf__message *m)
{
    struct hf__ticket *t = find_ticket(s, m->token);

    m->is_queued = true;
    if (t != NULL && is_mutant(s, HF__MUTANT_TICKET_LOST)) {
        leave_line(s, m->token);
        t = NULL;
    }
    if (t == NULL) {
        HF_ASSERT(s->row.n_line < HF__TICKETS_MAX);
        t = &s->row.line[s->row.n_line++];
        *t = (struct hf__ticket){.token = m->token,
                                 .manner = m->manner,
                                 .client = m->client,
                                 .life = m->life,
                                 .beat = m->begun};
    }
    t->beat = m->begun > t->beat ? m->begun : t->beat;
}

static int acquire(struct hf__member *s, struct hf__message *m,
                   const int *lives)
{
    struct hf__op op = {.manner = m->manner, .queueing = m->queueing};
    struct gathered g;

    m->is_queued = false;
    m->slot = -1;
    if (is_again(s, m)) {
        return HF_OK;
    }
    clean(s, m->begun, lives);
    gather(s, m->begun, lives, &g);
    switch (may_enter(s, m, &g, &m->slot)) {
    case HF__ENTRY_OPEN:
        enter(s, m);
        return HF_OK;
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        m->slot = -1;
        break;
    case HF__ENTRY_MISFIT:
        return HF_EINVAL;
    }
    if (find_ticket(s, m->token) != NULL || hf__leaves_ticket(&g.stands, &op)) {
        stand_in_line(s, m);
    }
    m->fence = s->row.fence;
    return HF_BUSY;
}

static int renew(struct hf__member *s, struct hf__message *m)
{
    return is_again(s, m) ? (int)HF_OK : (int)HF_LOST;
}

static int release(struct hf__member *s, const struct hf__message *m)
{
    struct hf__sharer *h = find_sharer(s, m->token);

    leave_line(s, m->token);
    if (h != NULL) {
        remove_sharer(s, h);
        return HF_OK;
    }
    if (s->row.token != m->token) {
        return HF_LOST;
    }
    s->row.token = 0;
    return HF_OK;
}

static bool is_foreign_in_line(const struct hf__member *s,
                               const struct hf__message *m, const int *lives)
{
    for (int i = 0; i < s->row.n_line; i++) {
        if (s->row.line[i].token != m->next_token &&
            is_waiting(s, &s->row.line[i], m->begun, lives)) {
            return !is_mutant(s, HF__MUTANT_HANDS_PAST_LINE);
        }
    }
    return false;
}

static int hand_over(struct hf__member *s, struct hf__message *m,
                     const int *lives)
{
    if (s->row.token != m->token || !hf__row_is_held(s, m->begun)) {
        return HF_LOST;
    }
    if (is_foreign_in_line(s, m, lives)) {
        return HF_BUSY;
    }
    s->row.fence = hf__row_next_fence(s, m->begun);
    s->row.token = m->next_token;
    s->row.ends = m->begun + s->plan->lease_ns;
    leave_line(s, m->next_token);
    m->fence = s->row.fence;
    return HF_OK;
}

void hf__crowd_apply(struct hf__member *s, struct hf__message *m,
                     const int *lives)
{
    uint64_t mine = m->fence;

    if (m->op == HF__OP_ACQUIRE) {
        m->result = acquire(s, m, lives);
    } else if (m->op == HF__OP_RENEW) {
        m->result = renew(s, m);
    } else if (m->op == HF__OP_HANDOVER) {
        m->result = hand_over(s, m, lives);
    } else {
        HF_ASSERT(m->op == HF__OP_RELEASE);
        m->result = release(s, m);
    }
    m->reason = HF_REASON_NONE;
    if (m->result == HF_LOST) {
        m->fence = s->row.fence;
        m->reason = hf__reason_for(mine, s->row.fence, s->row.broken);
    }
}
