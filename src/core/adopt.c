/* SPDX-License-Identifier: MIT */
/*
 * Adopts a grant: inspecting the name finds the fence, and a renewal by token
 * proves that the grant is still there. A token is never used twice, so what
 * was found before the renewal also holds for the grant that was renewed.
 * Called by users' threads.
 */
#include "src/core/adopt.h"

#include "src/base/error.h"
#include "src/core/name_queue.h"
#include "src/core/query.h"

/* What inspecting told of a grant, and until when that surely holds. */
struct found {
    struct hf__record record;
    hf__time until;
};

static int tell_lost(const char *name, const struct hf__record *record,
                     hf_error *err)
{
    if (!record->is_held) {
        return hf__fail(err, HF_LOST,
                        "the grant of \"%s\" is over: nobody holds it", name);
    }
    return hf__fail(err, HF_LOST,
                    "the grant of \"%s\" is over: %s on %s (pid %lld) holds it "
                    "with fence %llu",
                    name, record->owner.label, record->owner.host,
                    (long long)record->owner.pid,
                    (unsigned long long)record->fence);
}

/* Of several grants of the name, pick the one with the token. */
static void find_among(struct hf__query *k, const struct hf__token *token)
{
    for (int i = 0; i < k->participants.n; i++) {
        const struct hf__participant_info *participant =
            &k->participants.list[i];

        if (!participant->is_waiting &&
            hf__token_equal(&participant->record.token, token)) {
            k->record = participant->record;
        }
    }
}

/* Check that the token holds the name now, and fetch what is known of its
 * grant. */
static int look_up(struct hf_client *client, const char *name,
                   const struct hf__token *token, hf__time limit,
                   struct found *ret_seen, hf_error *err)
{
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
    int r = hf__query_new(client, name, &k, err);

    if (r == HF_OK) {
        k->request.op.kind = HF__OP_INSPECT;
        k->request.op.ret_participants = &k->participants;
        r = hf__query_run(client, k, limit, err);
    }
    if (r == HF_OK) {
        find_among(k, token);
    }
    if (r == HF_OK &&
        (!k->record.is_held || !hf__token_equal(&k->record.token, token))) {
        return tell_lost(name, &k->record, err);
    }
    if (r == HF_OK && k->record.holder_lives == 0) {
        return hf__fail(err, HF_LOST,
                        "the grant of \"%s\" is over: it was bound to a "
                        "process that has died (pid %lld)",
                        name, (long long)k->record.owner.pid);
    }
    if (r == HF_OK) {
        ret_seen->record = k->record;
        ret_seen->until =
            k->record.remaining_us >= 0
                ? hf__after_us(k->request.op.sent, k->record.remaining_us)
                : HF__NEVER;
    }
    return r;
}

/* Like a holder's renewal, this one is not sent once the lease may be over; it
 * then ends as HF_EUNAVAIL. */
static int renew(struct hf__grant *h, const struct hf__token *token,
                 const struct found *seen, hf__time limit, hf_error *err)
{
    uint64_t fence = seen->record.fence;
    const char *name = hf__grant_name(h);
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
    int r = hf__query_new(h->client, name, &k, err);

    if (r != HF_OK) {
        return r;
    }
    k->session = &h->client->renew; /* as for every renewal */
    k->request.send_by = seen->until;
    k->request.op.kind = HF__OP_RENEW;
    k->request.op.token = *token;
    k->request.op.fence = fence;
    k->request.op.lease_us = h->fsm.lease_ms * 1000;
    r = hf__query_run(h->client, k, limit, err);
    if (r == HF_LOST) {
        return tell_lost(name, &k->record, err);
    }
    return r == HF_OK
               ? hf__grant_confirm(h, token, k->request.op.sent, fence, err)
               : r;
}

/* If the lease ran out between inspecting and renewing, the renewal was not
 * sent: inspect again to learn what became of the grant, instead of failing. */
static int take_up(struct hf__grant *h, const struct hf__token *token,
                   hf__time limit, hf_error *err)
{
    struct found seen = {0};
    hf_error why = HF_ERROR_INIT;
    int r = HF_OK;

    do {
        r = look_up(h->client, hf__grant_name(h), token, limit, &seen, err);
        if (r != HF_OK) {
            return r;
        }
        h->lock_mode = seen.record.lock_mode;
        h->slot = h->lock_mode.mode == HF__MODE_SLOTS ? seen.record.slot : -1;
        r = renew(h, token, &seen, limit, &why);
    } while (r == HF_EUNAVAIL && !hf__before(hf__now(), seen.until) &&
             hf__before(hf__now(), limit));
    if (r != HF_OK) {
        hf__error_copy(err, &why);
    }
    return r;
}

int hf__adopt(struct hf_client *client, const char *name,
              const struct hf__token *token, const hf_acquire_opts *opts,
              struct hf__grant **ret_grant, hf_error *err)
{
    char bytes[HF__KEY_MAX];
    struct hf__key key;
    hf__time limit = hf__client_limit(client);
    struct hf__grant *h = NULL;
    int r = hf__client_prepare(client, err);

    if (r != HF_OK) {
        return r;
    }
    hf__client_key(client, name, bytes, &key);
    h = hf__grant_new(client, &key, opts);
    if (h == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    h->is_adopted = true;
    h->is_unbound = true; /* or tied to another process, which stays so */
    h->min_hold_ms = 0;
    r = take_up(h, token, limit, err);
    if (r != HF_OK) {
        hf__grant_unref(h);
        return r;
    }
    hf__name_queue_adopted(h);
    *ret_grant = h;
    return HF_OK;
}
