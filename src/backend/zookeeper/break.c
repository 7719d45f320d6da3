/* SPDX-License-Identifier: MIT */
/*
 * BREAK: the holders are read, and those that are meant taken away, each by the
 * path that only it ever has, or with the twin that only it ever has, so nobody
 * else is hit who came meanwhile. They notice by their next renewal, or because
 * they watch (listen.c). The fence that is told is the zxid of the last of it:
 * whoever enters later has a higher one. Called by the session's thread.
 */
#include "src/backend/zookeeper/task.h"

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

/* By the simple recipe. One that somebody made by hand, or whose twin somebody
 * took away by hand, has nothing of its own but its path. */
static void ask_cut_lock(struct hf__zk_task *t, int i,
                         const struct hf__zk_party *p)
{
    if (hf__token_is_zero(&p->token) || hf__token_equal(&p->token, &t->alone)) {
        hf__zk_ask_delete(t, i, HF__ZK_LOCK_NAME);
    } else {
        hf__zk_ask_delete_lock(t, i, &p->token);
    }
}

/* A slot and its claim, or a claim. */
static void ask_cut(struct hf__zk_task *t)
{
    int n = 0;

    for (int i = 0; i < t->n_parties; i++) {
        const struct hf__zk_party *p = &t->parties[i];

        if (!is_meant(t, p)) {
            continue;
        }
        if (p->taken >= 0) {
            hf__zk_ask_delete(t, n++, t->line.taken[p->taken].name);
        }
        if (p->claim >= 0) {
            hf__zk_ask_delete(t, n++, t->line.claims[p->claim].name);
        }
        if (p->claim < 0) {
            ask_cut_lock(t, n++, p);
        }
    }
    hf__zk_ask_exists(t, n, NULL);
}

static int count_cuts(const struct hf__zk_task *t)
{
    int n = 0;

    for (int i = 0; i < t->n_parties; i++) {
        const struct hf__zk_party *p = &t->parties[i];

        n += is_meant(t, p) ? 1 + (p->taken >= 0) : 0;
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

static const struct hf__zk_step listing;

/* The simple recipe's, if it is meant, and which request cuts it; or NULL. */
static const struct hf__zk_party *find_lock(const struct hf__zk_task *t,
                                            int *ret_i)
{
    *ret_i = 0;
    for (int i = 0; i < t->n_parties; i++) {
        const struct hf__zk_party *p = &t->parties[i];

        if (is_meant(t, p) && p->claim < 0) {
            return p;
        }
        *ret_i += is_meant(t, p) ? 1 + (p->taken >= 0) : 0;
    }
    return NULL;
}

/* Of a "lock" nothing was deleted, for it has no twin: it may be another by
 * now, or its twin was taken away by hand, which a second look tells. */
static bool looks_again(struct hf__zk_task *t)
{
    int i;
    const struct hf__zk_party *p = find_lock(t, &i);

    if (p == NULL || hf__zk_answered(t, i)->part != 0 ||
        hf__token_is_zero(&p->token) || hf__token_equal(&p->token, &t->alone)) {
        return false;
    }
    t->alone = p->token;
    hf__zk_next(t, &listing, 2);
    return true;
}

static void take_cut(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;
    uint64_t raised = highest_meant(t) + 1;
    bool was_any = false;

    for (int i = 0; i < last; i++) {
        if (hf__zk_rc(t, i) != ZOK && hf__zk_rc(t, i) != ZNONODE) {
            hf__zk_fail_at(t, i, NULL);
            return;
        }
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

static const struct hf__zk_step cutting = {true, ask_cut, take_cut};

static void ask_holders(struct hf__zk_task *t)
{
    hf__zk_look_ask(t, 0);
}

/* Of several, the record is that of the one which was meant. One that could not
 * be read may be it, unless it is known already which one that is. */
static void take_holders(struct hf__zk_task *t)
{
    bool is_whole = hf__zk_look_take(t, 0);
    bool is_clear = t->broken != 0 && count_meant(t) > 0;

    if (!is_whole && !is_clear) {
        hf__zk_look_fail(t, 0);
        return;
    }
    if (count_meant(t) == 0) {
        hf__zk_finish(t, HF_CONFLICT);
        return;
    }
    hf__zk_next(t, &cutting, count_cuts(t) + 1);
}

static const struct hf__zk_step reading = {false, ask_holders, take_holders};

static void take_listing(struct hf__zk_task *t)
{
    int n = hf__zk_search_take(t) ? hf__zk_look_plan(t) : -1;

    if (n > 0) {
        hf__zk_next(t, &reading, n);
    } else if (n == 0) {
        (void)hf__zk_look_take(t, 0);
        hf__zk_finish(t, HF_CONFLICT);
    }
}

/* Behind a sync: who holds it by a server that is behind is no matter. */
static const struct hf__zk_step listing = {false, hf__zk_search_ask,
                                           take_listing};

void hf__zk_break(struct hf__zk_task *t)
{
    t->broken = t->op->fence;
    hf__zk_next(t, &listing, 2);
}
