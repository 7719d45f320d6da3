/* SPDX-License-Identifier: MIT */
/*
 * Who still holds on to a grant. This file counts the holds of a handle and
 * gives each its own answer; what the last release does is release.c's.
 * Called by users' threads.
 */
#include "src/core/hold.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

struct hf_lock *hf__hold_new(void)
{
    return hf__alloc(sizeof(struct hf_lock));
}

void hf__hold_free(struct hf_lock *lock)
{
    if (lock != NULL && lock->handle != NULL) {
        hf__handle_unref(lock->handle);
    }
    if (lock != NULL) {
        hf__free(lock->once);
    }
    hf__free(lock);
}

int hf__hold_usable(const struct hf_lock *lock, hf_error *err)
{
    if (lock == NULL) {
        return hf__fail(err, HF_EINVAL, "the lock is NULL");
    }
    return hf__client_usable(lock->handle->client, err);
}

/* Under the handle's mutex. */
static int standing(const struct hf__handle *h)
{
    if (h->grant.phase == HF__PHASE_LOST ||
        (hf__handle_is_ours(h) && !hf__grant_is_held(&h->grant, hf__now()))) {
        return HF_LOST;
    }
    if (!hf__handle_is_ours(h) || h->holds == 0) {
        return HF_EUNAVAIL;
    }
    return HF_OK;
}

int hf__hold_standing(struct hf__handle *h)
{
    HF_SCOPED_LOCK(&h->mutex);
    return standing(h);
}

int hf__hold_join(struct hf_lock *lock, struct hf__handle *h)
{
    HF_SCOPED_LOCK(&h->mutex);
    int r = standing(h);

    if (r == HF_OK) {
        h->holds++;
        lock->handle = h;
    }
    return r;
}

/* Let go of this hold, once. True if the handle's own release is to answer. */
static bool leave(struct hf_lock *lock)
{
    struct hf__handle *h = lock->handle;
    HF_SCOPED_LOCK(&h->mutex);

    if (lock->is_over) {
        return !atomic_load(&lock->is_left);
    }
    lock->is_over = true;
    h->holds--;
    if (h->holds == 0) {
        return true;
    }
    lock->left_result =
        hf__grant_is_held(&h->grant, hf__now()) ? (int)HF_OK : (int)HF_LOST;
    atomic_store(&lock->is_left, true);
    return false;
}

int hf__hold_release(struct hf_lock *lock, hf_error *err)
{
    struct hf__handle *h = lock->handle;

    if (leave(lock)) {
        return hf__handle_release(h, err);
    }
    hf__unpark(&h->parker); /* this hold may be waited on */
    if (lock->left_result == HF_LOST) {
        return hf__fail(err, HF_LOST,
                        "\"%s\" was lost before it was released (%s)",
                        hf__handle_name(h), hf_strreason(hf_lost_reason(lock)));
    }
    return lock->left_result;
}

void hf__hold_waive(struct hf_lock *lock)
{
    struct hf__handle *h = lock->handle;
    HF_SCOPED_LOCK(&h->mutex);

    h->is_unused = true;
    h->kept_until = (hf__time){0};
}

int hf__hold_renew(struct hf_lock *lock, hf_error *err)
{
    if (atomic_load(&lock->is_left)) {
        return hf__fail(err, HF_LOST, "\"%s\" has been released",
                        hf_name(lock));
    }
    return hf__handle_renew(lock->handle, err);
}

int hf__hold_detach(struct hf_lock *lock, hf_error *err)
{
    if (atomic_load(&lock->is_left)) {
        return hf__fail(err, HF_EINVAL, "\"%s\" has been released",
                        hf_name(lock));
    }
    return hf__handle_detach(lock->handle, err);
}
