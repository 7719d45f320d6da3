/* SPDX-License-Identifier: MIT */
/*
 * The queue of one client's claims for one name, and what each may have left in
 * the store. This file decides which claim may ask next and which one inherits
 * a released lock; claim.c asks the store, release.c hands over. Any thread,
 * under the client's mutex, held only briefly; but what a result left in the
 * store is noted by the user of the claim's request.
 */
#include "src/core/name_queue.h"

#include "src/base/alloc.h"
#include "src/core/claim.h"
#include "src/core/claim_cleanup.h"
#include "src/core/grant.h"

#include <string.h>

/* The most hand-overs in a row before the lock is really released, so that
 * waiters of other clients get their chance. */
#define HANDOVERS_MAX 8

static struct hf__name_queue *find(struct hf_client *client,
                                   const struct hf__key *key)
{
    struct hf__map_link *link =
        hf__map_find(&client->name_queues, key->bytes, key->length);

    return link == NULL ? NULL : HF__ELEMENT(link, struct hf__name_queue, link);
}

static struct hf__name_queue *make(struct hf_client *client,
                                   const struct hf__key *key)
{
    struct hf__name_queue *p = hf__alloc(sizeof *p + key->length);

    if (p == NULL) {
        return NULL;
    }
    hf__list_init(&p->waiters);
    hf__list_init(&p->unqueued);
    hf__list_init(&p->out);
    hf__list_init(&p->askers);
    hf__list_init(&p->owned);
    memcpy(p->key, key->bytes, key->length);
    hf__map_add(&client->name_queues, &p->link, p->key, key->length);
    return p;
}

/* Free the queue if it is no longer needed. */
static void tidy(struct hf_client *client, struct hf__name_queue *p)
{
    if (hf__list_is_empty(&p->waiters) && hf__list_is_empty(&p->unqueued) &&
        hf__list_is_empty(&p->out) && hf__list_is_empty(&p->owned) &&
        p->holder == NULL && p->unsettled == 0) {
        hf__map_remove(&client->name_queues, &p->link);
        hf__free(p);
    }
}

static struct hf__claim *first_waiter(struct hf__name_queue *p)
{
    return hf__list_is_empty(&p->waiters)
               ? NULL
               : HF__ELEMENT(p->waiters.next, struct hf__claim, link);
}

static void wake_first(struct hf__name_queue *p)
{
    struct hf__claim *first = first_waiter(p);

    if (first != NULL) {
        hf__unpark(first->parker);
    }
}

/* ---- which claim may ask */

/* The claim is unqueued, or the first in the queue while this client has no
 * exclusive grant: then only an attempt under way can be in its way. */
static bool is_first(const struct hf__claim *c)
{
    return c->waiter_state == HF__WAITER_UNQUEUED ||
           (c->waiter_state == HF__WAITER_QUEUED &&
            first_waiter(c->queue) == c && c->queue->holder == NULL);
}

/* The claim would use its turn at once: it is first, and its thread is not
 * executing a batch elsewhere, which may take long. */
static bool is_prompt(const struct hf__claim *c)
{
    return is_first(c) && !hf__parker_is_engaged(c->parker);
}

/* No earlier claim would ask at once. Called while no attempt is unsettled.
 * Claims ask in the order in which they came for a turn, and queue for it anew
 * after each attempt; otherwise one that asks in a loop would starve those
 * before it. */
static bool is_its_turn(const struct hf__claim *own)
{
    HF__LIST_EACH (link, &own->queue->askers) {
        struct hf__claim *c = HF__ELEMENT(link, struct hf__claim, asker);

        if (c == own) {
            break;
        }
        if (is_prompt(c)) {
            return false;
        }
    }
    return true;
}

/* Wake the next claim that will ask promptly, for only one can have the turn,
 * and the first claims before it, which may not be prompt. */
static void wake_asker(struct hf__name_queue *p)
{
    HF__LIST_EACH (link, &p->askers) {
        struct hf__claim *c = HF__ELEMENT(link, struct hf__claim, asker);

        if (p->unsettled > 0) {
            break;
        }
        if (is_first(c)) {
            hf__unpark(c->parker);
        }
        if (is_prompt(c)) {
            break;
        }
    }
}

/* The claim no longer waits for its turn. */
static void pass(struct hf__claim *c)
{
    if (!hf__list_is_empty(&c->asker)) {
        hf__list_remove(&c->asker);
        wake_asker(c->queue);
    }
}

void hf__name_queue_pass(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    pass(c);
}

/* ---- entering and leaving */

int hf__name_queue_enter(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    struct hf__name_queue *p = find(c->client, &c->key);

    if (p == NULL) {
        p = make(c->client, &c->key);
    }
    if (p == NULL) {
        return HF_ENOMEM;
    }
    c->queue = p;
    c->waiter_state = c->is_unqueued ? HF__WAITER_UNQUEUED : HF__WAITER_QUEUED;
    hf__list_push(c->is_unqueued ? &p->unqueued : &p->waiters, &c->link);
    return HF_OK;
}

/* Under the client's mutex. */
static void step_out(struct hf__claim *c)
{
    hf__list_remove(&c->link);
    hf__list_push(&c->queue->out, &c->link);
    c->waiter_state = HF__WAITER_OUT;
    pass(c);
    wake_first(c->queue);
}

enum hf__waiter_state hf__name_queue_withdraw(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    if (c->waiter_state == HF__WAITER_UNQUEUED ||
        c->waiter_state == HF__WAITER_QUEUED) {
        step_out(c);
    }
    return c->waiter_state;
}

/* Drop a claim whose caller has left, unless a hand-over that it abandoned
 * still needs it. Under the client's mutex. */
static void go_if_left(struct hf__claim *c)
{
    if (c->has_left && c->use != HF__USE_HANDOVER) {
        hf__list_remove(&c->link);
        tidy(c->client, c->queue);
    }
}

void hf__name_queue_leave(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    HF_ASSERT(c->waiter_state != HF__WAITER_HANDING_OVER);
    step_out(c);
    c->has_left = true;
    go_if_left(c);
}

/* ---- asking the store */

enum hf__turn hf__name_queue_turn(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    if (c->waiter_state == HF__WAITER_HANDED_OVER) {
        return HF__TURN_HANDED_OVER;
    }
    if (c->waiter_state == HF__WAITER_HANDING_OVER) {
        return HF__TURN_HANDING_OVER;
    }
    if (!is_first(c)) {
        return HF__TURN_WAIT;
    }
    if (hf__list_is_empty(&c->asker)) {
        hf__list_push(&c->queue->askers, &c->asker);
    }
    if (c->queue->unsettled > 0) {
        return HF__TURN_WAIT;
    }
    if (!is_its_turn(c)) {
        return HF__TURN_SOON;
    }
    hf__list_remove(&c->asker);
    HF_ASSERT(c->use == HF__USE_NONE);
    c->use = HF__USE_ATTEMPT;
    c->asked_at = hf__now();
    c->queue->unsettled++;
    return HF__TURN_ASK;
}

void hf__name_queue_attempted(struct hf__claim *c, int result)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    struct hf__name_queue *p = c->queue;

    HF_ASSERT(c->use == HF__USE_ATTEMPT || c->use == HF__USE_CLEANUP);
    HF_ASSERT(p->unsettled > 0);
    c->use = HF__USE_NONE;
    p->last_result = result;
    p->unsettled--;
    wake_asker(p);
    tidy(c->client, p);
}

void hf__name_queue_unsettle(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    HF_ASSERT(c->waiter_state == HF__WAITER_OUT &&
              (c->use == HF__USE_NONE || c->use == HF__USE_HANDOVER));
    c->use = HF__USE_CLEANUP;
    c->queue->unsettled++;
}

void hf__name_queue_met(struct hf__claim *c, int result)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    HF_ASSERT(c->use == HF__USE_ATTEMPT || c->use == HF__USE_CLEANUP);
    c->use = HF__USE_CLEANUP;
    c->queue->last_result = result;
}

int hf__name_queue_last_result(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    return c->queue->last_result;
}

enum hf__store_has hf__name_queue_store_has(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    return c->store_has;
}

hf__time hf__name_queue_asked_at(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    return c->asked_at;
}

void hf__name_queue_requeue(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    if (c->waiter_state == HF__WAITER_HANDED_OVER) {
        c->waiter_state = HF__WAITER_QUEUED;
    }
}

/* Under the client's mutex. */
static void install(struct hf__name_queue *p, struct hf__grant *h)
{
    h->owner_queue = p;
    hf__list_push(&p->owned, &h->owned_link);
    if (atomic_load(&h->state) == (int)HF_STATE_LOST) {
        /* hf__name_queue_holder_gone() was already called, and will not be
         * called again */
        return;
    }
    if (h->lock_mode.mode != HF__MODE_EXCLUSIVE) {
        return; /* granted beside others: claims go on asking */
    }
    /* An older grant of this client may be lost without knowing it yet. */
    if (p->holder != NULL) {
        p->holder->queue = NULL;
    }
    p->holder = h;
    h->queue = p;
    wake_asker(p); /* the first in the queue has lost its turn */
}

void hf__name_queue_adopted(struct hf__grant *h)
{
    HF_SCOPED_LOCK(&h->client->mutex);
    struct hf__name_queue *p = find(h->client, &h->key);

    p = p == NULL ? make(h->client, &h->key) : p;
    if (p != NULL) {
        install(p, h);
    }
}

void hf__name_queue_granted(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    struct hf__name_queue *p = c->queue;

    install(p, c->grant);
    if (c->waiter_state != HF__WAITER_HANDED_OVER) {
        p->handovers = 0;
    }
}

void hf__name_queue_holder_gone(struct hf__grant *h)
{
    HF_SCOPED_LOCK(&h->client->mutex);
    struct hf__name_queue *p = h->queue;

    if (p == NULL) {
        return;
    }
    HF_ASSERT(p->holder == h);
    p->holder = NULL;
    h->queue = NULL;
    wake_first(p);
    tidy(h->client, p);
}

static bool is_broken(struct hf__grant *h, uint64_t fence, uint64_t risen)
{
    int state = atomic_load(&h->state);
    bool is_meant = fence == 0 ? h->fsm.fence < risen : h->fsm.fence == fence;

    return is_meant &&
           (state == (int)HF_STATE_HELD || state == (int)HF_STATE_AT_RISK) &&
           hf__grant_try_ref(h);
}

struct hf__grant *hf__name_queue_broken(struct hf_client *client,
                                        const struct hf__key *key,
                                        uint64_t fence, uint64_t risen)
{
    HF_SCOPED_LOCK(&client->mutex);
    struct hf__name_queue *p = find(client, key);

    if (p == NULL) {
        return NULL;
    }
    HF__LIST_EACH (link, &p->owned) {
        struct hf__grant *h = HF__ELEMENT(link, struct hf__grant, owned_link);

        if (is_broken(h, fence, risen)) {
            return h;
        }
    }
    return NULL;
}

/* Find a held grant of the owner, or else a lost one. */
static struct hf__grant *find_owned(struct hf__name_queue *p, uint64_t owner_id)
{
    struct hf__grant *found = NULL;

    HF__LIST_EACH (link, &p->owned) {
        struct hf__grant *h = HF__ELEMENT(link, struct hf__grant, owned_link);

        if (h->owner_id == owner_id &&
            (found == NULL || atomic_load(&h->state) != (int)HF_STATE_LOST)) {
            found = h;
        }
    }
    return found;
}

struct hf__grant *hf__name_queue_owned(struct hf_client *client,
                                       const struct hf__key *key,
                                       uint64_t owner_id)
{
    HF_SCOPED_LOCK(&client->mutex);
    struct hf__name_queue *p = find(client, key);
    struct hf__grant *h = p == NULL ? NULL : p->holder;

    if (p != NULL && (h == NULL || h->owner_id != owner_id)) {
        h = find_owned(p, owner_id);
    }
    return h != NULL && hf__grant_try_ref(h) ? h : NULL;
}

void hf__name_queue_owner_left(struct hf__grant *h)
{
    HF_SCOPED_LOCK(&h->client->mutex);

    if (h->owner_queue != NULL) {
        hf__list_remove(&h->owned_link);
        tidy(h->client, HF_MOVE(h->owner_queue));
    }
}

/* The holder may hand the lock on within the process once more. */
static bool may_hand_over(struct hf__name_queue *p, int64_t lease_ms)
{
    hf__time now = hf__now();

    if (p->handovers == 0) {
        p->handed_since = now;
    }
    return p->handovers < HANDOVERS_MAX &&
           hf__before(now, hf__after_ms(p->handed_since, lease_ms));
}

/* Another claim may take over this grant. An adopted grant's min_hold_ms is
 * known to the store alone, so it may not. */
static bool may_be_inherited(const struct hf__grant *h)
{
    return !h->is_adopted && !hf__before(hf__now(), h->kept_until) &&
           (h->client->settings.caps & HF_CAP_HANDOVER) != 0;
}

struct hf__claim *hf__name_queue_next_waiter(struct hf__grant *h,
                                             int64_t lease_ms)
{
    HF_SCOPED_LOCK(&h->client->mutex);
    struct hf__name_queue *p = h->queue;
    struct hf__claim *next_waiter = p == NULL ? NULL : first_waiter(p);

    if (next_waiter == NULL || next_waiter->use != HF__USE_NONE ||
        !may_be_inherited(h) ||
        next_waiter->waiter_state != HF__WAITER_QUEUED ||
        hf__claim_is_unknown(next_waiter) ||
        h->is_unanswered || /* only a release keeps a late request out */
        !may_hand_over(p, lease_ms)) {
        return NULL;
    }
    p->handovers++;
    next_waiter->waiter_state = HF__WAITER_HANDING_OVER;
    next_waiter->use = HF__USE_HANDOVER;
    pass(next_waiter);
    next_waiter->asked_at = hf__now();
    return next_waiter;
}

bool hf__name_queue_abandon(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    if (c->waiter_state != HF__WAITER_HANDING_OVER) {
        return false;
    }
    step_out(c);
    return true;
}

void hf__name_queue_forget(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);

    if (c->use == HF__USE_HANDOVER) {
        c->use = HF__USE_NONE;
    }
    go_if_left(c);
}

bool hf__name_queue_handed_over(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    bool is_abandoned = c->waiter_state == HF__WAITER_OUT;

    HF_ASSERT(c->use == HF__USE_HANDOVER);
    hf__claim_hear(c);
    if (is_abandoned) {
        return false;
    }
    HF_ASSERT(c->waiter_state == HF__WAITER_HANDING_OVER);
    c->use = HF__USE_NONE;
    c->waiter_state = c->request.op.result == HF_OK ? HF__WAITER_HANDED_OVER
                                                    : HF__WAITER_QUEUED;
    hf__unpark(c->parker);
    return true;
}

/* ---- what a result leaves in the store */

/* Apart from HF_OK: a request with this result, executed at `sent` if at all,
 * may have left something in the store, or may still do so. A store that
 * refuses, or that lacks memory for its reply, may have stopped halfway. */
static bool may_stand(int result, hf__time sent)
{
    return result == HF_EUNKNOWN || result == HF_EPROTO ||
           ((result == HF_EAUTH || result == HF_ENOMEM) && sent.ns != 0);
}

enum hf__store_has hf__store_has_after(enum hf__store_has before,
                                       const struct hf__op *op)
{
    if (op->result == HF_OK) {
        return HF__STORE_HAS_GRANT;
    }
    if (may_stand(op->result, op->sent)) {
        return HF__STORE_HAS_UNKNOWN;
    }
    if (op->result == HF_BUSY && op->kind == HF__OP_ACQUIRE) {
        return op->is_queued ? HF__STORE_HAS_TICKET : HF__STORE_HAS_NOTHING;
    }
    return before; /* it surely was not applied */
}

void hf__claim_hear(struct hf__claim *c)
{
    const struct hf__op *op = &c->request.op;

    c->store_has = hf__store_has_after(c->store_has, op);
    c->is_unanswered =
        c->is_unanswered || c->store_has == HF__STORE_HAS_UNKNOWN;
    if (op->result == HF_OK) {
        c->granted_sent = op->sent;
        c->granted_fence = op->fence;
    }
}
