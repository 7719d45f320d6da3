/* SPDX-License-Identifier: MIT */
/*
 * ACQUIRE that will not wait: it looks first, and makes a claim only where it
 * would enter, so that those who try are in nobody's way, and in each other's
 * least of all. What it foresees, the sequence that its claim gets if nobody
 * comes between, is written into the claim: so everybody can tell one that has
 * entered from one that came a moment late and is about to leave. Called by the
 * session's thread.
 */
#include "src/backend/zookeeper/steps.h"

/* At those who are about to leave. */
#define TRY_LOOKS_MAX 3

static void take_name(struct hf__zk_task *t);

/* A server that stands alone has nothing to catch up with. */
static void look_at_name(struct hf__zk_task *t)
{
    if (!t->s->is_alone) {
        hf__zk_add(t, HF__ZK_SYNC, NULL);
    }
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_name);
}

static void take_who(struct hf__zk_task *t)
{
    bool is_leaving;

    (void)hf__zk_look_take(t);
    is_leaving = t->n_parties > 0 &&
                 (t->parties[0].is_try || hf__zk_rc(t, 0) == ZNONODE);
    if (is_leaving && ++t->n_looks < TRY_LOOKS_MAX) {
        look_at_name(t);
    } else {
        hf__zk_finish(t, HF_BUSY);
    }
}

static void go_in(struct hf__zk_task *t)
{
    bool is_free = t->line.n_fresh == 0;

    t->foreseen = is_free ? t->line.next : -1;
    t->foreseen_in = t->folder_born;
    if (!t->has_folder) {
        t->n_folders = 1;
        t->n_attempts = 1;
    }
    hf__zk_make(t);
}

static void take_name(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;

    if (!hf__zk_is_gone(t, 0, NULL) || !hf__zk_see(t, last)) {
        return;
    }
    t->verdict = hf__zk_judge_lock(t);
    if (t->verdict != HF_OK) {
        hf__zk_finish(t, t->verdict);
        return;
    }
    switch (hf__zk_line_would(&t->line, t->op->manner)) {
    case HF__ENTRY_OPEN:
        go_in(t);
        return;
    case HF__ENTRY_MISFIT:
        hf__zk_finish(t, hf__tell_misfit(t->op, hf__zk_line_slots(&t->line)));
        return;
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        break;
    }
    hf__zk_look_add_one(t);
    hf__zk_then(t, take_who);
}

void hf__zk_try(struct hf__zk_task *t)
{
    look_at_name(t);
}
