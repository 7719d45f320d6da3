/* SPDX-License-Identifier: MIT */
/*
 * Whose the folder of a name is. The server asks the folder, not the child, who
 * may delete a child: a user's claims are safe only in a folder that is not
 * open to anybody, such as who gives no password makes. Who gives one is
 * granted nothing in such a folder; what becomes of it is for people to say,
 * for others may hold claims there now, which a new ACL would lock out.
 *
 * That is asked in the round that makes the claim, behind it, so of the very
 * folder that the claim keeps from being deleted; and once more before the
 * grant, where that answer was lost. Called by the session's thread.
 */
#include "src/backend/zookeeper/folder.h"

#include "src/base/error.h"

void hf__zk_vet_add(struct hf__zk_task *t)
{
    if (hf__zk_has_user(&t->s->front)) {
        hf__zk_add(t, HF__ZK_ACL, NULL);
    }
}

static void leave_open(struct hf__zk_task *t)
{
    t->verdict = hf__fail(
        t->op->err, HF_EUNSAFE,
        "%s is open: anybody may take a claim away there, for who made it gave "
        "no password (setAcl, or delete it while nobody uses it: gc)",
        t->folder);
    t->op->is_queued = false;
    hf__zk_withdraw(t);
}

bool hf__zk_vet_take(struct hf__zk_task *t, const char *name)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, t->n_asked - 1);

    if (!hf__zk_has_user(&t->s->front) || a->rc != ZOK) {
        return true;
    }
    t->own.is_vetted = a->length == 0;
    if (!t->own.is_vetted) {
        hf__zk_note_name(t, name);
        leave_open(t);
    }
    return t->own.is_vetted;
}

static void take_acl(struct hf__zk_task *t)
{
    int rc = hf__zk_rc(t, 0);

    t->own.is_vetted = rc == ZOK && hf__zk_answered(t, 0)->length == 0;
    if (rc == ZNONODE) {
        hf__zk_start_anew(t); /* somebody has deleted all */
    } else if (rc != ZOK) {
        hf__zk_fail_at(t, 0, NULL);
    } else if (t->own.is_vetted) {
        hf__zk_granted(t, t->entered);
    } else {
        leave_open(t);
    }
}

void hf__zk_vet(struct hf__zk_task *t)
{
    hf__zk_vet_add(t);
    hf__zk_then(t, take_acl);
}
