/* SPDX-License-Identifier: MIT */
/*
 * Who still holds on to a grant. This file counts the holds of a handle and
 * gives each its own answer; what the last release does is release.c's.
 * Called by users' threads.
 */
#include "src/core/hold.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

static void init(struct hf_lock *lock, struct hf_lock *whole)
{
    *lock = (struct hf_lock){.whole = whole};
    hf__list_init(&lock->mourner.link);
    hf__list_init(&lock->notice.link);
}

struct hf_lock *hf__hold_new(void)
{
    struct hf_lock *lock = hf__alloc(sizeof *lock);

    if (lock != NULL) {
        init(lock, NULL);
    }
    return lock;
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
    for (int i = 0; i < n; i++) {
        init(&lock->parts[i], lock);
    }
    return lock;
}

struct hf_lock *hf__hold_part(struct hf_lock *lock, int i)
{
    return lock->n_parts > 0 ? &lock->parts[i] : lock;
}

void hf__hold_clear(struct hf_lock *part)
{
    hf__handle_ignore(part->handle, &part->listener);
    hf__handle_unref(part->handle);
    init(part, part->whole);
}

static void free_parts(struct hf_lock *lock)
{
    for (int i = 0; i < lock->n_parts; i++) {
        if (lock->parts[i].handle != NULL) {
            hf__hold_clear(&lock->parts[i]);
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
        h->was_joined = true;
        lock->handle = h;
    }
    return r;
}

/* ---- whom to tell of the loss */

/* On a thread that dispatches. The callback may free the lock. */
static void tell_loss(struct hf__notice *n)
{
    struct hf_lock *lock = HF__ELEMENT(n, struct hf_lock, notice);
    hf_lost_fn fn = NULL;
    void *arg = NULL;

    hf__mutex_lock(&lock->handle->mutex);
    fn = lock->lost_fn;
    arg = lock->lost_arg;
    lock->lost_fn = NULL;
    hf__mutex_unlock(&lock->handle->mutex);
    if (fn != NULL) {
        fn(arg, lock, hf_lost_reason(lock));
    }
}

/* The handle was lost; under its mutex. Of several parts the first to be lost
 * tells. */
static void post_loss(struct hf__mourner *m)
{
    struct hf_lock *part = HF__ELEMENT(m, struct hf_lock, mourner);
    struct hf_lock *lock = part->whole == NULL ? part : part->whole;

    if (!atomic_exchange(&lock->is_mourned, true)) {
        hf__board_post(&part->handle->client->board, &lock->notice);
    }
}

/* Nobody is told of it any more. */
static void forget_loss(struct hf_lock *lock)
{
    if (!atomic_load(&lock->is_asked)) {
        return;
    }
    for (int i = 0; i < hf_count(lock); i++) {
        struct hf_lock *part = hf__hold_part(lock, i);
        HF_SCOPED_LOCK(&part->handle->mutex);

        hf__list_remove(&part->mourner.link);
    }
    hf__mutex_lock(&lock->handle->mutex);
    lock->lost_fn = NULL;
    hf__mutex_unlock(&lock->handle->mutex);
    (void)hf__board_retract(&lock->handle->client->board, &lock->notice);
}

/* Gives whether it can still be lost, or has been. */
static bool mourn(struct hf_lock *part)
{
    struct hf__handle *h = part->handle;
    HF_SCOPED_LOCK(&h->mutex);

    if (part->is_over ||
        (!hf__handle_is_ours(h) && h->grant.phase != HF__PHASE_LOST)) {
        return false;
    }
    part->mourner.tell = post_loss;
    hf__list_remove(&part->mourner.link);
    if (h->grant.phase == HF__PHASE_LOST) {
        post_loss(&part->mourner);
    } else {
        hf__list_push(&h->mourners, &part->mourner.link);
    }
    return true;
}

static bool is_any_over(struct hf_lock *lock)
{
    bool is_over = false;

    for (int i = 0; i < hf_count(lock); i++) {
        struct hf_lock *part = hf__hold_part(lock, i);
        struct hf__handle *h = part->handle;
        HF_SCOPED_LOCK(&h->mutex);

        is_over = is_over || part->is_over ||
                  (!hf__handle_is_ours(h) && h->grant.phase != HF__PHASE_LOST);
    }
    return is_over;
}

int hf__hold_on_lost(struct hf_lock *lock, hf_lost_fn fn, void *arg)
{
    forget_loss(lock);
    if (is_any_over(lock)) {
        return HF_EINVAL;
    }
    if (fn == NULL) {
        return HF_OK;
    }
    /* Before the first look at is_over: who lets go meanwhile forgets it. */
    atomic_store(&lock->is_asked, true);
    atomic_store(&lock->is_mourned, false);
    lock->notice.tell = tell_loss;
    hf__mutex_lock(&lock->handle->mutex);
    lock->lost_fn = fn;
    lock->lost_arg = arg;
    hf__mutex_unlock(&lock->handle->mutex);
    for (int i = 0; i < hf_count(lock); i++) {
        if (!mourn(hf__hold_part(lock, i))) {
            forget_loss(lock);
            return HF_EINVAL;
        }
    }
    return HF_OK;
}

/* ---- letting go */

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

void hf__hold_leave(struct hf_lock *lock, struct hf__parting *p)
{
    for (int i = 0; i < hf_count(lock); i++) {
        struct hf_lock *part = hf__hold_part(lock, i);

        p[i].handle = part->handle;
        if (leave(part)) {
            hf__parting_begin(&p[i]);
        } else {
            p[i].stage = HF__PARTING_ENDED;
            p[i].result = part->left_result;
            hf__handle_stir(part->handle); /* this hold may be waited on */
        }
    }
    forget_loss(lock);
}

int hf__hold_release_all(struct hf_lock *const holds[], int n, hf__time by,
                         hf_error *err)
{
    struct hf__parting p[HF_MANY_MAX];
    struct hf__parker parker = {0};

    HF_ASSERT(n > 0 && n <= HF_MANY_MAX);
    for (int i = 0; i < n; i++) {
        p[i] = (struct hf__parting){.parker = &parker, .may_lead = true};
        hf__hold_leave(holds[i], &p[i]);
        p[i].limit = hf__earlier(p[i].limit, by);
    }
    hf__partings_run(p, n, &parker);
    return hf__partings_tell(p, n, err);
}

static int release_parts(struct hf_lock *lock, hf_error *err)
{
    struct hf_lock *holds[HF_MANY_MAX];
    int r = HF_OK;

    for (int i = 0; i < lock->n_parts; i++) {
        holds[i] = &lock->parts[i];
    }
    r = hf__hold_release_all(holds, lock->n_parts, HF__NEVER, err);
    forget_loss(lock);
    return r;
}

int hf__hold_release(struct hf_lock *lock, hf_error *err)
{
    struct hf__parting p = {.parker = &lock->handle->parker, .may_lead = true};

    if (lock->parts != NULL) {
        return release_parts(lock, err);
    }
    hf__hold_leave(lock, &p);
    hf__partings_run(&p, 1, p.parker);
    return hf__partings_tell(&p, 1, err);
}

static void waive(struct hf__handle *h)
{
    HF_SCOPED_LOCK(&h->mutex);

    if (h->was_joined) {
        return; /* somebody else has used it */
    }
    h->is_unused = true;
    h->kept_until = (hf__time){0};
}

void hf__hold_waive(struct hf_lock *lock)
{
    if (lock->parts == NULL) {
        waive(lock->handle);
        return;
    }
    for (int i = 0; i < lock->n_parts; i++) {
        waive(lock->parts[i].handle);
    }
}

/* Which of the results is to be told: the first loss, else the first that is
 * not HF_OK. */
static int find_worst(const int *results, int n)
{
    int worst = 0;

    for (int i = 1; i < n; i++) {
        if (hf__is_worse(results[i], results[worst])) {
            worst = i;
        }
    }
    return worst;
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
    int r = HF_OK;

    if (lock->parts != NULL) {
        return hf__fail(err, HF_ENOTSUP,
                        "a lock of several names can't be detached: acquire "
                        "each name by itself");
    }
    if (atomic_load(&lock->is_left)) {
        return hf__fail(err, HF_EINVAL, "\"%s\" has been released",
                        hf_name(lock));
    }
    r = hf__handle_detach(lock->handle, err);
    if (r == HF_OK) {
        forget_loss(lock);
    }
    return r;
}
