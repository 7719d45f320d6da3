/* SPDX-License-Identifier: MIT */
/*
 * From the wish for a name to the grant, in steps that do not sleep. This file
 * decides when to ask the store and when to wait for its holder, and what it
 * means that time is over; turns are kept by name_queue.c, late outcomes
 * settled by claim_cleanup.c, and what a caller who got nothing is told is
 * acquire_error.c's. Runs on the caller's thread, or on the one that steps for
 * it; the claim outlives the call only as a cleanup.
 */
#include "src/core/claim.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/cancel.h"
#include "src/core/claim_cleanup.h"
#include "src/core/grant.h"
#include "src/core/options.h"

#include <string.h>

/* Between attempts at a store that gives no answer: doubled each time. */
#define RETRY_FIRST_MS 10
#define RETRY_MAX_MS   1000
/* A try that was surely not applied is repeated so often: a connection that
 * died while idle costs nobody an error. */
#define TRIES_MAX 3
/* For whoever is before a claim to take the turn. */
#define SOON_MS 20
/* Asking again when the holder's lease should have ended. */
#define EXPIRY_SLACK_NS (1 * HF__MS)
/* An answer that has been under way for this part of io_timeout is late. */
#define LATE_PART 4
/* Between looks at a store that cannot be waited on. */
#define POLL_LOW_MS  20
#define POLL_HIGH_MS 120

/* ---- making */

void hf__claim_set_limits(struct hf__claim *c)
{
    hf__time now = hf__now();

    c->patience =
        c->wait_ms == HF_FOREVER ? HF__NEVER : hf__after_ms(now, c->wait_ms);
    c->answer_by = hf__later(c->patience, hf__client_limit(c->client));
}

static enum hf__queueing queueing_of(const struct hf_client *client,
                                     const hf_acquire_opts *opts)
{
    if (opts->wait_ms == 0) {
        return HF__QUEUE_NEVER;
    }
    if (opts->fair != 0 || (client->settings.caps & HF__CAP_QUEUES) != 0) {
        return HF__QUEUE_ALWAYS;
    }
    return (client->settings.caps & (HF_CAP_SHARED | HF_CAP_SLOTS)) != 0
               ? HF__QUEUE_BEHIND_SHARED
               : HF__QUEUE_NEVER;
}

int hf__claim_new(struct hf_client *client, const char *name,
                  const hf_acquire_opts *opts, struct hf__claim **ret_claim)
{
    struct hf__claim *c = hf__alloc(sizeof *c);

    if (c == NULL) {
        return HF_ENOMEM;
    }
    atomic_init(&c->refs, 1);
    c->client = hf__client_ref(client);
    hf__list_init(&c->link);
    hf__list_init(&c->asker);
    hf__list_init(&c->cleanup_link);
    hf__client_key(client, name, c->key_bytes, &c->key);
    hf__owner_set(client, opts->owner, opts->note, &c->owner);
    c->lease_ms = opts->lease_ms;
    c->lock_mode = hf__lock_mode_of(opts);
    c->queueing = queueing_of(client, opts);
    /* Its place is in the store's line, or beside other holders. */
    c->is_unqueued = opts->wait_ms == 0 || opts->fair != 0 ||
                     c->lock_mode.mode != HF__MODE_EXCLUSIVE;
    c->wait_ms = opts->wait_ms;
    c->parker = &c->own_parker;
    if (opts->cancel != NULL) {
        c->parker = &opts->cancel->parker;
        c->stop = &opts->cancel->is_fired;
    }
    c->err.size = sizeof c->err;
    hf__random(c->token.bytes, sizeof c->token.bytes);
    hf__claim_set_limits(c);
    c->grant = hf__grant_new(client, &c->key, opts);
    if (c->grant == NULL) {
        hf__claim_unref(c);
        return HF_ENOMEM;
    }
    *ret_claim = c;
    return HF_OK;
}

/* ---- asking */

static bool is_stopped(const struct hf__claim *c)
{
    return atomic_load(&c->is_called_off) != 0 ||
           (c->stop != NULL && atomic_load(c->stop) != 0);
}

void hf__claim_call_off(struct hf__claim *c)
{
    atomic_store(&c->is_called_off, 1);
    hf__unpark(c->parker);
}

/* One attempt at the store, already counted as unsettled. */
static void begin_attempt(struct hf__claim *c)
{
    struct hf__op *op = &c->request.op;

    HF_ASSERT(c->use == HF__USE_ATTEMPT);
    memset(&c->request, 0, sizeof c->request);
    memset(&c->reply, 0, sizeof c->reply);
    if (c->err.status < 0) {
        c->last_err = c->err;
    }
    c->err.status = 0;
    op->kind = HF__OP_ACQUIRE;
    op->key = c->key;
    op->token = c->token;
    op->lease_us = c->lease_ms * 1000;
    op->keep_us = c->grant->min_hold_ms * 1000;
    op->is_detached = c->grant->is_unbound;
    op->is_unanswered = c->is_unanswered;
    op->lock_mode = c->lock_mode;
    op->queueing = c->queueing;
    op->owner = &c->owner;
    op->ret_record = &c->reply;
    op->err = &c->err;
    c->request.done = hf__claim_cleanup_from_attempt;
    atomic_fetch_add(&c->refs, 1); /* the cleanup's, should it become one */
    c->stage = HF__STAGE_ATTEMPT;
    hf__session_begin(hf__client_session(c->client, &c->key), &c->request,
                      c->parker, c->answer_by);
}

/* ---- the grant */

/* It is refused if it is worth nothing: then the store still thinks it ours. */
static int take_grant(struct hf__claim *c)
{
    int r = HF_OK;

    c->grant->is_unanswered = c->is_unanswered;
    r = hf__grant_confirm(c->grant, &c->token, c->granted_sent,
                          c->granted_fence, &c->err);
    if (r == HF_OK) {
        hf__name_queue_granted(c);
    } else {
        hf__name_queue_requeue(c);
    }
    return r;
}

/* Before its thread comes to take it, it may be broken, and another of this
 * client be granted the lock: then its fence is below that one's, and no sign
 * of a store that forgot. If it is one the next answer will tell. */
static int take_handover(struct hf__claim *c)
{
    int r = take_grant(c);

    hf__count(&c->client->counters.handed_over, r == HF_OK);
    return r == HF_EPROTO ? hf__fail(&c->err, HF_EUNAVAIL,
                                     "\"%s\" was handed over and then taken "
                                     "away again",
                                     hf__grant_name(c->grant))
                          : r;
}

/* The attempt was answered, or surely not applied. Gives what it came to. */
static int take_answer(struct hf__claim *c)
{
    const struct hf__op *op = &c->request.op;
    bool took_over = op->took_over;
    int answer = op->result;
    int r = answer;

    hf__claim_hear(c);
    if (r == HF_BUSY) {
        c->record = c->reply;
        c->is_heard = c->wait_ms != 0;
        hf__claim_cleanup_go_on(c);
    } else if (r == HF_OK) {
        c->grant->slot = op->slot;
        /* That of the session which granted it, where the store has one. */
        c->grant->fsm.lease_ms = op->lease_us / 1000;
        r = take_grant(c);
    }
    hf__name_queue_attempted(c,
                             answer); /* from here the request is anybody's */
    hf__grant_tell_granted(c->grant, r, took_over);
    return r;
}

/* The attempt has ended so. Gives what it came to. */
static int end_attempt(struct hf__claim *c, enum hf__ending ending)
{
    if (ending == HF__ENDING_DETACHED) {
        c->is_detached = true;
        return is_stopped(c) ? (int)HF_CANCELLED : (int)HF_EUNKNOWN;
    }
    atomic_fetch_sub(&c->refs, 1);
    if (ending == HF__ENDING_WITHDRAWN) {
        c->request.op.result =
            is_stopped(c) ? (int)HF_CANCELLED : (int)HF_EUNAVAIL;
    }
    return take_answer(c);
}

/* ---- waiting */

static hf__time ask_again_at(const struct hf__claim *c)
{
    hf__time now = hf__now();
    hf__time until = c->patience;

    if (c->record.remaining_us >= 0) {
        hf__time its_end = hf__after_us(now, c->record.remaining_us);

        until = hf__earlier(until, hf__after_ns(its_end, EXPIRY_SLACK_NS));
    } else if ((c->client->settings.caps & HF_CAP_SESSION) != 0) {
        /* When it will end nobody can tell; what wakes may be lost. */
        until = hf__earlier(until, hf__after_ms(now, c->lease_ms));
    }
    if (!c->is_watched) {
        int64_t poll_ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);

        until = hf__earlier(until, hf__after_ms(now, poll_ms));
    }
    return until;
}

/* Somebody elsewhere holds it: wait until that may have changed, or the
 * claim's own patience ends. */
static void begin_watching(struct hf__claim *c)
{
    struct hf__watching *g = &c->watching;

    g->parker = c->parker;
    g->watch.key = c->key;
    g->watch.fence = c->record.fence;
    g->watch.token = c->record.token;
    g->watch.lock_mode = c->lock_mode;
    g->watch.ticket = hf__name_queue_store_has(c) == HF__STORE_HAS_TICKET
                          ? c->token
                          : (struct hf__token){{0}};
    c->is_watched = hf__watchers_join(&c->client->watchers, g);
    c->look_at = ask_again_at(c);
    c->stage = HF__STAGE_HOLDER;
}

/* It tries now, and may watch again: its place in the store stays. */
static void stop_watching(struct hf__claim *c)
{
    if (c->is_watched) {
        hf__watcher_pause(&c->watching);
        c->is_watched = false;
    }
}

/* It does not try, or no more. */
static void end_watching(struct hf__claim *c)
{
    stop_watching(c);
    hf__watchers_leave(&c->client->watchers, &c->watching);
}

/* ---- the time is over */

/* Has it been asked so late that no answer can be expected by now? */
static bool is_asked_late(struct hf__claim *c)
{
    hf__time late_at =
        hf__after_ms(hf__name_queue_asked_at(c),
                     c->client->settings.io_timeout_ms / LATE_PART);

    return hf__before(hf__earlier(hf__now(), c->answer_by), late_at);
}

/* The store is being asked. HF_TIMEDOUT says that the store answers and
 * somebody has the lock; it is never told of a store that has said nothing to
 * the call, or owes an answer for long. */
int hf__claim_time_out(struct hf__claim *c, bool was_unknown, int r)
{
    c->is_cut_short =
        c->is_heard && c->failures == 0 && !was_unknown && is_asked_late(c);
    return c->is_cut_short ? (int)HF_TIMEDOUT : r;
}

/* It is being handed the lock. */
static int time_out_handover(struct hf__claim *c)
{
    return is_asked_late(c) ? HF_TIMEDOUT : HF_EUNKNOWN;
}

/* ---- steps: each gives true when the next can be taken at once, else until
 * when to sleep */

static bool end(struct hf__claim *c, int r)
{
    end_watching(c);
    c->result = r;
    c->stage = HF__STAGE_ENDED;
    return true;
}

/* With r, unless the lock is just being handed to this claim: then the end of
 * that decides. */
static bool give_up(struct hf__claim *c, int r)
{
    end_watching(c);
    c->result = r;
    c->stage = HF__STAGE_LEAVING;
    return true;
}

static bool sleep_until(hf__time until, hf__time *ret_until)
{
    *ret_until = until;
    return false;
}

/* By its caller, with no attempt under way: a hand-over may have begun. */
static bool is_unknown(struct hf__claim *c)
{
    return hf__name_queue_store_has(c) >= HF__STORE_HAS_UNKNOWN;
}

/* After a failed attempt: true if another one may help. */
static bool may_retry(struct hf__claim *c, int r)
{
    bool is_outage = r == HF_EUNAVAIL || r == HF_EUNKNOWN;

    if (!is_outage || c->is_detached || is_stopped(c) ||
        !hf__before(hf__now(), c->answer_by)) {
        return false;
    }
    return c->wait_ms != 0 || c->failures < TRIES_MAX || is_unknown(c);
}

/* A turn ended: granted, to be tried again, or given up. */
static bool end_turn(struct hf__claim *c, int r)
{
    int64_t top_ms = RETRY_FIRST_MS;

    if (r == HF_OK) {
        return end(c, r);
    }
    if (r == HF_BUSY && c->wait_ms != 0) {
        if (!hf__before(hf__now(), c->patience)) {
            return give_up(c, HF_TIMEDOUT);
        }
        c->failures = 0;
        begin_watching(c);
        return true;
    }
    c->failures++;
    if (!may_retry(c, r)) {
        return give_up(c, r == HF_EUNAVAIL && is_unknown(c) ? (int)HF_EUNKNOWN
                                                            : r);
    }
    if (c->failures == 1) {
        hf__log(&c->client->settings.log, HF_LOG_WARN, "event=outage result=%s",
                hf_strstatus(r));
    }
    /* A pause before the next attempt, longer each time. */
    end_watching(c);
    for (int i = 1; i < c->failures && top_ms < RETRY_MAX_MS; i++) {
        top_ms *= 2;
    }
    c->look_at = hf__earlier(
        c->answer_by,
        hf__after_ms(hf__now(), hf__random_between(top_ms / 2, top_ms)));
    c->stage = HF__STAGE_PAUSE;
    return true;
}

/* It is not this claim's turn: it looks again then, unless it is woken. */
static bool stay_queued(struct hf__claim *c, hf__time look_at,
                        hf__time *ret_until)
{
    hf__time limit = c->wait_ms == 0 ? c->answer_by : c->patience;

    end_watching(c);
    if (hf__before(hf__now(), limit)) {
        return sleep_until(hf__earlier(limit, look_at), ret_until);
    }
    hf__name_queue_pass(c);
    int last = hf__name_queue_last_result(c);
    last = last < 0 ? last : (int)HF_TIMEDOUT;
    return end_turn(c, c->wait_ms == 0 ? (int)HF_EUNAVAIL : last);
}

static bool step_turn(struct hf__claim *c, hf__time *ret_until)
{
    if (is_stopped(c)) {
        return give_up(c, HF_CANCELLED);
    }
    switch (hf__name_queue_turn(c)) {
    case HF__TURN_HANDED_OVER:
        return end_turn(c, take_handover(c));
    case HF__TURN_ASK:
        begin_attempt(c);
        /* Others that are stepped too may join the batch. */
        return sleep_until((hf__time){0}, ret_until);
    case HF__TURN_HANDING_OVER:
        end_watching(c);
        return hf__before(hf__now(), c->answer_by)
                   ? sleep_until(c->answer_by, ret_until)
                   : give_up(c, time_out_handover(c));
    case HF__TURN_WAIT:
        return stay_queued(c, HF__NEVER, ret_until);
    case HF__TURN_SOON:
        return stay_queued(c, hf__after_ms(hf__now(), SOON_MS), ret_until);
    }
    HF_ASSERT(false && "a turn of no kind");
    return true;
}

static bool step_attempt(struct hf__claim *c, hf__time *ret_until)
{
    struct hf__session *s = hf__client_session(c->client, &c->key);
    enum hf__ending ending = HF__ENDING_RAN;
    bool was_unknown = false;

    if (!hf__session_advance(s, &c->request)) {
        if (!is_stopped(c) && hf__before(hf__now(), c->answer_by)) {
            return sleep_until(c->answer_by, ret_until);
        }
        /* Who leaves its request to others can't look at this any more. */
        was_unknown = hf__claim_is_unknown(c);
        hf__client_begin_cleanup(
            c->client); /* before anybody could settle it */
        ending = hf__session_leave(s, &c->request);
        if (ending != HF__ENDING_DETACHED) {
            hf__client_end_cleanup(c->client);
        }
    }
    int r = end_attempt(c, ending);
    if (ending != HF__ENDING_RAN && r != HF_CANCELLED) {
        r = hf__claim_time_out(c, was_unknown, r);
    }
    c->stage = HF__STAGE_TURN;
    return end_turn(c, r);
}

/* Not being handed the lock by a holder of this client. */
static bool is_on_its_own(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    return c->waiter_state == HF__WAITER_QUEUED ||
           c->waiter_state == HF__WAITER_UNQUEUED;
}

static bool step_holder(struct hf__claim *c, hf__time *ret_until)
{
    if (!(c->is_watched && atomic_load(&c->watching.has_fired) != 0) &&
        !is_stopped(c) && is_on_its_own(c) &&
        hf__before(hf__now(), c->look_at)) {
        return sleep_until(c->look_at, ret_until);
    }
    stop_watching(c);
    if (!hf__before(hf__now(), c->answer_by)) {
        return give_up(c, HF_TIMEDOUT); /* no time to ask once more */
    }
    c->stage = HF__STAGE_TURN;
    return true;
}

static bool step_pause(struct hf__claim *c, hf__time *ret_until)
{
    if (!is_stopped(c) && hf__before(hf__now(), c->look_at)) {
        return sleep_until(c->look_at, ret_until);
    }
    c->stage = HF__STAGE_TURN;
    return true;
}

/* The lock may be being handed to it: sleep until that has ended. When the
 * claim's time is up first, or it is cancelled, what it may have been handed
 * is given back behind its back. */
static bool step_leaving(struct hf__claim *c, hf__time *ret_until)
{
    switch (hf__name_queue_withdraw(c)) {
    case HF__WAITER_HANDING_OVER:
        if (!is_stopped(c) && hf__before(hf__now(), c->answer_by)) {
            return sleep_until(c->answer_by, ret_until);
        }
        if (!hf__name_queue_abandon(c)) {
            return true; /* it has just ended */
        }
        c->is_detached = true;
        if (c->result == HF_TIMEDOUT) {
            c->result = time_out_handover(c);
        }
        break;
    case HF__WAITER_HANDED_OVER:
        c->result = take_handover(c);
        if (c->result != HF_OK) {
            return true; /* it stands in the queue again: it leaves once more */
        }
        break;
    case HF__WAITER_OUT:
    case HF__WAITER_UNQUEUED:
    case HF__WAITER_QUEUED:
        break;
    }
    return end(c, c->result);
}

bool hf__claim_step(struct hf__claim *c, hf__time *ret_until)
{
    bool goes_on = true;

    while (goes_on) {
        switch (c->stage) {
        case HF__STAGE_TURN:
            goes_on = step_turn(c, ret_until);
            break;
        case HF__STAGE_ATTEMPT:
            goes_on = step_attempt(c, ret_until);
            break;
        case HF__STAGE_HOLDER:
            goes_on = step_holder(c, ret_until);
            break;
        case HF__STAGE_PAUSE:
            goes_on = step_pause(c, ret_until);
            break;
        case HF__STAGE_LEAVING:
            goes_on = step_leaving(c, ret_until);
            break;
        case HF__STAGE_ENDED:
            return true;
        }
    }
    return false;
}

/* ---- running */

int hf__claim_start(struct hf__claim *c, hf_error *err)
{
    int r = hf__session_start_runner(hf__client_session(c->client, &c->key));

    if (r != HF_OK) { /* nobody would give back what it may leave behind */
        return hf__fail(err, r,
                        "the system gives no thread for give-backs: raise the "
                        "limit (ulimit -u)");
    }
    r = hf__name_queue_enter(c);
    return r == HF_OK ? r : hf__fail(err, r, "out of memory");
}

int hf__claim_finish(struct hf__claim *c, struct hf__grant **ret_grant,
                     hf_error *err)
{
    int r = c->result;

    if (r != HF_OK && !c->is_detached && hf__claim_may_be_there(c)) {
        hf__claim_cleanup_open(c);
    }
    if (r == HF_OK) {
        *ret_grant = HF_MOVE(c->grant);
    } else {
        r = hf__claim_tell(c, r, err);
    }
    hf__name_queue_leave(c);
    return r;
}
