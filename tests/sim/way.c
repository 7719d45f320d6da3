/* SPDX-License-Identifier: MIT */
/*
 * What happens to requests on their way to the store and back.
 */
#include "tests/sim/way.h"

#include "tests/sim/oracles.h"

#include "src/base/error.h"
#include "src/base/thread.h"

#include <string.h>

enum { GHOSTS = 128 };

/* A request that nobody waits for any more. */
struct ghost {
    int64_t due; /* 0: none */
    struct hf__op op;
    struct hf__owner owner;
    char key[HF__KEY_MAX];
};

static const struct hf__backend *const inner = &hf__memory_backend;
static struct ghost ghosts[GHOSTS];
struct hf__mutex hf__way_mutex = HF__MUTEX_INIT;

bool hf__way_travel(struct hf__way *s, int64_t ns, int64_t limit)
{
    int64_t at = hf__true_now() + ns;

    while (hf__true_now() < at) {
        if (hf__true_now() >= limit || hf__is_interrupted(&s->head)) {
            return false;
        }
        hf__virtual_sleep(s, at < limit ? at : limit);
    }
    return true;
}

int64_t hf__way_delay(void)
{
    return hf__between(0, hf__scene.plan.delay_ns);
}

bool hf__way_is_cut(const struct hf__way *s)
{
    return hf__true_now() < hf__scene.cut_until[s->host];
}

/* ---- what happens to a request */

/* What a claim in doubt left on its way, its release keeps out. */
static void keep_out(const struct hf__op *op)
{
    for (int i = 0; i < GHOSTS; i++) {
        struct ghost *g = &ghosts[i];

        if (g->due != 0 && op->kind == HF__OP_RELEASE && op->is_unanswered &&
            (hf__token_equal(&g->op.token, &op->token) ||
             hf__token_equal(&g->op.next_token, &op->token))) {
            g->due = 0;
        }
    }
}

/* A break is foreseen by nobody. */
static void note_applied(const struct hf__op *op, int64_t at)
{
    hf__ledger_applied(op, at);
    hf__line_applied(op);
    if (op->kind == HF__OP_BREAK && op->result == HF_OK) {
        hf__scene.tally->breaks++;
        hf__oracle_excuse(-1, op->key.bytes[op->key.length - 1] - '0',
                          op->fence);
    }
    if (op->kind == HF__OP_HANDOVER && op->result == HF_OK) {
        hf__scene.tally->handed_over++;
    }
}

static void apply(struct hf__way *s, struct hf__op *ops[], int n)
{
    HF_SCOPED_LOCK(&hf__way_mutex);
    int64_t at = hf__virtual_boottime(0);

    if (!s->is_open || hf__way_is_severed(s)) {
        return; /* its host is dead, and the store knows; or it restarts */
    }
    for (int i = 0; i < n; i++) {
        keep_out(ops[i]);
    }
    if (n > 0) {
        (void)inner->execute(hf__way_enter(s), ops, n, HF__NEVER, NULL);
    }
    for (int i = 0; i < n; i++) {
        note_applied(ops[i], at);
    }
}

static void apply_unseen(struct hf__way *s, const struct hf__op *op)
{
    struct hf__op copy = *op;
    struct hf__op *one = &copy;

    copy.ret_record = NULL;
    copy.ret_participants = NULL;
    copy.err = NULL;
    apply(s, &one, 1);
}

/* Of its own all through. */
static void fill_ghost(struct ghost *g, const struct hf__op *op)
{
    g->op = *op;
    g->op.ret_record = NULL;
    g->op.ret_participants = NULL;
    g->op.err = NULL;
    memcpy(g->key, op->key.bytes, op->key.length);
    g->op.key.bytes = g->key;
    if (op->owner != NULL) {
        g->owner = *op->owner;
        g->op.owner = &g->owner;
    }
}

static void make_ghost(const struct hf__op *op)
{
    int64_t lease = hf__scene.plan.lease_ms * HF__MS_NS;
    struct ghost *g = ghosts;
    int64_t late;

    if (op->kind == HF__OP_INSPECT || op->kind == HF__OP_BREAK) {
        return;
    }
    while (g->due != 0) {
        if (++g == ghosts + GHOSTS) {
            return; /* then it is lost */
        }
    }
    fill_ghost(g, op);
    late = hf__between(1, 2 * lease);
    /* A claim is given back for a lease; one that came later would have the
     * name for another one, as docs/guarantees.md says. */
    late = op->kind == HF__OP_ACQUIRE && late > lease ? lease : late;
    g->due = hf__true_now() + late;
    hf__wake_doze();
}

static int fail_dead(hf_error *err, int status)
{
    return hf__fail(err, status, "the connection is gone");
}

static void set_unknown(struct hf__op *ops[], int from, int n)
{
    for (int i = from; i < n; i++) {
        ops[i]->result = fail_dead(ops[i]->err, HF_EUNKNOWN);
    }
}

/* Nothing comes back: the client hears of that soon, or never. */
static int fall_silent(struct hf__way *s, struct hf__op *ops[], int from, int n,
                       int64_t limit)
{
    set_unknown(ops, from, n);
    (void)hf__way_travel(s, hf__chance(500) ? hf__way_delay() : INT64_MAX / 4,
                         limit);
    return HF_EUNKNOWN;
}

static int lose(struct hf__way *s, struct hf__op *ops[], int n, int64_t limit,
                enum hf__fault fault)
{
    int arrive = fault == HF__FAULT_LOSE_REPLY ? n : 0;
    int told = 0;

    if (fault == HF__FAULT_PART) {
        arrive = (int)hf__between(0, n);
        told = (int)hf__between(0, arrive);
    }
    hf__scene.tally->requests_lost += arrive < n;
    hf__scene.tally->replies_lost += told < arrive;
    if (arrive > 0 && !hf__way_travel(s, hf__way_delay(), limit)) {
        told = arrive = 0;
    }
    apply(s, ops, told);
    for (int i = told; i < arrive; i++) {
        apply_unseen(s, ops[i]);
    }
    return fall_silent(s, ops, told, n, limit);
}

static int arrive_late(struct hf__way *s, struct hf__op *ops[], int n,
                       int64_t limit)
{
    for (int i = 0; i < n; i++) {
        make_ghost(ops[i]);
    }
    hf__scene.tally->late++;
    return fall_silent(s, ops, 0, n, limit);
}

static int deliver(struct hf__way *s, struct hf__op *ops[], int n,
                   int64_t limit, enum hf__fault fault)
{
    int64_t slow = hf__scene.plan.lease_ms * HF__MS_NS / 2;
    int64_t back =
        fault == HF__FAULT_SLOW ? hf__between(0, slow) : hf__way_delay();

    if (!hf__way_travel(s, hf__way_delay(), limit) || hf__way_is_severed(s)) {
        set_unknown(ops, 0, n);
        return HF_EUNKNOWN;
    }
    apply(s, ops, n);
    for (int i = 0; fault == HF__FAULT_TWICE && i < n; i++) {
        if (ops[i]->kind == HF__OP_ACQUIRE || ops[i]->kind == HF__OP_RENEW ||
            ops[i]->kind == HF__OP_RELEASE) {
            apply_unseen(s, ops[i]);
        }
    }
    if (!hf__way_travel(s, back, limit) || hf__way_is_severed(s) ||
        hf__way_is_cut(s)) {
        return fall_silent(s, ops, 0, n, limit);
    }
    return HF_OK;
}

/* One of the faults that the plan has. */
static enum hf__fault draw_fault(void)
{
    int at = (int)hf__between(0, HF__FAULT_AGAIN);

    for (int i = 0; i <= HF__FAULT_AGAIN; i++) {
        enum hf__fault f = (enum hf__fault)((at + i) % (HF__FAULT_AGAIN + 1));

        if (hf__has(f)) {
            return f;
        }
    }
    return HF__FAULTS;
}

static enum hf__fault draw_fate(const struct hf__way *s)
{
    if (hf__way_is_severed(s)) {
        return HF__FAULT_DIE;
    }
    if (hf__way_is_cut(s)) {
        return HF__FAULT_LOSE_REQUEST;
    }
    return hf__true_now() < hf__scene.plan.heal_ns &&
                   hf__chance(hf__scene.plan.permille)
               ? draw_fault()
               : HF__FAULTS;
}

int hf__way_meet(struct hf__way *s, struct hf__op *ops[], int n, int64_t limit)
{
    enum hf__fault fate = draw_fate(s);

    hf__note("%s of host %d and %d more: %s", hf__way_kind(ops[0]->kind),
             s->host, n - 1, hf__scene_fault(fate));
    switch ((int)fate) {
    case HF__FAULT_DIE:
        return HF_EUNAVAIL; /* as all results say */
    case HF__FAULT_AGAIN:
        for (int i = 0; i < n; i++) {
            ops[i]->result = hf__fail(ops[i]->err, HF__AGAIN, "not now");
        }
        return hf__way_travel(s, hf__way_delay(), limit) ? HF_OK : HF_EUNAVAIL;
    case HF__FAULT_LATE:
        return arrive_late(s, ops, n, limit);
    case HF__FAULT_LOSE_REQUEST:
    case HF__FAULT_LOSE_REPLY:
    case HF__FAULT_PART:
        return lose(s, ops, n, limit, fate);
    default:
        return deliver(s, ops, n, limit, fate);
    }
}

/* ---- what comes late */

int64_t hf__way_next(void)
{
    int64_t next = HF__VIRTUAL_NEVER;

    for (int i = 0; i < GHOSTS; i++) {
        if (ghosts[i].due != 0 && ghosts[i].due < next) {
            next = ghosts[i].due;
        }
    }
    return next;
}

bool hf__way_bring(struct hf__way *s, int64_t now)
{
    for (int i = 0; i < GHOSTS; i++) {
        if (ghosts[i].due != 0 && ghosts[i].due <= now) {
            struct ghost late; /* its place is free while it is applied */

            hf__note("late: %s", hf__way_kind(ghosts[i].op.kind));
            fill_ghost(&late, &ghosts[i].op);
            ghosts[i].due = 0;
            apply_unseen(s, &late.op);
            return true;
        }
    }
    return false;
}

void hf__way_forget(void)
{
    for (int i = 0; i < GHOSTS; i++) {
        ghosts[i].due = 0;
    }
}

const char *hf__way_kind(enum hf__op_kind kind)
{
    static const char *const kinds[] = {
        [HF__OP_RENEW] = "renew",       [HF__OP_RELEASE] = "release",
        [HF__OP_HANDOVER] = "handover", [HF__OP_RAISE] = "raise",
        [HF__OP_ACQUIRE] = "acquire",   [HF__OP_INSPECT] = "inspect",
        [HF__OP_BREAK] = "break"};

    return kinds[kind];
}
