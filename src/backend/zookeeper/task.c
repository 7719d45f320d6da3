/* SPDX-License-Identifier: MIT */
/*
 * Functions that the steps of an operation share: they add the next requests,
 * read answers, and start an operation over. Called by the backend session's
 * thread.
 */
#include "src/backend/zookeeper/task.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* ---- what is asked next */

static bool has_room(struct hf__zk_task *t)
{
    struct hf__zk_request *old = t->requests == t->few ? NULL : t->requests;
    int room = old == NULL ? 2 * HF__ZK_FEW : 2 * t->room;
    struct hf__zk_request *grown = NULL;

    if (t->requests == NULL) {
        t->requests = t->few;
        t->room = HF__ZK_FEW;
    }
    if (t->n_requests < t->room) {
        return true;
    }
    grown = hf__resize(old, (size_t)room * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    if (old == NULL) {
        memcpy(grown, t->few, sizeof t->few);
    }
    t->requests = grown;
    t->room = room;
    return true;
}

static bool is_change(enum hf__zk_ask what)
{
    return what != HF__ZK_SYNC && what != HF__ZK_LIST && what != HF__ZK_GET &&
           what != HF__ZK_EXISTS && what != HF__ZK_ACL;
}

int hf__zk_add(struct hf__zk_task *t, enum hf__zk_ask what, const char *child)
{
    if (!has_room(t)) {
        t->is_short = true;
        return 0;
    }
    t->requests[t->n_requests] = (struct hf__zk_request){
        .what = what, .changes = is_change(what), .child = child};
    return t->n_requests++;
}

void hf__zk_write(struct hf__zk_task *t, enum hf__zk_claim_state state)
{
    int i = hf__zk_add(t, HF__ZK_WRITE, t->own.name);

    t->requests[i].state = state;
}

void hf__zk_add_search(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_SYNC, NULL);
    hf__zk_add(t, HF__ZK_LIST, NULL);
}

void hf__zk_then(struct hf__zk_task *t, void (*take)(struct hf__zk_task *))
{
    t->take = take;
    if (t->is_short) {
        hf__zk_fail_memory(t, "requests");
    } else if (t->n_requests == 0) {
        t->n_asked = 0;
        take(t);
    }
}

void hf__zk_finish(struct hf__zk_task *t, int result)
{
    t->op->result = result;
    t->n_requests = 0;
}

/* ---- what was answered */

const struct hf__zk_answer *hf__zk_answered(const struct hf__zk_task *t, int i)
{
    return hf__zk_answer(t->calls, t->first + i);
}

int hf__zk_rc(const struct hf__zk_task *t, int i)
{
    return hf__zk_answered(t, i)->rc;
}

bool hf__zk_lacks(const struct hf__zk_task *t, int i)
{
    return hf__zk_is_unknown(hf__zk_rc(t, i));
}

void hf__zk_fail_at(struct hf__zk_task *t, int i, const char *child)
{
    char path[HF__ZK_PATH_MAX];

    hf__zk_task_path(t, child, path);
    hf__zk_fail_path(t, i, path);
}

void hf__zk_fail_path(struct hf__zk_task *t, int i, const char *path)
{
    int r = hf__zk_fail(&t->s->ref, hf__zk_answered(t, i), path, t->has_changed,
                        t->op->err);

    if (r == HF_EUNAVAIL && t->has_changed) {
        r = HF_EUNKNOWN; /* an earlier request may have been applied */
    } else if (r == HF_EINVAL) {
        r = HF_EPROTO; /* not the operation's fault */
    }
    hf__zk_finish(t, r);
}

void hf__zk_fail_memory(struct hf__zk_task *t, const char *what)
{
    bool may_stand =
        t->has_changed || (t->op->kind == HF__OP_ACQUIRE && t->is_known);

    hf__zk_finish(t, hf__fail(t->op->err, may_stand ? HF_EUNKNOWN : HF_ENOMEM,
                              "out of memory for %s", what));
}

bool hf__zk_see(struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i);

    hf__zk_queue_fini(&t->queue);
    if (!hf__zk_is_gone(t, i, NULL)) {
        return false;
    }
    t->has_folder = a->rc == ZOK;
    t->folder_zxid = t->has_folder ? (uint64_t)a->stat.czxid : 0;
    t->changed = t->has_folder ? (uint64_t)a->stat.pzxid : 0;
    if (hf__zk_queue_read(&t->queue, a->names.list,
                          t->has_folder ? a->names.n : 0,
                          hf__zk_next_sequence(a->stat.cversion,
                                               a->stat.numChildren)) != HF_OK) {
        hf__zk_fail_memory(t, "a listing");
        return false;
    }
    return true;
}

bool hf__zk_see_search(struct hf__zk_task *t)
{
    return hf__zk_is_gone(t, 0, NULL) && hf__zk_see(t, 1);
}

bool hf__zk_is_gone(struct hf__zk_task *t, int i, const char *child)
{
    if (hf__zk_rc(t, i) != ZOK && hf__zk_rc(t, i) != ZNONODE) {
        hf__zk_fail_at(t, i, child);
        return false;
    }
    return true;
}

bool hf__zk_are_gone(struct hf__zk_task *t, int n)
{
    for (int i = 0; i < n; i++) {
        if (!hf__zk_is_gone(t, i, NULL)) {
            return false;
        }
    }
    return true;
}

/* ---- our own claim */

struct hf__zk_common *hf__zk_task_common(const struct hf__zk_task *t)
{
    return hf__zk_common(&t->s->ref);
}

void hf__zk_remember(struct hf__zk_task *t)
{
    hf__zk_own_set(hf__zk_task_common(t), t->op, &t->own);
}

void hf__zk_forget(struct hf__zk_task *t)
{
    hf__zk_own_forget(hf__zk_task_common(t), t->op);
    t->is_known = false;
}

/* ---- beginning anew */

void hf__zk_clear(struct hf__zk_task *t)
{
    if (t->is_known && t->own.slot_name[0] != '\0') {
        hf__zk_add(t, HF__ZK_DELETE, t->own.slot_name);
    }
}

bool hf__zk_has_cleared(struct hf__zk_task *t)
{
    if (t->n_asked > 0 && !hf__zk_is_gone(t, 0, t->own.slot_name)) {
        return false;
    }
    hf__zk_forget(t);
    return true;
}

/* The claim is gone, but its slot or marker may be there. */
static void give_up(struct hf__zk_task *t)
{
    bool may_stand = t->own.slot_name[0] != '\0';

    if (!may_stand) {
        hf__zk_forget(t);
    }
    hf__zk_finish(t, hf__fail(t->op->err, may_stand ? HF_EUNKNOWN : HF__AGAIN,
                              "what is made in %s is taken away as often as it "
                              "is made",
                              t->folder));
}

static void begin_anew(struct hf__zk_task *t)
{
    if (hf__zk_has_cleared(t)) {
        t->begin(t);
    }
}

void hf__zk_start_anew(struct hf__zk_task *t)
{
    t->n_folders = 0;
    t->expected = -1;
    if (++t->n_attempts >= HF__ZK_ATTEMPTS_MAX) {
        give_up(t);
        return;
    }
    hf__zk_clear(t);
    hf__zk_then(t, begin_anew);
}

/* ---- paths */

void hf__zk_task_path(const struct hf__zk_task *t, const char *child,
                      char to[HF__ZK_PATH_MAX])
{
    if (child == NULL) {
        memcpy(to, t->folder, strlen(t->folder) + 1);
    } else {
        hf__zk_child_path(t->folder, child, to);
    }
}

const char *hf__zk_task_folder(const struct hf__zk_task *t, int i,
                               char to[HF__ZK_FOLDER_MAX])
{
    int n = hf__zk_count_folders(t->folder) - t->n_folders + i + 1;

    return hf__zk_folder_path(t->folder, n, to);
}
