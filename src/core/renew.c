/* SPDX-License-Identifier: MIT */
/*
 * Renewing by hand, and the renewal that unties a grant from its process.
 * The timer thread begins renewals that fall due; grant.c runs the pending
 * operations. Called by users' threads.
 */
#include "src/core/grant.h"

#include "src/base/error.h"
#include "src/core/name_queue.h"

/* Tells whether it was released, detached or lost. */
static int tell_gone(const struct hf__grant *h, hf_error *err)
{
    const char *name = hf__grant_name(h);
    int state = atomic_load(&h->state);

    if (state == (int)HF_STATE_RELEASED) {
        return hf__fail(err, HF_LOST, "\"%s\" has been released", name);
    }
    if (state == (int)HF_STATE_DETACHED) {
        return hf__fail(err, HF_LOST,
                        "\"%s\" was detached: adopt it by its token to renew "
                        "it",
                        name);
    }
    return hf__fail(err, HF_LOST, "\"%s\" is no longer ours (%s)", name,
                    hf_strreason(hf__grant_reason(h)));
}

/* Under the mutex: returns whether the grant can be renewed now, with no other
 * operation pending. Its state machine then knows of the renewal. */
static bool begin_renewal(struct hf__grant *h, hf__time limit,
                          unsigned *ret_actions)
{
    if (!hf__grant_await_pending(h, limit)) {
        return false;
    }
    *ret_actions |=
        hf__grant_feed(h, (struct hf__fsm_event){.kind = HF__FSM_RENEW_BEGUN,
                                                 .now = hf__now()});
    if (hf__grant_fsm_is_held(&h->fsm, hf__now())) {
        return true;
    }
    *ret_actions |=
        hf__grant_feed(h, (struct hf__fsm_event){.kind = HF__FSM_RENEW_FAILED,
                                                 .now = hf__now()});
    return false;
}

/* Under the mutex: apply the renewal's result to the grant. */
static unsigned end_renewal(struct hf__grant *h)
{
    unsigned actions = hf__grant_end_renewal(h, &h->request.op);

    /* This comes last, for it may use the request again: a give-back or a check
     * that was asked for meanwhile had to wait for the renewal. */
    return actions | hf__grant_overdue(h);
}

int hf__grant_tell_renewal(const struct hf__grant *h, int r, hf_error *err)
{
    if (r == HF_LOST) {
        return tell_gone(h, err);
    }
    if (r != HF_OK) {
        return hf__fail(err, r,
                        "\"%s\" was not renewed; it is held until the old "
                        "deadline",
                        hf__grant_name(h));
    }
    return r;
}

/* The renewals of several grants; n of their requests were begun. */
struct renewals {
    int n;
    hf__time limit;
    struct renewal {
        struct hf__grant *grant;
        int at; /* its index in the caller's array */
        bool is_over;
        enum hf__ending ending; /* valid once is_over */
    } sent[HF_MANY_MAX];
};

/* A step that is done once all have a result or the limit has come. */
static bool step(void *arg, hf__time *ret_until)
{
    struct renewals *all = arg;
    bool are_over = true;

    for (int i = 0; i < all->n; i++) {
        struct renewal *w = &all->sent[i];

        w->is_over = w->is_over || hf__session_poll(&w->grant->client->renew,
                                                    &w->grant->request,
                                                    all->limit, &w->ending);
        are_over = are_over && w->is_over;
    }
    *ret_until = all->limit;
    return are_over;
}

void hf__grant_renew_all(struct hf__grant *const h[], int n,
                         enum hf__pending_op pending, int *results)
{
    struct renewals all = {.limit = hf__client_limit(h[0]->client)};
    struct hf__parker *parker = &h[0]->parker;
    unsigned actions[HF_MANY_MAX] = {0};

    for (int i = 0; i < n; i++) {
        HF_SCOPED_LOCK(&h[i]->mutex);

        results[i] = HF_EUNKNOWN;
        if (begin_renewal(h[i], hf__earlier(all.limit, h[i]->fsm.deadline),
                          &actions[i])) {
            hf__grant_begin(h[i], pending);
            all.limit = hf__earlier(all.limit, h[i]->fsm.deadline);
            all.sent[all.n++] = (struct renewal){.grant = h[i], .at = i};
        }
    }
    for (int i = 0; i < all.n; i++) {
        hf__session_begin(&h[0]->client->renew, &all.sent[i].grant->request,
                          parker, all.limit);
    }
    hf__run_steps(parker, step, &all);
    for (int i = 0; i < all.n; i++) {
        struct renewal *w = &all.sent[i];
        bool is_over = false;
        HF_SCOPED_LOCK(&w->grant->mutex);

        results[w->at] = hf__grant_ended(w->grant, w->ending, &is_over);
        actions[w->at] |= is_over ? end_renewal(w->grant) : 0;
    }
    for (int i = 0; i < n; i++) {
        hf__mutex_lock(&h[i]->mutex);
        results[i] = hf__grant_is_ours(h[i]) ? results[i] : (int)HF_LOST;
        hf__mutex_unlock(&h[i]->mutex);
        hf__grant_follow_up(h[i], actions[i]);
    }
}

static int tell_shared(const struct hf__grant *h, int n_locks, hf_error *err)
{
    return hf__fail(err, HF_EINVAL,
                    "\"%s\" was acquired %d times: release it down to one",
                    hf__grant_name(h), n_locks);
}

/* HF_OK: it can be detached, or (*ret_is_done) already has been. */
static int check_detach(struct hf__grant *h, bool *ret_is_done, hf_error *err)
{
    const char *name = hf__grant_name(h);
    HF_SCOPED_LOCK(&h->mutex);

    *ret_is_done = h->fsm.phase == HF__PHASE_DETACHED;
    if (h->n_locks > 1) {
        return tell_shared(h, h->n_locks, err);
    }
    if (h->fsm.phase == HF__PHASE_RELEASING ||
        h->fsm.phase == HF__PHASE_RELEASED) {
        return hf__fail(err, HF_EINVAL, "\"%s\" has been released", name);
    }
    if (!h->is_unbound && (h->client->settings.caps & HF_CAP_DETACH) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "this store ties \"%s\" to its process: release it, "
                        "or let the process live on",
                        name);
    }
    return HF_OK;
}

int hf__grant_detach(struct hf__grant *h, hf_error *err)
{
    unsigned actions = 0;
    int n_locks = 0;
    bool is_done = false;
    int r = check_detach(h, &is_done, err);

    if (r == HF_OK && !is_done && !h->is_unbound) {
        hf__grant_renew_all(&h, 1, HF__PENDING_DETACH, &r);
        r = hf__grant_tell_renewal(h, r, err);
    }
    if (r != HF_OK || is_done) {
        return r;
    }
    hf__mutex_lock(&h->mutex);
    n_locks = h->n_locks;
    if (n_locks > 1) { /* its owner acquired it again meanwhile */
        hf__mutex_unlock(&h->mutex);
        return tell_shared(h, n_locks, err);
    }
    actions = hf__grant_feed(
        h, (struct hf__fsm_event){.kind = HF__FSM_DETACHED, .now = hf__now()});
    r = h->fsm.phase == HF__PHASE_DETACHED ? (int)HF_OK : (int)HF_LOST;
    hf__mutex_unlock(&h->mutex);
    hf__name_queue_holder_gone(h);
    hf__name_queue_owner_left(h);
    hf__grant_follow_up(h, actions);
    return r == HF_LOST ? tell_gone(h, err) : r;
}
