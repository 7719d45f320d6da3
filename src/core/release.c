/* SPDX-License-Identifier: MIT */
/*
 * Letting go: to the next claim of this client in one step where the store
 * can, else by a release. This file decides which, tries again while there
 * is time, and makes sense of the answers; the errand itself is handle.c's.
 * Runs on the holder's thread; any thread may be the holder.
 */
#include "src/core/debt.h"
#include "src/core/handle.h"

#include "src/base/error.h"

#include <string.h>

/* Between two tries of a release that got no answer. */
#define RETRY_MS 20

/* ---- handing over */

static void prepare_handover(struct hf__handle *h, struct hf__claim *heir)
{
    struct hf__op *op = &heir->request.op;

    memset(&heir->request, 0, sizeof heir->request);
    heir->err.status = 0;
    op->kind = HF__OP_HANDOVER;
    op->key = heir->key;
    op->token = h->token;
    op->next_token = heir->token;
    op->fence = h->grant.fence;
    op->lease_us = heir->lease_ms * 1000;
    op->keep_us = heir->handle->min_hold_ms * 1000;
    op->is_detached = heir->handle->is_unbound;
    op->owner = &heir->owner;
    op->err = &heir->err;
}

/* The hand-over has its result: the heir goes on, granted or not. If it has
 * left, what it was perhaps handed is given back. */
static void handover_done(struct hf__request *q)
{
    struct hf__claim *heir = HF__ELEMENT(q, struct hf__claim, request);
    int r = q->op.result;

    if (!hf__place_served(heir, r, q->op.sent, q->op.fence)) {
        if (r == HF_OK || hf__debt_is_open(r) || r == HF_EPROTO ||
            heir->has_ticket) {
            hf__debt_open(heir);
        }
        hf__place_forget(heir);
    }
    hf__claim_unref(heir);
}

/* Hand the lock to the next in line. HF_OK, HF_LOST (+ reason), or a failure:
 * then release it. The request is the heir's, so that it may go on when the
 * holder's time is up. */
static int hand_over(struct hf__handle *h, struct hf__claim *heir,
                     hf__time limit, hf_reason *ret_reason)
{
    int r = HF_EUNKNOWN;

    atomic_fetch_add(&heir->refs, 1);
    prepare_handover(h, heir);
    heir->request.done = handover_done;
    switch (hf__session_run(hf__client_session(h->client, &h->key),
                            &heir->request, &h->parker, limit, NULL)) {
    case HF__ENDING_RAN:
        break;
    case HF__ENDING_WITHDRAWN:
        heir->request.op.result = HF_EUNAVAIL;
        break;
    case HF__ENDING_DETACHED:
        return HF_EUNKNOWN;
    }
    r = heir->request.op.result;
    *ret_reason = heir->request.op.ret_reason;
    hf__place_gone(h);
    handover_done(&heir->request);
    return r;
}

/* ---- releasing */

/* Release by token until the store answers or the limit. A release whose
 * reply was lost shows as LOST the next time: before the deadline nobody but
 * us can have ended it, so that is success. */
static int let_go(struct hf__handle *h, hf__time limit, bool is_unknown,
                  hf_reason *ret_reason)
{
    int r = HF_EUNAVAIL;

    for (;;) {
        hf__mutex_lock(&h->mutex);
        if (!hf__handle_await_errand(h, limit)) {
            r = HF_EUNAVAIL;
        } else {
            r = hf__handle_run(h, HF__ERRAND_RELEASE, limit, NULL);
        }
        if (r == HF_LOST) {
            *ret_reason = h->request.op.ret_reason;
        }
        hf__mutex_unlock(&h->mutex);
        is_unknown = is_unknown || r == HF_EUNKNOWN;
        if (r >= 0 || !hf__before(hf__now(), limit)) {
            break;
        }
        hf__sleep_until(hf__earlier(limit, hf__after_ms(hf__now(), RETRY_MS)));
    }
    if (r == HF_LOST && is_unknown && *ret_reason != HF_REASON_BROKEN) {
        return HF_OK;
    }
    return r < 0 ? (int)HF_EUNKNOWN : r;
}

/* Under the mutex: has another thread begun to release? Then wait for it. */
static bool await_other_release(struct hf__handle *h)
{
    while (h->grant.phase == HF__PHASE_RELEASING && !h->has_result) {
        unsigned seen = hf__parker_seen(&h->parker);

        hf__mutex_unlock(&h->mutex);
        hf__park(&h->parker, seen, HF__NEVER);
        hf__mutex_lock(&h->mutex);
    }
    return h->has_result;
}

int hf__handle_tell_release(const struct hf__handle *h, int r, hf_error *err)
{
    const char *name = hf__handle_name(h);

    if (r == HF_OK) {
        return r;
    }
    if (r == HF_EINVAL) {
        return hf__fail(err, r,
                        "\"%s\" was detached: adopt it by its token to "
                        "release it",
                        name);
    }
    if (r == HF_LOST) {
        return hf__fail(err, r, "\"%s\" was lost before it was released (%s)",
                        name, hf_strreason(hf__handle_reason(h)));
    }
    return hf__fail(err, r,
                    "the release of \"%s\" was not confirmed; its lease ends "
                    "it",
                    name);
}

/* A release that is on its way. */
struct departure {
    hf__time limit;
    hf_reason reason;
    unsigned duties;
    int result;
    bool is_done;    /* by an earlier call, or another thread's */
    bool is_sent;    /* its release is under way, in a batch */
    bool is_unknown; /* the store may have done it */
};

/* Does the store have to be asked? */
static bool must_ask(const struct departure *d)
{
    return !d->is_done && (d->duties & HF__DO_RELEASE) != 0;
}

static void depart(struct hf__handle *h, struct departure *d)
{
    HF_SCOPED_LOCK(&h->mutex);

    *d = (struct departure){.result = HF_LOST};
    if (await_other_release(h)) {
        d->result = h->release_result;
        d->is_done = true;
        return;
    }
    if (h->grant.phase == HF__PHASE_DETACHED) {
        d->result = HF_EINVAL;
    }
    d->duties = hf__handle_feed(
        h, (struct hf__event){.kind = HF__EVENT_RELEASE, .now = hf__now()});
    d->limit = hf__earlier(h->grant.deadline, hf__client_limit(h->client));
}

/* Hand it on if somebody of this client waits. True: it is gone. */
static bool pass_on(struct hf__handle *h, struct departure *d)
{
    struct hf__claim *heir = NULL;
    bool is_quiet = false;

    hf__mutex_lock(&h->mutex);
    is_quiet = hf__handle_await_errand(h, d->limit);
    hf__mutex_unlock(&h->mutex);
    heir = is_quiet ? hf__place_heir(h, h->grant.lease_ms) : NULL;
    if (heir == NULL) {
        return false;
    }
    d->result = hand_over(h, heir, d->limit, &d->reason);
    d->is_unknown = d->result == HF_EUNKNOWN;
    return d->result == HF_OK || d->result == HF_LOST;
}

static void arrive(struct hf__handle *h, struct departure *d)
{
    struct hf__event e = {.kind = HF__EVENT_RELEASE_ENDED,
                          .result = d->result,
                          .reason = d->reason};

    if (d->is_done) {
        return;
    }
    hf__mutex_lock(&h->mutex);
    if (must_ask(d)) {
        e.now = hf__now();
        d->duties |= hf__handle_feed(h, e);
    }
    if (d->result == HF_OK) {
        hf__count(&h->client->counters.released, !h->is_unused);
    }
    h->release_result = d->result;
    h->has_result = true;
    hf__mutex_unlock(&h->mutex);
    hf__place_gone(h);
    hf__place_left(h);
    hf__handle_follow_up(h, d->duties);
}

int hf__handle_release(struct hf__handle *h, hf_error *err)
{
    struct departure d;

    depart(h, &d);
    if (must_ask(&d) && !pass_on(h, &d)) {
        d.result = let_go(h, d.limit, d.is_unknown, &d.reason);
    }
    arrive(h, &d);
    return hf__handle_tell_release(h, d.result, err);
}

/* ---- several at once */

/* Send the releases of all that nobody inherits as one batch. */
static void send_together(struct hf__handle *const h[], int n,
                          struct departure *d)
{
    struct hf__bunch bunch = {.n = 0};
    hf__time limit = {0};
    int sent[HF_MANY_MAX]; /* whose the i-th of the bunch is */

    for (int i = 0; i < n; i++) {
        HF_SCOPED_LOCK(&h[i]->mutex);

        if (!d[i].is_sent || !hf__handle_await_errand(h[i], d[i].limit)) {
            d[i].is_sent = false;
            continue;
        }
        hf__handle_begin(h[i], HF__ERRAND_RELEASE);
        limit = hf__later(limit, d[i].limit);
        sent[bunch.n] = i;
        hf__bunch_add(&bunch, hf__client_session(h[i]->client, &h[i]->key),
                      &h[i]->request);
    }
    if (bunch.n == 0) {
        return;
    }
    hf__session_run_bunch(&bunch, &h[sent[0]]->parker, limit);
    for (int i = 0; i < bunch.n; i++) {
        struct hf__handle *own = h[sent[i]];
        HF_SCOPED_LOCK(&own->mutex);

        d[sent[i]].result =
            hf__handle_ended(own, bunch.members[i].ending, NULL);
        d[sent[i]].reason = d[sent[i]].result == HF_LOST
                                ? own->request.op.ret_reason
                                : HF_REASON_NONE;
    }
}

/* What the batch did not settle is asked for again, one by one. */
static void follow(struct hf__handle *h, struct departure *d)
{
    if (d->is_sent && d->result == HF_LOST && d->is_unknown &&
        d->reason != HF_REASON_BROKEN) {
        d->result = HF_OK; /* as in let_go() */
    } else if (!d->is_sent || d->result < 0) {
        d->is_unknown =
            d->is_unknown || (d->is_sent && d->result == HF_EUNKNOWN);
        d->result = let_go(h, d->limit, d->is_unknown, &d->reason);
    }
}

void hf__handle_release_all(struct hf__handle *const h[], int n, int *results)
{
    struct departure d[HF_MANY_MAX];
    bool is_left[HF_MANY_MAX];

    HF_ASSERT(n <= HF_MANY_MAX);
    for (int i = 0; i < n; i++) {
        depart(h[i], &d[i]);
    }
    for (int i = 0; i < n; i++) {
        is_left[i] = must_ask(&d[i]) && !pass_on(h[i], &d[i]);
        d[i].is_sent = is_left[i];
    }
    send_together(h, n, d);
    for (int i = 0; i < n; i++) {
        if (is_left[i]) {
            follow(h[i], &d[i]);
        }
        arrive(h[i], &d[i]);
        results[i] = d[i].result;
    }
}
