/* SPDX-License-Identifier: MIT */
/*
 * The store said yes: what that is worth. This file decides whether a grant
 * comes in time and with a fence that rises, and from when on its holder has
 * it; what happens to it later is handle.c's. Called by users' threads, and by
 * the one that steps for them.
 */
#include "src/core/handle.h"

#include "src/base/error.h"

static int refuse_grant(const struct hf__handle *h, const struct hf__event *e,
                        hf_error *err)
{
    bool is_session = (h->client->settings.caps & HF_CAP_SESSION) != 0;

    if (e->fence != 0 && e->fence <= e->seen_fence) {
        return hf__fail(err, HF_EPROTO,
                        "the fence of \"%s\" fell to %llu after %llu: was an "
                        "old copy of the store put back?",
                        hf__handle_name(h), (unsigned long long)e->fence,
                        (unsigned long long)e->seen_fence);
    }
    return hf__fail(err, HF_EUNAVAIL,
                    "the grant of \"%s\" came after its lease of %lld ms: "
                    "the store is too slow for it; %s",
                    hf__handle_name(h), (long long)h->grant.lease_ms,
                    is_session ? "set a longer session_timeout in the URL"
                               : "ask for a longer one");
}

/* The fence that the grant's must be above; 0: any will do. */
static uint64_t fence_to_pass(const struct hf__handle *h, uint64_t fence)
{
    uint64_t seen = 0;

    if (h->manner.mode != HF__MODE_EXCLUSIVE) {
        /* Others were granted it beside this one, and were heard of first. */
        return h->is_adopted ? 0 : h->seen_before;
    }
    seen = hf__client_seen(h->client, &h->key);
    /* An adopted one may have been acquired in this process. */
    return h->is_adopted && seen == fence ? 0 : seen;
}

int hf__handle_grant(struct hf__handle *h, const struct hf__token *token,
                     hf__time sent, uint64_t fence, hf_error *err)
{
    struct hf__event e = {.kind = HF__EVENT_GRANTED,
                          .sent = sent,
                          .fence = fence,
                          .seen_fence = fence_to_pass(h, fence)};
    unsigned duties = 0;

    hf__mutex_lock(&h->mutex);
    h->token = *token;
    hf__token_format(token, h->token_text);
    h->moot_at = hf__client_moot_at(h->client, sent, h->grant.lease_ms);
    e.now = hf__now();
    h->kept_until = hf__after_ms(e.now, h->min_hold_ms);
    duties = hf__handle_step(h, e);
    hf__mutex_unlock(&h->mutex);
    if ((duties & HF__DO_GIVE_BACK) != 0) { /* the claim sees to it */
        return refuse_grant(h, &e, err);
    }
    hf__client_see(h->client, &h->key, fence);
    hf__mutex_lock(&h->client->mutex);
    hf__list_push(&h->client->handles, &h->link);
    hf__mutex_unlock(&h->client->mutex);
    return HF_OK;
}

void hf__handle_tell_granted(const struct hf__handle *h, int r, bool took_over)
{
    char name[4 * HF_NAME_MAX];

    if (r != HF_OK || !took_over) {
        return;
    }
    hf__count(&h->client->counters.taken_over, 1);
    hf__log(&h->client->settings.log, HF_LOG_INFO,
            "event=takeover lock=%s fence=%llu",
            hf__log_quote(hf__handle_name(h), name, sizeof name),
            (unsigned long long)h->grant.fence);
}

void hf__handle_begin_hold(struct hf__handle *h, const hf_acquire_opts *opts)
{
    hf__time now = hf__now();
    unsigned duties = 0;

    hf__mutex_lock(&h->mutex);
    hf__grant_begin(&h->grant, opts->max_hold_ms, opts->auto_renew != 0, now);
    duties = hf__handle_feed(
        h, (struct hf__event){.kind = HF__EVENT_TICK, .now = now});
    hf__mutex_unlock(&h->mutex);
    hf__handle_follow_up(h, duties);
}
