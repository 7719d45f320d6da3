/* SPDX-License-Identifier: MIT */
/*
 * The stages of an acquire. This file decides which stage comes next and what
 * the caller is told; once.c, claim.c, many.c and release.c do the work of the
 * stages. Runs on the caller's thread or on the executor's.
 */
#include "src/core/acquire.h"

#include "src/base/error.h"
#include "src/core/many.h"

bool hf__acquire_is_stopped(const struct hf__acquire *a)
{
    return atomic_load(&a->is_called_off) ||
           (a->stop != NULL && atomic_load(a->stop) != 0);
}

int hf__acquire_tell_cancelled(const struct hf__acquire *a, hf_error *err)
{
    const struct hf__key *key = a->claim == NULL ? NULL : &a->claim->key;

    if (key == NULL) {
        return hf__fail(err, HF_CANCELLED, "the wait for \"%s\" was cancelled",
                        a->names[0]);
    }
    return hf__fail(err, HF_CANCELLED, "the wait for \"%.*s\" was cancelled",
                    key->length - key->name_at, key->bytes + key->name_at);
}

/* ---- stages: each returns true when the next step can be taken at once */

static bool go_on(struct hf__acquire *a, enum hf__acquire_stage stage)
{
    a->stage = stage;
    return true;
}

/* The caller can be told now. */
static bool end(struct hf__acquire *a, int r)
{
    a->result = r;
    if (r != HF_OK && a->err != NULL) {
        a->err->status = r; /* the last try may have left another status */
    }
    return go_on(a, HF__ACQUIRE_ENDED);
}

static bool end_cancelled(struct hf__acquire *a)
{
    return end(a, hf__acquire_tell_cancelled(a, a->err));
}

static void ask_once(struct hf__acquire *a, enum hf__once_do what)
{
    a->ask =
        (struct hf__once_ask){.client = a->client,
                              .once = a->lock->once,
                              .what = what,
                              .parker = a->parker,
                              .err = what == HF__ONCE_UNDO ? NULL : a->err};
}

static bool step_peek(struct hf__acquire *a, hf__time *ret_until)
{
    bool is_vain = hf__acquire_is_stopped(a);

    if (is_vain && a->ask.query == NULL) {
        return end_cancelled(a); /* nothing was sent to the store yet */
    }
    if (is_vain) {
        hf__once_hurry(&a->ask, (hf__time){1}); /* its answer is not needed */
        a->ask.err = NULL;
    }
    if (!hf__once_step(&a->ask, ret_until)) {
        return false;
    }
    if (is_vain) {
        return end_cancelled(a);
    }
    if (a->ask.result != HF_OK) {
        return end(a, a->ask.result);
    }
    if (a->claim != NULL) {
        /* the look at the record had its own time limit */
        hf__claim_set_limits(a->claim);
    }
    return go_on(a, HF__ACQUIRE_READY);
}

/* The claim has ended. Once the lock is held, one mark is enough: whoever
 * else would start the task needs the lock first. */
static bool end_claim(struct hf__acquire *a, int r)
{
    if (r != HF_OK || a->lock->once == NULL) {
        return end(a, r);
    }
    if (hf__acquire_is_stopped(a)) {
        hf__acquire_turn_back(a, hf__acquire_tell_cancelled(a, a->err));
        return true;
    }
    ask_once(a, HF__ONCE_MARK);
    return go_on(a, HF__ACQUIRE_MARK);
}

/* On the executor's thread, acquires that were told earlier that the session
 * is ready must not be overtaken; on a caller's own thread there is no such
 * order. */
static bool step_ready(struct hf__acquire *a)
{
    int r = HF_OK;

    if (a->claim == NULL) {
        return end_claim(
            a, hf__many_acquire(a->client, a->names, a->opts, a->lock, a->err));
    }
    if (hf__acquire_is_stopped(a)) {
        hf__client_prepare_leave(a->client, &a->unready);
        return end_cancelled(a);
    }
    if (!hf__client_is_ready(a->client) ||
        hf__parker_is_ready_item(a->parker) || a->unready.is_queued) {
        if (!hf__client_prepare_step(a->client, &a->unready)) {
            return false;
        }
        r = a->unready.result;
    }
    r = r == HF_OK ? hf__claim_start(a->claim, a->err) : r;
    return r == HF_OK ? go_on(a, HF__ACQUIRE_CLAIM) : end(a, r);
}

static bool step_claim(struct hf__acquire *a, hf__time *ret_until)
{
    if (atomic_load(&a->is_called_off)) {
        atomic_store(&a->claim->is_called_off, 1);
    }
    return hf__claim_step(a->claim, ret_until) &&
           end_claim(a, hf__claim_finish(a->claim, &a->lock->grant, a->err));
}

static bool step_mark(struct hf__acquire *a, hf__time *ret_until)
{
    if (!hf__once_step(&a->ask, ret_until)) {
        return false;
    }
    if (a->ask.result != HF_OK) {
        hf__acquire_turn_back(a, a->ask.result);
        return true;
    }
    a->is_marked = true;
    return end(a, HF_OK);
}

void hf__acquire_turn_back(struct hf__acquire *a, int r)
{
    a->result = r;
    if (a->is_marked) {
        a->is_marked = false;
        ask_once(a, HF__ONCE_UNDO);
        a->stage = HF__ACQUIRE_UNMARK;
        return;
    }
    a->stage = HF__ACQUIRE_LET_GO;
    if (a->claim == NULL) {
        return;
    }
    /* before leaving, which may already give it back */
    hf__lock_waive(a->lock);
    a->release = (struct hf__release_op){.parker = a->parker};
    hf__lock_leave(a->lock, &a->release);
}

static bool step_unmark(struct hf__acquire *a, hf__time *ret_until)
{
    if (!hf__once_step(&a->ask, ret_until)) {
        return false;
    }
    hf__acquire_turn_back(a, a->result);
    return true;
}

static bool step_let_go(struct hf__acquire *a, hf__time *ret_until)
{
    if (a->claim == NULL) {
        hf__lock_waive(a->lock);
        /* If the store does not confirm it, the release goes on in the
         * background. */
        (void)!hf__lock_release(a->lock, NULL);
        return end(a, a->result);
    }
    a->release.limit =
        hf__earlier(a->release.limit, hf__client_close_by(a->client));
    return hf__release_op_step(&a->release, ret_until) && end(a, a->result);
}

static bool step_stage(struct hf__acquire *a, hf__time *ret_until)
{
    switch (a->stage) {
    case HF__ACQUIRE_READY:
        return step_ready(a);
    case HF__ACQUIRE_PEEK:
        return step_peek(a, ret_until);
    case HF__ACQUIRE_CLAIM:
        return step_claim(a, ret_until);
    case HF__ACQUIRE_MARK:
        return step_mark(a, ret_until);
    case HF__ACQUIRE_UNMARK:
        return step_unmark(a, ret_until);
    case HF__ACQUIRE_LET_GO:
        return step_let_go(a, ret_until);
    case HF__ACQUIRE_ENDED:
        return false;
    }
    HF_ASSERT(false && "a stage of no kind");
    return false;
}

bool hf__acquire_step(void *acquire, hf__time *ret_until)
{
    struct hf__acquire *a = acquire;

    if (a->stage == HF__ACQUIRE_MARK || a->stage == HF__ACQUIRE_UNMARK) {
        hf__time close_by = hf__client_close_by(a->client);

        if (!hf__is_never(close_by)) {
            hf__once_hurry(&a->ask, close_by);
        }
    }
    while (step_stage(a, ret_until)) {
        /* Take the next stage. */
    }
    return a->stage == HF__ACQUIRE_ENDED;
}

/* ---- making and dropping */

int hf__acquire_prepare(struct hf__acquire *a)
{
    hf_acquire_opts own = *a->opts;
    int r = HF_OK;

    own.cancel = NULL; /* parker and stop stand for it here */
    a->unready.parker = a->parker;
    a->unready.err = a->err;
    if (own.once_ms != 0) {
        r = hf__once_new(a->client, a->names[0], &own, &a->lock->once, a->err);
        ask_once(a, HF__ONCE_PEEK);
        a->stage = HF__ACQUIRE_PEEK; /* it may spare waiting in vain */
    }
    if (r != HF_OK || a->lock->parts != NULL) {
        return r;
    }
    r = hf__claim_new(a->client, a->names[0], &own, &a->claim);
    if (r != HF_OK) {
        return hf__fail(a->err, r, "out of memory");
    }
    a->claim->parker = a->parker;
    a->claim->stop = a->stop;
    return HF_OK;
}

void hf__acquire_fini(struct hf__acquire *a)
{
    if (a->claim != NULL) {
        hf__claim_unref(HF_MOVE(a->claim));
    }
}
