/* SPDX-License-Identifier: MIT */
/*
 * The rules of those at a name, judged at each operation that is applied: who
 * enters keeps nobody out and goes before nobody who came first and waits, a
 * fence is above all before it, only who owns it renews and frees it; and,
 * once the faults are over, nobody waits for what it could have.
 */
#include "tests/sim/account.h"
#include "tests/sim/oracles.h"

enum { WISHES = 2 * HF__VIRTUAL_HOSTS * HF__CREW };
/* For so long a name may be free although somebody wants it: a look, a pause
 * after what failed, a few messages. */
#define IDLE_NS  (3000 * HF__MS_NS)
#define MESSAGES 20
#define LOOK_NS  (20 * HF__MS_NS)

static struct wish {
    int claim; /* 0: none */
    int host;
    int name;
    struct hf__lock_mode lock_mode;
    struct hf__token token; /* zero until it was asked for */
    int64_t open_since;     /* true time; 0: somebody is in its way */
} wishes[WISHES];

/* ---- who may stand beside whom, and before whom */

static bool agree(struct hf__lock_mode a, struct hf__lock_mode b)
{
    return a.mode == b.mode && a.mode != HF__MODE_EXCLUSIVE &&
           a.slots == b.slots;
}

/* Who enters stands beside so many; of those in line this one is passed by
 * it. NULL: none is. */
static struct hf__stander *passed(struct hf__stood *at,
                                  const struct hf__stander *who, int beside,
                                  bool (*waits)(struct hf__stander *))
{
    for (int i = 0; i < at->n_tickets; i++) {
        struct hf__stander *t = &at->tickets[i];

        if (hf__token_equal(&t->token, &who->token)) {
            break;
        }
        if (!waits(t)) {
            continue;
        }
        beside++;
        if (!agree(t->lock_mode, who->lock_mode) ||
            (who->lock_mode.mode == HF__MODE_SLOTS &&
             beside >= who->lock_mode.slots)) {
            return t;
        }
    }
    return NULL;
}

/* ---- who enters */

static void expect_alone(struct hf__stood *at, const struct hf__stander *who,
                         int name, int *ret_beside)
{
    *ret_beside = 0;
    for (int i = 0; i < at->n_grants; i++) {
        const struct hf__stander *g = &at->grants[i];

        if (hf__token_equal(&g->token, &who->token) || !hf__surely_runs(g)) {
            continue;
        }
        ++*ret_beside;
        if (!agree(g->lock_mode, who->lock_mode) ||
            (g->slot == who->slot && who->slot >= 0)) {
            hf__flaw("host %d is granted name %d beside host %d", who->host,
                     name, g->host);
        }
    }
    if (who->lock_mode.mode == HF__MODE_SLOTS &&
        (*ret_beside >= who->lock_mode.slots || who->slot < 0 ||
         who->slot >= who->lock_mode.slots)) {
        hf__flaw("host %d is granted slot %d of %d beside %d others", who->host,
                 who->slot, who->lock_mode.slots, *ret_beside);
    }
}

static void expect_entry(struct hf__stood *at, const struct hf__op *op,
                         int name)
{
    static const struct hf__lock_mode alone = {.mode = HF__MODE_EXCLUSIVE};
    bool is_handed = op->kind == HF__OP_HANDOVER;
    const struct hf__token *token = is_handed ? &op->next_token : &op->token;
    const struct hf__stander *own = hf__account_ticket(at, token);
    struct hf__stander who = {.token = *token,
                              .host = op->owner->label[0] - '0',
                              .slot = is_handed ? -1 : op->slot,
                              .lock_mode = is_handed ? alone : op->lock_mode};
    const struct hf__stander *before;
    int beside = 0;

    if (!is_handed) {
        expect_alone(at, &who, name, &beside);
    }
    before = passed(at, &who, beside, hf__surely_waits);
    if (before != NULL && (own == NULL || !own->is_vague)) {
        hf__flaw("host %d %s name %d before host %d, which came first and "
                 "waits",
                 who.host, is_handed ? "is handed" : "is granted", name,
                 before->host);
    }
    if (op->fence <= at->top) {
        hf__flaw("name %d is granted with the fence %llu after %llu", name,
                 (unsigned long long)op->fence, (unsigned long long)at->top);
    }
}

/* Grants, or claims, that can follow one another for ever. */
static bool is_any_stream(struct hf__stood *at, struct hf__lock_mode lock_mode)
{
    for (int i = 0; i < at->n_grants; i++) {
        if (at->grants[i].lock_mode.mode != HF__MODE_EXCLUSIVE &&
            !agree(at->grants[i].lock_mode, lock_mode) &&
            hf__surely_runs(&at->grants[i])) {
            return true;
        }
    }
    for (int i = 0; i < at->n_tickets; i++) {
        if (at->tickets[i].lock_mode.mode != HF__MODE_EXCLUSIVE &&
            !agree(at->tickets[i].lock_mode, lock_mode) &&
            hf__surely_waits(&at->tickets[i])) {
            return true;
        }
    }
    return false;
}

/* Who is to have a place in line has it, and who will not wait has none. */
static void expect_ticket(struct hf__stood *at, const struct hf__op *op,
                          int name)
{
    struct hf__stander *own = hf__account_ticket(at, &op->token);
    bool wants = op->queueing == HF__QUEUE_ALWAYS ||
                 (op->queueing == HF__QUEUE_BEHIND_SHARED &&
                  is_any_stream(at, op->lock_mode));

    if (!op->is_queued && (wants || (own != NULL && hf__surely_waits(own)))) {
        hf__flaw("host %d waits for name %d and has no place in line",
                 op->owner->label[0] - '0', name);
    }
    if (op->is_queued && own == NULL && op->queueing == HF__QUEUE_NEVER) {
        hf__flaw("host %d only tries name %d and has a place in line",
                 op->owner->label[0] - '0', name);
    }
}

/* Who waits for one of several names keeps none that sorts after it: others
 * who keep this one wait for that. */
static void expect_no_circle(const struct hf__op *op, int name)
{
    int claim = hf__account_claim(op->owner);

    for (int i = name + 1; i < HF__NAMES && hf__is_quiet(); i++) {
        const struct hf__stood *at = hf__account(i);

        for (int j = 0; j < at->n_grants; j++) {
            if (claim != 0 && at->grants[j].claim == claim &&
                hf__surely_runs(&at->grants[j])) {
                hf__flaw("host %d keeps name %d while it waits for name %d",
                         at->grants[j].host, i, name);
            }
        }
    }
}

static struct wish *wish_of(int claim)
{
    struct wish *w = wishes;

    while (w < wishes + WISHES && (claim == 0 || w->claim != claim)) {
        w++;
    }
    return w < wishes + WISHES ? w : NULL;
}

/* A claim asks with one token, for that has its place. */
static void expect_same(const struct hf__op *op, int name)
{
    struct wish *w = wish_of(hf__account_claim(op->owner));

    if (w == NULL || w->name != name) {
        return;
    }
    if (!hf__token_is_zero(&w->token) &&
        !hf__token_equal(&w->token, &op->token)) {
        hf__flaw("host %d asks for name %d as if it came only now",
                 op->owner->label[0] - '0', name);
    }
    w->token = op->token;
}

static void judge_acquire(struct hf__stood *at, const struct hf__op *op,
                          int name)
{
    const struct hf__stander *own = hf__account_grant(at, &op->token);

    expect_same(op, name);
    if (op->owner->note[0] == 'f' && op->queueing != HF__QUEUE_ALWAYS) {
        hf__flaw("a fair claim asks for no place in line");
    }
    if (op->result == HF_BUSY) {
        expect_ticket(at, op, name);
        if (op->queueing != HF__QUEUE_NEVER) {
            expect_no_circle(op, name);
        }
    } else if (op->result == HF_OK && (own == NULL || !hf__perhaps_runs(own))) {
        expect_entry(at, op, name);
    } else if (op->result == HF_OK && hf__surely_runs(own) &&
               op->fence != own->fence) {
        hf__flaw("host %d asks for name %d again and its fence changes",
                 own->host, name);
    }
}

void hf__line_applied(const struct hf__op *op)
{
    int name = hf__account_name(&op->key);
    struct hf__stood *at = hf__account(name);
    const struct hf__stander *own = hf__account_grant(at, &op->token);

    if (op->kind == HF__OP_ACQUIRE) {
        judge_acquire(at, op, name);
    } else if (op->kind == HF__OP_HANDOVER && op->result == HF_OK) {
        expect_entry(at, op, name);
    } else if (op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE) {
        bool may = own != NULL && !own->is_broken &&
                   (op->kind == HF__OP_RELEASE || hf__perhaps_runs(own));

        if ((op->result == HF_OK && !may) ||
            (op->result == HF_LOST && own != NULL && hf__surely_runs(own))) {
            hf__flaw("%s of name %d is answered with %s",
                     op->kind == HF__OP_RENEW ? "a renewal" : "a release", name,
                     hf_strstatus(op->result));
        }
    }
    hf__account_enter(op);
}

/* ---- who waits */

void hf__wish_begin(int claim, int name, const hf_acquire_opts *opts)
{
    struct wish *w = wishes;

    while (w->claim != 0 && !hf__scene.is_dead[w->host]) {
        if (++w == wishes + WISHES) {
            hf__flaw("more is wanted than can be looked at");
        }
    }
    *w =
        (struct wish){.claim = claim, .host = hf__virtual_host(), .name = name};
    w->lock_mode.mode = opts->shared      ? HF__MODE_SHARED
                        : opts->slots > 0 ? HF__MODE_SLOTS
                                          : HF__MODE_EXCLUSIVE;
    w->lock_mode.slots = opts->slots;
}

void hf__wish_end(int claim)
{
    struct wish *w = wish_of(claim);

    if (w != NULL) {
        w->claim = 0;
    }
}

static bool is_open(const struct wish *w)
{
    struct hf__stood *at = hf__account(w->name);
    struct hf__stander who = {.token = w->token, .lock_mode = w->lock_mode};
    int beside = 0;

    for (int i = 0; i < at->n_grants; i++) {
        const struct hf__stander *g = &at->grants[i];

        if (hf__perhaps_runs(g)) {
            if (!agree(g->lock_mode, w->lock_mode) ||
                hf__token_equal(&g->token, &w->token)) {
                return false;
            }
            beside++;
        }
    }
    return (w->lock_mode.mode != HF__MODE_SLOTS ||
            beside < w->lock_mode.slots) &&
           passed(at, &who, beside, hf__perhaps_waits) == NULL;
}

void hf__line_look(void)
{
    static int64_t looked;
    int64_t now = hf__true_now();

    if (hf__scene.plan.quorum != 0 || now < looked + LOOK_NS ||
        !hf__is_quiet()) {
        return;
    }
    looked = now;
    for (struct wish *w = wishes; w < wishes + WISHES; w++) {
        if (w->claim == 0 || hf__scene.is_dead[w->host] || !is_open(w)) {
            w->open_since = 0;
        } else if (w->open_since == 0) {
            w->open_since = now;
        } else if (now - w->open_since >
                   IDLE_NS + MESSAGES * hf__scene.plan.delay_ns) {
            hf__flaw("claim %d waits for name %d for %lld ms, and nobody is in "
                     "its way",
                     w->claim, w->name,
                     (long long)((now - w->open_since) / HF__MS_NS));
        }
    }
}
