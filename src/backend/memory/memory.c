/* SPDX-License-Identifier: MIT */
/*
 * memory:NAME, the contract as a program: what every operation does to a
 * record, with nothing else in the way. Read it beside backend.h before you
 * write a store. It serves tests, and programs whose locks need not reach
 * beyond their own process.
 *
 * One mutex guards everything, so a batch is one atomic step. Sleeping is by
 * one parker for each store: whoever changes a record wakes all, and all look
 * again. Where the records are kept, and until when, is store.c's; going
 * through all of them is survey.c's.
 */
#include "src/backend/memory/store.h"
#include "src/backend/registry.h"

#include "src/base/error.h"

#include <string.h>

static hf__time after_us(hf__time t, int64_t us)
{
    return hf__after_ns(t, us * 1000);
}

/* ---- the operations */

static bool is_owner(const struct hf__mem_entry *e, const struct hf__op *op)
{
    return e != NULL && hf__token_equal(&e->token, &op->token);
}

static int grant(struct hf__mem_entry *e, const struct hf__token *token,
                 struct hf__op *op, hf__time now)
{
    e->token = *token;
    e->fence = hf__fence_after(e->fence, hf__wall_us());
    e->acquired_us = hf__wall_us();
    e->touched = now;
    e->lease_end = after_us(now, op->lease_us);
    e->keep_end = after_us(now, op->keep_us);
    e->owner = *op->owner;
    op->fence = e->fence;
    return HF_OK;
}

static int lost(const struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    uint64_t stored = e == NULL ? 0 : e->fence;

    hf__mem_describe(e, now, op->ret_record);
    op->ret_reason =
        hf__reason_for(op->fence, stored, e == NULL ? 0 : e->broken);
    op->fence = stored;
    return HF_LOST;
}

static int acquire(struct hf__mem_store *store, struct hf__mem_entry *e,
                   struct hf__op *op, hf__time now)
{
    if (e == NULL) {
        e = hf__mem_add(store, &op->key);
    }
    if (e == NULL) {
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a record");
    }
    if (hf__mem_is_held(e, now) && is_owner(e, op)) {
        e->lease_end = after_us(now, op->lease_us);
        e->keep_end = after_us(now, op->keep_us);
        e->owner = *op->owner;
        op->fence = e->fence;
        return HF_OK;
    }
    if (hf__mem_is_held(e, now) ||
        (hf__mem_is_kept(e, now) && !is_owner(e, op))) {
        hf__mem_describe(e, now, op->ret_record);
        return HF_BUSY;
    }
    return grant(e, &op->token, op, now);
}

static int renew(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    if (!is_owner(e, op) || !hf__mem_is_held(e, now)) {
        return lost(e, op, now);
    }
    e->lease_end = after_us(now, op->lease_us);
    return HF_OK;
}

static int hand_over(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    if (!is_owner(e, op) || !hf__mem_is_held(e, now)) {
        return lost(e, op, now);
    }
    return grant(e, &op->next_token, op, now);
}

static int release(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    if (!is_owner(e, op)) {
        return lost(e, op, now);
    }
    memset(&e->token, 0, sizeof e->token);
    e->touched = now;
    if (op->reopens) {
        e->keep_end = now;
    }
    return HF_OK;
}

static int raise_fence(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    if (!is_owner(e, op)) {
        return lost(e, op, now);
    }
    e->fence = op->fence > e->fence ? op->fence : e->fence;
    op->fence = e->fence;
    return HF_OK;
}

static int break_grant(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    hf__mem_describe(e, now, op->ret_record);
    if (e == NULL || !(hf__mem_is_held(e, now) || hf__mem_is_kept(e, now)) ||
        (op->fence != 0 && op->fence != e->fence)) {
        return HF_CONFLICT;
    }
    memset(&e->token, 0, sizeof e->token);
    e->keep_end = now;
    e->touched = now;
    e->broken = e->fence;
    e->fence = hf__fence_after(e->fence, hf__wall_us());
    op->fence = e->fence;
    return HF_OK;
}

static int apply(struct hf__mem_store *store, struct hf__op *op, hf__time now)
{
    struct hf__mem_entry *e = hf__mem_find(store, &op->key);

    switch (op->kind) {
    case HF__OP_RENEW:
        return renew(e, op, now);
    case HF__OP_RELEASE:
        return release(e, op, now);
    case HF__OP_HANDOVER:
        return hand_over(e, op, now);
    case HF__OP_RAISE:
        return raise_fence(e, op, now);
    case HF__OP_ACQUIRE:
        return acquire(store, e, op, now);
    case HF__OP_BREAK:
        return break_grant(e, op, now);
    case HF__OP_INSPECT:
        break;
    }
    hf__mem_describe(e, now, op->ret_record);
    return HF_OK;
}

/* Nothing here can fail halfway, so no result is ever HF_EUNKNOWN. The names
 * of a batch differ and the batch is one step: the order of its kinds, which
 * backend.h fixes, can't be seen. */
static int memory_execute(void *s, struct hf__op *ops[], int n,
                          hf__time deadline, hf_error *err)
{
    struct hf__mem_store *store = ((struct hf__mem_session *)s)->store;

    (void)deadline;
    (void)err;
    HF_SCOPED_LOCK(&hf__mem_mutex);
    for (int i = 0; i < n; i++) {
        ops[i]->result = apply(store, ops[i], hf__now());
    }
    hf__unpark(&store->changed);
    return HF_OK;
}

/* ---- waiting */

/* Has the record moved on since the watch saw it? If not, *next is no later
 * than the point at which it will. */
static bool has_changed(const struct hf__mem_entry *e,
                        const struct hf__watch *w, hf__time now, hf__time *next)
{
    if (e == NULL || e->fence != w->fence) {
        return true;
    }
    if (hf__mem_is_held(e, now)) {
        *next = hf__earlier(*next, e->lease_end);
        return !hf__token_equal(&e->token, &w->token);
    }
    *next = hf__earlier(*next, e->keep_end);
    return !hf__mem_is_kept(e, now) || !hf__token_is_zero(&w->token);
}

static bool look(struct hf__mem_store *store, struct hf__watch *w[], int n,
                 hf__time *next)
{
    hf__time now = hf__now();
    bool has_fired = false;

    HF_SCOPED_LOCK(&hf__mem_mutex);
    for (int i = 0; i < n; i++) {
        w[i]->has_fired =
            has_changed(hf__mem_find(store, &w[i]->key), w[i], now, next);
        has_fired |= w[i]->has_fired;
    }
    return has_fired;
}

static int memory_wait(void *state, struct hf__watch *w[], int n,
                       hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;
    struct hf__mem_store *store = s->store;

    (void)err;
    for (;;) {
        /* Arm first, then look: a change in between ends the sleep. */
        unsigned seen = hf__parker_seen(&store->changed);
        hf__time next = deadline;

        if (look(store, w, n, &next) || hf__is_interrupted(&s->head) ||
            !hf__before(hf__now(), deadline)) {
            return HF_OK;
        }
        hf__park(&store->changed, seen, next);
    }
}

static void memory_interrupt(void *state)
{
    struct hf__mem_session *s = state;

    HF_SCOPED_LOCK(&hf__mem_mutex);
    if (s->store != NULL) {
        hf__unpark(&s->store->changed);
    }
}

/* ---- looking */

static int memory_check(void *s, hf__check_fn fn, void *arg, hf__time deadline,
                        hf_error *err)
{
    const hf_check_item item = {
        .size = sizeof item,
        .name = "durability",
        .value = "none (memory)",
        .verdict = HF_WARN,
        .remedy = "the locks end with this process; use sqlite:PATH for locks "
                  "between processes",
    };

    (void)s;
    (void)deadline;
    (void)err;
    (void)fn(arg, &item);
    return HF_OK;
}

/* ---- sessions */

static int memory_open(void *state, const struct hf__url *url,
                       const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;

    (void)allow;
    (void)deadline;
    HF_SCOPED_LOCK(&hf__mem_mutex);
    hf__mem_sweep();
    s->store = hf__mem_store(url->path);
    if (s->store == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a store");
    }
    s->store->sessions++;
    s->head.facts = (struct hf__facts){'D', HF_REACH_PROCESS};
    return HF_OK;
}

static void memory_close(void *state)
{
    struct hf__mem_session *s = state;

    HF_SCOPED_LOCK(&hf__mem_mutex);
    if (s->store != NULL) {
        s->store->sessions--;
        s->store = NULL;
        hf__mem_sweep();
    }
}

static const char *const no_options[] = {NULL};

const struct hf__backend hf__memory_backend = {
    .scheme = "memory",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |
            HF_CAP_KEEP | HF_CAP_DETACH,
    .size = sizeof(struct hf__mem_session),
    .options = no_options,
    .is_local = true,
    .open = memory_open,
    .close = memory_close,
    .execute = memory_execute,
    .wait = memory_wait,
    .list = hf__mem_list,
    .gc = hf__mem_gc,
    .check = memory_check,
    .interrupt = memory_interrupt,
};
