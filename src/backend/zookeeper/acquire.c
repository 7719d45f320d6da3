/* SPDX-License-Identifier: MIT */
/*
 * ACQUIRE by the ordered recipe, up to where the claim stands in the tree and
 * a listing was taken after that: what follows from it is fair.c's.
 *
 * A claim is made and the folder listed in one round trip. That it is about to
 * be made is remembered before anything is sent; so if the answer is lost,
 * nothing is made twice (again.c), and whatever is left can be found and taken
 * away (leave.c).
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/folder.h"

#include "src/base/error.h"

#include <string.h>

/* ---- making it */

static void take_made(struct hf__zk_task *t);

/* All in one round trip; but the folders alone, where the server may know no
 * containers: it hangs up on what came behind them, and its word with it. */
static void go_make(struct hf__zk_task *t)
{
    bool is_alone = t->n_folders > 0 &&
                    atomic_load(&hf__zk_task_common(t)->doubts_containers);

    for (int i = 0; i < t->n_folders; i++) {
        hf__zk_add(t, HF__ZK_MAKE_FOLDER, NULL);
    }
    if (!is_alone && hf__zk_is_simple(t)) {
        hf__zk_simple_add_made(t);
    } else if (!is_alone) {
        hf__zk_add(t, HF__ZK_MAKE_CLAIM, NULL);
        hf__zk_add(t, HF__ZK_LIST, NULL);
    }
    if (!is_alone) {
        hf__zk_vet_add(t);
    }
    hf__zk_then(t, take_made);
}

/* There is no folder: make it first; the next time those above it, too. */
static void make_folders(struct hf__zk_task *t)
{
    if (!hf__zk_folders_fine(t)) {
        return;
    }
    if (++t->n_attempts >= HF__ZK_ATTEMPTS_MAX) {
        hf__zk_forget(t);
        hf__zk_finish(t, hf__fail(t->op->err, HF__AGAIN,
                                  "the folder %s is taken away as often as it "
                                  "is made",
                                  t->folder));
        return;
    }
    t->n_folders = t->n_attempts == 1 ? 1 : hf__zk_count_folders(t->folder);
    go_make(t);
}

/* What the answers tell of containers. */
static void note_containers(const struct hf__zk_task *t)
{
    struct hf__zk_common *common = hf__zk_task_common(t);
    int last = t->n_folders - 1;
    int rc = last < 0 ? ZOK : hf__zk_rc(t, last);

    if (last >= 0 && !hf__zk_has_no_containers(t)) {
        atomic_store(&common->doubts_containers, rc == ZCONNECTIONLOSS);
        atomic_store(&common->has_no_containers, rc == ZUNIMPLEMENTED);
    }
}

static const char *name_made(const struct hf__zk_task *t,
                             const struct hf__zk_answer *a)
{
    return hf__zk_is_simple(t) ? HF__ZK_LOCK_NAME : strrchr(a->text, '/') + 1;
}

static void take_claim(struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i);

    if (a->rc != ZOK) {
        if (!hf__zk_lacks(t, i) || !a->was_sent) {
            hf__zk_forget(t);
        }
        hf__zk_fail_at(t, i, NULL);
        return;
    }
    hf__zk_note_name(t, name_made(t, a));
    t->born = (uint64_t)a->stat.czxid;
    if (hf__zk_see(t, i + 1)) {
        hf__zk_decide(t);
    }
}

static void take_made(struct hf__zk_task *t)
{
    int i = t->n_folders;
    const struct hf__zk_answer *a;

    note_containers(t);
    if (t->n_asked == t->n_folders) {
        if (hf__zk_folders_fine(t)) {
            t->n_folders = 0;
            go_make(t);
        }
        return;
    }
    a = hf__zk_answered(t, i);
    if (a->rc == ZNONODE) {
        make_folders(t);
    } else if (a->rc == ZOK && !hf__zk_vet_take(t, name_made(t, a))) {
        return;
    } else if (hf__zk_is_simple(t)) {
        hf__zk_simple_take_made(t, i);
    } else {
        take_claim(t, i);
    }
}

void hf__zk_make(struct hf__zk_task *t)
{
    t->own = (struct hf__zk_own){
        .stage = HF__ZK_DOUBTFUL, .manner = t->op->manner, .slot = -1};
    if (hf__zk_is_simple(t)) {
        hf__zk_twin_write(&t->op->token, t->own.slot_name);
    }
    t->mark = 0;
    if (hf__zk_own_add(hf__zk_task_common(t), t->op, &t->own) != HF_OK) {
        hf__zk_finish(
            t, hf__fail(t->op->err, HF_ENOMEM, "out of memory for a claim"));
        return;
    }
    t->is_known = true;
    t->may_join = !hf__zk_is_simple(t) && t->n_folders == 0;
    go_make(t);
}

void hf__zk_acquire(struct hf__zk_task *t)
{
    if (t->is_known) {
        hf__zk_again(t);
    } else if (hf__zk_is_try(t) && !hf__zk_is_simple(t) && t->n_attempts == 0) {
        hf__zk_try(t);
    } else {
        hf__zk_make(t);
    }
}

/* ---- for what follows */

void hf__zk_note_name(struct hf__zk_task *t, const char *name)
{
    size_t length = strlen(name);

    HF_ASSERT(length < sizeof t->own.name); /* we wrote it, but the sequence */
    memcpy(t->own.name, name, length + 1);
    t->own.stage = HF__ZK_STANDING;
    hf__zk_remember(t);
}

void hf__zk_note_slot(struct hf__zk_task *t, const char *name)
{
    size_t length = strlen(name);

    HF_ASSERT(length < sizeof t->own.slot_name);
    memcpy(t->own.slot_name, name, length + 1);
    t->own.is_slot_doubtful = false;
    hf__zk_remember(t);
}

void hf__zk_granted(struct hf__zk_task *t, uint64_t fence)
{
    if (hf__zk_has_user(&t->s->front) && !t->own.is_vetted) {
        t->entered = fence;
        hf__zk_vet(t);
        return;
    }
    t->own.stage = HF__ZK_GRANTED;
    t->own.fence = fence;
    t->own.since = hf__now();
    hf__zk_remember(t);
    t->op->fence = fence;
    t->op->slot = t->own.slot;
    hf__zk_finish(t, HF_OK);
}
