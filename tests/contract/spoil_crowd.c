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

static _Thread_local struct hf__link aside;

static struct hf__mem_entry *entry_of(void *s, const struct hf__op *op)
{
    return hf__mem_find(((struct hf__mem_session *)s)->store, &op->key);
}

/* ---- put aside and back, in their order */

static void put_line_aside(void *s, const struct hf__op *op)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);

    hf__list_init(&aside);
    if (e != NULL) {
        HF__LIST_EACH (link, &e->line) {
            hf__list_remove(link);
            hf__list_push(&aside, link);
        }
    }
}

static void put_back(struct hf__link *list)
{
    struct hf__link *first = list->next;

    HF__LIST_EACH (link, &aside) {
        hf__list_remove(link);
        hf__list_push(first, link);
    }
}

static void put_line_back(void *s, const struct hf__op *op)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);

    if (e != NULL && aside.next != NULL) {
        put_back(&e->line);
    }
}

static void put_grants_aside(void *s, const struct hf__op *op,
                             enum hf__mode mode)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);

    hf__list_init(&aside);
    if (e == NULL) {
        return;
    }
    HF__LIST_EACH (link, &e->grants) {
        if (HF__MEM_GRANT(link)->manner.mode == mode) {
            hf__list_remove(link);
            hf__list_push(&aside, link);
        }
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
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);

    if (e != NULL) {
        HF__LIST_EACH (link, &e->line) {
            HF__MEM_TICKET(link)->seen = hf__now();
        }
    }
}

void asking_again_begins_anew(void *s, struct hf__op *op)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);
    struct hf__mem_ticket *t =
        e == NULL ? NULL : hf__mem_ticket_of(e, &op->token);

    if (op->kind == HF__OP_ACQUIRE && t != NULL) {
        hf__list_remove(&t->link);
        hf__list_push(&e->line, &t->link);
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
    struct hf__mem_ticket *t = NULL;

    if (op->kind != HF__OP_ACQUIRE || op->result != HF_OK ||
        op->queueing != HF__QUEUE_ALWAYS) {
        return;
    }
    HF_SCOPED_FAMILY(&hf__mem_stores);
    t = hf__alloc(sizeof *t);
    HF_ASSERT(t != NULL);
    t->token = op->token;
    t->manner = op->manner;
    t->seen = hf__now();
    t->owner = *op->owner;
    hf__list_push(&entry_of(s, op)->line, &t->link);
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
    if (op->kind == HF__OP_ACQUIRE && op->manner.mode == HF__MODE_SHARED) {
        put_grants_aside(s, op, HF__MODE_EXCLUSIVE);
    }
}

void alone_beside_shared_request(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && op->manner.mode == HF__MODE_EXCLUSIVE) {
        put_grants_aside(s, op, HF__MODE_SHARED);
    }
}

void beside_answer(void *s, struct hf__op *op)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);

    if (e != NULL && aside.next != NULL) {
        put_back(&e->grants);
    }
}

void break_ends_one(void *s, struct hf__op *op)
{
    if (op->kind == HF__OP_BREAK && op->fence == 0) {
        HF_SCOPED_FAMILY(&hf__mem_stores);
        struct hf__mem_entry *e = entry_of(s, op);

        if (e != NULL && !hf__list_is_empty(&e->grants)) {
            op->fence = HF__MEM_GRANT(e->grants.next)->fence;
        }
    }
}

/* One lease for the name, not for each grant. */
void renewal_is_for_all(void *s, struct hf__op *op)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);
    hf__time end = hf__after_ns(hf__now(), op->lease_us * 1000);

    if (op->kind == HF__OP_RENEW && e != NULL) {
        HF__LIST_EACH (link, &e->grants) {
            HF__MEM_GRANT(link)->lease_end = end;
        }
    }
}

void any_number_of_slots_fits(void *s, struct hf__op *op)
{
    (void)s;
    if (op->kind == HF__OP_ACQUIRE && op->manner.slots > 1) {
        op->manner.slots = HF_SLOTS_MAX;
    }
}

void slot_is_given_twice(void *s, struct hf__op *op)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);
    struct hf__mem_grant *g =
        e == NULL ? NULL : hf__mem_grant_of(e, &op->token);

    if (op->kind == HF__OP_ACQUIRE && g != NULL && op->slot >= 0) {
        g->slot = 0;
        op->slot = 0;
    }
}

/* A counter for each that stands there, not one for the name. */
void fence_is_each_ones_own(void *s, struct hf__op *op)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__mem_entry *e = entry_of(s, op);

    if (op->kind == HF__OP_ACQUIRE && op->result == HF_OK) {
        struct hf__mem_grant *g = hf__mem_grant_of(e, &op->token);

        g->fence = HF__MEM_GRANT(e->grants.next)->fence;
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
