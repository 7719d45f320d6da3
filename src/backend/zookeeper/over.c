/* SPDX-License-Identifier: MIT */
/*
 * The session is over, for the server or for us. Its grants are lost: that is
 * told by their renewals, which need no server for it, for the next session has
 * none of them, and this one's may go sooner than their leases say. All else
 * that was to be asked is asked in the next session. Where the server does not
 * know that it is over, it is left to its time-out once nobody believes in a
 * grant of its, for a front that is idle would keep it alive. Called by the
 * sessions' threads.
 */
#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/zookeeper.h"

bool hf__zk_is_renewal(const struct hf__op *op)
{
    return op->kind == HF__OP_RENEW || op->kind == HF__OP_RAISE;
}

static void count_believed(void *arg, const struct hf__token *token,
                           const struct hf__key *key,
                           const struct hf__zk_own *own)
{
    int *n = arg;

    (void)token;
    (void)key;
    *n += own->is_leaving ? 0 : 1;
}

void hf__zk_leave_session(struct hf__zk *s)
{
    int n = 0;

    hf__zk_own_each(hf__zk_common(&s->front), count_believed, &n);
    if (n == 0) {
        hf__zk_abandon(&s->front);
    }
}

/* Nobody believes in it from now on. */
static bool end_grant(struct hf__zk *s, const struct hf__op *op)
{
    struct hf__zk_common *common = hf__zk_common(&s->front);
    struct hf__zk_own own;

    if (!hf__zk_own_find(common, op, &own)) {
        return false;
    }
    own.is_leaving = true;
    hf__zk_own_set(common, op, &own);
    return own.stage == HF__ZK_GRANTED;
}

void hf__zk_end_grants(struct hf__zk *s, struct hf__op *ops[], int n)
{
    for (int i = 0; i < n; i++) {
        struct hf__op *op = ops[i];

        if (op->kind == HF__OP_RELEASE ||
            (op->kind == HF__OP_ACQUIRE && op->result != HF_OK)) {
            (void)end_grant(s, op); /* a grant that was not told is none */
        } else if (hf__zk_is_renewal(op) && op->result != HF_OK &&
                   op->result != HF_LOST && end_grant(s, op)) {
            op->result = HF_LOST;
            op->ret_reason = HF_REASON_SESSION;
        }
    }
    hf__zk_leave_session(s);
}
