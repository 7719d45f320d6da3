/* SPDX-License-Identifier: MIT */
/*
 * hf_cell_update(): read, compute and replace until no other writer was
 * quicker; and the record of a cell's last tries, which decides only when to
 * lock first. The lock is there for speed alone: with or without it, the
 * version guards each change. Called by users' threads.
 */
#include "include/holdfast-cell.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/rand.h"
#include "src/core/cancel.h"
#include "src/core/cell.h"
#include "src/core/contention.h"
#include "src/core/options.h"

#include <stdio.h>
#include <string.h>

/* Fewer tries than this tell nothing. */
#define TRIES_MIN 8
#define TRIES_MAX 32

/* Tries before the lock is taken anyway. */
#define FREE_TRIES 4
#define LOCK_NAME  "cell:%s"
#define KEY_MAX    (HF_NAME_MAX - 5)
/* A stopped holder keeps others waiting no longer than this. */
#define LEASE_MS    10000
#define REST_MAX_MS 1000
#define DOUBLINGS   8

struct update {
    hf_client *client;
    const char *key;
    hf_cell_fn fn;
    void *arg;
    hf_cell_opts opts;
    hf__time limit;
    uint64_t hash;
    char *value; /* HF_CELL_MAX bytes and a NUL */
    hf_lock *lock;
    bool may_lock;
    int tries;
    bool has_waited; /* it had to wait for the lock */
    int64_t took_ns; /* duration of the last try */
    uint64_t version;
};

/* The number of callbacks that this thread is in. An update inside another
 * update's callback takes no lock: it would wait for one lock while holding
 * another, in any order. */
static _Thread_local int depth;

/* ---- one try */

/* There was no answer, but no request that could change the cell was sent. */
static int tell_unavailable(hf_error *err)
{
    err->status = HF_EUNAVAIL;
    return HF_EUNAVAIL;
}

static int read_value(struct update *u, size_t *ret_length, hf_error *err)
{
    struct hf__cell_ask get = {.what = HF__CELL_GET, .key = u->key};
    int r = hf__cell_run(u->client, &get, err);

    if (r == HF_OK) {
        const struct hf__cell_op *op = get.query->cell;
        size_t length = op->state.has_value ? op->state.length : 0;

        u->version = op->state.version;
        memcpy(u->value, op->value, length);
        u->value[length] = '\0';
        *ret_length = op->state.has_value ? length : HF_CELL_NONE;
    }
    hf__query_unref(get.query);
    return r == HF_EUNKNOWN ? tell_unavailable(err) : r;
}

static int write_value(struct update *u, size_t length, hf_error *err)
{
    bool has_value = length != HF_CELL_NONE;
    struct hf__cell_ask put = {.what =
                                   has_value ? HF__CELL_PUT : HF__CELL_DELETE,
                               .key = u->key,
                               .version = u->version,
                               .value = u->value,
                               .length = has_value ? length : 0};
    int r = hf__cell_run(u->client, &put, err);

    if (r == HF_OK && u->opts.ret_version != NULL) {
        *u->opts.ret_version = put.query->cell->state.version;
    }
    hf__query_unref(put.query);
    return r;
}

/* *ret_is_own: the callback returned the result, whatever its number. */
static int try_once(struct update *u, bool *ret_is_own, hf_error *err)
{
    hf__time begin = hf__now();
    size_t length = HF_CELL_NONE;
    int r = read_value(u, &length, err);

    *ret_is_own = false;
    if (r != HF_OK) {
        return r;
    }
    depth++;
    r = u->fn(u->arg, u->value, &length);
    depth--;
    if (r != HF_OK) {
        *ret_is_own = true;
        return r;
    }
    if (length != HF_CELL_NONE && length > HF_CELL_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "the callback wrote %zu bytes, %d are the most", length,
                        HF_CELL_MAX);
    }
    r = write_value(u, length, err);
    u->took_ns = hf__now().ns - begin.ns;
    return r;
}

/* ---- between two tries */

static bool is_over(const struct update *u)
{
    return !hf__before(hf__now(), u->limit);
}

static bool is_cancelled(const struct update *u)
{
    return u->opts.cancel != NULL &&
           atomic_load(&u->opts.cancel->is_fired) != 0;
}

/* Pause for a random time: at most the last try's duration, doubled for each
 * try so far, so that two that conflicted do not conflict again. */
static void rest(const struct update *u)
{
    int64_t most_ns = u->took_ns
                      << (u->tries < DOUBLINGS ? u->tries : DOUBLINGS);
    int64_t ns = hf__random_between(0, most_ns < REST_MAX_MS * INT64_C(1000000)
                                           ? most_ns
                                           : REST_MAX_MS * INT64_C(1000000));
    hf__time until = hf__earlier(hf__after_ns(hf__now(), ns), u->limit);
    struct hf__parker parker = {0};
    struct hf__follower follower = {.parker = &parker};

    if (u->opts.cancel != NULL) {
        hf__cancel_follow(u->opts.cancel, &follower);
    }
    for (;;) {
        unsigned seen = hf__parker_seen(&parker);

        if (is_cancelled(u) || !hf__before(hf__now(), until)) {
            break;
        }
        hf__park(&parker, seen, until);
    }
    if (u->opts.cancel != NULL) {
        hf__cancel_unfollow(u->opts.cancel, &follower);
    }
}

static int acquire(struct update *u, int64_t wait_ms, hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    char name[HF_NAME_MAX + 1];

    (void)snprintf(name, sizeof name, LOCK_NAME, u->key);
    opts.wait_ms = wait_ms;
    opts.cancel = u->opts.cancel;
    opts.note = "an update of this cell";
    if ((u->client->settings.caps & HF_CAP_SESSION) == 0) {
        opts.lease_ms = LEASE_MS;
    }
    return hf_acquire(u->client, name, &opts, &u->lock, err);
}

static int lock(struct update *u, hf_error *err)
{
    int r = acquire(u, 0, err);

    if (r == HF_BUSY && !is_over(u)) {
        u->has_waited = true;
        r = acquire(u,
                    u->opts.wait_ms == HF_FOREVER
                        ? HF_FOREVER
                        : hf__ms_until(u->limit, hf__now()),
                    err);
    }
    if (r == HF_OK) {
        hf__count(&u->client->counters.cell_locked, 1);
    }
    /* Whatever happened to the lock, the cell was not changed. */
    return r == HF_EUNKNOWN                       ? tell_unavailable(err)
           : r == HF_BUSY && u->opts.wait_ms != 0 ? (int)HF_TIMEDOUT
                                                  : r;
}

/* After a try that conflicted: HF_OK if there is to be another. */
static int go_on(struct update *u, hf_error *err)
{
    if (is_cancelled(u)) {
        return hf__fail(err, HF_CANCELLED, "the update was cancelled");
    }
    if (is_over(u)) {
        return hf__fail(
            err, u->opts.wait_ms == 0 ? HF_BUSY : HF_TIMEDOUT,
            "others changed the cell \"%s\" during each of %d tries", u->key,
            u->tries);
    }
    /* A lock that was lost or broken no longer keeps others away. */
    if (u->lock != NULL && hf_held(u->lock) != 1) {
        hf_free(HF_MOVE(u->lock));
    }
    /* Under the lock conflicts are rare, unless updates without it conflict
     * with each other. */
    if (u->lock == NULL || u->tries > 2 * FREE_TRIES) {
        rest(u);
    }
    return is_cancelled(u)
               ? hf__fail(err, HF_CANCELLED, "the update was cancelled")
               : (int)HF_OK;
}

static int run(struct update *u, bool *ret_is_own, hf_error *err)
{
    struct hf__contention *c = &u->client->contention;
    int r = HF_OK;

    for (;;) {
        if (u->lock == NULL && u->may_lock &&
            (u->tries >= FREE_TRIES || hf__contention_locks(c, u->hash))) {
            r = lock(u, err);
        }
        r = r == HF_OK ? try_once(u, ret_is_own, err) : r;
        if (*ret_is_own || (r != HF_OK && r != HF_CONFLICT)) {
            return r;
        }
        hf__contention_note(c, u->hash, u->lock != NULL,
                            r == HF_CONFLICT || u->has_waited);
        u->tries++;
        if (r == HF_OK) {
            return r;
        }
        r = go_on(u, err);
        if (r != HF_OK) {
            return r;
        }
    }
}

/* ---- the call */

static int check(struct update *u, const hf_cell_opts *given, hf_error *err)
{
    struct hf__cell_ask a = {.what = HF__CELL_GET, .key = u->key};
    int r = hf__cell_check(u->client, &a, err);

    r = r == HF_OK ? hf__options_copy(&u->opts, sizeof u->opts, given, err) : r;
    if (r != HF_OK) {
        return r;
    }
    if (u->fn == NULL) {
        return hf__fail(err, HF_EINVAL, "hf_cell_update() needs a callback");
    }
    if (strlen(u->key) > KEY_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "the key has %zu bytes: to be updated it may have %d, "
                        "for its lock is called \"cell:\" and the key",
                        strlen(u->key), KEY_MAX);
    }
    if (u->opts.wait_ms < HF_FOREVER) {
        return hf__fail(err, HF_EINVAL,
                        "wait_ms is %lld: 0 or more, or HF_FOREVER",
                        (long long)u->opts.wait_ms);
    }
    return HF_OK;
}

int hf_cell_update(hf_client *client, const char *key, hf_cell_fn fn, void *arg,
                   const hf_cell_opts *opts, hf_error *err)
{
    HF_AUTO(hf__free_auto) char *value = NULL;
    struct update u = {.client = client,
                       .key = key,
                       .fn = fn,
                       .arg = arg,
                       .opts = HF_CELL_OPTS_INIT};
    hf_error failure =
        HF_ERROR_INIT; /* of a try: only the last one's is reported */
    bool is_own = false;
    int r = check(&u, opts, err);

    if (r != HF_OK) {
        return r;
    }
    value = hf__alloc(HF_CELL_MAX + 1);
    if (value == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a cell");
    }
    u.value = value;
    u.hash = hf__hash(key, strlen(key));
    u.limit = u.opts.wait_ms == HF_FOREVER
                  ? HF__NEVER
                  : hf__after_ms(hf__now(), u.opts.wait_ms);
    u.may_lock = depth == 0;
    r = run(&u, &is_own, &failure);
    if (r != HF_OK && !is_own) {
        hf__error_copy(err, &failure);
    }
    if (u.lock != NULL) {
        /* The lock only ordered the updates, so its loss does not matter. */
        hf_free(u.lock);
    }
    return r;
}

/* ---- a cell's last tries */

static struct hf__contention_slot *slot_of(struct hf__contention *c,
                                           uint64_t hash)
{
    struct hf__contention_slot *slot = &c->slots[hash % HF__CONTENTION_SLOTS];

    if (slot->hash != hash) {
        *slot = (struct hf__contention_slot){.hash = hash};
    }
    return slot;
}

bool hf__contention_locks(struct hf__contention *c, uint64_t hash)
{
    HF_SCOPED_LOCK(&c->mutex);

    return slot_of(c, hash)->is_locking;
}

/* Going back to trying first takes a full window of tries: a needless lock
 * costs less than many tries that fail. */
static bool is_to_change(const struct hf__contention_slot *slot)
{
    unsigned met = (unsigned)__builtin_popcount(slot->met);

    return slot->is_locking ? slot->tries == TRIES_MAX && met * 10 < TRIES_MAX
                            : slot->tries >= TRIES_MIN && met * 5 > slot->tries;
}

void hf__contention_note(struct hf__contention *c, uint64_t hash,
                         bool is_locking, bool has_met)
{
    HF_SCOPED_LOCK(&c->mutex);
    struct hf__contention_slot *slot = slot_of(c, hash);

    if (slot->is_locking != is_locking) {
        return; /* the try began before this was changed */
    }
    slot->met = slot->met << 1 | (uint32_t)has_met;
    slot->tries += slot->tries < TRIES_MAX;
    if (is_to_change(slot)) {
        *slot = (struct hf__contention_slot){.hash = hash,
                                             .is_locking = !is_locking};
    }
}
