/* SPDX-License-Identifier: MIT */
/*
 * Cutting a batch: which operations the hot path takes, and which of them go
 * into one statement. Called by the session's thread.
 */
#include "src/backend/mysql/plan.h"

bool hf__plan_is_hot(const struct hf__op *op)
{
    switch (op->kind) {
    case HF__OP_HANDOVER:
        return true;
    case HF__OP_RENEW:
    case HF__OP_RELEASE:
    case HF__OP_ACQUIRE:
        return op->manner.mode == HF__MODE_EXCLUSIVE;
    case HF__OP_INSPECT:
        return op->ret_crowd == NULL;
    case HF__OP_RAISE:
    case HF__OP_BREAK:
        break;
    }
    return false;
}

static enum hf__form form_of(enum hf__op_kind kind)
{
    switch (kind) {
    case HF__OP_RENEW:
        return HF__FORM_RENEW;
    case HF__OP_RELEASE:
        return HF__FORM_RELEASE;
    case HF__OP_HANDOVER:
        return HF__FORM_HANDOVER;
    case HF__OP_ACQUIRE:
        return HF__FORM_ACQUIRE;
    case HF__OP_INSPECT:
    case HF__OP_RAISE:
    case HF__OP_BREAK:
        break;
    }
    return HF__FORM_INSPECT;
}

/* A unit of all that are alike to the first, which are taken. */
static void cut_alike(struct hf__plan *p, struct hf__op *ops[], int n, int *at)
{
    struct hf__op *first = ops[0];
    struct hf__unit *unit = &p->units[p->n_units++];

    *unit = (struct hf__unit){form_of(first->kind), &p->ops[*at], 0};
    for (int i = 0; i < n; i++) {
        bool is_alike =
            i == 0 || (ops[i] != NULL && ops[i]->kind == first->kind &&
                       hf__hot_are_alike(first, ops[i]));

        if (is_alike) {
            p->ops[(*at)++] = ops[i];
            unit->n++;
            ops[i] = NULL;
        }
    }
}

void hf__plan_make(struct hf__plan *p, struct hf__op *const ops[], int n)
{
    struct hf__op *left[HF__PLAN_MAX];
    int at = 0;

    p->n_units = 0;
    for (int i = 0; i < n; i++) {
        left[i] = hf__plan_is_hot(ops[i]) ? ops[i] : NULL;
    }
    for (int kind = HF__OP_RENEW; kind <= HF__OP_BREAK; kind++) {
        for (int i = 0; i < n; i++) {
            if (left[i] != NULL && left[i]->kind == (enum hf__op_kind)kind) {
                cut_alike(p, left + i, n - i, &at);
            }
        }
    }
}
