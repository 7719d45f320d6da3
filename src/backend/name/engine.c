/* SPDX-License-Identifier: MIT */
/*
 * Runs operations, and waits, for a store of records. scan.c handles all names
 * at once. Called by the session's thread.
 */
#include "src/backend/name/engine.h"

#include "src/base/error.h"
#include "src/base/rand.h"

/* The attempts for a name that others keep changing; then the operation gives
 * up. */
#define ATTEMPTS 50

static void begin(const struct hf__primitives *p, void *s)
{
    if (p->begin != NULL) {
        p->begin(s);
    }
}

static void end(const struct hf__primitives *p, void *s)
{
    if (p->end != NULL) {
        p->end(s);
    }
}

/* ---- operations */

struct attempt {
    const struct hf__primitives *p;
    void *s;
    struct hf__rules rules;
    struct hf__op *op;
    struct hf__name *name;
};

static int load(struct attempt *a, bool to_change, struct hf__outcome *out)
{
    int r =
        a->p->load(a->s, &a->op->key, a->op, to_change, &a->name, a->op->err);

    if (r == HF_OK) {
        hf__decide(a->name, &a->rules, a->op, out);
    }
    return r;
}

static int attempt(struct attempt *a, struct hf__outcome *out)
{
    bool looks_first = a->p->looks_first && (a->op->kind == HF__OP_ACQUIRE ||
                                             a->op->kind == HF__OP_INSPECT);
    int r = load(a, !looks_first, out);

    if (r == HF_OK && ((out->is_changed && looks_first) ||
                       (out->result != HF_OK && a->name->is_partial))) {
        r = load(a, true, out);
    }
    if (r == HF_OK && out->seen != NULL && a->p->show != NULL) {
        a->p->show(a->s, out->seen);
    }
    if (r == HF_OK && out->is_changed) {
        r = a->p->commit(a->s, a->op, a->name, out);
    }
    return r;
}

int hf__engine_apply(const struct hf__primitives *p, void *s, struct hf__op *op,
                     struct hf__outcome *ret_outcome)
{
    struct attempt a = {p, s, p->rules(s), op, NULL};
    int r = attempt(&a, ret_outcome);

    if (p->put_down != NULL) {
        p->put_down(s);
    }
    return r;
}

static bool is_over(void *s, hf__time deadline)
{
    return hf__is_interrupted(s) || !hf__before(hf__now(), deadline);
}

static void execute(const struct hf__primitives *p, void *s, struct hf__op *op,
                    hf__time deadline)
{
    struct hf__outcome out;
    int r = HF__RACED;

    if (is_over(s, deadline)) {
        op->result = hf__fail(op->err, HF_EUNAVAIL, "there was no time for it");
        return;
    }
    for (int i = 0; i < ATTEMPTS && r == HF__RACED; i++) {
        if (i > 0 && is_over(s, deadline)) {
            break;
        }
        r = hf__engine_apply(p, s, op, &out);
    }
    if (r != HF_OK) {
        op->result = r == HF__RACED ? HF__AGAIN : r;
        return;
    }
    hf__outcome_tell(&out, op);
    if (p->settled != NULL) {
        p->settled(s, op);
    }
}

int hf__engine_execute(const struct hf__primitives *p, void *s,
                       struct hf__op *ops[], int n, hf__time deadline)
{
    begin(p, s);
    for (int kind = HF__OP_RENEW; kind <= HF__OP_BREAK; kind++) {
        for (int i = 0; i < n; i++) {
            if ((int)ops[i]->kind == kind) {
                execute(p, s, ops[i], deadline);
            }
        }
    }
    end(p, s);
    return HF_OK;
}

/* ---- waiting */

struct vigil {
    const struct hf__primitives *p;
    void *s;
    struct hf__watch **w;
    int n;
    hf__time news_at;
    hf__time next; /* when a watch has to look even if nobody wakes it */
    bool has_fired;
};

static void weigh(struct vigil *v, struct hf__watch *w,
                  const struct hf__name *name)
{
    struct hf__participant *ticket =
        hf__participants_find(&name->waiters, &w->ticket);
    hf__time now = hf__now();
    int64_t next_us = INT64_MAX;
    enum hf__firing firing;

    if (ticket != NULL) {
        ticket->seen_us = name->now_us;
        if (v->p->show != NULL) {
            v->p->show(v->s, ticket);
        }
    }
    firing = hf__watch_fires(name, w, !hf__before(now, v->news_at), &next_us);
    w->has_fired = firing != HF__FIRES_NOT;
    if (firing == HF__FIRES_TO_ENTER && v->p->let_in != NULL &&
        ticket == NULL) {
        v->p->let_in(v->s, w);
    }
    if (next_us != INT64_MAX) {
        v->next =
            hf__earlier(v->next, hf__after_us(now, next_us - name->now_us));
    }
}

static bool is_same_name(const struct vigil *v, int first, int i)
{
    return i < v->n && hf__key_compare(&v->w[i]->key, &v->w[first]->key) == 0;
}

/* Look at the name of watch `first`, reading it once for all watches from there
 * on that have the same name; gives how many. If it can't be read, the watch
 * fires, and the next acquire says why. */
static int look_at(struct vigil *v, int first)
{
    const struct hf__watch *w = v->w[first];
    const struct hf__op alone = {.kind = HF__OP_INSPECT,
                                 .key = w->key,
                                 .token = w->ticket,
                                 .lock_mode = w->lock_mode,
                                 .queueing = HF__QUEUE_ALWAYS};
    bool is_alone = !is_same_name(v, first, first + 1);
    struct hf__name *name = NULL;
    int r =
        v->p->load(v->s, &w->key, is_alone ? &alone : NULL, false, &name, NULL);
    int i = first;

    for (; is_same_name(v, first, i); i++) {
        if (r == HF_OK) {
            weigh(v, v->w[i], name);
        } else {
            v->w[i]->has_fired = true;
        }
        v->has_fired |= v->w[i]->has_fired;
    }
    if (v->p->put_down != NULL) {
        v->p->put_down(v->s);
    }
    return i - first;
}

static void look(struct vigil *v)
{
    int i = 0;

    begin(v->p, v->s);
    while (i < v->n) {
        i += look_at(v, i);
    }
    end(v->p, v->s);
}

int hf__engine_wait(const struct hf__primitives *p, void *s,
                    struct hf__watch *w[], int n, hf__time deadline,
                    hf_error *err)
{
    struct vigil v = {p, s, w, n, hf__now(), HF__NEVER, false};

    for (bool is_first = true;; is_first = false) {
        /* Arm first, then look: a change in between ends the sleep. */
        unsigned seen = p->seen(s, w, n);
        int r = p->look_around == NULL ? HF_OK : p->look_around(s, err);

        if (r != HF_OK) {
            return r;
        }
        v.next = deadline;
        if (p->look_ns != 0) {
            int64_t ns = hf__random_between(p->look_ns / 2, p->look_ns);

            v.next = hf__earlier(deadline, hf__after_ns(hf__now(), ns));
        }
        look(&v);
        if (v.has_fired || hf__is_interrupted(s) ||
            !hf__before(hf__now(), deadline)) {
            return HF_OK;
        }
        if (is_first) {
            v.news_at = hf__after_ns(hf__now(), p->news_ns);
        }
        p->park(s, w, n, seen, hf__earlier(v.next, deadline));
    }
}
