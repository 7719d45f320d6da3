/* SPDX-License-Identifier: MIT */
/*
 * Rules about those at a name, broken one by one, with a hand in memory:'s
 * records: what the store is not to see is put aside for the length of one
 * operation. Which mutant does what is the table's in mutants.c.
 */
#include "tests/contract/spoil_crowd.h"

#include "src/backend/memory/store.h"
#include "src/backend/registry.h"
#include "src/base/alloc.h"

static _Thread_local struct hf__participants aside;

/* NULL: nobody has had the name. */
static struct hf__name *name_of(void *s, const struct hf__op *op)
{
    struct hf__mem_entry *e =
        hf__mem_find(((struct hf__mem_session *)s)->store, &op->key);

    return e == NULL ? NULL : &e->name;
}

/* ---- put aside and back, in their order */

static void put_aside(struct hf__participants *list, int mode)
{
    int n = 0;

    hf__free(aside.list);
    aside = (struct hf__participants){
        .list = hf__alloc((size_t)(list->n + 1) * sizeof *list->list)};
    HF_ASSERT(aside.list != NULL);
    for (int i = 0; i < list->n; i++) {
        if (mode < 0 || list->list[i]->lock_mode.mode == (enum hf__mode)mode) {
            aside.list[aside.n++] = list->list[i];
        } else {
            list->list[n++] = list->list[i];
        }
    }
    list->n = n;
}

static void put_line_aside(void *s, const struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);

    if (name != NULL) {
        put_aside(&name->waiters, -1);
    }
}

/* Before those who came meanwhile. */
static void put_back(struct hf__participants *list)
{
    struct hf__participants both = {
        .room = list->n + aside.n + 2,
        .n = list->n + aside.n,
        .list = hf__alloc((size_t)(list->n + aside.n + 2) * sizeof *both.list)};

    HF_ASSERT(both.list != NULL);
    for (int i = 0; i < both.n; i++) {
        both.list[i] = i < aside.n ? aside.list[i] : list->list[i - aside.n];
    }
    hf__free(list->list);
    hf__free(aside.list);
    *list = both;
    aside = (struct hf__participants){0};
}

static void put_line_back(void *s, const struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);

    if (name != NULL && aside.n > 0) {
        put_back(&name->waiters);
    }
}

static void put_grants_aside(void *s, const struct hf__op *op,
                             enum hf__mode mode)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);

    if (name != NULL) {
        put_aside(&name->grants, (int)mode);
    }
}

/* ---- the line */

void barging_request(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && op->queueing == HF__QUEUE_NEVER) {
        put_line_aside(s, op);
    }
}

void barging_handover_request(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_HANDOVER) {
        put_line_aside(s, op);
    }
}

void barging_answer(void *s, struct hf__op *op)
{
    put_line_back(s, op);
}

void tickets_live_for_ever(void *s, struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);

    for (int i = 0; name != NULL && i < name->waiters.n; i++) {
        name->waiters.list[i]->seen_us = name->now_us;
    }
}

void asking_again_begins_anew(void *s, struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);
    int n = name == NULL ? 0 : name->waiters.n;

    for (int i = 0; op->kind == HF__OP_ACQUIRE && i + 1 < n; i++) {
        struct hf__participant **at = &name->waiters.list[i];

        if (hf__token_equal(&at[0]->token, &op->token)) {
            struct hf__participant *t = at[0];

            at[0] = at[1];
            at[1] = t;
        }
    }
}

void release_keeps_ticket_request(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_RELEASE) {
        put_line_aside(s, op);
    }
}

/* As an insert into the holders without the delete from the line. */
void grant_keeps_ticket(void *s, struct hf__op *op)
{
    struct hf__name *name = NULL;
    struct hf__participant *t = NULL;

    if (op->kind != HF__OP_ACQUIRE || op->result != HF_OK ||
        op->queueing != HF__QUEUE_ALWAYS) {
        return;
    }
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    name = name_of(s, op);
    HF_ASSERT(name != NULL);
    t = hf__participants_add(&name->waiters, -1);
    HF_ASSERT(t != NULL);
    t->token = op->token;
    t->lock_mode = op->lock_mode;
    t->seen_us = name->now_us;
    t->owner = *op->owner;
}

void nobody_queues_behind_shared(void *s, struct hf__op *op)
{
    (void)s;
    if (op->queueing == HF__QUEUE_BEHIND_SHARED) {
        op->queueing = HF__QUEUE_NEVER;
    }
}

int wait_forgets_the_ticket(void *s, struct hf__watch *w[], int n,
                            hf__time deadline, hf_error *err)
{
    for (int i = 0; i < n; i++) {
        w[i]->ticket = (struct hf__token){{0}};
    }
    return hf__memory_backend.wait(s, w, n, deadline, err);
}

/* ---- grants beside others */

void shared_beside_alone_request(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && op->lock_mode.mode == HF__MODE_SHARED) {
        put_grants_aside(s, op, HF__MODE_EXCLUSIVE);
    }
}

void alone_beside_shared_request(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE &&
        op->lock_mode.mode == HF__MODE_EXCLUSIVE) {
        put_grants_aside(s, op, HF__MODE_SHARED);
    }
}

void beside_answer(void *s, struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);

    if (name != NULL && aside.n > 0) {
        put_back(&name->grants);
    }
}

void break_ends_one(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_BREAK && op->fence == 0) {
        HF_SCOPED_FORK_LIST(&hf__mem_stores);
        struct hf__name *name = name_of(s, op);

        if (name != NULL && name->grants.n > 0) {
            op->fence = name->grants.list[0]->fence;
        }
    }
}

/* One lease for the name, not for each grant. */
void renewal_is_for_all(void *s, struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);
    int n = name == NULL || op->kind != HF__OP_RENEW ? 0 : name->grants.n;

    for (int i = 0; i < n; i++) {
        name->grants.list[i]->ends_us = name->now_us + op->lease_us;
    }
}

void any_number_of_slots_fits(void *s, struct hf__op *op)
{
    (void)s;
    if (op->kind == HF__OP_ACQUIRE && op->lock_mode.slots > 1) {
        op->lock_mode.slots = HF_SLOTS_MAX;
    }
}

void slot_is_given_twice(void *s, struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);
    struct hf__participant *g =
        name == NULL ? NULL : hf__participants_find(&name->grants, &op->token);

    if (op->kind == HF__OP_ACQUIRE && g != NULL && op->slot >= 0) {
        g->slot = 0;
        op->slot = 0;
    }
}

/* A counter for each that stands there, not one for the name. */
void fence_is_each_ones_own(void *s, struct hf__op *op)
{
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__name *name = name_of(s, op);

    if (op->kind == HF__OP_ACQUIRE && op->result == HF_OK) {
        struct hf__participant *g =
            hf__participants_find(&name->grants, &op->token);

        g->fence = name->grants.list[0]->fence;
        op->fence = g->fence;
    }
}

void broken_looks_expired(void *s, struct hf__op *op)
{
    (void)s;
    if (op->ret_reason == HF_REASON_BROKEN) {
        op->ret_reason = HF_REASON_EXPIRED;
    }
}
