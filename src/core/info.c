/* SPDX-License-Identifier: MIT */
/*
 * hf_inspect(), hf_break(), hf_lock_fds() and the getters of a snapshot. This
 * file decides how the store's record is shown to people, and tells the old
 * holder of a break if it is the same client; query.c asks the store.
 * The getters run on any thread and ask no store; the others run on users'
 * threads.
 */
#include "src/core/info.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/core/lock.h"
#include "src/core/name_queue.h"
#include "src/core/options.h"
#include "src/core/query.h"

#include <string.h>

struct hf_info *hf__info_new(const char *name, size_t length,
                             const struct hf__record *record)
{
    hf_info *info = hf__alloc(sizeof *info);

    if (info == NULL) {
        return NULL;
    }
    hf__list_init(&info->link);
    info->record = *record;
    info->n_holders = -1;
    info->n_waiters = -1;
    length = length < HF_NAME_MAX ? length : HF_NAME_MAX;
    memcpy(info->name, name, length);
    return info;
}

/* Store the holders and waiters that a store with those caps reported: HF_OK or
 * HF_ENOMEM. */
static int set_participants(struct hf_info *info, unsigned caps,
                            const struct hf__participant_list *participants)
{
    bool has_queue = (caps & (HF_CAP_FAIR | HF_CAP_SHARED | HF_CAP_SLOTS)) != 0;

    info->n_holders = info->record.is_held ? 1 : 0;
    info->n_waiters = has_queue ? 0 : -1;
    if (participants->n == 0) {
        return HF_OK;
    }
    info->participant =
        hf__alloc((size_t)participants->n * sizeof *info->participant);
    if (info->participant == NULL) {
        return HF_ENOMEM;
    }
    info->n_holders = 0;
    info->record =
        *hf__participant_list_first_to_end(participants, &info->record);
    for (int i = 0; i < participants->n; i++) {
        hf_info *one = &info->participant[i];

        *one = (hf_info){.record = participants->list[i].record,
                         .is_waiting = participants->list[i].is_waiting,
                         .n_holders = -1,
                         .n_waiters = -1};
        memcpy(one->name, info->name, sizeof one->name);
        if (one->is_waiting) {
            info->n_waiters = info->n_waiters < 0 ? 1 : info->n_waiters + 1;
        } else {
            info->n_holders++;
        }
    }
    return HF_OK;
}

void hf_info_free(hf_info *info)
{
    if (info != NULL) {
        hf__free(info->participant);
    }
    hf__free(info);
}

/* The snapshot describes a holder or a waiter. */
static bool is_of_somebody(const hf_info *info)
{
    return info->record.is_held || info->is_waiting;
}

static const char *text_or_null(const hf_info *info, const char *text)
{
    return is_of_somebody(info) && *text != '\0' ? text : NULL;
}

const char *hf_info_name(const hf_info *info)
{
    return info->name;
}

hf_presence hf_info_presence(const hf_info *info)
{
    return info->record.is_held ? HF_HELD_BY : HF_FREE;
}

const char *hf_info_label(const hf_info *info)
{
    return text_or_null(info, info->record.owner.label);
}

const char *hf_info_host(const hf_info *info)
{
    return text_or_null(info, info->record.owner.host);
}

const char *hf_info_thread(const hf_info *info)
{
    return text_or_null(info, hf__owner_thread(&info->record.owner));
}

int64_t hf_info_tid(const hf_info *info)
{
    return is_of_somebody(info) ? hf__owner_tid(&info->record.owner) : 0;
}

const char *hf_info_note(const hf_info *info)
{
    return text_or_null(info, info->record.owner.note);
}

int64_t hf_info_pid(const hf_info *info)
{
    return is_of_somebody(info) ? info->record.owner.pid : 0;
}

uint64_t hf_info_fence(const hf_info *info)
{
    return info->record.fence;
}

int64_t hf_info_acquired_us(const hf_info *info)
{
    return is_of_somebody(info) ? info->record.acquired_us : 0;
}

int64_t hf_info_remaining_ms(const hf_info *info)
{
    int64_t us = info->record.remaining_us;

    if (!info->record.is_held && !info->record.is_kept) {
        return 0;
    }
    return us < 0 ? -1 : us / 1000;
}

int hf_info_holder_lives(const hf_info *info)
{
    return info->record.is_held ? info->record.holder_lives : -1;
}

int hf_info_shared(const hf_info *info)
{
    return is_of_somebody(info) &&
           info->record.lock_mode.mode == HF__MODE_SHARED;
}

int hf_info_slots(const hf_info *info)
{
    return is_of_somebody(info) ? info->record.lock_mode.slots : 0;
}

int hf_info_slot(const hf_info *info)
{
    return info->record.is_held && info->record.lock_mode.slots > 0
               ? info->record.slot
               : -1;
}

/* ---- holders and waiters */

int hf_info_holders(const hf_info *info)
{
    return info->n_holders;
}

int hf_info_waiters(const hf_info *info)
{
    return info->n_waiters;
}

const hf_info *hf_info_holder_at(const hf_info *info, int i)
{
    if (i < 0 || i >= info->n_holders) {
        return NULL;
    }
    return info->participant == NULL ? info : &info->participant[i];
}

const hf_info *hf_info_waiter_at(const hf_info *info, int i)
{
    return i < 0 || i >= info->n_waiters
               ? NULL
               : &info->participant[info->n_holders + i];
}

/* ---- hf_inspect() and hf_break() */

static int tell_all(const hf_client *client, const char *name,
                    const struct hf__query *k, hf_info **ret_info,
                    hf_error *err)
{
    hf_info *info = hf__info_new(name, strlen(name), &k->record);

    if (info == NULL || set_participants(info, client->settings.caps,
                                         &k->participants) != HF_OK) {
        hf_info_free(info);
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    *ret_info = info;
    return HF_OK;
}

int hf_inspect(hf_client *client, const char *name, hf_info **ret_info,
               hf_error *err)
{
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
    int r = hf__client_usable(client, err);

    if (r == HF_OK && ret_info == NULL) {
        r = hf__fail(
            err, HF_EINVAL,
            "hf_inspect(): the pointer that receives the answer is NULL");
    }
    r = r == HF_OK ? hf__name_check(name, err) : r;
    if (r != HF_OK) {
        return r;
    }
    r = hf__query_new(client, name, &k, err);
    if (r != HF_OK) {
        return r;
    }
    k->request.op.kind = HF__OP_INSPECT;
    k->request.op.ret_participants = &k->participants;
    r = hf__query_run(client, k, hf__client_limit(client), err);
    return r == HF_OK ? tell_all(client, name, k, ret_info, err) : r;
}

int hf_ping(hf_client *client, hf_error *err)
{
    hf_info *info = NULL;
    int r = hf_inspect(client, "ping", &info, err);

    hf_info_free(info);
    return r;
}

static void log_break(const hf_client *client, const struct hf__query *k)
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

/* The store says that the grant is no longer ours. */
static void refuse(struct hf__grant *h)
{
    struct hf__fsm_event e = {
        .kind = HF__FSM_CLOSED, .now = hf__now(), .reason = HF_REASON_BROKEN};
    unsigned actions = 0;

    hf__mutex_lock(&h->mutex);
    actions = hf__grant_feed(h, e);
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, actions);
}

/* Tell the holders of this client now instead of at their next renewal. */
static void tell_holders(hf_client *client, const struct hf__query *k,
                         uint64_t fence)
{
    struct hf__grant *h = NULL;

    while ((h = hf__name_queue_broken(client, &k->key, fence,
                                      k->request.op.fence)) != NULL) {
        refuse(h);
        hf__grant_unref(h);
    }
}

int hf_break(hf_client *client, const char *name, uint64_t fence, hf_error *err)
{
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
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
    r = hf__query_new(client, name, &k, err);
    if (r != HF_OK) {
        return r;
    }
    hf__owner_set(client, NULL, NULL, &k->owner);
    k->request.op.kind = HF__OP_BREAK;
    k->request.op.fence = fence;
    k->request.op.owner = &k->owner;
    r = hf__query_run(client, k, hf__client_limit(client), err);
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

/* ---- hf_lock_fds() */

static int run_lock_fds(struct hf__conn *conn, struct hf__request *q,
                        hf__time deadline)
{
    struct hf__query *k = HF__ELEMENT(q, struct hf__query, request);

    (void)deadline;
    k->result = hf__conn_lock_fds(conn, k->fds, HF__LOCK_FDS_MAX);
    k->request.op.result = HF_OK;
    return HF_OK;
}

int hf_lock_fds(const hf_lock *lock, int *fds, int max)
{
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
    hf_client *client = lock == NULL ? NULL : lock->grant->client;
    int r = hf__client_usable(client, NULL);

    if (r != HF_OK || max < 0 || (max > 0 && fds == NULL)) {
        return r != HF_OK ? r : (int)HF_EINVAL;
    }
    r = hf__query_new(client, hf_name(lock), &k, NULL);
    if (r != HF_OK) {
        return r;
    }
    k->request.call = run_lock_fds;
    r = hf__query_run(client, k, hf__client_limit(client), NULL);
    if (r != HF_OK) {
        return r;
    }
    for (int i = 0; i < k->result && i < max; i++) {
        fds[i] = k->fds[i];
    }
    return k->result;
}
