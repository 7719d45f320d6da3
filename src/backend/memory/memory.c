/* SPDX-License-Identifier: MIT */
/*
 * memory:NAME, the contract as a program: what every operation does to a
 * record, with nothing else in the way. Read it beside backend.h before you
 * write a store. It serves tests, and programs whose locks need not reach
 * beyond their own process.
 *
 * One mutex guards everything, so a batch is one atomic step. Where the
 * records are kept, and until when, is store.c's, who stands at a name
 * crowd.c's; sleeping is wait.c's, going through all of them survey.c's.
 */
#include "src/backend/memory/store.h"
#include "src/backend/registry.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

/* Of this process, the only one there is. */
#define LIFE 1

/* ---- the operations */

/* The running or ended grant of that token; NULL if it owns none. */
static struct hf__mem_grant *owned(const struct hf__mem_entry *e,
                                   const struct hf__token *token)
{
    struct hf__mem_grant *g = e == NULL ? NULL : hf__mem_grant_of(e, token);

    return g == NULL || g->is_broken ? NULL : g;
}

static struct hf__mem_grant *running(const struct hf__mem_entry *e,
                                     const struct hf__token *token,
                                     hf__time now)
{
    struct hf__mem_grant *g = owned(e, token);

    return g == NULL || !hf__mem_runs(g, now) ? NULL : g;
}

static int grant(struct hf__mem_entry *e, struct hf__mem_grant as,
                 struct hf__op *op, hf__time now)
{
    struct hf__mem_grant *g = hf__alloc(sizeof *g);

    if (g == NULL) {
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a grant");
    }
    hf__mem_drop_grant(hf__mem_grant_of(e, &as.token));
    hf__mem_drop_ticket(hf__mem_ticket_of(e, &as.token));
    op->took_over = hf__mem_drop_ended(e, now);
    (void)hf__mem_join(as.life);
    e->fence = hf__fence_after(e->fence, hf__wall_us());
    e->touched = now;
    e->keep_end = hf__after_us(now, op->keep_us);
    *g = as;
    g->fence = e->fence;
    g->acquired_us = hf__wall_us();
    g->lease_end = hf__after_us(now, op->lease_us);
    g->owner = *op->owner;
    hf__mem_put(e, g);
    op->fence = g->fence;
    op->slot = g->slot;
    return HF_OK;
}

static int lost(const struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    uint64_t stored = e == NULL ? 0 : e->fence;
    const struct hf__mem_grant *g =
        e == NULL ? NULL : hf__mem_grant_of(e, &op->token);

    hf__mem_describe(e, now, op->ret_record);
    if (g != NULL) {
        op->ret_reason = g->is_broken      ? HF_REASON_BROKEN
                         : g->life != NULL ? HF_REASON_SESSION
                                           : HF_REASON_EXPIRED;
    } else {
        op->ret_reason = hf__reason_for(op->fence, stored, 0);
    }
    op->fence = stored;
    return HF_LOST;
}

/* The claim may not enter: it has, or gets, its place in line. */
static int wait_in_line(struct hf__mem_session *s, struct hf__mem_entry *e,
                        const struct hf__stands *stands, struct hf__op *op,
                        hf__time now)
{
    struct hf__mem_ticket *t = hf__mem_ticket_of(e, &op->token);

    hf__mem_describe(e, now, op->ret_record);
    if (t == NULL && hf__leaves_ticket(stands, op)) {
        t = hf__alloc(sizeof *t);
        if (t == NULL) {
            return hf__fail(op->err, HF_ENOMEM, "out of memory for a ticket");
        }
        t->token = op->token;
        t->manner = op->manner;
        t->since_us = hf__wall_us();
        t->owner = *op->owner;
        t->life = hf__mem_join(s->life);
        hf__list_push(&e->line, &t->link);
    }
    if (t != NULL) {
        t->seen = now;
        op->is_queued = true;
    }
    return HF_BUSY;
}

/* A claim that does not own the name. */
static int enter(struct hf__mem_session *s, struct hf__mem_entry *e,
                 struct hf__op *op, hf__time now)
{
    struct hf__mem_grant as = {
        .token = op->token, .manner = op->manner, .life = s->life};
    struct hf__stands stands;

    hf__mem_drop_forgotten(e, now);
    if (hf__mem_stands(s->store, e, now, &stands) != HF_OK) {
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a look");
    }
    if (hf__mem_is_kept(e, now) && owned(e, &op->token) == NULL) {
        return wait_in_line(s, e, &stands, op, now);
    }
    switch (hf__may_enter(&stands, &op->token, op->manner, &as.slot)) {
    case HF__ENTRY_OPEN:
        return grant(e, as, op, now);
    case HF__ENTRY_MISFIT:
        return hf__tell_misfit(op, as.slot);
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        break;
    }
    return wait_in_line(s, e, &stands, op, now);
}

static int acquire(struct hf__mem_session *s, struct hf__mem_entry *e,
                   struct hf__op *op, hf__time now)
{
    struct hf__mem_grant *g = running(e, &op->token, now);

    if (g != NULL && g->life == s->life) {
        g->lease_end = hf__after_us(now, op->lease_us);
        e->keep_end = hf__after_us(now, op->keep_us);
        g->owner = *op->owner;
        op->fence = g->fence;
        op->slot = g->slot;
        return HF_OK;
    }
    e = e == NULL ? hf__mem_add(s->store, &op->key) : e;
    if (e == NULL) {
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a record");
    }
    return enter(s, e, op, now);
}

static int renew(struct hf__mem_session *s, struct hf__mem_entry *e,
                 struct hf__op *op, hf__time now)
{
    struct hf__mem_grant *g = running(e, &op->token, now);

    if (g == NULL || g->life != s->life) {
        return lost(e, op, now);
    }
    g->lease_end = hf__after_us(now, op->lease_us);
    op->slot = g->slot;
    return HF_OK;
}

/* Is anybody but the taker in line? */
static bool is_awaited_by_others(struct hf__mem_entry *e,
                                 const struct hf__op *op, hf__time now)
{
    HF__LIST_EACH (link, &e->line) {
        const struct hf__mem_ticket *t = HF__MEM_TICKET(link);

        if (hf__mem_waits(t, now) &&
            !hf__token_equal(&t->token, &op->next_token)) {
            return true;
        }
    }
    return false;
}

static int hand_over(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    struct hf__mem_grant as = {.token = op->next_token, .slot = -1};
    struct hf__mem_grant *g = running(e, &op->token, now);
    int r = HF_OK;

    if (g == NULL) {
        return lost(e, op, now);
    }
    if (g->manner.mode != HF__MODE_EXCLUSIVE ||
        is_awaited_by_others(e, op, now)) {
        hf__mem_describe(e, now, op->ret_record);
        return HF_BUSY;
    }
    r = grant(e, as, op, now);
    if (r == HF_OK) {
        hf__mem_drop_grant(g);
    }
    return r;
}

static int release(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    struct hf__mem_grant *g = owned(e, &op->token);
    int r = g == NULL ? lost(e, op, now) : HF_OK;

    if (e != NULL) {
        hf__mem_drop_ticket(hf__mem_ticket_of(e, &op->token));
        hf__mem_drop_grant(hf__mem_grant_of(e, &op->token));
    }
    if (r == HF_OK) {
        e->touched = now;
        e->keep_end = op->reopens ? now : e->keep_end;
    }
    return r;
}

/* The fences of a name are unlike each other, also those of grants that
 * stand side by side. */
static int raise_fence(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    struct hf__mem_grant *g = owned(e, &op->token);

    if (g == NULL) {
        return lost(e, op, now);
    }
    if (op->fence > g->fence && g->life != NULL) {
        return hf__fail(op->err, HF_ENOTSUP, "a session's fence stays");
    }
    if (op->fence > g->fence) {
        g->fence = op->fence > e->fence ? op->fence : e->fence + 1;
        e->fence = g->fence;
    }
    op->fence = g->fence;
    return HF_OK;
}

/* The grants that run and are meant: how many. */
static int break_meant(struct hf__mem_store *store, struct hf__mem_entry *e,
                       struct hf__op *op, hf__time now)
{
    int n = 0;

    HF__LIST_EACH (link, &e->grants) {
        struct hf__mem_grant *g = HF__MEM_GRANT(link);

        if (!hf__mem_runs(g, now) ||
            (op->fence != 0 && op->fence != g->fence)) {
            continue;
        }
        if (op->fence != 0 && op->ret_record != NULL) {
            hf__mem_describe_grant(g, now, op->ret_record);
        }
        g->is_broken = true;
        hf__breaks_tell(&store->words, 0, &g->token, LIFE);
        n++;
    }
    return n;
}

static int break_grant(struct hf__mem_store *store, struct hf__mem_entry *e,
                       struct hf__op *op, hf__time now)
{
    bool is_kept = e != NULL && hf__mem_is_kept(e, now) &&
                   (op->fence == 0 || op->fence == e->fence);

    hf__mem_describe(e, now, op->ret_record);
    if (e == NULL || (break_meant(store, e, op, now) == 0 && !is_kept)) {
        return HF_CONFLICT;
    }
    e->keep_end = now;
    e->touched = now;
    e->fence = hf__fence_after(e->fence, hf__wall_us());
    op->fence = e->fence;
    return HF_OK;
}

static int inspect(struct hf__mem_entry *e, struct hf__op *op, hf__time now)
{
    hf__mem_describe(e, now, op->ret_record);
    if (e != NULL && op->ret_crowd != NULL &&
        hf__mem_tell_crowd(e, now, op->ret_crowd) != HF_OK) {
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a look");
    }
    return HF_OK;
}

static int apply(struct hf__mem_session *s, struct hf__op *op, hf__time now)
{
    struct hf__mem_entry *e = hf__mem_find(s->store, &op->key);

    switch (op->kind) {
    case HF__OP_RENEW:
        return renew(s, e, op, now);
    case HF__OP_RELEASE:
        return release(e, op, now);
    case HF__OP_HANDOVER:
        return s->life == NULL ? hand_over(e, op, now) : HF_ENOTSUP;
    case HF__OP_RAISE:
        return raise_fence(e, op, now);
    case HF__OP_ACQUIRE:
        return acquire(s, e, op, now);
    case HF__OP_BREAK:
        return break_grant(s->store, e, op, now);
    case HF__OP_INSPECT:
        break;
    }
    return inspect(e, op, now);
}

/* Nothing here can fail halfway, so no result is ever HF_EUNKNOWN. The names
 * of a batch differ and the batch is one step: the order of its kinds, which
 * backend.h fixes, can't be seen. */
static int memory_execute(void *state, struct hf__op *ops[], int n,
                          hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;

    (void)deadline;
    (void)err;
    HF_SCOPED_FAMILY(&hf__mem_stores);
    for (int i = 0; i < n; i++) {
        ops[i]->result = apply(s, ops[i], hf__now());
    }
    hf__unpark(&s->store->changed);
    return HF_OK;
}

static int memory_listen(void *state, hf__broken_fn fn, void *arg,
                         hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;
    struct hf__listening l = {&s->store->words, 0,        LIFE,
                              &s->nap,          &s->head, &s->heard};

    (void)err;
    hf__breaks_listen(&l, fn, arg, deadline);
    return HF_OK;
}

static void memory_interrupt(void *state)
{
    struct hf__mem_session *s = state;

    hf__nap_end(&s->nap);
    HF_SCOPED_FAMILY(&hf__mem_stores);
    if (s->store != NULL) {
        hf__unpark(&s->store->changed);
    }
}

/* ---- sessions */

static int memory_open(void *state, const struct hf__url *url,
                       const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__mem_session *s = state;

    (void)allow;
    (void)deadline;
    HF_SCOPED_FAMILY(&hf__mem_stores);
    hf__mem_sweep();
    s->store = hf__mem_store(url->path);
    if (s->store == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a store");
    }
    s->store->sessions++;
    s->head.facts = (struct hf__facts){.grade = 'D', .reach = HF_REACH_PROCESS};
    return hf__mem_begin_life(s, url, err);
}

static void memory_close(void *state)
{
    struct hf__mem_session *s = state;

    HF_SCOPED_FAMILY(&hf__mem_stores);
    if (s->store != NULL) {
        hf__mem_end_life(s);
        hf__unpark(&s->store->changed); /* who waits for its end knows when */
        s->store->sessions--;
        s->store = NULL;
        hf__mem_sweep();
    }
}

static const char *const options[] = {"session_timeout", NULL};

#define CAPS                                                                   \
    (HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |              \
     HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR | HF_CAP_SHARED |               \
     HF_CAP_SLOTS | HF_CAP_PUSH)

/* As with a server that has sessions: what a grant needs to outlive its own
 * is not there, and who waits has left something that stands in a line. */
static unsigned memory_caps(const struct hf__url *url)
{
    if (hf__url_option(url, "session_timeout") == NULL) {
        return CAPS;
    }
    return (CAPS & ~(HF_CAP_HANDOVER | HF_CAP_KEEP | HF_CAP_DETACH)) |
           HF_CAP_SESSION | HF__CAP_QUEUES;
}

const struct hf__backend hf__memory_backend = {
    .scheme = "memory",
    .caps = CAPS,
    .caps_of = memory_caps,
    .size = sizeof(struct hf__mem_session),
    .options = options,
    .has_no_sigpipe = true,
    .open = memory_open,
    .close = memory_close,
    .execute = memory_execute,
    .wait = hf__mem_wait,
    .listen = memory_listen,
    .list = hf__mem_list,
    .gc = hf__mem_gc,
    .check = hf__mem_check,
    .interrupt = memory_interrupt,
};
