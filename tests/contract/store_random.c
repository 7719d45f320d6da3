/* SPDX-License-Identifier: MIT */
/*
 * Every store decides as the engine does: operations by lot, of a few parties
 * on one name, and what the store says of each against what hf__decide() says
 * of a name in memory. Leases are long, and tickets count for a second, so a
 * scene that takes longer is given up.
 */
#include "tests/contract/play.h"

#include <string.h>

enum {
    VERDICTS = 1000, /* or fewer, */
    VERDICTS_MIN = 100,
    ENOUGH_MS = 2000, /* where they take longer */
    SCENES = 400,
    LATE_MS = 800
};

static uint64_t state;

static int lot(int n)
{
    return (int)(hf__test_random(&state) % (uint64_t)n);
}

/* ---- what is asked */

/* Where all stand in line, another number of slots is refused as soon as one is
 * let in, asked or not: there all want the same. */
static struct hf__lock_mode manner_by_lot(void)
{
    int n = lot(7);

    if (n < 2 && has(HF_CAP_SHARED)) {
        return SHARED;
    }
    if (n < 5 && has(HF_CAP_SLOTS)) {
        return n == 2 && !has(HF__CAP_QUEUES) ? SLOT_OF(1) : SLOT_OF(2);
    }
    return ALONE;
}

/* A claim has one manner for as long as it is one; most of them the same. */
static void choose_manners(struct play *play)
{
    struct hf__lock_mode most = manner_by_lot();

    for (int i = 0; i < PARTIES_N; i++) {
        play->manners[i] = lot(4) > 0 ? most : manner_by_lot();
    }
}

static enum hf__op_kind kind_by_lot(void)
{
    static const enum hf__op_kind kinds[] = {
        HF__OP_ACQUIRE,  HF__OP_ACQUIRE, HF__OP_ACQUIRE, HF__OP_ACQUIRE,
        HF__OP_RELEASE,  HF__OP_RELEASE, HF__OP_RENEW,   HF__OP_RAISE,
        HF__OP_HANDOVER, HF__OP_BREAK,   HF__OP_INSPECT};

    return kinds[lot((int)(sizeof kinds / sizeof kinds[0]))];
}

/* As the core asks: of a store in which all stand in line, nothing else. */
static enum hf__queueing queueing_by_lot(void)
{
    int n = lot(3);

    if (n > 0 && (has(HF__CAP_QUEUES) || (n == 1 && has(HF_CAP_FAIR)))) {
        return HF__QUEUE_ALWAYS;
    }
    return n > 0 && has(HF_CAP_SHARED) ? HF__QUEUE_BEHIND_SHARED
                                       : HF__QUEUE_NEVER;
}

/* Who could be given the grant, as it has none and wants it alone; or NULL. */
static struct party *taker_by_lot(const struct play *play, int giver)
{
    int who = lot(PARTIES_N);
    struct claim *c = claim_of(play->parties[who], play->name);

    if (who == giver || play->manners[who].mode != HF__MODE_EXCLUSIVE ||
        hf__participants_find(&play->model.grants, &c->token) != NULL) {
        return NULL;
    }
    if (c->is_over) {
        begin_anew(play->parties[who], play->name);
        c->fence = 0;
    }
    return play->parties[who];
}

static void complete(const struct play *play, struct turn *t)
{
    struct hf__op *op = &t->found.op;

    switch (op->kind) {
    case HF__OP_ACQUIRE:
        op->queueing = queueing_by_lot();
        if (has(HF_CAP_KEEP) && op->lock_mode.mode == HF__MODE_EXCLUSIVE &&
            lot(4) == 0) {
            op->keep_us = 2 * LEASE_MS * INT64_C(1000);
        }
        return;
    case HF__OP_RELEASE:
        op->reopens = lot(2) == 0;
        return;
    case HF__OP_HANDOVER:
        t->taker = taker_by_lot(play, t->who);
        if (t->taker == NULL) {
            op->kind = HF__OP_INSPECT;
            return;
        }
        op->next_token = claim_of(t->taker, play->name)->token;
        op->owner = &t->taker->owner;
        return;
    case HF__OP_RAISE:
        op->fence += (uint64_t)lot(3);
        return;
    case HF__OP_BREAK:
        op->fence = lot(2) == 0 ? 0 : op->fence;
        return;
    case HF__OP_RENEW:
    case HF__OP_INSPECT:
        return;
    }
}

/* What was never granted is not renewed, raised or handed over. */
static bool is_asked(enum hf__op_kind kind, const struct claim *own)
{
    return own->fence != 0 || kind == HF__OP_ACQUIRE ||
           kind == HF__OP_RELEASE || kind == HF__OP_BREAK;
}

static void ask_by_lot(struct play *play, struct turn *t)
{
    struct claim *own = claim_of(t->p, play->name);
    enum hf__op_kind kind = kind_by_lot();

    if (!is_asked(kind, own) ||
        (kind == HF__OP_HANDOVER && !has(HF_CAP_HANDOVER))) {
        kind = HF__OP_ACQUIRE;
    }
    if (own->is_over && kind == HF__OP_ACQUIRE) {
        own->fence = 0; /* a new claim's */
    }
    ask(t->p, &t->found, kind, play->name);
    t->found.op.lock_mode = play->manners[t->who];
    t->found.op.fence = own->fence;
    t->found.op.lease_us *= 1 + 2 * lot(2);
    complete(play, t);
    t->own_fence = own->fence;
    t->fence = t->found.op.fence;
}

/* ---- a scene */

static void decide(struct play *play, struct turn *t)
{
    t->model = t->found;
    t->model.op.ret_record = &t->model.record;
    t->model.op.err = NULL;
    play->model.now_us = hf__now().ns / 1000;
    hf__decide(&play->model, &play->rules, &t->model.op, &t->out);
    hf__outcome_tell(&t->out, &t->model.op);
    t->rises = play->model.fence != t->last;
}

/*
 * Where a grant is over as soon as its session is closed, to break it is to
 * close that one. It hears of it when it next asks: then it asks again, as the
 * core does.
 */
static void send(struct play *play, struct turn *t)
{
    struct request again = t->found;

    again.op.ret_record = &again.record;
    again.op.err = &again.error;
    again.op.key.bytes = again.key;
    (void)send_one_request(t->p, &t->found);
    if (ends_at_once() && play->is_cut[t->who] &&
        (t->found.op.result == HF_EUNAVAIL ||
         t->found.op.result == HF_EUNKNOWN)) {
        rejoin(t->p);
        (void)send_one_request(t->p, &again);
        t->found = again;
    }
    play->is_cut[t->who] &=
        t->found.op.kind == HF__OP_INSPECT || t->found.op.kind == HF__OP_BREAK;
}

/* What is lost is not asked for again, and who is refused was granted
 * nothing. */
static void learn(const struct turn *t, struct claim *own)
{
    if (t->found.op.result == HF_LOST) {
        own->is_over = true;
    } else if (t->found.op.result == HF_BUSY &&
               t->found.op.kind == HF__OP_ACQUIRE) {
        own->fence = 0;
    }
}

/* False: it took too long, so the rest may differ. */
static bool take_turn(struct play *play, int64_t start)
{
    int who = lot(PARTIES_N);
    struct turn t = {
        .who = who, .p = play->parties[who], .last = play->model.fence};

    ask_by_lot(play, &t);
    decide(play, &t);
    send(play, &t);
    if (hf__test_now_ms() - start > LATE_MS) {
        return false;
    }
    learn(&t, claim_of(t.p, play->name));
    allow(play, &t);
    compare(play, &t);
    take_fence(play, &t);
    hf__name_settle(&play->model);
    return true;
}

/* How many verdicts were compared. */
static int act(struct play *play, int scene)
{
    int64_t start = hf__test_now_ms();
    int n = 0;

    play->scene = scene;
    snprintf(play->name, sizeof play->name, "by lot %d", scene);
    choose_manners(play);
    play->length = 0;
    play->n_broken = 0;
    play->broken_keeping = 0;
    memset(play->is_cut, 0, sizeof play->is_cut);
    play->model.wall_us = 1;
    while (n < STEPS && take_turn(play, start)) {
        n++;
    }
    for (int i = 0; i < PARTIES_N; i++) {
        if (play->is_cut[i] && ends_at_once()) {
            rejoin(play->parties[i]);
        }
        (void)release_and_reopen(play->parties[i], play->name);
        memset(play->parties[i]->claims, 0, sizeof play->parties[i]->claims);
        play->parties[i]->n_claims = 0;
    }
    hf__name_fini(&play->model);
    return n;
}

TEST_WITHIN(120, a_store_decides_as_the_engine_does)
{
    PARTIES(alice, bob, carol, dave);
    struct play play = {
        .parties = {&alice, &bob, &carol, &dave},
        .rules = {.ends_with_life = has(HF_CAP_SESSION)},
    };
    int64_t start = hf__test_now_ms();
    int verdicts = 0;
    int scene = 0;

    state = hf__test_seed();
    while (verdicts < VERDICTS &&
           (verdicts < VERDICTS_MIN || hf__test_now_ms() - start < ENOUGH_MS)) {
        EXPECT_LESS(scene, SCENES);
        verdicts += act(&play, scene++);
    }
    printf("# %d verdicts\n", verdicts);
}
