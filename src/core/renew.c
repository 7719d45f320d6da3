/* SPDX-License-Identifier: MIT */
/*
 * Renewing by hand, and the renewal that unties a grant from its process.
 * Renewals that are due are the keeper's, how an errand runs handle.c's.
 * Called by users' threads.
 */
#include "src/core/handle.h"

#include "src/base/error.h"
#include "src/core/place.h"

/* It was released, detached or lost: which? */
static int tell_gone(const struct hf__handle *l, hf_error *err)
{
    const char *name = hf__handle_name(l);
    int state = atomic_load(&l->state);

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
                    hf_strreason(hf__handle_reason(l)));
}

static int renew_as(struct hf__handle *l, enum hf__errand errand, hf_error *err)
{
    const char *name = hf__handle_name(l);
    hf__time limit = hf__client_limit(l->client);
    unsigned duties = 0;
    bool is_lost = false;
    int r = HF_EUNKNOWN;

    hf__mutex_lock(&l->mutex);
    limit = hf__earlier(limit, l->grant.deadline);
    if (hf__handle_await_errand(l, limit)) {
        duties =
            hf__handle_feed(l, (struct hf__event){.kind = HF__EVENT_RENEW_BEGUN,
                                                  .now = hf__now()});
        if (hf__grant_is_held(&l->grant, hf__now())) {
            r = hf__handle_run(l, errand, limit);
            if (l->errand == HF__ERRAND_NONE) {
                duties |= hf__handle_end_renewal(l, &l->request.op);
                /* It was given up meanwhile, and had to wait for this. */
                duties |= l->owes ? HF__DO_GIVE_BACK : 0;
            }
        } else {
            duties |= hf__handle_feed(
                l, (struct hf__event){.kind = HF__EVENT_RENEW_FAILED,
                                      .now = hf__now()});
        }
    }
    is_lost = !hf__handle_is_ours(l);
    hf__mutex_unlock(&l->mutex);
    hf__handle_follow_up(l, duties);
    if (is_lost) {
        return tell_gone(l, err);
    }
    if (r != HF_OK) {
        return hf__fail(err, r,
                        "\"%s\" was not renewed; it is held until the old "
                        "deadline",
                        name);
    }
    return r;
}

int hf__handle_renew(struct hf__handle *l, hf_error *err)
{
    return renew_as(l, HF__ERRAND_RENEW, err);
}

static int tell_shared(const struct hf__handle *l, int holds, hf_error *err)
{
    return hf__fail(err, HF_EINVAL,
                    "\"%s\" was acquired %d times: release it down to one",
                    hf__handle_name(l), holds);
}

/* HF_OK: it can be detached, or (*ret_is_done) it has been. */
static int check_detach(struct hf__handle *l, bool *ret_is_done, hf_error *err)
{
    const char *name = hf__handle_name(l);
    HF_SCOPED_LOCK(&l->mutex);

    *ret_is_done = l->grant.phase == HF__PHASE_DETACHED;
    if (l->holds > 1) {
        return tell_shared(l, l->holds, err);
    }
    if (l->grant.phase == HF__PHASE_RELEASING ||
        l->grant.phase == HF__PHASE_RELEASED) {
        return hf__fail(err, HF_EINVAL, "\"%s\" has been released", name);
    }
    if (!l->is_unbound &&
        (l->client->settings.backend->caps & HF_CAP_DETACH) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "this store ties \"%s\" to its process: release it, "
                        "or let the process live on",
                        name);
    }
    return HF_OK;
}

int hf__handle_detach(struct hf__handle *l, hf_error *err)
{
    unsigned duties = 0;
    int holds = 0;
    bool is_done = false;
    int r = check_detach(l, &is_done, err);

    if (r == HF_OK && !is_done && !l->is_unbound) {
        r = renew_as(l, HF__ERRAND_DETACH, err);
    }
    if (r != HF_OK || is_done) {
        return r;
    }
    hf__mutex_lock(&l->mutex);
    holds = l->holds;
    if (holds > 1) { /* its owner acquired it once more meanwhile */
        hf__mutex_unlock(&l->mutex);
        return tell_shared(l, holds, err);
    }
    duties = hf__handle_feed(
        l, (struct hf__event){.kind = HF__EVENT_DETACHED, .now = hf__now()});
    r = l->grant.phase == HF__PHASE_DETACHED ? (int)HF_OK : (int)HF_LOST;
    hf__mutex_unlock(&l->mutex);
    hf__place_gone(l);
    hf__place_left(l);
    hf__handle_follow_up(l, duties);
    return r == HF_LOST ? tell_gone(l, err) : r;
}
