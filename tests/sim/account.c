/* SPDX-License-Identifier: MIT */
/*
 * The account of who is at a name.
 */
#include "tests/sim/account.h"

#include "src/backend/compatibility.h"
#include "tests/sim/oracles.h"

#include <stdlib.h>
#include <string.h>

/* What passes between the look at a clock and the end of an operation, and how
 * often at least who waits in line is seen. */
#define SLACK_NS    (2 * HF__MS_NS)
#define SEEN_NS     ((HF__TICKET_LOOK_MS + 50) * HF__MS_NS)
#define PATIENCE_NS (HF__TICKET_PATIENCE_MS * HF__MS_NS)
#define KEEP_NS     (HF__TICKET_KEEP_MS * HF__MS_NS)

enum { BROKEN = 32 };

/* A client while a session of it is open, and for a while after. */
static struct {
    unsigned number;
    int sessions;
    int64_t until; /* by the store's clock, once no session is left */
} lives[HF__VIRTUAL_HOSTS];

static struct hf__stood names[HF__NAMES];
static struct broken {
    struct hf__token token;
    bool is_asked; /* it was to be released since */
} broken[BROKEN];
static unsigned n_broken;

struct hf__stood *hf__account(int name)
{
    return &names[name];
}

int hf__account_name(const struct hf__key *key)
{
    return key->bytes[key->length - 1] - '0';
}

int64_t hf__account_now(void)
{
    return hf__virtual_boottime(0);
}

int hf__account_claim(const struct hf__owner *owner)
{
    return owner == NULL
               ? 0
               : (int)strtol(owner->note + strcspn(owner->note, " "), NULL, 10);
}

static struct hf__stander *find(struct hf__stander *list, int n,
                                const struct hf__token *token)
{
    for (int i = 0; i < n; i++) {
        if (hf__token_equal(&list[i].token, token)) {
            return &list[i];
        }
    }
    return NULL;
}

struct hf__stander *hf__account_grant(struct hf__stood *at,
                                      const struct hf__token *token)
{
    return find(at->grants, at->n_grants, token);
}

struct hf__stander *hf__account_ticket(struct hf__stood *at,
                                       const struct hf__token *token)
{
    return find(at->tickets, at->n_tickets, token);
}

/* ---- lives */

static bool lives_with_client(void)
{
    return hf__scene.plan.session_ms != 0;
}

/* For so long at least, or at most. */
static bool is_alive(const struct hf__stander *s, int64_t slack)
{
    return s->life == lives[s->host].number &&
           (lives[s->host].sessions > 0 ||
            hf__account_now() < lives[s->host].until + slack);
}

void hf__account_session(int host, int more)
{
    if (more > 0 && lives[host].sessions == 0 &&
        hf__account_now() >= lives[host].until) {
        lives[host].number++;
    }
    lives[host].sessions += more;
    if (lives[host].sessions == 0) {
        lives[host].until =
            hf__account_now() + hf__scene.plan.session_ms * HF__MS_NS;
    }
}

void hf__account_forget(void)
{
    for (int i = 0; i < HF__VIRTUAL_HOSTS; i++) {
        lives[i].sessions = 0;
        lives[i].until = 0;
    }
    for (int i = 0; i < HF__NAMES; i++) {
        names[i].n_grants = names[i].n_tickets = 0;
    }
}

uint64_t hf__account_top(int name)
{
    return names[name].top;
}

/* ---- grants */

bool hf__surely_runs(const struct hf__stander *g)
{
    return !g->is_broken && !g->is_vague &&
           (lives_with_client() ? is_alive(g, -SLACK_NS)
                                : hf__account_now() < g->end - SLACK_NS);
}

bool hf__perhaps_runs(const struct hf__stander *g)
{
    return !g->is_broken &&
           (lives_with_client() ? is_alive(g, SLACK_NS)
                                : hf__account_now() < g->end + SLACK_NS);
}

static void drop(struct hf__stander *list, int *n, struct hf__stander *s)
{
    if (s != NULL) {
        (*n)--;
        memmove(s, s + 1, (size_t)(list + *n - s) * sizeof *s);
    }
}

static struct hf__stander *add(struct hf__stander *list, int *n)
{
    if (*n == HF__STANDS) {
        hf__flaw("more stand at a name than can be counted");
    }
    return &list[(*n)++];
}

static struct hf__stander stander_of(const struct hf__op *op,
                                     const struct hf__token *token)
{
    static const struct hf__lock_mode alone = {.mode = HF__MODE_EXCLUSIVE};
    int host = op->owner->label[0] - '0';

    return (struct hf__stander){
        .token = *token,
        .lock_mode = op->kind == HF__OP_HANDOVER ? alone : op->lock_mode,
        .host = host,
        .life = lives[host].number,
        .claim = hf__account_claim(op->owner),
        .slot = op->kind == HF__OP_HANDOVER ? -1 : op->slot};
}

bool hf__account_is_broken(const struct hf__token *token)
{
    for (int i = 0; i < BROKEN; i++) {
        if (hf__token_equal(&broken[i].token, token)) {
            return true;
        }
    }
    return false;
}

static void mend(const struct hf__token *token)
{
    for (int i = 0; i < BROKEN; i++) {
        if (hf__token_equal(&broken[i].token, token)) {
            broken[i] = (struct broken){{{0}}, false};
        }
    }
}

/* Whose first release got no answer can't tell by the second what it did. */
static void note_release(const struct hf__op *op)
{
    for (int i = 0; i < BROKEN; i++) {
        struct broken *b = &broken[i];

        if (hf__token_equal(&b->token, &op->token)) {
            *b = op->result == HF_OK || b->is_asked
                     ? (struct broken){{{0}}, false}
                     : (struct broken){b->token, true};
        }
    }
}

static void enter_grant(struct hf__stood *at, const struct hf__op *op,
                        const struct hf__token *token)
{
    struct hf__stander *g = hf__account_grant(at, token);
    bool is_new = g == NULL || !hf__perhaps_runs(g);

    /* What has ended stays, and may be released, until another is granted. */
    for (int i = at->n_grants - 1; i >= 0 && is_new; i--) {
        if (!hf__perhaps_runs(&at->grants[i])) {
            drop(at->grants, &at->n_grants, &at->grants[i]);
        }
    }
    g = hf__account_grant(at, token);
    g = g == NULL ? add(at->grants, &at->n_grants) : g;
    *g = stander_of(op, token);
    g->fence = op->fence;
    g->end = hf__account_now() + op->lease_us * 1000;
    at->top = op->fence > at->top ? op->fence : at->top;
    mend(token);
    drop(at->tickets, &at->n_tickets, hf__account_ticket(at, token));
}

static void enter_break(struct hf__stood *at, const struct hf__op *op)
{
    for (int i = 0; i < at->n_grants; i++) {
        struct hf__stander *g = &at->grants[i];

        if (hf__perhaps_runs(g)) {
            if (hf__surely_runs(g)) {
                broken[n_broken++ % BROKEN] = (struct broken){g->token, false};
            }
            g->is_broken = true;
        }
    }
    at->top = op->fence > at->top ? op->fence : at->top;
}

/* ---- tickets */

/* Who waits is seen as often as is said, but while its host stands. */
static void freshen(struct hf__stander *t)
{
    int64_t since = t->waits_since > hf__scene.resumed[t->host]
                        ? t->waits_since
                        : hf__scene.resumed[t->host];

    if (t->waits_since != 0 && !hf__scene.is_dead[t->host] &&
        hf__true_now() > since + SEEN_NS) {
        t->seen = hf__account_now() - SEEN_NS;
    }
}

bool hf__surely_waits(struct hf__stander *t)
{
    freshen(t);
    return !t->is_vague &&
           (lives_with_client()
                ? is_alive(t, -SLACK_NS)
                : hf__account_now() < t->seen + PATIENCE_NS - SLACK_NS);
}

bool hf__perhaps_waits(struct hf__stander *t)
{
    if (lives_with_client()) {
        return is_alive(t, SLACK_NS);
    }
    return (t->waits_since != 0 && !hf__scene.is_dead[t->host]) ||
           hf__account_now() < t->asked + PATIENCE_NS + SLACK_NS;
}

/* Who was not seen for long is forgotten, and comes as anybody else. */
static void enter_ticket(struct hf__stood *at, const struct hf__op *op)
{
    struct hf__stander *t = hf__account_ticket(at, &op->token);

    if (t != NULL) {
        freshen(t);
        t->is_vague |= lives_with_client()
                           ? !is_alive(t, -SLACK_NS)
                           : hf__account_now() > t->seen + KEEP_NS - SLACK_NS;
        t->life = lives[t->host].number;
    } else {
        for (int i = at->n_tickets - 1; i >= 0 && at->n_tickets == HF__STANDS;
             i--) {
            if (!hf__perhaps_waits(&at->tickets[i])) {
                drop(at->tickets, &at->n_tickets, &at->tickets[i]);
            }
        }
        t = add(at->tickets, &at->n_tickets);
        *t = stander_of(op, &op->token);
    }
    t->seen = hf__account_now() - SLACK_NS;
    t->asked = hf__account_now();
}

void hf__account_waits(const struct hf__key *key, const struct hf__token *token,
                       bool begins)
{
    struct hf__stander *t =
        hf__account_ticket(hf__account(hf__account_name(key)), token);

    if (t == NULL) {
        return;
    }
    freshen(t);
    if (begins) {
        t->waits_since = hf__true_now();
    } else {
        t->waits_since = 0;
        t->asked = hf__account_now();
    }
}

void hf__account_dead(int host)
{
    for (int i = 0; i < HF__NAMES; i++) {
        for (int j = 0; j < names[i].n_tickets; j++) {
            struct hf__stander *t = &names[i].tickets[j];

            if (t->host == host && t->waits_since != 0) {
                t->waits_since = 0;
                t->asked = hf__account_now();
            }
        }
    }
}

void hf__account_step(int64_t ns)
{
    int64_t stale = hf__account_now() + ns - PATIENCE_NS;

    for (int i = 0; i < HF__NAMES; i++) {
        for (int j = 0; j < names[i].n_tickets; j++) {
            struct hf__stander *t = &names[i].tickets[j];

            freshen(t);
            t->waits_since = t->waits_since != 0 ? hf__true_now() : 0;
            t->seen = t->seen < stale ? t->seen : stale;
        }
        /* What had ended runs again, or was forgotten. */
        for (int j = 0; j < names[i].n_grants; j++) {
            names[i].grants[j].is_vague |=
                !hf__surely_runs(&names[i].grants[j]);
        }
    }
}

/* ---- all */

void hf__account_enter(const struct hf__op *op)
{
    struct hf__stood *at = hf__account(hf__account_name(&op->key));
    struct hf__stander *g = hf__account_grant(at, &op->token);

    switch (op->kind) {
    case HF__OP_ACQUIRE:
        if (op->result == HF_OK) {
            enter_grant(at, op, &op->token);
        } else if (op->result == HF_BUSY && op->is_queued) {
            enter_ticket(at, op);
        }
        break;
    case HF__OP_HANDOVER:
        if (op->result == HF_OK) {
            drop(at->grants, &at->n_grants, g);
            enter_grant(at, op, &op->next_token);
        }
        break;
    case HF__OP_RENEW:
        if (op->result == HF_OK && g != NULL) {
            g->is_vague = false;
            g->end = hf__account_now() + op->lease_us * 1000;
        }
        break;
    case HF__OP_RELEASE:
        note_release(op);
        drop(at->grants, &at->n_grants, g);
        drop(at->tickets, &at->n_tickets, hf__account_ticket(at, &op->token));
        break;
    case HF__OP_BREAK:
        if (op->result == HF_OK) {
            enter_break(at, op);
        }
        break;
    case HF__OP_RAISE:
    case HF__OP_INSPECT:
        break;
    }
}
