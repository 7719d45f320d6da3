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

struct hf_lock *hf__hold_new_many(int n)
{
    struct hf_lock *lock = hf__hold_new();

    if (lock == NULL) {
        return NULL;
    }
    lock->parts = hf__alloc((size_t)n * sizeof *lock->parts);
    if (lock->parts == NULL) {
        hf__hold_free(lock);
        return NULL;
    }
    lock->n_parts = n;
    lock->listener.parker = &lock->parker;
    return lock;
}

static void free_parts(struct hf_lock *lock)
{
    for (int i = 0; i < lock->n_parts; i++) {
        struct hf__handle *h = lock->parts[i].handle;

        if (h != NULL) {
            hf__handle_listen(h, NULL);
            hf__handle_unref(h);
        }
    }
    hf__free(lock->parts);
}

void hf__hold_free(struct hf_lock *lock)
{
    if (lock == NULL) {
        return;
    }
    if (lock->parts != NULL) {
        free_parts(lock);
    } else if (lock->handle != NULL) {
        hf__handle_unref(lock->handle);
    }
    hf__free(lock->once);
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

static int tell_left(const struct hf_lock *lock, hf_error *err)
{
    if (lock->left_result == HF_LOST) {
        return hf__fail(err, HF_LOST,
                        "\"%s\" was lost before it was released (%s)",
                        hf_name(lock), hf_strreason(hf_lost_reason(lock)));
    }
    return lock->left_result;
}

/* The answer of a part, or (r) of its handle. */
static int tell_part(const struct hf_lock *part, int r, hf_error *err)
{
    return atomic_load(&part->is_left)
               ? tell_left(part, err)
               : hf__handle_tell_release(part->handle, r, err);
}

/* Which of the results is to be told: the first loss, else the first that is
 * not HF_OK. */
static int find_worst(const int *results, int n)
{
    int worst = 0;

    for (int i = 1; i < n; i++) {
        if (results[worst] != HF_LOST && results[i] != HF_OK &&
            (results[worst] == HF_OK || results[i] == HF_LOST)) {
            worst = i;
        }
    }
    return worst;
}

int hf__hold_release_all(struct hf_lock *const holds[], int n, hf_error *err)
{
    struct hf__handle *last[HF_MANY_MAX] = {NULL}; /* whose last hold it was */
    int answers[HF_MANY_MAX] = {HF_OK};
    int results[HF_MANY_MAX] = {HF_OK};
    int count = 0;
    int worst = 0;

    for (int i = 0; i < n; i++) {
        if (leave(holds[i])) {
            last[count++] = holds[i]->handle;
        }
    }
    hf__handle_release_all(last, count, answers);
    count = 0;
    for (int i = 0; i < n; i++) {
        results[i] = atomic_load(&holds[i]->is_left) ? holds[i]->left_result
                                                     : answers[count++];
    }
    worst = find_worst(results, n);
    return tell_part(holds[worst], results[worst], err);
}

static int release_parts(struct hf_lock *lock, hf_error *err)
{
    struct hf_lock *holds[HF_MANY_MAX];
    int r = HF_OK;

    for (int i = 0; i < lock->n_parts; i++) {
        holds[i] = &lock->parts[i];
    }
    r = hf__hold_release_all(holds, lock->n_parts, err);
    hf__unpark(&lock->parker); /* a part that others hold on to told nobody */
    return r;
}

int hf__hold_release(struct hf_lock *lock, hf_error *err)
{
    struct hf__handle *h = lock->handle;

    if (lock->parts != NULL) {
        return release_parts(lock, err);
    }
    if (leave(lock)) {
        return hf__handle_release(h, err);
    }
    hf__unpark(&h->parker); /* this hold may be waited on */
    return tell_left(lock, err);
}

static void waive(struct hf__handle *h)
{
    HF_SCOPED_LOCK(&h->mutex);

    h->is_unused = true;
    h->kept_until = (hf__time){0};
}

void hf__hold_waive(struct hf_lock *lock)
{
    if (lock->parts == NULL) {
        waive(lock->handle);
    }
    for (int i = 0; i < lock->n_parts; i++) {
        waive(lock->parts[i].handle);
    }
}

static int tell_released(const struct hf_lock *lock, hf_error *err)
{
    return hf__fail(err, HF_LOST, "\"%s\" has been released", hf_name(lock));
}

/* The first that is lost is told, else the first that was not renewed. */
static int renew_parts(struct hf_lock *lock, hf_error *err)
{
    struct hf__handle *handles[HF_MANY_MAX];
    int results[HF_MANY_MAX] = {HF_OK};
    int worst = 0;

    for (int i = 0; i < lock->n_parts; i++) {
        if (atomic_load(&lock->parts[i].is_left)) {
            return tell_released(&lock->parts[i], err);
        }
        handles[i] = lock->parts[i].handle;
    }
    hf__handle_renew_all(handles, lock->n_parts, results);
    worst = find_worst(results, lock->n_parts);
    return hf__handle_tell_renewal(handles[worst], results[worst], err);
}

int hf__hold_renew(struct hf_lock *lock, hf_error *err)
{
    if (lock->parts != NULL) {
        return renew_parts(lock, err);
    }
    if (atomic_load(&lock->is_left)) {
        return tell_released(lock, err);
    }
    return hf__handle_renew(lock->handle, err);
}

int hf__hold_detach(struct hf_lock *lock, hf_error *err)
{
    if (lock->parts != NULL) {
        return hf__fail(err, HF_ENOTSUP,
                        "a lock of several names can't be detached: acquire "
                        "each name by itself");
    }
    if (atomic_load(&lock->is_left)) {
        return hf__fail(err, HF_EINVAL, "\"%s\" has been released",
                        hf_name(lock));
    }
    return hf__handle_detach(lock->handle, err);
}
