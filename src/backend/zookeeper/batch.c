/* SPDX-License-Identifier: MIT */
/*
 * execute(): all operations of a batch at once; most need one round trip: a
 * claim is made and the folder listed right behind it, for the server keeps the
 * order of one session's requests. The names of a batch differ, so the order of
 * the kinds can't be seen.
 *
 * What all recipes share: who stands at a name is who has an ephemeral child
 * there, made by the session of the link; the lease is the session's. Nothing
 * that is granted rests on what this process remembers but whose child it is.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/steps.h"

#include "src/base/error.h"

static void begin(struct hf__zk_task *t)
{
    switch (t->op->kind) {
    case HF__OP_ACQUIRE:
        hf__zk_acquire(t);
        return;
    case HF__OP_RENEW:
    case HF__OP_RAISE:
        hf__zk_renew(t);
        return;
    case HF__OP_RELEASE:
        hf__zk_release(t);
        return;
    case HF__OP_INSPECT:
        hf__zk_inspect(t);
        return;
    case HF__OP_BREAK:
        hf__zk_break(t);
        return;
    case HF__OP_HANDOVER:
        break;
    }
    hf__zk_finish(t, hf__fail(t->op->err, HF_ENOTSUP,
                              "a claim in ZooKeeper is its session's, and "
                              "can't be handed over"));
}

static bool is_certain(const struct hf__op *op)
{
    return op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE;
}

/* Without memory: those that others count on, one after the other, for alone
 * each needs none but what is kept for it. */
static int run_short(struct hf__zk *s, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err)
{
    int r = HF_OK;

    for (int i = 0; r == HF_OK && i < n; i++) {
        if (ops[i]->result == HF_ENOMEM && is_certain(ops[i])) {
            r = hf__zk_run_alone(s, begin, ops[i], deadline, err);
        }
    }
    return r;
}

int hf__zk_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__zk *s = state;
    int r = hf__zk_run(s, begin, ops, n, deadline, err);

    r = r == HF_OK ? run_short(s, ops, n, deadline, err) : r;
    int over = hf__zk_prove(s, ops, n, deadline, err);
    r = r < 0 ? r : over;
    if (r < 0) {
        hf__zk_end_grants(s, ops, n);
    }
    return r;
}
