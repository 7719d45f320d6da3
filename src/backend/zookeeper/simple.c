/* SPDX-License-Identifier: MIT */
/*
 * The simple recipe: whoever makes the child "lock" has the name, in one round
 * trip; there is no line, nobody stands beside another, and its zxid is the
 * fence. What it can't see is a claim of the other recipe: so who makes one
 * lists the folder behind it, and the later of the two, which sees the other,
 * gives up.
 *
 * The child's path is everybody's. That it is ours is known by its zxid, or
 * where that was never told, by the token in it and its session; how it is
 * deleted so that no other is, is said with its twin below.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/steps.h"

#include "src/base/error.h"

#include <string.h>

bool hf__zk_simple_is_ours(const struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i);
    struct hf__zk_facts facts;

    if (a->rc != ZOK) {
        return false;
    }
    if (t->is_known && t->own.stage == HF__ZK_GRANTED) {
        return (uint64_t)a->stat.czxid == t->own.fence;
    }
    hf__zk_facts_read(a->text, (size_t)a->length, &facts);
    return hf__token_equal(&facts.token, &t->op->token) &&
           (t->op->kind == HF__OP_RELEASE ||
            a->stat.ephemeralOwner == hf__zk_session(&t->s->front));
}

/* ---- twins
 *
 * Deleting is by path, and no condition of ZooKeeper's tells two nodes apart
 * that had the same one: the versions of the second begin anew. So each "lock"
 * has a twin whose name is its token's, and the two come and go in one
 * transaction, which fails if the twin is not there. So nobody's lock is
 * deleted by who had it before:
 *
 * - If our store took the old one away, its twin has gone with it.
 * - If somebody deleted "lock" alone, by hand, its twin is still there. Who
 *   makes the next lock lists the folder behind it, and believes in it only
 *   once all twins that are older than its own are gone: theirs are no locks
 *   any more, for there was none when its own was made. If one of them is used
 *   before that, our lock is missing in the listing that follows.
 */

static bool is_own(const struct hf__zk_task *t, int i)
{
    return hf__token_equal(&t->line.twins[i].token, &t->op->token);
}

static bool has_own(const struct hf__zk_task *t)
{
    for (int i = 0; i < t->line.n_twins; i++) {
        if (is_own(t, i)) {
            return t->line.has_lock;
        }
    }
    return false;
}

static void take_swept_twins(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;

    if (hf__zk_are_gone(t, last) && hf__zk_see(t, last)) {
        hf__zk_simple_decide(t);
    }
}

static void sweep_twins(struct hf__zk_task *t)
{
    for (int i = 0; i < t->line.n_twins; i++) {
        if (!is_own(t, i)) {
            hf__zk_add(t, HF__ZK_DELETE, t->line.twins[i].name);
        }
    }
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_swept_twins);
}

/* A younger one was made with a lock, so ours has gone before. */
static void take_dates(struct hf__zk_task *t)
{
    for (int i = 0; i < t->n_asked; i++) {
        const struct hf__zk_answer *a = hf__zk_answered(t, i);

        if (!hf__zk_is_gone(t, i, t->line.twins[i].name)) {
            return;
        }
        if (a->rc == ZOK && (uint64_t)a->stat.czxid > t->born) {
            hf__zk_start_anew(t);
            return;
        }
    }
    sweep_twins(t);
}

static void date_twins(struct hf__zk_task *t)
{
    for (int i = 0; i < t->line.n_twins; i++) {
        hf__zk_add(t, HF__ZK_EXISTS, t->line.twins[i].name);
    }
    hf__zk_then(t, take_dates);
}

/* ---- ACQUIRE */

/* One of the two is gone: if the other stands, it was made by us all the same,
 * and would be in our own way. */
static void leave_and_start_anew(struct hf__zk_task *t)
{
    t->verdict = HF__AGAIN;
    hf__zk_simple_leave(t);
}

void hf__zk_simple_decide(struct hf__zk_task *t)
{
    if (t->line.n > 0) {
        t->verdict = hf__fail(
            t->op->err, HF_EUNSAFE,
            "%s is used with recipe=fair by others, which would not see a lock "
            "of recipe=simple: use one recipe for a name",
            t->folder);
        hf__zk_simple_leave(t);
    } else if (!has_own(t)) {
        leave_and_start_anew(t);
    } else if (t->line.n_twins > 1) {
        date_twins(t);
    } else {
        hf__zk_granted(t, t->born);
    }
}

void hf__zk_simple_add_made(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_MAKE_LOCK, NULL);
    hf__zk_add(t, HF__ZK_EXISTS, t->own.slot_name);
    hf__zk_add(t, HF__ZK_LIST, NULL);
}

/* The zxid is the twin's as well, whose name nobody else has. */
static void take_pair(struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i + 1);

    hf__zk_note_name(t, HF__ZK_LOCK_NAME);
    if (a->rc == ZNONODE) {
        leave_and_start_anew(t); /* somebody has broken it, or the twin */
    } else if (a->rc != ZOK) {
        hf__zk_fail_at(t, i + 1, t->own.slot_name);
    } else if (hf__zk_see(t, i + 2)) {
        t->born = (uint64_t)a->stat.czxid;
        hf__zk_simple_decide(t);
    }
}

void hf__zk_simple_take_made(struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i);

    if (a->rc == ZOK) {
        take_pair(t, i);
    } else if (a->rc == ZNODEEXISTS && a->part == 1) {
        hf__zk_start_anew(t); /* a twin is left of a claim with this token */
    } else if (a->rc == ZNODEEXISTS) {
        hf__zk_forget(t);
        t->verdict = HF_BUSY;
        if (hf__zk_see(t, i + 2)) {
            hf__zk_tell(t);
        }
    } else {
        if (!hf__zk_lacks(t, i) || !a->was_sent) {
            hf__zk_forget(t);
        }
        hf__zk_fail_at(t, i, NULL);
    }
}

/* ---- ACQUIRE of what is there, or may be */

enum { AGAIN_SYNC, AGAIN_LOCK, AGAIN_LIST, AGAIN_PROOF };

static void take_own(struct hf__zk_task *t)
{
    for (int i = 0; i < t->n_asked; i++) {
        if (hf__zk_lacks(t, i)) {
            hf__zk_fail_at(t, i, NULL);
            return;
        }
    }
    if (!hf__zk_is_gone(t, AGAIN_LOCK, HF__ZK_LOCK_NAME)) {
        return;
    }
    if (!hf__zk_shows_life(hf__zk_rc(t, AGAIN_PROOF))) {
        hf__zk_fail_at(t, AGAIN_PROOF, HF__ZK_LOCK_NAME);
    } else if (!hf__zk_simple_is_ours(t, AGAIN_LOCK)) {
        hf__zk_start_anew(t);
    } else if (t->own.stage == HF__ZK_GRANTED) {
        hf__zk_granted(t, t->own.fence);
    } else if (hf__zk_see(t, AGAIN_LIST)) {
        hf__zk_note_name(t, HF__ZK_LOCK_NAME);
        t->born = (uint64_t)hf__zk_answered(t, AGAIN_LOCK)->stat.czxid;
        hf__zk_simple_decide(t);
    }
}

void hf__zk_simple_again(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_SYNC, NULL);
    hf__zk_add(t, HF__ZK_GET, HF__ZK_LOCK_NAME);
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_add(t, HF__ZK_PROOF, HF__ZK_LOCK_NAME);
    hf__zk_then(t, take_own);
}
