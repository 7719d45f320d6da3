/* SPDX-License-Identifier: MIT */
/*
 * Runs operations in rounds. Each operation of a batch has written down its
 * next requests; the requests of all go out together, which is one round trip,
 * however many they are. In a round all new claims and all deleted ones are
 * joined into one request (request.c). A request that is not answered in time
 * goes on without us, and its operation tells what is known. Called by the
 * backend session's thread.
 */
#include "src/backend/zookeeper/task.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <limits.h>
#include <string.h>

/* No operation needs so many rounds, unless its name changes in each of
 * them. */
#define ROUNDS_MAX 40

struct batch {
    struct hf__zk *s;
    struct hf__zk_task *tasks;
    int n;
    struct hf__zk_calls *rounds[ROUNDS_MAX]; /* they own the listings */
    int n_rounds;
};

/* ---- a request is sent */

static int write_node_data(const struct hf__zk_task *t,
                           enum hf__zk_claim_state state,
                           char to[HF__ZK_DATA_MAX])
{
    struct hf__zk_data node_data = {.state = state,
                                    .expected = t->expected,
                                    .token = t->op->token,
                                    .acquired_us = hf__wall_us(),
                                    .owner = *t->op->owner};

    return hf__zk_data_write(&node_data, to);
}

static void send_folder(const struct hf__zk_task *t, int i)
{
    char path[HF__ZK_FOLDER_MAX];
    bool is_last = i == t->n_folders - 1;

    hf__zk_create(t->calls, t->first + i, hf__zk_task_folder(t, i, path), "", 0,
                  is_last && !hf__zk_has_no_containers(t) ? ZOO_CONTAINER
                                                          : ZOO_PERSISTENT);
}

static void send_claim(const struct hf__zk_task *t, int i, bool joined)
{
    char name[HF__ZK_CHILD_MAX];
    char path[HF__ZK_PATH_MAX];
    char data[HF__ZK_DATA_MAX];
    int length = write_node_data(
        t, hf__zk_is_try(t) ? HF__ZK_TRIES : HF__ZK_ENTERS, data);

    hf__zk_claim_write(&t->op->token, t->op->lock_mode, name);
    hf__zk_task_path(t, name, path);
    if (!joined || !hf__zk_join_create(t->calls, i, path, data, length,
                                       ZOO_EPHEMERAL_SEQUENTIAL)) {
        hf__zk_create(t->calls, i, path, data, length,
                      ZOO_EPHEMERAL_SEQUENTIAL);
    }
}

static void send_slot(const struct hf__zk_task *t, int i)
{
    char name[HF__ZK_CHILD_MAX];
    char path[HF__ZK_PATH_MAX];
    char data[HF__ZK_DATA_MAX];

    hf__zk_slot_write(&t->op->token, t->slot, name);
    hf__zk_task_path(t, name, path);
    hf__zk_create(t->calls, i, path, data,
                  write_node_data(t, HF__ZK_HOLDS, data),
                  ZOO_EPHEMERAL_SEQUENTIAL);
}

static void send_lock(const struct hf__zk_task *t, int i, bool is_made)
{
    char lock[HF__ZK_PATH_MAX];
    char marker[HF__ZK_PATH_MAX];
    char data[HF__ZK_DATA_MAX];
    const char *const made[] = {lock, marker};
    const char *const deleted[] = {marker, lock};

    hf__zk_task_path(t, HF__ZK_LOCK_NAME, lock);
    hf__zk_task_path(t, is_made ? t->own.slot_name : t->marker, marker);
    if (is_made) {
        hf__zk_create_pair(t->calls, i, made, data,
                           write_node_data(t, HF__ZK_HOLDS, data));
    } else {
        hf__zk_delete_pair(t->calls, i, deleted);
    }
}

static void send_delete(const struct hf__zk_task *t, int i, const char *path,
                        bool joined)
{
    if (!joined || !hf__zk_join_delete(t->calls, i, path)) {
        hf__zk_delete(t->calls, i, path, -1);
    }
}

static void send_request(const struct hf__zk_task *t, int k, bool joined)
{
    const struct hf__zk_request *rq = &t->requests[k];
    int i = t->first + k;
    char path[HF__ZK_PATH_MAX];
    char data[HF__ZK_DATA_MAX];

    hf__zk_task_path(t, rq->child, path);
    switch (rq->what) {
    case HF__ZK_SYNC:
        hf__zk_sync(t->calls, i, path);
        return;
    case HF__ZK_LIST:
        hf__zk_children(t->calls, i, path, NULL);
        return;
    case HF__ZK_GET:
        hf__zk_get(t->calls, i, path, NULL);
        return;
    case HF__ZK_EXISTS:
        hf__zk_exists(t->calls, i, path, NULL);
        return;
    case HF__ZK_ACL:
        hf__zk_acl(t->calls, i, path);
        return;
    case HF__ZK_DELETE:
        send_delete(t, i, path, joined);
        return;
    case HF__ZK_WRITE:
        hf__zk_set(t->calls, i, path, data, write_node_data(t, rq->state, data),
                   -1);
        return;
    case HF__ZK_PROOF: /* a version that no node has */
        hf__zk_set(t->calls, i, path, "", 0, INT_MAX);
        return;
    case HF__ZK_MAKE_FOLDER:
        send_folder(t, k);
        return;
    case HF__ZK_MAKE_CLAIM:
        send_claim(t, i, joined);
        return;
    case HF__ZK_MAKE_SLOT:
        send_slot(t, i);
        return;
    case HF__ZK_MAKE_LOCK:
    case HF__ZK_DELETE_LOCK:
        send_lock(t, i, rq->what == HF__ZK_MAKE_LOCK);
        return;
    }
}

/* ---- the rounds */

static void end_all(struct batch *b, int status, const char *why)
{
    for (int i = 0; i < b->n; i++) {
        struct hf__zk_task *t = &b->tasks[i];

        if (t->n_requests > 0) {
            hf__zk_finish(t, hf__fail(t->op->err,
                                      t->has_changed ? HF_EUNKNOWN : status,
                                      "%s", why));
        }
    }
}

static void fail_all_memory(struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        if (b->tasks[i].n_requests > 0) {
            hf__zk_fail_memory(&b->tasks[i], "requests");
        }
    }
}

/* We delete the claim from now on: if it is gone later, nobody else has broken
 * it. */
static void note_leaving(struct hf__zk_task *t)
{
    if (t->will_leave) {
        t->will_leave = false;
        t->own.is_leaving = true;
        hf__zk_remember(t);
    }
}

/* One request alone is not joined. */
static bool is_any_joined(const struct batch *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++) {
        n += b->tasks[i].n_requests > 0 && b->tasks[i].may_join;
    }
    return n > 1;
}

static void send_all(struct batch *b, struct hf__zk_calls *calls)
{
    bool joins = is_any_joined(b);
    int at = 0;

    for (int i = 0; i < b->n; i++) {
        struct hf__zk_task *t = &b->tasks[i];

        t->may_join = t->may_join && joins;
        t->calls = calls;
        t->first = at;
        at += t->n_requests;
        if (t->n_requests > 0) {
            note_leaving(t);
        }
        if (t->n_requests > 0 && t->may_join) {
            send_request(t, 0, true);
        }
    }
    hf__zk_join_send(calls);
    for (int i = 0; i < b->n; i++) {
        struct hf__zk_task *t = &b->tasks[i];

        for (int k = t->may_join ? 1 : 0; k < t->n_requests; k++) {
            send_request(t, k, false);
        }
    }
}

/* None of the joined changes was applied: each is sent again, alone. */
static void be_undone(struct hf__zk_task *t)
{
    if (t->op->kind == HF__OP_RELEASE) {
        t->will_leave = true;
        t->own.is_leaving = t->was_leaving;
        hf__zk_remember(t);
    }
}

static void take(struct hf__zk_task *t)
{
    bool was_joined = t->may_join;

    t->may_join = false;
    if (was_joined && hf__zk_rc(t, 0) == HF__ZK_UNDONE) {
        be_undone(t);
        return;
    }
    for (int i = 0; i < t->n_requests; i++) {
        t->has_changed |=
            t->requests[i].changes && hf__zk_answered(t, i)->was_sent;
    }
    t->n_asked = t->n_requests;
    t->n_requests = 0;
    t->take(t);
}

static int run_round(struct batch *b, int n, hf__time deadline, hf_error *err)
{
    struct hf__zk_calls *calls = hf__zk_calls_new(&b->s->ref, n);
    int r;

    if (calls == NULL) {
        fail_all_memory(b);
        return HF_OK;
    }
    b->rounds[b->n_rounds++] = calls;
    send_all(b, calls);
    r = hf__zk_await(calls, deadline, err);
    for (int i = 0; i < b->n; i++) {
        if (b->tasks[i].n_requests > 0) {
            take(&b->tasks[i]);
        }
    }
    return r < 0 ? r : (int)HF_OK;
}

static int count_requests(const struct batch *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++) {
        n += b->tasks[i].n_requests;
    }
    return n;
}

static int run(struct batch *b, hf__time deadline, hf_error *err)
{
    int r = HF_OK;
    int n;

    while (r == HF_OK && (n = count_requests(b)) > 0) {
        if (b->n_rounds == ROUNDS_MAX) {
            end_all(b, HF_EUNAVAIL, "the name changes faster than it is read");
            break;
        }
        r = run_round(b, n, deadline, err);
    }
    if (r != HF_OK) {
        end_all(b, HF_EUNAVAIL,
                err == NULL ? "the session is over" : err->text);
    }
    return r;
}

/* ---- the batch */

static size_t prepare_alone(struct hf__zk_task *t, struct hf__zk *s,
                            struct hf__op *op, char folder[HF__ZK_FOLDER_MAX])
{
    t->s = s;
    t->op = op;
    t->folder = folder;
    t->is_known = hf__zk_own_find(hf__zk_task_common(t), op, &t->own);
    return hf__zk_name_path(s->url.chroot, &op->key, folder);
}

static bool prepare(struct hf__zk_task *t, struct hf__zk *s, struct hf__op *op)
{
    char folder[HF__ZK_FOLDER_MAX];
    size_t length = prepare_alone(t, s, op, folder);

    t->folder = hf__alloc(length + 1);
    if (t->folder == NULL) {
        op->result = hf__fail(op->err, HF_ENOMEM, "out of memory for a path");
        return false;
    }
    memcpy(t->folder, folder, length + 1);
    return true;
}

/* The first renewal of the batch, of a grant that we know, sends the write that
 * shows for all that the session lives. */
static void begin_with(struct hf__zk_task *t, hf__zk_begin_fn *begin,
                       const struct hf__zk_task **proof)
{
    if (hf__zk_is_renewal(t->op) && t->is_known &&
        t->own.stage == HF__ZK_GRANTED && *proof == NULL) {
        *proof = t;
    }
    t->proof = *proof;
    t->begin = begin;
    begin(t);
}

static void end_rounds(struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        struct hf__zk_task *t = &b->tasks[i];

        hf__zk_queue_fini(&t->queue);
        hf__zk_look_fini(t);
        if (t->requests != t->few) {
            hf__free(t->requests);
        }
    }
    for (int i = 0; i < b->n_rounds; i++) {
        hf__zk_calls_drop(b->rounds[i]);
    }
}

static int run_all(struct batch *b, hf__zk_begin_fn *begin,
                   struct hf__op *ops[], hf__time deadline, hf_error *err)
{
    const struct hf__zk_task *proof = NULL;
    int r;

    for (int i = 0; i < b->n; i++) {
        if (prepare(&b->tasks[i], b->s, ops[i])) {
            begin_with(&b->tasks[i], begin, &proof);
        }
    }
    r = run(b, deadline, err);
    end_rounds(b);
    for (int i = 0; i < b->n; i++) {
        hf__free(b->tasks[i].folder);
    }
    return r;
}

int hf__zk_run(struct hf__zk *s, hf__zk_begin_fn *begin, struct hf__op *ops[],
               int n, hf__time deadline, hf_error *err)
{
    struct batch b = {.s = s, .n = n};
    int r = hf__zk_ready(&s->ref, deadline, err);

    if (r != HF_OK) {
        for (int i = 0; i < n; i++) {
            ops[i]->result = r == HF_BUSY
                                 ? hf__zk_fail_away(&s->ref, ops[i]->err)
                             : r == HF_EUNAVAIL ? HF__AGAIN
                                                : r;
        }
        return r == HF_BUSY ? (int)HF_OK : r;
    }
    b.tasks = hf__alloc((size_t)n * sizeof *b.tasks);
    if (b.tasks == NULL) {
        for (int i = 0; i < n; i++) {
            ops[i]->result =
                hf__fail(ops[i]->err, HF_ENOMEM, "out of memory for a batch");
        }
        return HF_OK;
    }
    r = run_all(&b, begin, ops, deadline, err);
    hf__free(b.tasks);
    return r;
}

int hf__zk_run_alone(struct hf__zk *s, hf__zk_begin_fn *begin,
                     struct hf__op *op, hf__time deadline, hf_error *err)
{
    char folder[HF__ZK_FOLDER_MAX];
    struct hf__zk_task task = {0};
    const struct hf__zk_task *proof = NULL;
    struct batch b = {.s = s, .tasks = &task, .n = 1};
    int r;

    (void)prepare_alone(&task, s, op, folder);
    begin_with(&task, begin, &proof);
    r = run(&b, deadline, err);
    end_rounds(&b);
    return r;
}
