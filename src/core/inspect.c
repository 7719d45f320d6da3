/* SPDX-License-Identifier: MIT */
/*
 * Looking at one name, breaking it, and the descriptors that bear a lock.
 * This file decides what is asked and what the old holder is told; asking is
 * look.c's. Called by users' threads.
 */
#include "src/base/error.h"
#include "src/core/hold.h"
#include "src/core/look.h"
#include "src/core/owner.h"
#include "src/core/place.h"

#include <string.h>

static int tell_all(const hf_client *client, const char *name,
                    const struct hf__look *k, hf_info **ret_info, hf_error *err)
{
    hf_info *info = hf__info_new(name, strlen(name), &k->record);

    if (info == NULL ||
        hf__info_set_crowd(info, client->settings.caps, &k->crowd) != HF_OK) {
        hf_info_free(info);
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    *ret_info = info;
    return HF_OK;
}

int hf_inspect(hf_client *client, const char *name, hf_info **ret_info,
               hf_error *err)
{
    HF_AUTO(hf__look_unref_auto) struct hf__look *k = NULL;
    int r = hf__client_usable(client, err);

    if (r == HF_OK && ret_info == NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "hf_inspect() needs a place for the answer");
    }
    r = r == HF_OK ? hf__name_check(name, err) : r;
    if (r != HF_OK) {
        return r;
    }
    r = hf__look_new(client, name, &k, err);
    if (r != HF_OK) {
        return r;
    }
    k->request.op.kind = HF__OP_INSPECT;
    k->request.op.ret_crowd = &k->crowd;
    r = hf__look_run(client, k, hf__client_limit(client), err);
    return r == HF_OK ? tell_all(client, name, k, ret_info, err) : r;
}

int hf_ping(hf_client *client, hf_error *err)
{
    hf_info *info = NULL;
    int r = hf_inspect(client, "ping", &info, err);

    hf_info_free(info);
    return r;
}

static void log_break(const hf_client *client, const struct hf__look *k)
{
    char name[4 * HF_NAME_MAX];
    char old[4 * HF_NOTE_MAX];
    char by[4 * HF_NOTE_MAX];

    hf__log(&client->settings.log, HF_LOG_WARN,
            "event=broken lock=%s owner=%s owner_host=%s owner_pid=%lld "
            "by=%s by_host=%s by_pid=%lld fence=%llu",
            hf__log_quote(k->key.bytes + k->key.name_at, name, sizeof name),
            hf__log_quote(k->record.owner.label, old, sizeof old),
            k->record.owner.host, (long long)k->record.owner.pid,
            hf__log_quote(k->owner.label, by, sizeof by), k->owner.host,
            (long long)k->owner.pid, (unsigned long long)k->record.fence);
}

/* The store says that it is not ours. */
static void refuse(struct hf__handle *h)
{
    struct hf__event e = {
        .kind = HF__EVENT_CLOSED, .now = hf__now(), .reason = HF_REASON_BROKEN};
    unsigned duties = 0;

    hf__mutex_lock(&h->mutex);
    duties = hf__handle_feed(h, e);
    hf__mutex_unlock(&h->mutex);
    hf__handle_follow_up(h, duties);
}

/* Our own holders need not wait for their next renewal to be told. */
static void tell_holders(hf_client *client, const struct hf__look *k,
                         uint64_t fence)
{
    struct hf__handle *h = NULL;

    while ((h = hf__place_broken(client, &k->key, fence,
                                 k->request.op.fence)) != NULL) {
        refuse(h);
        hf__handle_unref(h);
    }
}

int hf_break(hf_client *client, const char *name, uint64_t fence, hf_error *err)
{
    HF_AUTO(hf__look_unref_auto) struct hf__look *k = NULL;
    int r = hf__client_usable(client, err);

    r = r == HF_OK ? hf__name_check(name, err) : r;
    if (r == HF_OK && fence >= HF__FENCE_END) {
        r = hf__fail(err, HF_EINVAL,
                     "no grant has the fence %llu: take it from hf_inspect(), "
                     "or 0 for whatever is held",
                     (unsigned long long)fence);
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__look_new(client, name, &k, err);
    if (r != HF_OK) {
        return r;
    }
    hf__owner_set(client, NULL, NULL, &k->owner);
    k->request.op.kind = HF__OP_BREAK;
    k->request.op.fence = fence;
    k->request.op.owner = &k->owner;
    r = hf__look_run(client, k, hf__client_limit(client), err);
    if (r == HF_OK) {
        log_break(client, k);
        tell_holders(client, k, fence);
    } else if (r == HF_CONFLICT) {
        return hf__fail(err, r,
                        k->record.is_held
                            ? "\"%s\" is held with fence %llu, not the one "
                              "to break"
                            : "\"%s\" is free (last fence %llu)",
                        name, (unsigned long long)k->record.fence);
    }
    return r;
}

/* ---- the lock's descriptors */

static int run_lock_fds(struct hf__conn *conn, struct hf__request *q,
                        hf__time deadline)
{
    struct hf__look *k = HF__ELEMENT(q, struct hf__look, request);

    (void)deadline;
    k->result = hf__conn_lock_fds(conn, k->fds, HF__LOCK_FDS_MAX);
    k->request.op.result = HF_OK;
    return HF_OK;
}

int hf_lock_fds(const hf_lock *lock, int *fds, int max)
{
    HF_AUTO(hf__look_unref_auto) struct hf__look *k = NULL;
    hf_client *client = lock == NULL ? NULL : lock->handle->client;
    int r = hf__client_usable(client, NULL);

    if (r != HF_OK || max < 0 || (max > 0 && fds == NULL)) {
        return r != HF_OK ? r : (int)HF_EINVAL;
    }
    r = hf__look_new(client, hf_name(lock), &k, NULL);
    if (r != HF_OK) {
        return r;
    }
    k->request.call = run_lock_fds;
    r = hf__look_run(client, k, hf__client_limit(client), NULL);
    if (r != HF_OK) {
        return r;
    }
    for (int i = 0; i < k->result && i < max; i++) {
        fds[i] = k->fds[i];
    }
    return k->result;
}
