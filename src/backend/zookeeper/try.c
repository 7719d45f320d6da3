/* SPDX-License-Identifier: MIT */
/*
 * ACQUIRE that will not wait: it looks first, and makes a claim only where it
 * would enter, so that those who try are in nobody's way, and in each other's
 * least of all. What it foresees, the sequence that its claim gets if nobody
 * comes between, is written into the claim: so everybody can tell one that has
 * entered from one that came a moment late and is about to leave. Called by the
 * session's thread.
 */
#include "src/backend/zookeeper/task.h"

/* At those who are about to leave. */
#define LOOKS_MAX 3

bool hf__zk_is_try(const struct hf__zk_task *t)
{
    return t->op->queueing == HF__QUEUE_NEVER;
}

/* A server that stands alone has nothing to catch up with. */
static void ask_look(struct hf__zk_task *t)
{
    if (t->n_calls > 1) {
        hf__zk_ask_sync(t, 0);
    }
    hf__zk_ask_list(t, t->n_calls - 1);
}

static void take_look(struct hf__zk_task *t);
static const struct hf__zk_step looking = {false, ask_look, take_look};

static void look(struct hf__zk_task *t)
{
    hf__zk_next(t, &looking, t->s->is_alone ? 1 : 2);
}

static void ask_who(struct hf__zk_task *t)
{
    hf__zk_look_ask(t, 0);
}

static void take_who(struct hf__zk_task *t)
{
    bool is_leaving;

    (void)hf__zk_look_take(t, 0);
    is_leaving = t->parties[0].is_try || hf__zk_rc(t, 0) == ZNONODE;
    if (is_leaving && ++t->n_looks < LOOKS_MAX) {
        look(t);
    } else {
        hf__zk_finish(t, HF_BUSY);
    }
}

static const struct hf__zk_step asking_who = {false, ask_who, take_who};

static void be_refused(struct hf__zk_task *t)
{
    int n = hf__zk_look_plan_one(t);

    if (n > 0) {
        hf__zk_next(t, &asking_who, n);
    } else {
        (void)hf__zk_look_take(t, 0);
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

static void take_look(struct hf__zk_task *t)
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
    be_refused(t);
}

void hf__zk_try(struct hf__zk_task *t)
{
    look(t);
}
