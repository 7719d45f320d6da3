/* SPDX-License-Identifier: MIT */
/*
 * execute(): all operations of a batch at once, in rounds. The requests of all
 * of them go out together, which is one round trip, however many there are;
 * most need one round: a claim is made and the folder listed right behind it,
 * for the server keeps the order of one session's requests. All claims that are
 * made and all that are given back are one request (join.c). What is not
 * answered in time goes on without us, and its operation tells what is known.
 * The names of a batch differ, so the order of the kinds can't be seen.
 *
 * What all recipes share: who stands at a name is who has an ephemeral child
 * there, made by the session of the link; the lease is the session's. Nothing
 * that is granted rests on what this process remembers but whose child it is.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/task.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* None needs as many, unless the name changes with each of them. */
#define ROUNDS_MAX 40

struct batch {
    struct hf__zk *s;
    struct hf__zk_task *tasks;
    int n;
    struct hf__zk_calls *rounds[ROUNDS_MAX]; /* listings are lent from them */
    int n_rounds;
};

/* ---- for the steps */

void hf__zk_next(struct hf__zk_task *t, const struct hf__zk_step *step, int n)
{
    t->step = step;
    t->join = NULL;
    t->n_calls = n;
}

void hf__zk_finish(struct hf__zk_task *t, int result)
{
    t->op->result = result;
    t->step = NULL;
    t->n_calls = 0;
}

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

struct hf__zk_common *hf__zk_task_common(const struct hf__zk_task *t)
{
    return hf__zk_common(&t->s->front);
}

void hf__zk_fail_at(struct hf__zk_task *t, int i, const char *child)
{
    char path[HF__ZK_PATH_MAX];

    hf__zk_task_path(t, child, path);
    hf__zk_fail_path(t, i, path);
}

void hf__zk_fail_path(struct hf__zk_task *t, int i, const char *path)
{
    int r = hf__zk_fail(&t->s->front, hf__zk_answered(t, i), path,
                        t->has_changed, t->op->err);

    if (r == HF_EUNAVAIL && t->has_changed) {
        r = HF_EUNKNOWN; /* what was sent before may have been applied */
    } else if (r == HF_EINVAL) {
        r = HF_EPROTO; /* no fault of the operation's */
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

    hf__zk_line_fini(&t->line);
    if (a->rc != ZOK && a->rc != ZNONODE) {
        hf__zk_fail_at(t, i, NULL);
        return false;
    }
    t->has_folder = a->rc == ZOK;
    t->folder_born = t->has_folder ? (uint64_t)a->stat.czxid : 0;
    t->changed = t->has_folder ? (uint64_t)a->stat.pzxid : 0;
    if (hf__zk_line_read(&t->line, a->names.list,
                         t->has_folder ? a->names.n : 0,
                         hf__zk_next_sequence(a->stat.cversion,
                                              a->stat.numChildren)) != HF_OK) {
        hf__zk_fail_memory(t, "a listing");
        return false;
    }
    return true;
}

bool hf__zk_is_undone(struct hf__zk_task *t, const struct hf__zk_step *step)
{
    if (hf__zk_rc(t, 0) != HF__ZK_UNDONE) {
        return false;
    }
    hf__zk_next(t, step, t->n_asked);
    return true;
}

/* ---- our own claim */

void hf__zk_remember(struct hf__zk_task *t)
{
    hf__zk_own_set(hf__zk_task_common(t), t->op, &t->own);
}

void hf__zk_forget(struct hf__zk_task *t)
{
    hf__zk_own_forget(hf__zk_task_common(t), t->op);
    t->is_known = false;
}

/* ---- the rounds */

static int count_calls(const struct batch *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++) {
        n += b->tasks[i].n_calls;
    }
    return n;
}

static void end_all(struct batch *b, int status, const char *why)
{
    for (int i = 0; i < b->n; i++) {
        struct hf__zk_task *t = &b->tasks[i];

        if (t->step != NULL) {
            hf__zk_finish(t, hf__fail(t->op->err,
                                      t->has_changed ? HF_EUNKNOWN : status,
                                      "%s", why));
        }
    }
}

static void fail_all_memory(struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        if (b->tasks[i].step != NULL) {
            hf__zk_fail_memory(&b->tasks[i], "requests");
        }
    }
}

static void ask_all(struct batch *b, struct hf__zk_calls *calls)
{
    int at = 0;

    for (int i = 0; i < b->n; i++) {
        struct hf__zk_task *t = &b->tasks[i];

        t->calls = calls;
        t->first = at;
        at += t->n_calls;
        t->is_joined = false;
        if (t->step != NULL && t->join != NULL) {
            t->join(t);
        }
    }
    hf__zk_join_send(calls);
    for (int i = 0; i < b->n; i++) {
        if (b->tasks[i].step != NULL) {
            b->tasks[i].step->ask(&b->tasks[i]);
        }
    }
}

static void note_changes(struct hf__zk_task *t)
{
    for (int i = 0; t->step->changes && i < t->n_calls; i++) {
        t->has_changed |= hf__zk_answered(t, i)->was_sent;
    }
}

static void take_all(struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        struct hf__zk_task *t = &b->tasks[i];
        const struct hf__zk_step *step = t->step;

        if (step != NULL) {
            note_changes(t);
            t->n_asked = t->n_calls;
            hf__zk_next(t, NULL, 0);
            step->take(t);
        }
    }
}

static int run_round(struct batch *b, int n, hf__time deadline, hf_error *err)
{
    struct hf__zk_calls *calls = hf__zk_calls_new(&b->s->front, n);
    int r;

    if (calls == NULL) {
        fail_all_memory(b);
        return HF_OK;
    }
    b->rounds[b->n_rounds++] = calls;
    ask_all(b, calls);
    r = hf__zk_await(calls, deadline, err);
    take_all(b);
    return r < 0 ? r : (int)HF_OK;
}

static int run(struct batch *b, hf__time deadline, hf_error *err)
{
    int r = HF_OK;
    int n;

    while (r == HF_OK && (n = count_calls(b)) > 0) {
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

static size_t prepare_alone(struct hf__zk_task *t, struct hf__zk *s,
                            struct hf__op *op, char folder[HF__ZK_FOLDER_MAX])
{
    t->s = s;
    t->op = op;
    t->folder = folder;
    t->is_known = hf__zk_own_find(hf__zk_task_common(t), op, &t->own);
    return hf__zk_name_path(s->place.chroot, &op->key, folder);
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

/* One write of them shows that the session lives. */
static void begin_with(struct hf__zk_task *t, const struct hf__zk_task **proof)
{
    if (hf__zk_is_renewal(t->op) && t->is_known &&
        t->own.stage == HF__ZK_GRANTED && *proof == NULL) {
        *proof = t;
    }
    t->proof = *proof;
    begin(t);
}

static void begin_all(struct batch *b, struct hf__op *ops[])
{
    const struct hf__zk_task *proof = NULL;

    for (int i = 0; i < b->n; i++) {
        if (prepare(&b->tasks[i], b->s, ops[i])) {
            begin_with(&b->tasks[i], &proof);
        }
    }
}

static void end_rounds(struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        hf__zk_line_fini(&b->tasks[i].line);
        hf__zk_look_fini(&b->tasks[i]);
    }
    for (int i = 0; i < b->n_rounds; i++) {
        hf__zk_calls_drop(b->rounds[i]);
    }
}

static void end_batch(struct batch *b)
{
    end_rounds(b);
    for (int i = 0; i < b->n; i++) {
        hf__free(b->tasks[i].folder);
    }
    hf__free(b->tasks);
}

/* ---- without memory */

static bool is_certain(const struct hf__op *op)
{
    return op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE;
}

/* Alone it needs none but what is kept for it. */
static int run_alone(struct hf__zk *s, struct hf__op *op, hf__time deadline,
                     hf_error *err)
{
    char folder[HF__ZK_FOLDER_MAX];
    struct hf__zk_task task = {0};
    const struct hf__zk_task *proof = NULL;
    struct batch b = {.s = s, .tasks = &task, .n = 1};
    int r;

    (void)prepare_alone(&task, s, op, folder);
    begin_with(&task, &proof);
    r = run(&b, deadline, err);
    end_rounds(&b);
    return r;
}

/* Those that others count on: one after the other. */
static int run_short(struct hf__zk *s, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err)
{
    int r = HF_OK;

    for (int i = 0; r == HF_OK && i < n; i++) {
        if (ops[i]->result == HF_ENOMEM && is_certain(ops[i])) {
            r = run_alone(s, ops[i], deadline, err);
        }
    }
    return r;
}

int hf__zk_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err)
{
    struct batch b = {.s = state, .n = n};
    int r = hf__zk_ready(&b.s->front, deadline, err);

    if (r < 0) {
        hf__zk_refuse_all(b.s, ops, n, r);
        return r;
    }
    for (int i = 0; r == HF_BUSY && i < n; i++) {
        ops[i]->result = hf__zk_fail_away(&b.s->front, ops[i]->err);
    }
    if (r != HF_OK) {
        return HF_OK;
    }
    b.tasks = hf__alloc((size_t)n * sizeof *b.tasks);
    if (b.tasks == NULL) {
        for (int i = 0; i < n; i++) {
            ops[i]->result =
                hf__fail(ops[i]->err, HF_ENOMEM, "out of memory for a batch");
        }
    } else {
        begin_all(&b, ops);
        r = run(&b, deadline, err);
        end_batch(&b);
    }
    r = r == HF_OK ? run_short(b.s, ops, n, deadline, err) : r;
    int over = hf__zk_prove(b.s, ops, n, deadline, err);
    r = r < 0 ? r : over;
    if (r < 0) {
        hf__zk_end_grants(b.s, ops, n);
    }
    return r;
}
