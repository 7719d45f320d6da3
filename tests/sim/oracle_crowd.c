/* SPDX-License-Identifier: MIT */
/*
 * The rules of a crowd: a line is served in its order and nobody barges, a
 * ticket counts while its claim asks and no longer, co-holders leave each
 * other alone. This file keeps a line of its own from what is asked and
 * answered, and decides the bounds of waiting.
 */
#include "tests/sim/oracles.h"

#include "src/backend/crowd.h"

#include <inttypes.h>
#include <string.h>

#define PATIENCE_NS  (HF__TICKET_PATIENCE_MS * HF__MS)
#define FORGOTTEN_NS (60 * HF__SECOND)

/* ---- its own line ------------------------------------------------------- */

static int place(const struct hf__line_fact *line, uint64_t token)
{
    for (int i = 0; i < line->count; i++) {
        if (line->tickets[i].token == token) {
            return i;
        }
    }
    return -1;
}

static void leave(struct hf__line_fact *line, uint64_t token)
{
    int at = place(line, token);

    if (at >= 0) {
        line->count--;
        memmove(&line->tickets[at], &line->tickets[at + 1],
                (size_t)(line->count - at) * sizeof line->tickets[0]);
    }
}

static void come(struct hf__line_fact *line, const struct hf__message *m)
{
    int at = place(line, m->token);

    if (at < 0) {
        at = line->count++;
        HF_ASSERT(at <= HF__TICKETS_MAX);
        line->tickets[at] = (struct hf__ticket_fact){.token = m->token,
                                                     .manner = m->manner,
                                                     .client = m->client,
                                                     .life = m->life,
                                                     .beat = m->begun,
                                                     .asked = m->sent_true};
    }
    if (m->begun > line->tickets[at].beat) {
        line->tickets[at].beat = m->begun;
    }
    if (m->sent_true > line->tickets[at].asked) {
        line->tickets[at].asked = m->sent_true;
    }
}

static bool is_dead(const struct hf__ticket_fact *t, const int *lives)
{
    return lives != NULL && lives[t->client] != t->life;
}

static bool is_waiting(const struct hf__ticket_fact *t, int64_t now,
                       const int *lives)
{
    return now - t->beat <= PATIENCE_NS && !is_dead(t, lives);
}

void hf__oracle_line_is(struct hf__oracle *o, int name,
                        const struct hf__row *row)
{
    struct hf__line_fact *line = &o->lines[name];

    line->count = 0;
    for (int i = 0; i < row->n_line; i++) {
        const struct hf__ticket *t = &row->line[i];

        line->tickets[line->count++] =
            (struct hf__ticket_fact){.token = t->token,
                                     .manner = t->manner,
                                     .client = t->client,
                                     .life = t->life,
                                     .beat = t->beat};
    }
}

/* ---- who may enter, by its own arithmetic ------------------------------- */

struct wish {
    uint64_t token;
    struct hf__manner manner;
    int64_t now; /* by the store's clock */
    const int *lives;
};

static bool is_alive(const struct wish *w, int64_t ends, int client, int life)
{
    return w->now < ends && (w->lives == NULL || w->lives[client] == life);
}

/* How many hold slots, or −1: somebody holds it with whom it can't be
 * shared. */
static int count_beside(const struct hf__row *row, const struct wish *w)
{
    int beside = 0;

    if (row->token != 0 && row->token != w->token &&
        is_alive(w, row->ends, row->client, row->life)) {
        return -1;
    }
    for (int i = 0; i < row->n_sharers; i++) {
        const struct hf__sharer *h = &row->sharers[i];

        if (h->token == w->token || !is_alive(w, h->ends, h->client, h->life)) {
            continue;
        }
        if (!hf__manners_agree(h->manner, w->manner)) {
            return -1;
        }
        beside++;
    }
    return beside;
}

/* The ticket that it would pass if it entered now beside so many; −1:
 * none. */
static int passed(const struct hf__line_fact *line, const struct wish *w,
                  int beside)
{
    for (int i = 0; i < line->count; i++) {
        const struct hf__ticket_fact *t = &line->tickets[i];

        if (t->token == w->token) {
            break;
        }
        if (!is_waiting(t, w->now, w->lives)) {
            continue;
        }
        beside++;
        if (!hf__manners_agree(t->manner, w->manner) ||
            (w->manner.mode == HF__MODE_SLOTS && beside >= w->manner.slots)) {
            return i;
        }
    }
    return -1;
}

static bool may_enter(const struct hf__line_fact *line,
                      const struct hf__row *row, const struct wish *w)
{
    int beside = count_beside(row, w);

    return beside >= 0 &&
           (w->manner.mode != HF__MODE_SLOTS || beside < w->manner.slots) &&
           passed(line, w, beside) < 0;
}

/* ---- statements --------------------------------------------------------- */

static const struct hf__sharer *find_sharer(const struct hf__row *row,
                                            uint64_t token)
{
    for (int i = 0; i < row->n_sharers; i++) {
        if (row->sharers[i].token == token) {
            return &row->sharers[i];
        }
    }
    return NULL;
}

static bool has_ticket(const struct hf__row *row, uint64_t token)
{
    for (int i = 0; i < row->n_line; i++) {
        if (row->line[i].token == token) {
            return true;
        }
    }
    return false;
}

static void check_passing(struct hf__oracle *o, const struct hf__line_fact *l,
                          const struct hf__applied *a)
{
    const struct hf__message *m = a->m;
    bool is_handed = m->op == HF__OP_HANDOVER;
    struct wish w = {.token = is_handed ? m->next_token : m->token,
                     .manner = m->manner,
                     .now = m->begun,
                     .lives = a->lives};
    int beside = 0;
    int at = -1;

    if (is_handed) {
        w.manner = (struct hf__manner){.mode = HF__MODE_EXCLUSIVE};
    } else {
        beside = count_beside(a->before, &w);
    }
    at = passed(l, &w, beside);
    if (at >= 0) {
        hf__oracle_convict(o, HF__RULE_ORDER,
                           "token %" PRIu64 " goes before %" PRIu64
                           ", which came first and waits",
                           w.token, l->tickets[at].token);
    }
}

/* Those who hold it beside others and not beside this one, and so could
 * follow each other for ever. */
static bool is_any_stream(const struct hf__applied *a)
{
    const struct hf__row *row = a->before;

    for (int i = 0; i < row->n_sharers; i++) {
        if (!hf__manners_agree(row->sharers[i].manner, a->m->manner) &&
            hf__crowd_is_sharing(&row->sharers[i], a->m->begun, a->lives)) {
            return true;
        }
    }
    return false;
}

/* Who is to have a ticket has it. */
static void check_ticket(struct hf__oracle *o, const struct hf__applied *a)
{
    const struct hf__message *m = a->m;
    bool wants = m->queueing == HF__QUEUE_ALWAYS ||
                 (m->queueing == HF__QUEUE_BEHIND_SHARED && is_any_stream(a));

    if (m->is_queued != has_ticket(a->after, m->token) ||
        (wants && !m->is_queued)) {
        hf__oracle_convict(o, HF__RULE_ORDER,
                           "token %" PRIu64 " waits, and has no ticket",
                           m->token);
    }
}

/* The store forgets the dead, and who has not asked for long; no others. */
static void forget_gone(struct hf__oracle *o, struct hf__line_fact *line,
                        const struct hf__applied *a)
{
    for (int i = line->count - 1; i >= 0; i--) {
        struct hf__ticket_fact t = line->tickets[i];

        if (has_ticket(a->after, t.token)) {
            continue;
        }
        if (!is_dead(&t, a->lives) && a->m->begun - t.beat <= FORGOTTEN_NS) {
            hf__oracle_convict(o, HF__RULE_ORDER,
                               "the ticket of %" PRIu64 " is gone", t.token);
        }
        leave(line, t.token);
    }
}

void hf__oracle_lined_up(struct hf__oracle *o, const struct hf__applied *a)
{
    const struct hf__message *m = a->m;
    struct hf__line_fact *line = &o->lines[hf__plan_name(o->plan, m->client)];
    const struct hf__sharer *mine = find_sharer(a->before, m->token);
    bool was_ours =
        (a->before->token == m->token && m->begun < a->before->ends) ||
        (mine != NULL && m->begun < mine->ends);

    hf__oracle_shared(o, a);
    if (m->result == HF_OK &&
        ((m->op == HF__OP_ACQUIRE && !was_ours) || m->op == HF__OP_HANDOVER)) {
        check_passing(o, line, a);
    }
    if (m->op == HF__OP_ACQUIRE && m->result == HF_BUSY) {
        check_ticket(o, a);
    }
    if (m->op == HF__OP_RELEASE || m->result == HF_OK) {
        leave(line, m->op == HF__OP_HANDOVER ? m->next_token : m->token);
    } else if (m->op == HF__OP_ACQUIRE && m->is_queued) {
        come(line, m);
    }
    forget_gone(o, line, a);
}

/* ---- waiting ------------------------------------------------------------ */

/* Since when it is so without a break; never: INT64_MAX. */
static void note_since(int64_t *since, bool is_so, int64_t true_ns)
{
    if (!is_so) {
        *since = INT64_MAX;
    } else if (*since == INT64_MAX) {
        *since = true_ns;
    }
}

/* The first in line waits for those alone who hold the name now: they let go
 * after their hold, or when their claim for several names has failed, or with
 * their lease. */
static int64_t first_bound(const struct hf__plan *p)
{
    return p->patience_ns + 2 * p->hold_ns + 3 * p->lease_ns + PATIENCE_NS +
           2 * hf__oracle_idle_bound(p);
}

static void check_waiter(struct hf__oracle *o, int i,
                         const struct hf__view *view, const struct hf__store *s,
                         int64_t true_ns)
{
    int name = hf__plan_name(o->plan, i);
    const struct hf__member *member = &s->members[name];
    const struct hf__line_fact *line = &o->lines[name];
    bool waits = view->is_claiming && view->is_awake;
    struct wish w = {.token = view->token,
                     .manner = view->manner,
                     .now = hf__row_now(member, true_ns),
                     .lives = hf__store_lives(s)};
    struct wish alone = w;

    alone.manner.mode = HF__MODE_EXCLUSIVE;
    note_since(&o->open_at[i], waits && may_enter(line, &member->row, &w),
               true_ns);
    note_since(&o->first_at[i],
               waits && !o->plan->detaches && place(line, w.token) >= 0 &&
                   passed(line, &alone, 0) < 0,
               true_ns);
    if (true_ns - o->open_at[i] > hf__oracle_idle_bound(o->plan)) {
        hf__oracle_convict(o, HF__RULE_IDLE,
                           "client %d waits %" PRId64
                           " ms, and nobody is in its way",
                           i, (true_ns - o->open_at[i]) / HF__MS);
    }
    if (true_ns - o->first_at[i] > first_bound(o->plan)) {
        hf__oracle_convict(o, HF__RULE_HEALED,
                           "client %d is first in line for %" PRId64 " ms", i,
                           (true_ns - o->first_at[i]) / HF__MS);
    }
}

void hf__oracle_crowd_live(struct hf__oracle *o, const struct hf__view views[],
                           const struct hf__store *s, int64_t true_ns)
{
    for (int i = 0; i < o->plan->clients; i++) {
        if (views[i].is_held && views[i].is_idle) {
            hf__oracle_convict(o, HF__RULE_LEAK,
                               "client %d keeps what it does not want", i);
        }
    }
    if (true_ns < o->plan->settle_ns) {
        return;
    }
    for (int i = 0; i < o->plan->clients; i++) {
        check_waiter(o, i, &views[i], s, true_ns);
    }
    hf__oracle_many_live(o, views, true_ns);
}

void hf__oracle_crowd_end(struct hf__oracle *o, const struct hf__store *s)
{
    for (int i = 0; i < o->plan->names; i++) {
        const struct hf__row *row = &s->members[i].row;

        for (int j = 0; j < o->lines[i].count; j++) {
            const struct hf__ticket_fact *t = &o->lines[i].tickets[j];

            if (has_ticket(row, t->token) && t->asked >= o->plan->settle_ns) {
                hf__oracle_convict(o, HF__RULE_LEAK,
                                   "token %" PRIu64 " is left in line",
                                   t->token);
            }
        }
    }
}
