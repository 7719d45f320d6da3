/* SPDX-License-Identifier: MIT */
/*
 * The list of what the server was told of, from one call of wait() to the next:
 * which watch is which, what nobody waits for any more, what is due. It says
 * nothing to the server. Called by the session's thread.
 */
#include "src/backend/redis/armed.h"

#include "src/base/alloc.h"

#include <string.h>

/* So long a claim that was woken has to say something to the server, before
 * what was kept for it goes to the next. */
#define TRIAL_MS 100

static bool is_same_place(const struct hf__arm *a, const struct hf__watch *w)
{
    struct hf__key key = hf__arm_key(a);

    return hf__key_compare(&key, &w->key) == 0 &&
           hf__token_equal(&a->watch.ticket, &w->ticket) &&
           a->watch.manner.mode == w->manner.mode &&
           a->watch.manner.slots == w->manner.slots;
}

/* Lists change little between two calls: it is looked for from *at on. */
static struct hf__arm *find(struct hf__armed *p, const struct hf__watch *w,
                            int *at)
{
    for (int i = 0; i < p->n; i++) {
        int place = (*at + i) % p->n;
        struct hf__arm *a = &p->list[place];

        if (!a->is_wanted && !a->is_leaving && is_same_place(a, w)) {
            *at = place + 1;
            return a;
        }
    }
    return NULL;
}

static struct hf__arm *add(struct hf__armed *p)
{
    if (p->n == p->room) {
        int room = p->room == 0 ? 4 : 2 * p->room;
        struct hf__arm *list = hf__resize(p->list, (size_t)room * sizeof *list);

        if (list == NULL) {
            return NULL;
        }
        p->list = list;
        p->room = room;
    }
    p->list[p->n] = (struct hf__arm){0};
    return &p->list[p->n++];
}

/* It looks again, unless it has just done so. */
static void renew(struct hf__arm *a, const struct hf__watch *w)
{
    bool is_new = a->was_told || a->watch.key.length == 0 ||
                  a->watch.fence != w->fence ||
                  !hf__token_equal(&a->watch.token, &w->token);

    a->watch = *w;
    memcpy(a->key, w->key.bytes, w->key.length);
    a->is_wanted = true;
    if (is_new) {
        a->is_failing = false;
        a->due = (hf__time){0};
    }
    if (a->was_told) {
        a->has_fired = false;
        a->was_told = false;
        a->was_woken = false;
    }
}

/* Do others of the list share its place among those who sleep? */
static bool is_shared(const struct hf__armed *p, const struct hf__arm *a)
{
    for (int i = 0; i < p->n; i++) {
        const struct hf__arm *other = &p->list[i];

        if (other != a && other->is_wanted && is_same_place(other, &a->watch)) {
            return true;
        }
    }
    return false;
}

/* It was woken and its caller told: that claim is being tried, or nobody knows
 * of it any more, and then others are to be woken in its place. */
static bool lingers(const struct hf__arm *a)
{
    return !a->is_wanted && !a->is_leaving && a->was_told && a->was_woken;
}

void hf__armed_forget(struct hf__armed *p)
{
    int kept = 0;

    for (int i = 0; i < p->n; i++) {
        struct hf__arm *a = &p->list[i];

        if (a->is_wanted || lingers(a) ||
            (a->is_leaving && (a->is_entered || a->was_woken))) {
            p->list[kept++] = *a;
        }
    }
    p->n = kept;
}

/* What is not wanted leaves, if the server knows it; what was told to have
 * fired `with_told` only. */
static void dismiss(struct hf__armed *p, bool with_told)
{
    for (int i = 0; i < p->n; i++) {
        struct hf__arm *a = &p->list[i];
        struct hf__key key = hf__arm_key(a);

        if (!a->is_wanted && !a->is_leaving) {
            a->watch.key = key; /* to be compared */
            a->is_leaving = (with_told || !a->was_told) && !is_shared(p, a);
        }
    }
}

static void want_none(struct hf__armed *p)
{
    for (int i = 0; i < p->n; i++) {
        p->list[i].is_wanted = false;
    }
}

int hf__armed_take(struct hf__armed *p, struct hf__watch *const w[], int n)
{
    int at = 0;

    want_none(p);
    for (int i = 0; i < n; i++) {
        struct hf__arm *a = find(p, w[i], &at);

        if (a == NULL) {
            a = add(p);
        }
        if (a == NULL) {
            return HF_ENOMEM;
        }
        renew(a, w[i]);
    }
    dismiss(p, false);
    hf__armed_forget(p);
    return HF_OK;
}

void hf__armed_part(struct hf__armed *p, bool with_told)
{
    want_none(p);
    dismiss(p, with_told);
    for (int i = 0; i < p->n; i++) {
        p->list[i].was_told = false; /* those that stay are forgotten */
    }
    hf__armed_forget(p);
}

void hf__armed_tell(struct hf__armed *p, struct hf__watch *w[], int n)
{
    hf__time tried = hf__after_ms(hf__now(), TRIAL_MS);

    for (int i = 0; i < p->n; i++) {
        struct hf__arm *a = &p->list[i];

        for (int j = 0; a->has_fired && !a->was_told && j < n; j++) {
            if (!w[j]->has_fired && is_same_place(a, w[j])) {
                w[j]->has_fired = true;
                a->was_told = true;
                a->due = tried;
            }
        }
    }
}

bool hf__armed_has_news(const struct hf__armed *p)
{
    for (int i = 0; i < p->n; i++) {
        if (p->list[i].is_wanted && p->list[i].has_fired) {
            return true;
        }
    }
    return false;
}

hf__time hf__armed_next_due(struct hf__armed *p, hf__time now)
{
    hf__time next = HF__NEVER;

    for (int i = 0; i < p->n; i++) {
        struct hf__arm *a = &p->list[i];

        if (lingers(a) && !hf__before(now, a->due)) {
            a->watch.key = hf__arm_key(a); /* to be compared */
            a->is_leaving = !is_shared(p, a);
            a->was_told = false;
        }
        if (a->is_leaving) {
            return now;
        }
        if (a->is_failing && !hf__before(now, a->due)) {
            a->has_fired = true;
        }
        next = hf__earlier(next, a->due);
    }
    return next;
}
