/* SPDX-License-Identifier: MIT */
/*
 * Connects a grant's state machine with the world. This file feeds it events
 * under the grant's mutex, publishes what hf_held() reads, runs the pending
 * operations, and checks that a grant came in time and with a fence that rises.
 * grant_fsm.c decides what a grant does; releasing is in release.c, renewing by
 * hand in renew.c. Called by users' threads, by the executor's, by the timer
 * thread, which ticks, and by the thread that executed a pending operation.
 */
#include "src/core/grant.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/core/grant_fsm.h"
#include "src/core/name_queue.h"
#include "src/core/options.h"

#include <string.h>

/* ---- the state that users see */

static hf_lock_state shown_state(enum hf__phase phase)
{
    switch (phase) {
    case HF__PHASE_CLAIMING:
    case HF__PHASE_RELEASING:
    case HF__PHASE_RELEASED:
        return HF_STATE_RELEASED;
    case HF__PHASE_HELD:
        return HF_STATE_HELD;
    case HF__PHASE_AT_RISK:
        return HF_STATE_AT_RISK;
    case HF__PHASE_DETACHED:
        return HF_STATE_DETACHED;
    case HF__PHASE_LOST:
        return HF_STATE_LOST;
    }
    HF_ASSERT(false && "a phase of no kind");
    return HF_STATE_LOST;
}

bool hf__grant_is_ours(const struct hf__grant *h)
{
    return h->fsm.phase == HF__PHASE_HELD || h->fsm.phase == HF__PHASE_AT_RISK;
}

/* The lock may have expired by the clock before the timer thread notices it and
 * sets a reason. */
hf_reason hf__grant_reason(const struct hf__grant *h)
{
    hf_reason reason = (hf_reason)atomic_load(&h->reason);

    return reason == HF_REASON_NONE ? HF_REASON_EXPIRED : reason;
}

/* How much earlier than due a renewal may go, to share a batch with others. */
static int64_t renewal_slack(const struct hf__grant *h)
{
    return h->fsm.lease_ms * HF__MS / 24;
}

/* ---- beginning pending operations */

static void pending_done(struct hf__request *);

static bool is_renewal(enum hf__pending_op pending)
{
    return pending == HF__PENDING_RENEW || pending == HF__PENDING_DETACH;
}

/* The operation needs a lease that goes on, and its answer is worthless after
 * the deadline. */
static bool is_for_holder(enum hf__pending_op pending)
{
    return is_renewal(pending) || pending == HF__PENDING_CHECK;
}

static enum hf__op_kind kind_of(enum hf__pending_op pending)
{
    if (pending == HF__PENDING_CHECK) {
        /* to its present mode: checks the token, writes nothing */
        return HF__OP_RAISE;
    }
    return is_renewal(pending) ? HF__OP_RENEW : HF__OP_RELEASE;
}

void hf__grant_begin(struct hf__grant *h, enum hf__pending_op pending)
{
    struct hf__op *op = &h->request.op;

    HF_ASSERT(h->pending == HF__PENDING_NONE);
    HF_ASSERT(!is_for_holder(pending) || hf__grant_is_ours(h));
    h->pending = pending;
    h->must_give_back = false;
    h->needs_check = false;
    atomic_fetch_add(&h->refs, 1);
    op->kind = kind_of(pending);
    op->is_detached = pending == HF__PENDING_DETACH;
    op->reopens = h->is_unused;
    op->is_unanswered = h->is_unanswered;
    op->key = h->key;
    op->token = h->token;
    op->lock_mode = h->lock_mode;
    op->fence = h->fsm.fence;
    op->lease_us = h->fsm.lease_ms * 1000;
    op->ret_reason = HF_REASON_NONE;
    h->request.send_by = is_for_holder(pending) ? h->fsm.deadline : HF__NEVER;
    h->request.done = pending_done;
}

static enum hf__pending_op pending_of(unsigned actions)
{
    if ((actions & HF__DO_GIVE_BACK) != 0) {
        return HF__PENDING_GIVE_BACK;
    }
    if ((actions & HF__DO_RENEW) != 0) {
        return HF__PENDING_RENEW;
    }
    return (actions & HF__DO_CHECK) != 0 ? HF__PENDING_CHECK : HF__PENDING_NONE;
}

/* Begin the operation that the actions ask for, in the critical section that
 * found it due: a release that began in between would not know of a renewal
 * that begins after it. Returns what is left to do without the mutex. */
static unsigned take(struct hf__grant *h, unsigned actions)
{
    enum hf__pending_op pending = pending_of(actions);
    unsigned left = actions & (HF__DO_TELL | HF__DO_RELEASE);

    if (pending == HF__PENDING_GIVE_BACK && !h->is_retrying) {
        /* The client counts a cleanup, with a reference, until it is settled.
         */
        h->is_retrying = true;
        atomic_fetch_add(&h->refs, 1);
        hf__client_begin_cleanup(h->client);
    }
    if (pending != HF__PENDING_NONE && h->pending == HF__PENDING_NONE) {
        hf__grant_begin(h, pending);
        return left | HF__DO_SUBMIT;
    }
    h->must_give_back = h->must_give_back || pending == HF__PENDING_GIVE_BACK;
    h->needs_check = h->needs_check || pending == HF__PENDING_CHECK;
    return left;
}

/* ---- feeding the grant */

/* Step the state machine and publish the new state; under the grant's mutex.
 * Returns the actions. */
static unsigned grant_step(struct hf__grant *h, struct hf__fsm_event e)
{
    unsigned actions = hf__grant_fsm_step(&h->fsm, &e);

    /* A request of the claim is still unanswered; it may reach the store later
     * and find the name free. */
    if (e.kind == HF__FSM_REFUSED && (actions & HF__DO_TELL) != 0 &&
        h->is_unanswered) {
        actions |= HF__DO_GIVE_BACK;
    }
    /* Store the reason first: a reader that sees the loss may ask for it at
     * once. */
    atomic_store(&h->reason, (int)h->fsm.reason);
    atomic_store(&h->state, (int)shown_state(h->fsm.phase));
    atomic_store(&h->held_until, hf__grant_is_ours(h) ? h->fsm.deadline.ns : 0);
    if (hf__grant_is_ours(h) || !h->is_retrying) {
        hf__time due = hf__grant_fsm_next_tick(&h->fsm);

        /* Only a renewal may come early: shortly before a deadline there is
         * nothing to do yet. */
        hf__timer_thread_set(&h->client->timer_thread, &h->timer_task, due,
                             due.ns == h->fsm.renew_at.ns ? renewal_slack(h)
                                                          : 0);
    }
    return actions;
}

unsigned hf__grant_feed(struct hf__grant *h, struct hf__fsm_event e)
{
    return take(h, grant_step(h, e));
}

/*
 * A renewal was confirmed. hf_held() may have said "no" a moment ago, by the
 * old deadline: it then stored 0 in held_until, and a loss is final, so the new
 * deadline counts only if the old one is still stored.
 */
static unsigned feed_renewed(struct hf__grant *h, hf__time sent)
{
    hf__time now = hf__now();
    hf__time deadline =
        hf__later(h->fsm.deadline, hf__grant_fsm_promise(&h->fsm, sent));
    int64_t old = h->fsm.deadline.ns;

    if (hf__grant_is_ours(h) && hf__before(now, h->fsm.deadline) &&
        !atomic_compare_exchange_strong(&h->held_until, &old, deadline.ns)) {
        now = h->fsm.deadline;
    }
    return hf__grant_feed(h, (struct hf__fsm_event){.kind = HF__FSM_RENEWED,
                                                    .now = now,
                                                    .sent = sent});
}

static void tell_lost(struct hf__grant *h)
{
    char name[4 * HF_NAME_MAX];

    hf__count(&h->client->counters.lost, 1);
    hf__log(&h->client->settings.log, HF_LOG_WARN,
            "event=lost lock=%s fence=%llu reason=%s",
            hf__log_quote(hf__grant_name(h), name, sizeof name),
            (unsigned long long)h->fsm.fence,
            hf_strreason((hf_reason)atomic_load(&h->reason)));
    hf__name_queue_holder_gone(h);
    hf__mutex_lock(&h->mutex);
    while (!hf__list_is_empty(&h->lost_callbacks)) {
        struct hf__link *link = hf__list_pop(&h->lost_callbacks);
        struct hf__lost_callback *m =
            HF__ELEMENT(link, struct hf__lost_callback, link);

        m->tell(m);
    }
    hf__mutex_unlock(&h->mutex);
}

void hf__grant_follow_up(struct hf__grant *h, unsigned left)
{
    if ((left & HF__DO_TELL) != 0) {
        tell_lost(h);
    }
    if ((left & HF__DO_SUBMIT) != 0) {
        hf__session_submit(&h->client->renew, &h->request);
    }
    hf__grant_stir(h);
}

/* ---- the store granted it: is that to be believed? */

static int refuse_grant(const struct hf__grant *h,
                        const struct hf__fsm_event *e, hf_error *err)
{
    bool is_session = (h->client->settings.caps & HF_CAP_SESSION) != 0;

    if (e->fence != 0 && e->fence <= e->seen_fence) {
        return hf__fail(err, HF_EPROTO,
                        "the fence of \"%s\" fell to %llu after %llu: was an "
                        "old copy of the store put back?",
                        hf__grant_name(h), (unsigned long long)e->fence,
                        (unsigned long long)e->seen_fence);
    }
    return hf__fail(err, HF_EUNAVAIL,
                    "the grant of \"%s\" came after its lease of %lld ms: "
                    "the store is too slow for it; %s",
                    hf__grant_name(h), (long long)h->fsm.lease_ms,
                    is_session ? "set a longer session_timeout in the URL"
                               : "ask for a longer one");
}

/* The grant's fence must be above this; 0: any will do. */
static uint64_t fence_to_pass(const struct hf__grant *h, uint64_t fence)
{
    uint64_t seen = 0;

    if (h->lock_mode.mode != HF__MODE_EXCLUSIVE) {
        /* Shared grants, made later with higher fences, may have been seen
         * first. */
        return h->is_adopted ? 0 : h->seen_before;
    }
    seen = hf__client_seen(h->client, &h->key);
    /* This process may have acquired the grant that it adopts. */
    return h->is_adopted && seen == fence ? 0 : seen;
}

int hf__grant_confirm(struct hf__grant *h, const struct hf__token *token,
                      hf__time sent, uint64_t fence, hf_error *err)
{
    struct hf__fsm_event e = {.kind = HF__FSM_GRANTED,
                              .sent = sent,
                              .fence = fence,
                              .seen_fence = fence_to_pass(h, fence)};
    unsigned actions = 0;

    hf__mutex_lock(&h->mutex);
    h->token = *token;
    hf__token_format(token, h->token_text);
    h->moot_at = hf__client_moot_at(h->client, sent, h->fsm.lease_ms);
    e.now = hf__now();
    h->kept_until = hf__after_ms(e.now, h->min_hold_ms);
    actions = grant_step(h, e);
    hf__mutex_unlock(&h->mutex);
    if ((actions & HF__DO_GIVE_BACK) != 0) { /* the claim gives it back */
        return refuse_grant(h, &e, err);
    }
    hf__client_see(h->client, &h->key, fence);
    hf__mutex_lock(&h->client->mutex);
    hf__list_push(&h->client->grants, &h->link);
    hf__mutex_unlock(&h->client->mutex);
    return HF_OK;
}

void hf__grant_tell_granted(const struct hf__grant *h, int r, bool took_over)
{
    char name[4 * HF_NAME_MAX];

    if (r != HF_OK || !took_over) {
        return;
    }
    hf__count(&h->client->counters.taken_over, 1);
    hf__log(&h->client->settings.log, HF_LOG_INFO,
            "event=takeover lock=%s fence=%llu",
            hf__log_quote(hf__grant_name(h), name, sizeof name),
            (unsigned long long)h->fsm.fence);
}

/* ---- pending operations that have ended */

unsigned hf__grant_end_renewal(struct hf__grant *h, const struct hf__op *op)
{
    struct hf__fsm_event e = {.now = hf__now()};

    if (op->result == HF_OK || op->result == HF_EUNKNOWN) {
        h->moot_at =
            hf__later(h->moot_at,
                      hf__client_moot_at(h->client, op->sent, h->fsm.lease_ms));
    }
    hf__count(op->result == HF_OK ? &h->client->counters.renewed
                                  : &h->client->counters.renew_failed,
              op->result != HF_LOST);
    if (op->result == HF_OK) {
        return feed_renewed(h, op->sent);
    }
    e.kind = op->result == HF_LOST ? HF__FSM_REFUSED : HF__FSM_RENEW_FAILED;
    e.reason = op->ret_reason;
    return hf__grant_feed(h, e);
}

/* If the store could not answer now, it will at the next renewal. */
static unsigned end_check(struct hf__grant *h, const struct hf__op *op)
{
    struct hf__fsm_event e = {
        .kind = HF__FSM_REFUSED, .now = hf__now(), .reason = op->ret_reason};

    if (op->result == HF_LOST) {
        return hf__grant_feed(h, e);
    }
    /* A renewal that fell due meanwhile found this operation pending. */
    return h->fsm.is_renewing && hf__grant_is_ours(h) ? take(h, HF__DO_RENEW)
                                                      : 0;
}

unsigned hf__grant_overdue(struct hf__grant *h)
{
    bool needs_check = h->needs_check && hf__grant_is_ours(h);

    return take(h, (h->must_give_back ? HF__DO_GIVE_BACK : 0) |
                       (needs_check ? HF__DO_CHECK : 0));
}

/* Returns whether the give-back will be tried again: not once the client is
 * closed, because nothing would try it. */
static bool set_retry(struct hf__grant *h, bool is_waiting)
{
    HF_SCOPED_LOCK(&h->client->mutex);

    hf__list_remove(&h->retry_link);
    if (is_waiting && !h->client->is_closed) {
        hf__list_push(&h->client->retrying, &h->retry_link);
        return true;
    }
    return false;
}

/* A give-back has ended: it is settled or will be tried again. That also covers
 * a give-back that was to follow this operation. */
static void end_give_back(struct hf__grant *h, const struct hf__op *op)
{
    hf__time now = hf__now();
    bool is_open =
        hf__claim_cleanup_goes_on(op->result) && hf__before(now, h->moot_at);

    if (!h->is_retrying) {
        return;
    }
    h->must_give_back = false;
    h->is_retrying = set_retry(h, is_open);
    if (h->is_retrying) {
        hf__timer_thread_set(&h->client->timer_thread, &h->timer_task,
                             hf__lease_give_back_at(now, h->fsm.lease_ms), 0);
    }
}

/* The pending operation has its result; under the mutex. Returns the
 * actions. */
static unsigned end_pending(struct hf__grant *h)
{
    enum hf__pending_op pending = h->pending;
    unsigned actions = 0;

    h->pending = HF__PENDING_NONE;
    switch (pending) {
    case HF__PENDING_RENEW:
    case HF__PENDING_DETACH:
        actions = hf__grant_end_renewal(h, &h->request.op);
        break;
    case HF__PENDING_CHECK:
        actions = end_check(h, &h->request.op);
        break;
    case HF__PENDING_RELEASE:
    case HF__PENDING_GIVE_BACK:
        end_give_back(h, &h->request.op);
        break;
    case HF__PENDING_NONE:
        HF_ASSERT(false && "a request that was not sent");
    }
    return actions | hf__grant_overdue(h);
}

/* A pending operation ended that no caller waited for. Thread: the one that
 * executed it. */
static void pending_done(struct hf__request *q)
{
    struct hf__grant *h = HF__ELEMENT(q, struct hf__grant, request);
    bool was_renewal = false;
    bool was_retrying = false;
    bool is_settled = false;
    unsigned actions = 0;
    int r = q->op.result;

    hf__mutex_lock(&h->mutex);
    was_renewal = is_renewal(h->pending);
    was_retrying = h->is_retrying;
    actions = end_pending(h);
    is_settled = was_retrying && !h->is_retrying;
    hf__mutex_unlock(&h->mutex);
    /* drop the count and reference that is_retrying stands for */
    if (is_settled) {
        hf__client_end_cleanup(h->client);
        hf__grant_unref(h);
    }
    if (was_renewal && r < 0) {
        hf__log(&h->client->settings.log, HF_LOG_WARN,
                "event=renewal_failed result=%s", hf_strstatus(r));
    }
    hf__grant_follow_up(h, actions);
    hf__grant_unref(h);
}

/* Called by the timer thread: a renewal, the deadline or a give-back is due. */
static void fire(struct hf__timer_task *timer_task, hf__time now)
{
    struct hf__grant *h = HF__ELEMENT(timer_task, struct hf__grant, timer_task);
    unsigned actions = 0;

    /* The last reference may just have been dropped by a thread that now waits
     * for this call to end. */
    if (!hf__grant_try_ref(h)) {
        return;
    }
    hf__mutex_lock(&h->mutex);
    if (hf__grant_is_ours(h)) {
        hf__time slack = hf__after_ns(now, renewal_slack(h));
        bool is_check_due = atomic_exchange(&h->is_check_due, false);
        /* before this tick, so perhaps on the server that had the locks */
        bool is_asking = h->pending != HF__PENDING_NONE;
        bool renews = hf__before(h->fsm.renew_at, h->fsm.deadline);

        /* A renewal that is nearly due goes along with those that are due. */
        if (renews && (is_check_due || !hf__before(slack, h->fsm.renew_at))) {
            now = hf__later(now, h->fsm.renew_at);
        }
        actions = hf__grant_feed(
            h, (struct hf__fsm_event){.kind = HF__FSM_TICK, .now = now});
        if (is_check_due && (!renews || is_asking) && hf__grant_is_ours(h)) {
            actions |= take(h, HF__DO_CHECK);
        }
    } else if (h->is_retrying) {
        (void)set_retry(h, false);
        actions = take(h, HF__DO_GIVE_BACK);
    }
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, actions);
    hf__grant_unref(h);
}

void hf__grant_check_soon(struct hf__grant *h)
{
    unsigned actions = 0;

    hf__mutex_lock(&h->mutex);
    actions = hf__grant_is_ours(h) ? take(h, HF__DO_CHECK) : 0;
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, actions);
}

/* ---- making and dropping */

struct hf__grant *hf__grant_new(struct hf_client *client,
                                const struct hf__key *key,
                                const hf_acquire_opts *opts)
{
    struct hf__grant *h = hf__alloc(sizeof *h + key->length + 1u);

    if (h == NULL) {
        return NULL;
    }
    atomic_init(&h->refs, 1);
    atomic_init(&h->state, (int)HF_STATE_RELEASED);
    h->client = hf__client_ref(client);
    hf__list_init(&h->link);
    hf__list_init(&h->retry_link);
    hf__list_init(&h->owned_link);
    hf__list_init(&h->listeners);
    hf__list_init(&h->lost_callbacks);
    h->n_locks = 1;
    h->owner_id = opts->owner_id;
    hf__mutex_init(&h->mutex);
    hf__grant_fsm_init(&h->fsm, opts->lease_ms, opts->auto_renew != 0);
    h->fsm.max_hold_ms = opts->max_hold_ms;
    h->is_unbound = opts->detached != 0;
    h->min_hold_ms = opts->min_hold_ms;
    h->lock_mode = hf__lock_mode_of(opts);
    h->slot = -1;
    h->timer_task.fire = fire;
    memcpy(h->key_bytes, key->bytes, key->length);
    h->key = *key;
    h->key.bytes = h->key_bytes;
    if (h->lock_mode.mode != HF__MODE_EXCLUSIVE) {
        h->seen_before = hf__client_seen(client, &h->key);
    }
    return h;
}

void hf__grant_unref(struct hf__grant *h)
{
    struct hf_client *client = h->client;

    if (atomic_fetch_sub(&h->refs, 1) > 1) {
        return;
    }
    /* Take it off the list first: a thread that walks the list sets timers. */
    hf__mutex_lock(&client->mutex);
    hf__list_remove(&h->link);
    hf__mutex_unlock(&client->mutex);
    hf__timer_thread_cancel(&client->timer_thread, &h->timer_task);
    hf__mutex_fini(&h->mutex);
    hf__free(h);
    hf__client_unref(client);
}

bool hf__grant_await_pending(struct hf__grant *h, hf__time limit)
{
    while (h->pending != HF__PENDING_NONE) {
        unsigned seen = hf__parker_seen(&h->parker);

        if (!hf__before(hf__now(), limit)) {
            return false;
        }
        hf__mutex_unlock(&h->mutex);
        hf__park(&h->parker, seen, limit);
        hf__mutex_lock(&h->mutex);
    }
    return true;
}

int hf__grant_ended(struct hf__grant *h, enum hf__ending ending,
                    bool *ret_is_over)
{
    if (ret_is_over != NULL) {
        *ret_is_over = ending != HF__ENDING_DETACHED;
    }
    if (ending == HF__ENDING_DETACHED) {
        return HF_EUNKNOWN; /* pending_done() ends it, or has done so */
    }
    if (ending == HF__ENDING_WITHDRAWN) {
        h->request.op.result = HF_EUNAVAIL;
    }
    h->pending = HF__PENDING_NONE;
    atomic_fetch_sub(&h->refs, 1);
    return h->request.op.result;
}

void hf__grant_abandon(struct hf__grant *h)
{
    unsigned actions = 0;

    hf__mutex_lock(&h->mutex);
    if (hf__grant_is_ours(h)) {
        actions = hf__grant_feed(
            h, (struct hf__fsm_event){.kind = HF__FSM_CLOSED,
                                      .now = hf__now(),
                                      .reason = HF_REASON_SESSION});
        actions |= take(h, HF__DO_GIVE_BACK);
    }
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, actions);
}
