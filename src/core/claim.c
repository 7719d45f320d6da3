/* SPDX-License-Identifier: MIT */
/*
 * From the wish for a name to the grant. This file decides when to ask the
 * store, when to wait for its holder, and what the caller is told; turns are
 * kept by place.c, late outcomes settled by debt.c. Runs on the caller's
 * thread; the claim outlives the call only as a debt.
 */
#include "src/core/claim.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/cancel.h"
#include "src/core/debt.h"
#include "src/core/handle.h"
#include "src/core/options.h"

#include <string.h>

/* Between attempts at a store that gives no answer: doubled each time. */
#define RETRY_FIRST_MS 10
#define RETRY_MAX_MS   1000
/* A try that was surely not applied is repeated so often: a connection that
 * died while idle costs nobody an error. */
#define TRIES_MAX 3
/* Asking again when the holder's lease should have ended. */
#define EXPIRY_SLACK_NS (1 * HF__MS)
/* Between looks at a store that cannot be waited on. */
#define POLL_LOW_MS  20
#define POLL_HIGH_MS 120

/* ---- making */

static void set_limits(struct hf__claim *c, const hf_acquire_opts *opts)
{
    hf__time now = hf__now();

    c->wait_ms = opts->wait_ms;
    c->patience = opts->wait_ms == HF_FOREVER
                      ? HF__NEVER
                      : hf__after_ms(now, opts->wait_ms);
    c->answer_by = hf__later(c->patience, hf__client_limit(c->client));
}

static enum hf__queueing queueing_of(const struct hf_client *client,
                                     const hf_acquire_opts *opts)
{
    if (opts->wait_ms == 0) {
        return HF__QUEUE_NEVER;
    }
    if (opts->fair != 0) {
        return HF__QUEUE_ALWAYS;
    }
    return (client->settings.backend->caps & HF_CAP_SHARED) != 0
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
    hf__list_init(&c->debt_link);
    hf__client_key(client, name, c->key_bytes, &c->key);
    hf__client_owner(client, opts->owner, opts->note, &c->owner);
    c->lease_ms = opts->lease_ms;
    c->manner = hf__manner_of(opts);
    c->queueing = queueing_of(client, opts);
    /* Its place is in the store's line, or beside other holders. */
    c->is_apart = opts->wait_ms == 0 || opts->fair != 0 ||
                  c->manner.mode != HF__MODE_EXCLUSIVE;
    c->parker = &c->own_parker;
    if (opts->cancel != NULL) {
        c->parker = &opts->cancel->parker;
        c->stop = &opts->cancel->is_fired;
    }
    c->err.size = sizeof c->err;
    hf__random(c->token.bytes, sizeof c->token.bytes);
    set_limits(c, opts);
    c->handle = hf__handle_new(client, &c->key, opts);
    if (c->handle == NULL) {
        hf__claim_unref(c);
        return HF_ENOMEM;
    }
    *ret_claim = c;
    return HF_OK;
}

void hf__claim_unref(struct hf__claim *c)
{
    struct hf_client *client = c->client;

    if (atomic_fetch_sub(&c->refs, 1) > 1) {
        return;
    }
    if (c->handle != NULL) {
        hf__handle_unref(c->handle);
    }
    hf__free(c);
    hf__client_unref(client);
}

/* ---- asking */

static bool is_stopped(const struct hf__claim *c)
{
    return c->stop != NULL && atomic_load(c->stop) != 0;
}

static void prepare(struct hf__claim *c)
{
    struct hf__op *op = &c->request.op;

    memset(&c->request, 0, sizeof c->request);
    memset(&c->record, 0, sizeof c->record);
    c->err.status = 0;
    op->kind = HF__OP_ACQUIRE;
    op->key = c->key;
    op->token = c->token;
    op->lease_us = c->lease_ms * 1000;
    op->keep_us = c->handle->min_hold_ms * 1000;
    op->is_detached = c->handle->is_unbound;
    op->manner = c->manner;
    op->queueing = c->queueing;
    op->owner = &c->owner;
    op->ret_record = &c->record;
    op->err = &c->err;
    c->request.done = hf__debt_from_attempt;
}

/* One attempt at the store, already counted as unsettled. Gives its result;
 * HF_CANCELLED or HF_EUNKNOWN when the caller could wait no longer and the
 * request goes on as a debt. */
static int attempt(struct hf__claim *c)
{
    struct hf__session *s = hf__client_session(c->client, &c->key);
    int r = HF_OK;

    prepare(c);
    atomic_fetch_add(&c->refs, 1); /* the debt's, should it become one */
    switch (hf__session_run(s, &c->request, c->parker, c->answer_by, c->stop)) {
    case HF__ENDING_RAN:
        r = c->request.op.result;
        break;
    case HF__ENDING_WITHDRAWN:
        r = is_stopped(c) ? (int)HF_CANCELLED : (int)HF_EUNAVAIL;
        break;
    case HF__ENDING_DETACHED:
        c->is_detached = true;
        hf__client_owe(c->client);
        return is_stopped(c) ? (int)HF_CANCELLED : (int)HF_EUNKNOWN;
    }
    atomic_fetch_sub(&c->refs, 1);
    if (r == HF_EUNKNOWN || r == HF_EPROTO) {
        c->is_unknown = true;
    } else if (r == HF_OK || r == HF_BUSY) {
        c->is_unknown = false;
        c->has_ticket = r == HF_BUSY && c->request.op.is_queued;
    }
    hf__place_attempted(c, r);
    return r;
}

/* ---- waiting */

/* Sleep until the turn changes. HF_OK, or why the claim must give up. */
static int sleep_in_line(struct hf__claim *c, unsigned seen)
{
    hf__time now = hf__now();
    hf__time limit = c->wait_ms == 0 ? c->answer_by : c->patience;

    if (is_stopped(c)) {
        return HF_CANCELLED;
    }
    if (!hf__before(now, limit)) {
        int last = hf__place_last_result(c);

        if (c->wait_ms == 0) {
            return HF_EUNAVAIL;
        }
        return last < 0 ? last : (int)HF_TIMEDOUT;
    }
    hf__park(c->parker, seen, limit);
    return HF_OK;
}

/* The lock is being handed to this claim: sleep until that has ended. False
 * when the claim's time is up first, or it is cancelled: then what it may
 * have been handed is given back behind its back. */
static bool sit_out_handover(struct hf__claim *c, unsigned seen)
{
    if (!is_stopped(c) && hf__before(hf__now(), c->answer_by)) {
        hf__park(c->parker, seen, c->answer_by);
        return true;
    }
    if (!hf__place_forsake(c)) {
        return true;
    }
    c->is_detached = true;
    return false;
}

/* Wait for the claim's turn: HF_OK with *ret_turn ASK or SERVED, or why the
 * claim must give up. */
static int await_turn(struct hf__claim *c, enum hf__turn *ret_turn)
{
    for (;;) {
        unsigned seen = hf__parker_seen(c->parker);
        enum hf__turn turn = hf__place_turn(c);
        int r = HF_OK;

        if (turn == HF__TURN_ASK || turn == HF__TURN_SERVED) {
            *ret_turn = turn;
            return HF_OK;
        }
        if (turn == HF__TURN_HANDED) {
            if (sit_out_handover(c, seen)) {
                continue;
            }
            return is_stopped(c) ? (int)HF_CANCELLED : (int)HF_EUNKNOWN;
        }
        r = sleep_in_line(c, seen);
        if (r != HF_OK) {
            return r;
        }
    }
}

/* Not being handed the lock by a holder of this client. */
static bool is_on_its_own(struct hf__claim *c)
{
    HF_SCOPED_LOCK(&c->client->mutex);
    return c->standing == HF__STANDING_LINE ||
           c->standing == HF__STANDING_APART;
}

static hf__time ask_again_at(const struct hf__claim *c, bool is_watched)
{
    hf__time now = hf__now();
    hf__time until = c->patience;

    if (c->record.remaining_us >= 0) {
        until =
            hf__earlier(until, hf__after_ns(now, c->record.remaining_us * 1000 +
                                                     EXPIRY_SLACK_NS));
    }
    if (!is_watched) {
        int64_t poll_ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);

        until = hf__earlier(until, hf__after_ms(now, poll_ms));
    }
    return until;
}

/* Somebody elsewhere holds it: wait until that may have changed, or the
 * claim's own patience ends. */
static void await_holder(struct hf__claim *c)
{
    struct hf__watcher *w = hf__client_watcher(c->client);
    struct hf__watching g = {.parker = c->parker};
    bool is_watched = false;
    hf__time until;

    g.watch.key = c->key;
    g.watch.fence = c->record.fence;
    g.watch.token = c->record.token;
    g.watch.manner = c->manner;
    if (c->has_ticket) {
        g.watch.ticket = c->token;
    }
    is_watched = w != NULL && hf__watcher_add(w, &g);
    until = ask_again_at(c, is_watched);
    for (;;) {
        unsigned seen = hf__parker_seen(c->parker);

        if (atomic_load(&g.has_fired) != 0 || is_stopped(c) ||
            !is_on_its_own(c) || !hf__before(hf__now(), until)) {
            break;
        }
        hf__park(c->parker, seen, until);
    }
    if (is_watched) {
        hf__watcher_remove(w, &g);
    }
}

/* The store did not answer: pause before the next attempt, longer each time. */
static void pause_after_failure(struct hf__claim *c, int failures)
{
    int64_t top_ms = RETRY_FIRST_MS;
    hf__time until;
    unsigned seen = hf__parker_seen(c->parker);

    for (int i = 1; i < failures && top_ms < RETRY_MAX_MS; i++) {
        top_ms *= 2;
    }
    until = hf__earlier(
        c->answer_by,
        hf__after_ms(hf__now(), hf__random_between(top_ms / 2, top_ms)));
    while (!is_stopped(c) && hf__before(hf__now(), until)) {
        hf__park(c->parker, seen, until);
        seen = hf__parker_seen(c->parker);
    }
}

/* ---- the grant */

static int take_grant(struct hf__claim *c, hf__time sent, uint64_t fence)
{
    int r = hf__handle_grant(c->handle, &c->token, sent, fence, &c->err);

    if (r == HF_OK) {
        hf__place_granted(c);
    } else {
        c->is_unknown = true; /* the store thinks it ours: give it back */
        hf__place_unserve(c);
    }
    return r;
}

static int take_handover(struct hf__claim *c)
{
    int r = take_grant(c, c->served_sent, c->served_fence);

    hf__count(&c->client->counters.handed_over, r == HF_OK);
    return r;
}

/* After a failed attempt: true if another one may help. */
static bool may_retry(const struct hf__claim *c, int r, int failures)
{
    bool is_outage = r == HF_EUNAVAIL || r == HF_EUNKNOWN;

    if (!is_outage || c->is_detached || is_stopped(c) ||
        !hf__before(hf__now(), c->answer_by)) {
        return false;
    }
    return c->wait_ms != 0 || c->is_unknown || failures < TRIES_MAX;
}

/* One turn: HF_OK granted; HF_BUSY after waiting for the holder, ask again;
 * or another attempt's failure. */
static int take_turn(struct hf__claim *c)
{
    enum hf__turn turn = HF__TURN_WAIT;
    int r = await_turn(c, &turn);

    if (r != HF_OK) {
        return r;
    }
    if (turn == HF__TURN_SERVED) {
        return take_handover(c);
    }
    r = attempt(c);
    if (r == HF_OK) {
        c->handle->slot = c->request.op.slot;
        return take_grant(c, c->request.op.sent, c->request.op.fence);
    }
    return r;
}

static int run(struct hf__claim *c)
{
    int failures = 0;

    while (!is_stopped(c)) {
        int r = take_turn(c);

        if (r == HF_BUSY && c->wait_ms != 0) {
            if (!hf__before(hf__now(), c->patience)) {
                return HF_TIMEDOUT;
            }
            failures = 0;
            await_holder(c);
            if (!hf__before(hf__now(), c->answer_by)) {
                return HF_TIMEDOUT; /* no time to ask once more */
            }
            continue;
        }
        if (!may_retry(c, r, ++failures)) {
            return r == HF_EUNAVAIL && c->is_unknown ? (int)HF_EUNKNOWN : r;
        }
        if (failures == 1) {
            hf__log(&c->client->settings.log, HF_LOG_WARN,
                    "event=outage result=%s", hf_strstatus(r));
        }
        pause_after_failure(c, failures);
    }
    return HF_CANCELLED;
}

/* ---- what the caller is told */

static int tell_busy(const struct hf__claim *c, int r, hf_error *err)
{
    const struct hf__record *k = &c->record;
    const char *name = hf__handle_name(c->handle);

    if (k->is_kept) {
        return hf__fail(err, r, "\"%s\" is kept closed for %lld ms more", name,
                        (long long)(k->remaining_us / 1000));
    }
    if (k->is_promised) {
        return hf__fail(err, r,
                        "\"%s\" is free, but others are before this one "
                        "in line",
                        name);
    }
    if (!k->is_held) {
        return hf__fail(err, r,
                        "\"%s\" is not free: other threads of this process "
                        "(pid %lld) hold it or are before this one",
                        name, (long long)c->owner.pid);
    }
    return hf__fail(err, r,
                    "\"%s\" is held by %s on %s (pid %lld), fence %llu, %lld "
                    "ms left",
                    name, k->owner.label, k->owner.host,
                    (long long)k->owner.pid, (unsigned long long)k->fence,
                    (long long)(k->remaining_us / 1000));
}

static int tell(const struct hf__claim *c, int r, hf_error *err)
{
    const char *name = hf__handle_name(c->handle);

    if (r == HF_BUSY || r == HF_TIMEDOUT) {
        return tell_busy(c, r, err);
    }
    if (r == HF_CANCELLED) {
        return hf__fail(err, r, "the wait for \"%s\" was cancelled", name);
    }
    if (c->is_detached || c->err.status == 0) {
        /* The store still writes to c->err, or had nothing to say. */
        return hf__fail(err, r, "no answer from the store for \"%s\" in time",
                        name);
    }
    hf__error_copy(err, &c->err);
    if (err != NULL) {
        err->status = r;
    }
    return r;
}

/* Give up with r, unless the lock is just being handed to this claim: then
 * its end decides. */
static int withdraw(struct hf__claim *c, int r)
{
    for (;;) {
        unsigned seen = hf__parker_seen(c->parker);

        switch (hf__place_withdraw(c)) {
        case HF__STANDING_HANDED:
            if (!sit_out_handover(c, seen)) {
                return r;
            }
            break;
        case HF__STANDING_SERVED:
            return take_handover(c);
        case HF__STANDING_OUT:
        case HF__STANDING_APART:
        case HF__STANDING_LINE:
            return r;
        }
    }
}

int hf__claim_run(struct hf__claim *c, struct hf__handle **ret_handle,
                  hf_error *err)
{
    int r = hf__place_enter(c);

    if (r != HF_OK) {
        return hf__fail(err, r, "out of memory");
    }
    r = run(c);
    r = r == HF_OK ? r : withdraw(c, r);
    if (r != HF_OK && (c->is_unknown || c->has_ticket) && !c->is_detached) {
        hf__debt_open(c);
    }
    if (r == HF_OK) {
        *ret_handle = HF_MOVE(c->handle);
    } else {
        r = tell(c, r, err);
    }
    hf__place_leave(c);
    return r;
}
