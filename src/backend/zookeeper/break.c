/* SPDX-License-Identifier: MIT */
/*
 * BREAK: the holders are read, and those that are meant taken away, each by the
 * path that only it ever has, or with the twin that only it ever has, so nobody
 * else is hit who came meanwhile. They notice by their next renewal, or because
 * they watch (listen.c). The fence that is told is the zxid of the last of it:
 * whoever enters later has a higher one. Called by the session's thread.
 */
#include "src/backend/zookeeper/steps.h"

#include "src/base/error.h"

static bool is_meant(const struct hf__zk_task *t, const struct hf__zk_party *p)
{
    return p->is_holder && (t->broken == 0 || t->broken == p->fence);
}

static int count_meant(const struct hf__zk_task *t)
{
    int n = 0;

    for (int i = 0; i < t->n_parties; i++) {
        n += is_meant(t, &t->parties[i]) ? 1 : 0;
    }
    return n;
}

static uint64_t highest_meant(const struct hf__zk_task *t)
{
    uint64_t highest = 0;

    for (int i = 0; i < t->n_parties; i++) {
        uint64_t fence = t->parties[i].fence;

        highest =
            is_meant(t, &t->parties[i]) && fence > highest ? fence : highest;
    }
    return highest;
}

static void list_holders(struct hf__zk_task *t);

/* Of a "lock" nothing was deleted, for it has no twin: it may be another by
 * now, or its twin was taken away by hand, which a second look tells. */
static bool looks_again(struct hf__zk_task *t)
{
    if (t->lock_at < 0 || hf__zk_answered(t, t->lock_at)->part != 0) {
        return false;
    }
    t->alone = t->lock;
    list_holders(t);
    return true;
}

static void take_cut(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;
    uint64_t raised = highest_meant(t) + 1;
    bool was_any = false;

    if (!hf__zk_are_gone(t, last)) {
        return;
    }
    for (int i = 0; i < last; i++) {
        was_any |= hf__zk_rc(t, i) == ZOK;
    }
    if (!was_any && looks_again(t)) {
        return;
    }
    if (!was_any) {
        t->verdict = HF_CONFLICT; /* somebody else was first */
        hf__zk_list_and_tell(t);
        return;
    }
    /* Without a folder, nobody has come since. */
    if (hf__zk_rc(t, last) == ZOK &&
        (uint64_t)hf__zk_answered(t, last)->stat.pzxid > raised) {
        raised = (uint64_t)hf__zk_answered(t, last)->stat.pzxid;
    }
    t->op->fence = raised;
    hf__zk_finish(t, HF_OK);
}

/* By the simple recipe. One that somebody made by hand, or whose twin somebody
 * took away by hand, has nothing of its own but its path. */
static void cut_lock(struct hf__zk_task *t, const struct hf__token *token)
{
    if (hf__token_is_zero(token) || hf__token_equal(token, &t->alone)) {
        hf__zk_add(t, HF__ZK_DELETE, HF__ZK_LOCK_NAME);
    } else {
        t->lock = *token;
        hf__zk_twin_write(token, t->twin);
        t->lock_at = hf__zk_add(t, HF__ZK_DELETE_LOCK, NULL);
    }
}

/* A slot and its claim, or a claim. */
static void cut(struct hf__zk_task *t)
{
    t->lock_at = -1;
    for (int i = 0; i < t->n_parties; i++) {
        const struct hf__zk_party *p = &t->parties[i];

        if (!is_meant(t, p)) {
            continue;
        }
        if (p->taken >= 0) {
            hf__zk_add(t, HF__ZK_DELETE, t->line.taken[p->taken].name);
        }
        if (p->claim >= 0) {
            hf__zk_add(t, HF__ZK_DELETE, t->line.claims[p->claim].name);
        } else {
            cut_lock(t, &p->token);
        }
    }
    hf__zk_add(t, HF__ZK_EXISTS, NULL);
    hf__zk_then(t, take_cut);
}

/* Of several, the record is that of the one which was meant. One that could not
 * be read may be it, unless it is known already which one that is. */
static void take_holders(struct hf__zk_task *t)
{
    bool is_whole = hf__zk_look_take(t);
    bool is_clear = t->broken != 0 && count_meant(t) > 0;

    if (!is_whole && !is_clear) {
        hf__zk_look_fail(t);
    } else if (count_meant(t) == 0) {
        hf__zk_finish(t, HF_CONFLICT);
    } else {
        cut(t);
    }
}

static void take_holders_listing(struct hf__zk_task *t)
{
    if (hf__zk_see_search(t) && hf__zk_look_add_all(t)) {
        hf__zk_then(t, take_holders);
    }
}

/* Behind a sync: who holds it by a server that is behind is no matter. */
static void list_holders(struct hf__zk_task *t)
{
    hf__zk_add_search(t);
    hf__zk_then(t, take_holders_listing);
}

void hf__zk_break(struct hf__zk_task *t)
{
    t->broken = t->op->fence;
    list_holders(t);
}
