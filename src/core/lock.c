/* SPDX-License-Identifier: MIT */
/*
 * The locks on a grant. This file counts them and gives each its own answers
 * without asking the store: whether it is held and what it is called (a
 * released lock answers for itself, all else comes from the grant, and of
 * several names the worst counts); also its loss, its release and its renewal.
 * The last lock's release is in release.c. Called by users' threads; hf_held()
 * also by signal handlers.
 */
#include "src/core/lock.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

static void init(struct hf_lock *lock, struct hf_lock *whole)
{
    *lock = (struct hf_lock){.whole = whole};
    hf__list_init(&lock->lost_callback.link);
    hf__list_init(&lock->event.link);
}

struct hf_lock *hf__lock_new(void)
{
    struct hf_lock *lock = hf__alloc(sizeof *lock);

    if (lock != NULL) {
        init(lock, NULL);
    }
    return lock;
}

struct hf_lock *hf__lock_new_many(int n)
{
    struct hf_lock *lock = hf__lock_new();

    if (lock == NULL) {
        return NULL;
    }
    lock->parts = hf__alloc((size_t)n * sizeof *lock->parts);
    if (lock->parts == NULL) {
        hf__lock_free(lock);
        return NULL;
    }
    lock->n_parts = n;
    for (int i = 0; i < n; i++) {
        init(&lock->parts[i], lock);
    }
    return lock;
}

void hf__lock_clear(struct hf_lock *part)
{
    hf__grant_ignore(part->grant, &part->listener);
    hf__grant_unref(part->grant);
    init(part, part->whole);
}

void hf__lock_free(struct hf_lock *lock)
{
    if (lock == NULL) {
        return;
    }
    for (int i = 0; i < lock->n_parts; i++) {
        if (lock->parts[i].grant != NULL) {
            hf__lock_clear(&lock->parts[i]);
        }
    }
    if (lock->parts == NULL && lock->grant != NULL) {
        hf__grant_unref(lock->grant);
    }
    hf__free(lock->parts);
    hf__free(lock->once);
    hf__free(lock);
}

int hf__lock_usable(const struct hf_lock *lock, hf_error *err)
{
    if (lock == NULL) {
        return hf__fail(err, HF_EINVAL, "the lock is NULL");
    }
    return hf__client_usable(lock->grant->client, err);
}

/* Under the grant's mutex. */
static int lock_status(const struct hf__grant *h)
{
    if (h->fsm.phase == HF__PHASE_LOST ||
        (hf__grant_is_ours(h) && !hf__grant_fsm_is_held(&h->fsm, hf__now()))) {
        return HF_LOST;
    }
    if (!hf__grant_is_ours(h) || h->n_locks == 0) {
        return HF_EUNAVAIL;
    }
    return HF_OK;
}

int hf__lock_can_join(struct hf__grant *h)
{
    HF_SCOPED_LOCK(&h->mutex);
    return lock_status(h);
}

int hf__lock_join(struct hf_lock *lock, struct hf__grant *h)
{
    HF_SCOPED_LOCK(&h->mutex);
    int r = lock_status(h);

    if (r == HF_OK) {
        h->n_locks++;
        h->was_joined = true;
        lock->grant = h;
    }
    return r;
}

/* ---- getters, which do not ask the store */

/* The i-th part; i must be valid. */
static const hf_lock *part_of(const hf_lock *lock, int i)
{
    return lock->n_parts > 0 ? &lock->parts[i] : lock;
}

/* It is NULL, or belongs to the process before a fork. */
static bool is_foreign(const hf_lock *lock)
{
    return lock == NULL ||
           lock->grant->client->fork_generation != hf__fork_generation();
}

static int is_held(const struct hf__grant *h)
{
    int64_t until = atomic_load(&h->held_until);

    if (until != 0 && hf__now().ns < until) {
        return 1;
    }
    if (until != 0) {
        /* After "no" there must be no "yes", even if a renewal is just being
         * confirmed: see feed_renewed(). */
        _Atomic int64_t *shown = (_Atomic int64_t *)(uintptr_t)&h->held_until;

        return !atomic_compare_exchange_strong(shown, &until, 0) &&
               until != 0 && hf__now().ns < until;
    }
    return 0;
}

int hf_held(const hf_lock *lock)
{
    if (is_foreign(lock)) {
        return 0;
    }
    for (int i = 0; i < hf__lock_count(lock); i++) {
        const hf_lock *part = part_of(lock, i);

        if (atomic_load(&part->is_left) || !is_held(part->grant)) {
            return 0;
        }
    }
    return 1;
}

static hf_lock_state state_of(const hf_lock *lock)
{
    const struct hf__grant *h = lock->grant;
    hf_lock_state state = (hf_lock_state)atomic_load(&h->state);

    if (atomic_load(&lock->is_left)) {
        return lock->left_result == HF_LOST ? HF_STATE_LOST : HF_STATE_RELEASED;
    }
    if ((state == HF_STATE_HELD || state == HF_STATE_AT_RISK) && !is_held(h)) {
        /* The timer thread has yet to see the expiry; or it was just released.
         */
        state = (hf_lock_state)atomic_load(&h->state);
        return state == HF_STATE_HELD || state == HF_STATE_AT_RISK
                   ? HF_STATE_LOST
                   : state;
    }
    return state;
}

/* A higher number is worse for a caller that counts on all names. */
static const char badness[] = {
    [HF_STATE_HELD] = 0,     [HF_STATE_AT_RISK] = 1, [HF_STATE_DETACHED] = 2,
    [HF_STATE_RELEASED] = 3, [HF_STATE_LOST] = 4,
};

hf_lock_state hf_state(const hf_lock *lock)
{
    hf_lock_state worst = HF_STATE_HELD;

    if (is_foreign(lock)) {
        return HF_STATE_LOST;
    }
    for (int i = 0; i < hf__lock_count(lock); i++) {
        hf_lock_state state = state_of(part_of(lock, i));

        worst = badness[state] > badness[worst] ? state : worst;
    }
    return worst;
}

int64_t hf_remaining_ms(const hf_lock *lock)
{
    int64_t now = hf__now().ns;
    int64_t least = INT64_MAX;

    if (hf_held(lock) == 0) {
        return 0;
    }
    for (int i = 0; i < hf__lock_count(lock); i++) {
        int64_t until = atomic_load(&part_of(lock, i)->grant->held_until);

        least = until < least ? until : least;
    }
    return least > now ? (least - now) / HF__MS : 0;
}

uint64_t hf_fence(const hf_lock *lock)
{
    return lock == NULL ? 0 : lock->grant->fsm.fence;
}

const char *hf_token(const hf_lock *lock)
{
    return lock == NULL ? "" : lock->grant->token_text;
}

const char *hf_name(const hf_lock *lock)
{
    return lock == NULL ? "" : hf__grant_name(lock->grant);
}

int hf_slot(const hf_lock *lock)
{
    return lock == NULL ? -1 : lock->grant->slot;
}

int hf_count(const hf_lock *lock)
{
    return lock == NULL ? 0 : hf__lock_count(lock);
}

/* The i-th part; NULL: there is none. */
static const hf_lock *part_at(const hf_lock *lock, int i)
{
    return i < 0 || i >= hf_count(lock) ? NULL : part_of(lock, i);
}

const char *hf_name_at(const hf_lock *lock, int i)
{
    return hf_name(part_at(lock, i));
}

uint64_t hf_fence_at(const hf_lock *lock, int i)
{
    return hf_fence(part_at(lock, i));
}

hf_reason hf_lost_reason(const hf_lock *lock)
{
    if (is_foreign(lock)) {
        return HF_REASON_SESSION;
    }
    for (int i = 0; i < hf__lock_count(lock); i++) {
        const hf_lock *part = part_of(lock, i);

        if (state_of(part) == HF_STATE_LOST) {
            return hf__grant_reason(part->grant);
        }
    }
    return HF_REASON_NONE;
}

static struct hf__parker *parker_of(hf_lock *lock)
{
    return lock->n_parts > 0 ? &lock->parker : &lock->grant->parker;
}

int hf_wait_lost(hf_lock *lock, int64_t wait_ms)
{
    hf__time limit =
        wait_ms == HF_FOREVER ? HF__NEVER : hf__after_ms(hf__now(), wait_ms);
    int r = hf__lock_usable(lock, NULL);

    if (r == HF_OK && wait_ms < 0 && wait_ms != HF_FOREVER) {
        r = HF_EINVAL;
    }
    if (r != HF_OK) {
        return r;
    }
    for (;;) {
        unsigned seen = hf__parker_seen(parker_of(lock));
        hf_lock_state state = hf_state(lock);

        if (state == HF_STATE_LOST) {
            return HF_LOST;
        }
        if (state != HF_STATE_HELD && state != HF_STATE_AT_RISK) {
            return HF_OK;
        }
        if (!hf__before(hf__now(), limit)) {
            return HF_TIMEDOUT;
        }
        hf__park(parker_of(lock), seen, limit);
    }
}

/* ---- the callback for a loss */

/* Runs on a thread that dispatches. The callback may free the lock. */
static void tell_loss(struct hf__event *n)
{
    struct hf_lock *lock = HF__ELEMENT(n, struct hf_lock, event);
    hf_lost_fn fn = NULL;
    void *arg = NULL;

    hf__mutex_lock(&lock->grant->mutex);
    fn = lock->lost_fn;
    arg = lock->lost_arg;
    lock->lost_fn = NULL;
    hf__mutex_unlock(&lock->grant->mutex);
    if (fn != NULL) {
        fn(arg, lock, hf_lost_reason(lock));
    }
}

/* The grant was lost; under its mutex. Of several parts, the first loss is
 * reported. */
static void post_loss(struct hf__lost_callback *m)
{
    struct hf_lock *part = HF__ELEMENT(m, struct hf_lock, lost_callback);
    struct hf_lock *lock = part->whole == NULL ? part : part->whole;

    if (!atomic_exchange(&lock->has_lost_callback, true)) {
        hf__event_queue_post(&part->grant->client->events, &lock->event);
    }
}

/* Cancel the callback. */
static void forget_loss(struct hf_lock *lock)
{
    if (!atomic_load(&lock->is_asked)) {
        return;
    }
    for (int i = 0; i < hf__lock_count(lock); i++) {
        struct hf_lock *part = hf__lock_part(lock, i);
        HF_SCOPED_LOCK(&part->grant->mutex);

        hf__list_remove(&part->lost_callback.link);
    }
    hf__mutex_lock(&lock->grant->mutex);
    lock->lost_fn = NULL;
    hf__mutex_unlock(&lock->grant->mutex);
    (void)hf__event_queue_retract(&lock->grant->client->events, &lock->event);
}

/* Returns whether the part can still be lost, or has been. */
static bool add_lost_callback(struct hf_lock *part)
{
    struct hf__grant *h = part->grant;
    HF_SCOPED_LOCK(&h->mutex);

    if (part->is_over ||
        (!hf__grant_is_ours(h) && h->fsm.phase != HF__PHASE_LOST)) {
        return false;
    }
    part->lost_callback.tell = post_loss;
    hf__list_remove(&part->lost_callback.link);
    if (h->fsm.phase == HF__PHASE_LOST) {
        post_loss(&part->lost_callback);
    } else {
        hf__list_push(&h->lost_callbacks, &part->lost_callback.link);
    }
    return true;
}

static bool is_any_over(struct hf_lock *lock)
{
    bool is_over = false;

    for (int i = 0; i < hf__lock_count(lock); i++) {
        struct hf_lock *part = hf__lock_part(lock, i);
        struct hf__grant *h = part->grant;
        HF_SCOPED_LOCK(&h->mutex);

        is_over = is_over || part->is_over ||
                  (!hf__grant_is_ours(h) && h->fsm.phase != HF__PHASE_LOST);
    }
    return is_over;
}

int hf__lock_on_lost(struct hf_lock *lock, hf_lost_fn fn, void *arg)
{
    forget_loss(lock);
    if (is_any_over(lock)) {
        return HF_EINVAL;
    }
    if (fn == NULL) {
        return HF_OK;
    }
    /* Before add_lost_callback() looks: a release in between cancels it. */
    atomic_store(&lock->is_asked, true);
    atomic_store(&lock->has_lost_callback, false);
    lock->event.tell = tell_loss;
    hf__mutex_lock(&lock->grant->mutex);
    lock->lost_fn = fn;
    lock->lost_arg = arg;
    hf__mutex_unlock(&lock->grant->mutex);
    for (int i = 0; i < hf__lock_count(lock); i++) {
        if (!add_lost_callback(hf__lock_part(lock, i))) {
            forget_loss(lock);
            return HF_EINVAL;
        }
    }
    return HF_OK;
}

/* ---- releasing */

/* Release this lock once. True: the result is that of the grant's release. */
static bool leave(struct hf_lock *lock)
{
    struct hf__grant *h = lock->grant;
    HF_SCOPED_LOCK(&h->mutex);

    if (lock->is_over) {
        return !atomic_load(&lock->is_left);
    }
    lock->is_over = true;
    h->n_locks--;
    if (h->n_locks == 0) {
        return true;
    }
    lock->left_result =
        hf__grant_fsm_is_held(&h->fsm, hf__now()) ? (int)HF_OK : (int)HF_LOST;
    atomic_store(&lock->is_left, true);
    return false;
}

void hf__lock_leave(struct hf_lock *lock, struct hf__release_op *p)
{
    for (int i = 0; i < hf__lock_count(lock); i++) {
        struct hf_lock *part = hf__lock_part(lock, i);

        p[i].grant = part->grant;
        if (leave(part)) {
            hf__release_op_begin(&p[i]);
        } else {
            p[i].stage = HF__RELEASE_ENDED;
            p[i].result = part->left_result;
            hf__grant_stir(part->grant); /* wake waiters of this lock */
        }
    }
    forget_loss(lock);
}

int hf__lock_release_all(struct hf_lock *const locks[], int n, hf__time by,
                         hf_error *err)
{
    struct hf__release_op p[HF_MANY_MAX];
    struct hf__parker parker = {0};

    HF_ASSERT(n > 0 && n <= HF_MANY_MAX);
    for (int i = 0; i < n; i++) {
        p[i] = (struct hf__release_op){.parker = &parker};
        hf__lock_leave(locks[i], &p[i]);
        p[i].limit = hf__earlier(p[i].limit, by);
    }
    hf__run_steps(&parker, hf__release_ops_step, &(struct hf__releases){p, n});
    return hf__release_ops_tell(p, n, err);
}

static int release_parts(struct hf_lock *lock, hf_error *err)
{
    struct hf_lock *locks[HF_MANY_MAX];
    int r = HF_OK;

    for (int i = 0; i < lock->n_parts; i++) {
        locks[i] = &lock->parts[i];
    }
    r = hf__lock_release_all(locks, lock->n_parts, HF__NEVER, err);
    forget_loss(lock);
    return r;
}

int hf__lock_release(struct hf_lock *lock, hf_error *err)
{
    struct hf__release_op p = {.parker = &lock->grant->parker};

    if (lock->parts != NULL) {
        return release_parts(lock, err);
    }
    hf__lock_leave(lock, &p);
    hf__run_steps(p.parker, hf__release_ops_step,
                  &(struct hf__releases){&p, 1});
    return hf__release_ops_tell(&p, 1, err);
}

void hf__lock_waive(struct hf_lock *lock)
{
    for (int i = 0; i < hf__lock_count(lock); i++) {
        struct hf__grant *h = hf__lock_part(lock, i)->grant;
        HF_SCOPED_LOCK(&h->mutex);

        if (!h->was_joined) { /* else another lock has used it */
            h->is_unused = true;
            h->kept_until = (hf__time){0};
        }
    }
}

int hf_release(hf_lock *lock, hf_error *err)
{
    int r = hf__lock_usable(lock, err);

    return r == HF_OK ? hf__lock_release(lock, err) : r;
}

void hf_free(hf_lock *lock)
{
    int r = HF_OK;

    /* In a forked child the grant is the parent's: its mutexes may be held by
     * threads that do not exist here. */
    if (lock == NULL || hf__lock_usable(lock, NULL) != HF_OK) {
        return;
    }
    if (!atomic_load(&lock->is_sent_away)) {
        r = hf__lock_release(lock, NULL);
        (void)r; /* if unconfirmed, it is settled in the background */
    }
    hf__lock_free(lock);
}

int hf_once_undo(hf_lock *lock, hf_error *err)
{
    int r = hf__lock_usable(lock, err);

    if (r == HF_OK && lock->once == NULL) {
        r = hf__fail(err, HF_EINVAL, "\"%s\" was acquired without once_ms",
                     hf_name(lock));
    }
    return r == HF_OK ? hf__once_answer(
                            (struct hf__once_ask){.client = lock->grant->client,
                                                  .once = lock->once,
                                                  .what = HF__ONCE_UNDO,
                                                  .err = err})
                      : r;
}

/* ---- renewing and detaching */

/* Reports the first part that is lost, else the first that was not renewed. */
int hf_renew(hf_lock *lock, hf_error *err)
{
    struct hf__grant *grants[HF_MANY_MAX];
    int results[HF_MANY_MAX] = {HF_OK};
    int worst = 0;
    int r = hf__lock_usable(lock, err);

    if (r != HF_OK) {
        return r;
    }
    for (int i = 0; i < hf__lock_count(lock); i++) {
        const hf_lock *part = part_of(lock, i);

        if (atomic_load(&part->is_left)) {
            return hf__fail(err, HF_LOST, "\"%s\" has been released",
                            hf_name(part));
        }
        grants[i] = part->grant;
    }
    hf__grant_renew_all(grants, hf__lock_count(lock), HF__PENDING_RENEW,
                        results);
    for (int i = 1; i < hf__lock_count(lock); i++) {
        worst = hf__is_worse(results[i], results[worst]) ? i : worst;
    }
    return hf__grant_tell_renewal(grants[worst], results[worst], err);
}

int hf_detach(hf_lock *lock, hf_error *err)
{
    int r = hf__lock_usable(lock, err);

    if (r == HF_OK && lock->parts != NULL) {
        r = hf__fail(err, HF_ENOTSUP,
                     "a lock of several names can't be detached: acquire each "
                     "name by itself");
    } else if (r == HF_OK && atomic_load(&lock->is_left)) {
        r = hf__fail(err, HF_EINVAL, "\"%s\" has been released", hf_name(lock));
    }
    r = r == HF_OK ? hf__grant_detach(lock->grant, err) : r;
    if (r == HF_OK) {
        forget_loss(lock);
    }
    return r;
}
