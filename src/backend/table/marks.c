/* SPDX-License-Identifier: MIT */
/*
 * Reads marks. Called by the session's thread.
 */
#include "src/backend/table/marks.h"

/* A queued claim that asks again is noted in its row, but not more often. */
#define SHOW_US (HF__TICKET_PATIENCE_MS * INT64_C(1000) / 8)

bool hf__participant_is_alone(const struct hf__participant *g)
{
    return g->lock_mode.mode == HF__MODE_EXCLUSIVE;
}

bool hf__op_is_own_only(const struct hf__op *op)
{
    return op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE;
}

/* ---- the name's own row */

static const struct hf__participant *holder_of(const struct hf__name *name)
{
    const struct hf__participant *holder = NULL;

    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (hf__participant_is_alone(g) &&
            (holder == NULL || (g->marks & HF__MARK_GONE) == 0)) {
            holder = g;
        }
    }
    return holder;
}

static bool is_any_left(const struct hf__participants *m, bool is_waiters)
{
    for (int i = 0; i < m->n; i++) {
        if ((m->list[i]->marks & HF__MARK_GONE) == 0 &&
            (is_waiters || !hf__participant_is_alone(m->list[i]))) {
            return true;
        }
    }
    return false;
}

static unsigned participants_of(const struct hf__name *name)
{
    return (is_any_left(&name->grants, false) ? HF__HAS_HOLDERS : 0U) |
           (is_any_left(&name->waiters, true) ? HF__HAS_WAITERS : 0U);
}

/* Is any grant marked, or (has_holders) any that stands beside others? */
static bool is_any_marked(const struct hf__name *name, bool has_holders)
{
    bool is_any = false;

    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        is_any |=
            g->marks != 0 && !(has_holders && hf__participant_is_alone(g));
    }
    return is_any;
}

/* ---- wake locks */

/* Take the wake lock of a new grant, unless that is detached, as nobody would
 * release it. Release that of the operation's own grant, or of a broken
 * exclusive one. */
static void choose_wake_lock(const struct hf__op *op,
                             const struct hf__name *name, struct hf__marks *m)
{
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];
        bool is_own = hf__token_equal(&g->token, &op->token);

        if ((g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0) {
            m->takes = g->is_detached ? NULL : &g->token;
        } else if (((g->marks & HF__MARK_GONE) != 0 && is_own &&
                    op->kind != HF__OP_ACQUIRE) ||
                   ((g->marks & HF__MARK_BROKEN) != 0 &&
                    hf__participant_is_alone(g))) {
            m->frees = &g->token;
        }
    }
}

/* ---- all of it */

void hf__marks_read(const struct hf__op *op, const struct hf__name *name,
                    struct hf__marks *ret_marks)
{
    const struct hf__participant *holder = holder_of(name);
    bool is_own_only = hf__op_is_own_only(op);

    *ret_marks = (struct hf__marks){.holder = holder};
    /* Is more changed than the queue? */
    ret_marks->is_whole =
        (name->marks != 0 || is_any_marked(name, false)) && !is_own_only;
    ret_marks->is_own = holder != NULL && holder->marks != 0 && is_own_only;
    ret_marks->has_holders = is_own_only && is_any_marked(name, true);
    ret_marks->must_run =
        op->kind == HF__OP_HANDOVER ||
        (holder != NULL &&
         (holder->marks & (HF__MARK_LEASE | HF__MARK_NEW)) == HF__MARK_LEASE);
    ret_marks->crowd = participants_of(name);
    choose_wake_lock(op, name, ret_marks);
}

/* ---- what was read */

void hf__table_forget_strays(struct hf__table_name *n, const struct hf__op *op)
{
    struct hf__participants *grants = &n->name.grants;
    struct hf__participants *waiters = &n->name.waiters;

    if (!hf__op_is_own_only(op) && op->kind != HF__OP_HANDOVER &&
        op->kind != HF__OP_RAISE) {
        return;
    }
    for (int i = 0; i < grants->n; i++) {
        if (!hf__participant_is_alone(grants->list[i]) &&
            (n->crowd & HF__HAS_HOLDERS) == 0) {
            grants->list[i]->marks = HF__MARK_GONE;
        }
    }
    for (int i = 0; i < waiters->n && (n->crowd & HF__HAS_WAITERS) == 0; i++) {
        waiters->list[i]->marks = HF__MARK_GONE;
    }
    hf__name_settle(&n->name);
}

bool hf__table_shows(const struct hf__table_name *n,
                     const struct hf__participant *ticket)
{
    return (ticket->marks & HF__MARK_NEW) == 0 &&
           n->name.now_us - ticket->ends_us >= SHOW_US;
}
