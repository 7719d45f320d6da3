/* SPDX-License-Identifier: MIT */
/*
 * Releasing: where the store can, the lock is handed to the next claim of this
 * client in one request; else it is released. This file decides which, tries
 * again while there is time, and interprets the results; grant.c runs the
 * pending operation. Runs on the thread that releases, which may be any, or on
 * the executor's.
 */
#include "src/core/release.h"

#include "src/base/error.h"
#include "src/core/claim_cleanup.h"

#include <string.h>

/* Pause between tries of a release that got no answer. */
#define RETRY_MS 20

/* ---- handing over */

static void prepare_handover(struct hf__grant *h, struct hf__claim *next_waiter)
{
    struct hf__op *op = &next_waiter->request.op;

    HF_ASSERT(next_waiter->use == HF__USE_HANDOVER);
    memset(&next_waiter->request, 0, sizeof next_waiter->request);
    next_waiter->err.status = 0;
    op->kind = HF__OP_HANDOVER;
    op->key = next_waiter->key;
    op->token = h->token;
    op->next_token = next_waiter->token;
    op->fence = h->fsm.fence;
    op->lease_us = next_waiter->lease_ms * 1000;
    op->keep_us = next_waiter->grant->min_hold_ms * 1000;
    op->is_detached = next_waiter->grant->is_unbound;
    op->owner = &next_waiter->owner;
    op->err = &next_waiter->err;
}

/* The hand-over has its result: the next waiter goes on, granted or not. If it
 * has left, what it may have been handed is given back. */
static void handover_done(struct hf__request *q)
{
    struct hf__claim *next_waiter = HF__ELEMENT(q, struct hf__claim, request);

    if (!hf__name_queue_handed_over(next_waiter)) {
        if (hf__claim_may_be_there(next_waiter)) {
            hf__claim_cleanup_open(next_waiter);
        }
        hf__name_queue_forget(next_waiter);
    }
    hf__claim_unref(next_waiter);
}

static void begin_handover(struct hf__release_op *p,
                           struct hf__claim *next_waiter)
{
    struct hf__grant *h = p->grant;

    atomic_fetch_add(&next_waiter->refs, 1);
    prepare_handover(h, next_waiter);
    next_waiter->request.done = handover_done;
    p->next_waiter = next_waiter;
    p->stage = HF__RELEASE_HANDING_OVER;
    hf__session_begin(hf__client_session(h->client, &h->key),
                      &next_waiter->request, p->parker, p->limit);
}

/* The request belongs to the next waiter, so that it can go on after the
 * holder's time is up. Returns its result. */
static int end_handover(struct hf__release_op *p, enum hf__ending ending)
{
    struct hf__claim *next_waiter = p->next_waiter;
    int r = HF_EUNKNOWN;

    if (ending == HF__ENDING_DETACHED) {
        return r;
    }
    if (ending == HF__ENDING_WITHDRAWN) {
        next_waiter->request.op.result = HF_EUNAVAIL;
    }
    r = next_waiter->request.op.result;
    p->reason = next_waiter->request.op.ret_reason;
    hf__name_queue_holder_gone(p->grant);
    handover_done(&next_waiter->request);
    return r;
}

/* ---- steps: each returns true when the next can be taken at once, and else
 * sets until when to sleep */

static bool sleep_until(hf__time until, hf__time *ret_until)
{
    *ret_until = until;
    return false;
}

/* A request was begun. A caller that may lead steps all its releases first, so
 * that they share a batch; on the executor there is no need to. */
static bool begun(const struct hf__release_op *p, hf__time *ret_until)
{
    return hf__parker_is_ready_item(p->parker) ||
           sleep_until((hf__time){0}, ret_until);
}

static bool go_on(struct hf__release_op *p, enum hf__release_stage stage)
{
    p->stage = stage;
    return true;
}

/* All releases of the grant get this result. */
static bool end(struct hf__release_op *p, int r)
{
    struct hf__grant *h = p->grant;

    hf__mutex_lock(&h->mutex);
    if (p->is_sender) {
        p->actions |= hf__grant_feed(
            h, (struct hf__fsm_event){.kind = HF__FSM_RELEASE_ENDED,
                                      .result = r,
                                      .reason = p->reason,
                                      .now = hf__now()});
    }
    if (r == HF_OK) {
        hf__count(&h->client->counters.released, !h->is_unused);
    }
    h->release_result = r;
    h->has_result = true;
    hf__mutex_unlock(&h->mutex);
    hf__name_queue_holder_gone(h);
    hf__name_queue_owner_left(h);
    hf__grant_follow_up(h, p->actions);
    p->result = r;
    return go_on(p, HF__RELEASE_ENDED);
}

/* The first release gives the grant up; the others wait for its result. Under
 * the mutex. */
static void give_up(struct hf__release_op *p)
{
    struct hf__grant *h = p->grant;

    if (h->has_result) {
        p->result = h->release_result;
        p->stage = HF__RELEASE_ENDED;
        return;
    }
    if (h->fsm.phase == HF__PHASE_RELEASING) {
        p->stage = HF__RELEASE_AWAIT_OTHERS;
        return;
    }
    p->result =
        h->fsm.phase == HF__PHASE_DETACHED ? (int)HF_EINVAL : (int)HF_LOST;
    p->limit = hf__earlier(h->fsm.deadline, hf__client_limit(h->client));
    p->actions = hf__grant_feed(
        h, (struct hf__fsm_event){.kind = HF__FSM_RELEASE, .now = hf__now()});
    p->is_sender = (p->actions & HF__DO_RELEASE) != 0;
    p->stage = HF__RELEASE_AWAIT_PENDING;
}

static bool step_others(struct hf__release_op *p, hf__time *ret_until)
{
    HF_SCOPED_LOCK(&p->grant->mutex);

    give_up(p);
    return p->stage != HF__RELEASE_AWAIT_OTHERS ||
           sleep_until(HF__NEVER, ret_until);
}

static bool is_quiet(struct hf__grant *h)
{
    HF_SCOPED_LOCK(&h->mutex);
    return h->pending == HF__PENDING_NONE;
}

static bool step_quiet(struct hf__release_op *p, hf__time *ret_until)
{
    struct hf__grant *h = p->grant;
    struct hf__claim *next_waiter = NULL;

    if (!p->is_sender) {
        return end(p, p->result); /* the grant was not ours: send nothing */
    }
    if (!is_quiet(h)) {
        return hf__before(hf__now(), p->limit)
                   ? sleep_until(p->limit, ret_until)
                   : go_on(p, HF__RELEASE_SEND);
    }
    next_waiter = hf__name_queue_next_waiter(h, h->fsm.lease_ms);
    if (next_waiter == NULL) {
        return go_on(p, HF__RELEASE_SEND);
    }
    begin_handover(p, next_waiter);
    return begun(p, ret_until);
}

/* Returns false while the request goes on; else sets how it ended. */
static bool is_over(const struct hf__release_op *p, struct hf__request *q,
                    enum hf__ending *ret_ending)
{
    struct hf__grant *h = p->grant;

    return hf__session_poll(hf__client_session(h->client, &h->key), q, p->limit,
                            ret_ending);
}

static bool step_handing(struct hf__release_op *p, hf__time *ret_until)
{
    enum hf__ending ending = HF__ENDING_RAN;
    int r = HF_OK;

    if (!is_over(p, &p->next_waiter->request, &ending)) {
        return sleep_until(p->limit, ret_until);
    }
    r = end_handover(p, ending);
    p->is_unknown = r == HF_EUNKNOWN;
    return r == HF_OK || r == HF_LOST ? end(p, r) : go_on(p, HF__RELEASE_SEND);
}

/* The release has a result, or could not be sent. If the reply to a release
 * gets lost, the next try returns LOST: before the deadline only we can have
 * ended the grant, so that is success. */
static bool end_try(struct hf__release_op *p, int r)
{
    hf__time now = hf__now();

    p->is_unknown = p->is_unknown || r == HF_EUNKNOWN;
    if (r < 0 && hf__before(now, p->limit)) {
        p->pause_until = hf__earlier(p->limit, hf__after_ms(now, RETRY_MS));
        return go_on(p, HF__RELEASE_PAUSE);
    }
    if (r == HF_LOST && p->is_unknown && p->reason != HF_REASON_BROKEN) {
        return end(p, HF_OK);
    }
    return end(p, r < 0 ? (int)HF_EUNKNOWN : r);
}

static bool step_send(struct hf__release_op *p, hf__time *ret_until)
{
    struct hf__grant *h = p->grant;
    bool begins = false;

    hf__mutex_lock(&h->mutex);
    begins = h->pending == HF__PENDING_NONE;
    if (begins) {
        hf__grant_begin(h, HF__PENDING_RELEASE);
    }
    hf__mutex_unlock(&h->mutex);
    if (begins) {
        hf__session_begin(hf__client_session(h->client, &h->key), &h->request,
                          p->parker, p->limit);
        p->stage = HF__RELEASE_SENT;
        return begun(p, ret_until);
    }
    return hf__before(hf__now(), p->limit) ? sleep_until(p->limit, ret_until)
                                           : end_try(p, HF_EUNAVAIL);
}

static bool step_sent(struct hf__release_op *p, hf__time *ret_until)
{
    struct hf__grant *h = p->grant;
    enum hf__ending ending = HF__ENDING_RAN;
    int r = HF_OK;

    if (!is_over(p, &h->request, &ending)) {
        return sleep_until(p->limit, ret_until);
    }
    hf__mutex_lock(&h->mutex);
    r = hf__grant_ended(h, ending, NULL);
    if (r == HF_LOST) {
        p->reason = h->request.op.ret_reason;
    }
    hf__mutex_unlock(&h->mutex);
    return end_try(p, r);
}

static bool step_pause(struct hf__release_op *p, hf__time *ret_until)
{
    return hf__before(hf__now(), p->pause_until)
               ? sleep_until(p->pause_until, ret_until)
               : go_on(p, HF__RELEASE_SEND);
}

static bool step(struct hf__release_op *p, hf__time *ret_until)
{
    bool goes_on = true;

    while (goes_on) {
        switch (p->stage) {
        case HF__RELEASE_AWAIT_OTHERS:
            goes_on = step_others(p, ret_until);
            break;
        case HF__RELEASE_AWAIT_PENDING:
            goes_on = step_quiet(p, ret_until);
            break;
        case HF__RELEASE_HANDING_OVER:
            goes_on = step_handing(p, ret_until);
            break;
        case HF__RELEASE_SEND:
            goes_on = step_send(p, ret_until);
            break;
        case HF__RELEASE_SENT:
            goes_on = step_sent(p, ret_until);
            break;
        case HF__RELEASE_PAUSE:
            goes_on = step_pause(p, ret_until);
            break;
        case HF__RELEASE_ENDED:
            return true;
        }
    }
    return false;
}

/* ---- for the callers */

void hf__release_op_begin(struct hf__release_op *p)
{
    HF_SCOPED_LOCK(&p->grant->mutex);
    give_up(p);
}

bool hf__release_op_step(struct hf__release_op *p, hf__time *ret_until)
{
    struct hf__grant *h = p->grant;
    bool has_ended = p->stage == HF__RELEASE_ENDED;

    if (!has_ended) {
        if (p->parker != &h->parker && !p->listener.is_listening) {
            /* before checking the grant */
            hf__grant_listen(h, &p->listener, p->parker);
        }
        has_ended = step(p, ret_until);
    }
    if (has_ended && p->listener.is_listening) {
        hf__grant_ignore(h, &p->listener);
    }
    return has_ended;
}

bool hf__release_ops_step(void *arg, hf__time *ret_until)
{
    const struct hf__releases *all = arg;
    bool have_ended = true;

    for (int i = 0; i < all->n; i++) {
        hf__time until = HF__NEVER;

        if (!hf__release_op_step(&all->list[i], &until)) {
            *ret_until = hf__earlier(*ret_until, until);
            have_ended = false;
        }
    }
    return have_ended;
}

/* ---- the result */

static int tell(const struct hf__grant *h, int r, hf_error *err)
{
    const char *name = hf__grant_name(h);

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
                        name, hf_strreason(hf__grant_reason(h)));
    }
    return hf__fail(err, r,
                    "the release of \"%s\" was not confirmed; its lease ends "
                    "it",
                    name);
}

int hf__release_ops_tell(const struct hf__release_op *p, int n, hf_error *err)
{
    int worst = 0;

    for (int i = 1; i < n; i++) {
        if (hf__is_worse(p[i].result, p[worst].result)) {
            worst = i;
        }
    }
    return tell(p[worst].grant, p[worst].result, err);
}
