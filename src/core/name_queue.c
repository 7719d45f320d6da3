/* SPDX-License-Identifier: MIT */
/*
 * Turns of the claims that one client has on one name, and what an answer may
 * have left of one in the store. This file decides whose turn it is and who
 * inherits a lock that is released; asking the store is claim.c's affair,
 * handing over release.c's. Any thread; under the client's mutex, never longer
 * than a look. But what an answer left is noted by who has the request.
 */
#include "src/core/name_queue.h"

#include "src/base/alloc.h"
#include "src/core/claim.h"
#include "src/core/claim_cleanup.h"
#include "src/core/grant.h"

#include <string.h>

/* The most hand-overs in a row before the lock is really released, so that
 * waiters in other processes get their chance. */
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

/* It goes with the last that needs it. */
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

/* ---- whose turn it is to ask */

/* Does nobody of this client stand in its way but who asks just now? */
static bool is_first(const struct hf__claim *c)
{
    return c->waiter_state == HF__WAITER_UNQUEUED ||
           (c->waiter_state == HF__WAITER_QUEUED &&
            first_waiter(c->queue) == c && c->queue->holder == NULL);
}

/* Will it use its turn at once? Not who can't use it, or executes a batch
 * elsewhere, which may take long. */
static bool is_prompt(const struct hf__claim *c)
{
    return is_first(c) && !hf__parker_is_engaged(c->parker);
}

/* Of those that wait, when nobody asks. Turns are in the order of asking, or
 * who asks in a loop would leave those before it no moment. */
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

/* The next, alone, for only one can have the turn; and who is before it. */
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

/* It waits for its turn no longer. */
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

/* ---- coming and going */

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

/* Under the mutex. */
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

/* Its caller has left; a hand-over that was abandoned still needs it there.
 * Under the mutex. */
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

/* ---- asking */

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

/* Under the mutex. */
static void install(struct hf__name_queue *p, struct hf__grant *h)
{
    h->owner_queue = p;
    hf__list_push(&p->owned, &h->owned_link);
    if (atomic_load(&h->state) == (int)HF_STATE_LOST) {
        return; /* already: hf__name_queue_holder_gone() has been called, and
                   will not be again */
    }
    if (h->lock_mode.mode != HF__MODE_EXCLUSIVE) {
        return; /* beside others: it keeps nobody from asking */
    }
    /* An older grant of this client may be lost and not know it yet. */
    if (p->holder != NULL) {
        p->holder->queue = NULL;
    }
    p->holder = h;
    h->queue = p;
    wake_asker(p); /* the first in the queue has its turn no longer */
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

/* Of those of that owner one that is held, or else one that was lost. */
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

/* May the holder hand the lock on within the process once more? */
static bool may_hand_over(struct hf__name_queue *p, int64_t lease_ms)
{
    hf__time now = hf__now();

    if (p->handovers == 0) {
        p->handed_since = now;
    }
    return p->handovers < HANDOVERS_MAX &&
           hf__before(now, hf__after_ms(p->handed_since, lease_ms));
}

/* May others have it at all? What the grant of an adopted lock keeps closed,
 * the store alone knows. */
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
        h->is_unanswered || /* what may still come, a release keeps out */
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

/* ---- what an answer leaves behind */

/* Has a request with this result, executed at `sent` if at all, perhaps left
 * something, or may still do so? Beside HF_OK.
 * A store that refuses, or has no memory for an answer, may have been stopped
 * by that in the middle. */
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
    return before; /* it was surely not applied */
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
