/* SPDX-License-Identifier: MIT */
/*
 * Steps a claim from its start to the grant, without sleeping. This file
 * decides when to ask the store, when to wait for a holder, and what to return
 * when the time is over. name_queue.c says whose turn it is, claim_cleanup.c
 * settles late outcomes, acquire_error.c words the errors. Runs on the caller's
 * thread or the executor's; a claim outlives the call only as a cleanup.
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

/* Pause between attempts while the store gives no answer; doubled each time. */
#define RETRY_FIRST_MS 10
#define RETRY_MAX_MS   1000
/* A try that surely was not applied is repeated this often, so that a
 * connection that died while idle causes no error. */
#define TRIES_MAX 3
/* The time that an earlier claim gets to take its turn. */
#define SOON_MS 20
/* Ask again this long after the holder's lease should have ended. */
#define EXPIRY_SLACK_NS (1 * HF__MS)
/* A reply that takes longer than io_timeout / LATE_PART is late. */
#define LATE_PART 4
/* Pause between attempts at a store that cannot notify waiters. */
#define POLL_LOW_MS  20
#define POLL_HIGH_MS 120

/* ---- creating */

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
    /* It queues in the store, or can be granted beside other holders. */
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

/* ---- asking the store */

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

/* One attempt at the store; the queue already counts it as unsettled. */
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
    atomic_fetch_add(&c->refs, 1); /* for the cleanup that it may become */
    c->stage = HF__STAGE_ATTEMPT;
    hf__session_begin(hf__client_session(c->client, &c->key), &c->request,
                      c->parker, c->answer_by);
}

/* ---- taking the grant */

/* If the grant is not worth taking, it is refused, and the store still thinks
 * that it is ours. */
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

/* Before this thread takes the hand-over, the grant may be broken and another
 * claim of this client be granted the lock. Then the fence of the hand-over is
 * below that one's, which does not mean that the store forgot. If it did, the
 * next answer will show. */
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

/* The attempt was answered, or surely not applied. Returns the claim's
 * result. */
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
        /* Some stores grant for as long as the session's lease. */
        c->grant->fsm.lease_ms = op->lease_us / 1000;
        r = take_grant(c);
    }
    hf__name_queue_attempted(c, answer); /* another may use the request now */
    hf__grant_tell_granted(c->grant, r, took_over);
    return r;
}

/* The attempt ended in this way. Returns the claim's result. */
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

/* ---- waiting for the holder */

static hf__time ask_again_at(const struct hf__claim *c)
{
    hf__time now = hf__now();
    hf__time until = c->patience;

    if (c->record.remaining_us >= 0) {
        hf__time its_end = hf__after_us(now, c->record.remaining_us);

        until = hf__earlier(until, hf__after_ns(its_end, EXPIRY_SLACK_NS));
    } else if ((c->client->settings.caps & HF_CAP_SESSION) != 0) {
        /* A session's end cannot be foreseen, and its notification may get
         * lost. */
        until = hf__earlier(until, hf__after_ms(now, c->lease_ms));
    }
    if (!c->is_watched) {
        int64_t poll_ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);

        until = hf__earlier(until, hf__after_ms(now, poll_ms));
    }
    return until;
}

/* The store says that the name is taken: wait until that may have changed, or
 * the claim's own time is over. */
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

/* The claim asks now and may watch again later, so it keeps its watcher. */
static void stop_watching(struct hf__claim *c)
{
    if (c->is_watched) {
        hf__watcher_pause(&c->watching);
        c->is_watched = false;
    }
}

/* The claim stops waiting for a holder. */
static void end_watching(struct hf__claim *c)
{
    stop_watching(c);
    hf__watchers_leave(&c->client->watchers, &c->watching);
}

/* ---- the time is over */

/* The request began so late that no answer can be expected by now. */
static bool is_asked_late(struct hf__claim *c)
{
    hf__time late_at =
        hf__after_ms(hf__name_queue_asked_at(c),
                     c->client->settings.io_timeout_ms / LATE_PART);

    return hf__before(hf__earlier(hf__now(), c->answer_by), late_at);
}

/* A request is under way. HF_TIMEDOUT says that the store answers and that
 * another has the lock, so it is not returned for a store that has told this
 * call nothing or whose reply is late. */
int hf__claim_time_out(struct hf__claim *c, bool was_unknown, int r)
{
    c->is_cut_short =
        c->is_heard && c->failures == 0 && !was_unknown && is_asked_late(c);
    return c->is_cut_short ? (int)HF_TIMEDOUT : r;
}

/* A holder is handing the lock to the claim. */
static int time_out_handover(struct hf__claim *c)
{
    return is_asked_late(c) ? HF_TIMEDOUT : HF_EUNKNOWN;
}

/* ---- steps: each returns true when the next can be taken at once, and else
 * sets until when to sleep */

static bool end(struct hf__claim *c, int r)
{
    end_watching(c);
    c->result = r;
    c->stage = HF__STAGE_ENDED;
    return true;
}

/* End with r, unless a holder is just handing the lock to this claim: then that
 * hand-over's result decides. */
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

/* For the claim's caller while no attempt is under way; a hand-over may have
 * begun, so it reads under the mutex. */
static bool is_unknown(struct hf__claim *c)
{
    return hf__name_queue_store_has(c) >= HF__STORE_HAS_UNKNOWN;
}

/* After a failed attempt: returns whether another one may help. */
static bool may_retry(struct hf__claim *c, int r)
{
    bool is_outage = r == HF_EUNAVAIL || r == HF_EUNKNOWN;

    if (!is_outage || c->is_detached || is_stopped(c) ||
        !hf__before(hf__now(), c->answer_by)) {
        return false;
    }
    return c->wait_ms != 0 || c->failures < TRIES_MAX || is_unknown(c);
}

/* A turn ended: the claim was granted, tries again, or gives up. */
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
    /* Pause before the next attempt, longer each time. */
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

/* It is not this claim's turn: it checks again at look_at, unless it is
 * woken. */
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
        /* Let other claims that the caller steps join the batch. */
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
        /* Read this first: once the request goes on without us, others write
         * it. */
        was_unknown = hf__claim_is_unknown(c);
        hf__client_begin_cleanup(c->client); /* before the cleanup can end */
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

/* No holder of this client is handing it the lock. */
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
        return give_up(c, HF_TIMEDOUT); /* too late to ask again */
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

/* A holder may be handing the lock to this claim: sleep until that has ended.
 * If the claim's time is up first, or it is cancelled, what it may have been
 * handed is given back in the background. */
static bool step_leaving(struct hf__claim *c, hf__time *ret_until)
{
    switch (hf__name_queue_withdraw(c)) {
    case HF__WAITER_HANDING_OVER:
        if (!is_stopped(c) && hf__before(hf__now(), c->answer_by)) {
            return sleep_until(c->answer_by, ret_until);
        }
        if (!hf__name_queue_abandon(c)) {
            return true; /* the hand-over has just ended */
        }
        c->is_detached = true;
        if (c->result == HF_TIMEDOUT) {
            c->result = time_out_handover(c);
        }
        break;
    case HF__WAITER_HANDED_OVER:
        c->result = take_handover(c);
        if (c->result != HF_OK) {
            return true; /* it is queued again: leave once more */
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

/* ---- starting and finishing */

int hf__claim_start(struct hf__claim *c, hf_error *err)
{
    int r = hf__session_start_runner(hf__client_session(c->client, &c->key));

    if (r != HF_OK) { /* no thread to give back what it may leave */
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
