/* SPDX-License-Identifier: MIT */
/*
 * wait(): sleep until the server says that a name may be free. This file keeps
 * the list of subscriptions from one call to the next: which watch is which,
 * which are dropped, which are due. It decides when to look at a name, and
 * drops watches that no caller waits for; subscribe.c has the commands. Between
 * two calls nothing is done; the next call finds what came meanwhile.
 *
 * A message is lost only with its connection, which ends the session. If a
 * waiter is woken and does nothing, because its process is stopped, it costs
 * the others the moment for which the server keeps the name for it, and the
 * time until their next look. Called by the session's thread.
 */
#include "src/backend/redis/subscriptions.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* ---- the list: only forget() changes it while a reply is outstanding */

/* How long a claim that was woken may take to ask the server, before its wake
 * is passed on to the next waiter. */
#define TRIAL_MS 100

static bool is_same_queue(const struct hf__subscription *a,
                          const struct hf__watch *w)
{
    struct hf__key key = hf__subscription_key(a);

    return hf__key_compare(&key, &w->key) == 0 &&
           hf__token_equal(&a->watch.ticket, &w->ticket) &&
           a->watch.lock_mode.mode == w->lock_mode.mode &&
           a->watch.lock_mode.slots == w->lock_mode.slots;
}

/* The list changes little between two calls, so the search begins at *at. */
static struct hf__subscription *find(struct hf__subscriptions *p,
                                     const struct hf__watch *w, int *at)
{
    for (int i = 0; i < p->n; i++) {
        int near_index = (*at + i) % p->n;
        struct hf__subscription *a = &p->list[near_index];

        if (!a->is_wanted && !a->is_leaving && is_same_queue(a, w)) {
            *at = near_index + 1;
            return a;
        }
    }
    return NULL;
}

static struct hf__subscription *add(struct hf__subscriptions *p)
{
    if (p->n == p->room) {
        int room = p->room == 0 ? 4 : 2 * p->room;
        struct hf__subscription *list =
            hf__resize(p->list, (size_t)room * sizeof *list);

        if (list == NULL) {
            return NULL;
        }
        p->list = list;
        p->room = room;
    }
    p->list[p->n] = (struct hf__subscription){0};
    return &p->list[p->n++];
}

/* Wait for it in this call; it looks again, unless it has just done so. */
static void renew(struct hf__subscription *a, const struct hf__watch *w)
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

/* Are other watches in the list one waiter with it for the server? */
static bool is_shared(const struct hf__subscriptions *p,
                      const struct hf__subscription *a)
{
    for (int i = 0; i < p->n; i++) {
        const struct hf__subscription *other = &p->list[i];

        if (other != a && other->is_wanted && is_same_queue(other, &a->watch)) {
            return true;
        }
    }
    return false;
}

/* The watch was woken and its caller told. The claim is now being tried, or was
 * given up, and then others must be woken in its place. */
static bool lingers(const struct hf__subscription *a)
{
    return !a->is_wanted && !a->is_leaving && a->was_told && a->was_woken;
}

/* Remove subscriptions that neither the server nor a caller knows any more.
 * Allowed while replies are outstanding, too. */
static void forget(struct hf__subscriptions *p)
{
    int kept = 0;

    for (int i = 0; i < p->n; i++) {
        struct hf__subscription *a = &p->list[i];

        if (a->is_wanted || lingers(a) ||
            (a->is_leaving && (a->is_entered || a->was_woken))) {
            p->list[kept++] = *a;
        }
    }
    p->n = kept;
}

/* Mark dropped watches for UNSUBSCRIBE; those whose caller was told that they
 * fired only if with_told. */
static void dismiss(struct hf__subscriptions *p, bool with_told)
{
    for (int i = 0; i < p->n; i++) {
        struct hf__subscription *a = &p->list[i];
        struct hf__key key = hf__subscription_key(a);

        if (!a->is_wanted && !a->is_leaving) {
            a->watch.key = key; /* for is_shared() */
            a->is_leaving = (with_told || !a->was_told) && !is_shared(p, a);
        }
    }
}

static void want_none(struct hf__subscriptions *p)
{
    for (int i = 0; i < p->n; i++) {
        p->list[i].is_wanted = false;
    }
}

/* The current call waits for these watches and no others. HF_OK or
 * HF_ENOMEM. */
static int take_watches(struct hf__subscriptions *p,
                        struct hf__watch *const w[], int n)
{
    int at = 0;

    want_none(p);
    for (int i = 0; i < n; i++) {
        struct hf__subscription *a = find(p, w[i], &at);

        if (a == NULL) {
            a = add(p);
        }
        if (a == NULL) {
            return HF_ENOMEM;
        }
        renew(a, w[i]);
    }
    dismiss(p, false);
    forget(p);
    return HF_OK;
}

/* Drop all watches. Those whose caller was told that they fired are marked for
 * UNSUBSCRIBE only if with_told; else they are only removed from the list, as
 * their claims may be being tried. */
static void let_go(struct hf__subscriptions *p, bool with_told)
{
    want_none(p);
    dismiss(p, with_told);
    for (int i = 0; i < p->n; i++) {
        p->list[i].was_told = false; /* so that forget() removes it */
    }
    forget(p);
}

/* Tell the caller which watches have fired. */
static void tell_fired(struct hf__subscriptions *p, struct hf__watch *w[],
                       int n)
{
    hf__time tried = hf__after_ms(hf__now(), TRIAL_MS);

    for (int i = 0; i < p->n; i++) {
        struct hf__subscription *a = &p->list[i];

        for (int j = 0; a->has_fired && !a->was_told && j < n; j++) {
            if (!w[j]->has_fired && is_same_queue(a, w[j])) {
                w[j]->has_fired = true;
                a->was_told = true;
                a->due = tried;
            }
        }
    }
}

static bool has_news(const struct hf__subscriptions *p)
{
    for (int i = 0; i < p->n; i++) {
        if (p->list[i].is_wanted && p->list[i].has_fired) {
            return true;
        }
    }
    return false;
}

/* When the server must be asked next. A watch that was refused fires
 * instead. */
static hf__time next_due(struct hf__subscriptions *p, hf__time now)
{
    hf__time next = HF__NEVER;

    for (int i = 0; i < p->n; i++) {
        struct hf__subscription *a = &p->list[i];

        if (lingers(a) && !hf__before(now, a->due)) {
            a->watch.key = hf__subscription_key(a); /* for is_shared() */
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

/* A server that leaves a look unanswered for that long is taken for dead. */
#define ANSWER_MS 10000
/* How long to sleep if memory lacks, for nothing can be asked then. */
#define BLIND_MS 100

/* ---- sleeping */

/* Set err to the peer's reason. */
static int tell_dead(struct hf__redis *s, hf_error *err)
{
    return hf__fail(err, s->peer.status, "%s", s->peer.err.text);
}

static int take_replies(struct hf__redis *s)
{
    int r = HF_OK;

    while (r == HF_OK) {
        redisReply *reply = NULL;

        r = hf__resp_next(&s->peer.resp, &reply);
        if (r != HF_OK) {
            hf__peer_fail(&s->peer, r, "it does not speak as Redis does");
        }
        if (reply == NULL) {
            break;
        }
        r = hf__subscribe_take(s, reply);
        freeReplyObject(reply);
    }
    forget(s->subscriptions);
    return r;
}

/* Sleep until a reply or message comes, at most until `until`. */
static int sleep_until(struct hf__redis *s, hf__time until)
{
    struct hf__peer *peer = &s->peer;
    int r = HF_OK;

    if (hf__peers_poll(&peer, 1, &s->rest, &s->head, until)) {
        r = take_replies(s);
    }
    return s->peer.state == HF__PEER_DEAD ? s->peer.status : r;
}

static bool is_over(struct hf__redis *s, hf__time deadline)
{
    return hf__is_interrupted(&s->head) || !hf__before(hf__now(), deadline);
}

/* A reply is outstanding: sleep until it comes, or should have come. */
static int await_reply(struct hf__redis *s, hf__time deadline)
{
    hf__time limit = hf__after_ms(s->subscriptions->asked_at, ANSWER_MS);
    int r = sleep_until(s, hf__earlier(limit, deadline));

    if (r == HF_OK && hf__subscribe_is_asking(s->subscriptions) &&
        !hf__before(hf__now(), limit)) {
        hf__peer_fail(&s->peer, HF_EUNAVAIL, "it does not answer");
        r = s->peer.status;
    }
    return r;
}

/* Take replies until none is outstanding. */
static int hear_out(struct hf__redis *s, hf__time deadline)
{
    int r = take_replies(s);

    while (r == HF_OK && hf__subscribe_is_asking(s->subscriptions) &&
           !is_over(s, deadline)) {
        r = await_reply(s, deadline);
    }
    return r;
}

/* Nothing fires: the core asks again. Without memory no command was sent, so
 * that no reply is outstanding. */
static int sleep_blindly(struct hf__redis *s, hf__time deadline)
{
    struct hf__peer *peer = &s->peer;
    hf__time until = hf__earlier(deadline, hf__after_ms(hf__now(), BLIND_MS));

    while (hf__before(hf__now(), until) &&
           hf__peers_poll(&peer, 1, &s->rest, &s->head, until) &&
           peer->state == HF__PEER_READY) {
        /* The next call reads what came. */
    }
    return peer->state == HF__PEER_DEAD ? peer->status : (int)HF_OK;
}

static int step(struct hf__redis *s, hf__time deadline)
{
    struct hf__subscriptions *p = s->subscriptions;
    hf__time now = hf__now();
    hf__time next;

    if (hf__subscribe_is_asking(p)) {
        return await_reply(s, deadline);
    }
    next = next_due(p, now);
    if (has_news(p)) {
        return HF_OK;
    }
    return hf__before(now, next) ? sleep_until(s, hf__earlier(next, deadline))
                                 : hf__subscribe_ask(s);
}

static int wait_for_news(struct hf__redis *s, struct hf__watch *w[], int n,
                         hf__time deadline)
{
    int r = hear_out(s, deadline);

    if (r != HF_OK || hf__subscribe_is_asking(s->subscriptions)) {
        return r;
    }
    r = take_watches(s->subscriptions, w, n);
    if (r != HF_OK) {
        return sleep_blindly(s, deadline);
    }
    while (r == HF_OK && !has_news(s->subscriptions) && !is_over(s, deadline)) {
        r = step(s, deadline);
    }
    if (r == HF_OK) {
        tell_fired(s->subscriptions, w, n);
    }
    return r;
}

/* ---- leaving */

/* Drop all watches and stop listening. With with_told the server also drops
 * those that fired; else their claims may be being tried. */
static int part(struct hf__redis *s, bool with_told, hf__time deadline)
{
    struct hf__subscriptions *p = s->subscriptions;
    int r = hear_out(s, deadline);

    if (r != HF_OK || hf__subscribe_is_asking(p)) {
        return r;
    }
    let_go(p, with_told);
    while (r == HF_OK && (p->n > 0 || p->is_subscribed) &&
           !hf__subscribe_is_asking(p)) {
        r = hf__subscribe_part(s);
        r = r == HF_OK ? hear_out(s, deadline) : r;
    }
    return r;
}

int hf__redis_wait_leave(struct hf__redis *s, hf__time deadline, hf_error *err)
{
    int r = HF_OK;

    if (s->subscriptions == NULL ||
        (!s->subscriptions->is_subscribed &&
         !hf__subscribe_is_asking(s->subscriptions))) {
        return HF_OK;
    }
    r = part(s, false, deadline);
    if (r == HF_OK && hf__subscribe_is_asking(s->subscriptions)) {
        hf__peer_fail(&s->peer, HF_EUNAVAIL, "it does not answer");
        r = s->peer.status;
    }
    return r == HF_OK ? HF_OK : tell_dead(s, err);
}

/* ---- the call */

int hf__redis_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__redis *s = state;
    int grace_ms;
    int r;

    if (s->subscriptions == NULL && n > 0) {
        s->subscriptions = hf__alloc(sizeof *s->subscriptions);
    }
    if (s->subscriptions == NULL) {
        return n > 0 ? sleep_blindly(s, deadline) : HF_OK;
    }
    grace_ms = s->rest.grace_ms;
    s->rest.grace_ms = 0; /* the next call can read outstanding replies */
    r = n > 0 ? wait_for_news(s, w, n, deadline) : part(s, true, deadline);
    s->rest.grace_ms = grace_ms;
    return r == HF_OK ? HF_OK : tell_dead(s, err);
}

/* These commands need not arrive: if they do not, the server passes over the
 * waiters that it cannot reach. */
void hf__redis_wait_fini(struct hf__redis *s)
{
    struct hf__subscriptions *p = s->subscriptions;
    int r = HF_OK;

    if (p == NULL) {
        return;
    }
    if (s->peer.state == HF__PEER_READY && take_replies(s) == HF_OK &&
        !hf__subscribe_is_asking(p)) {
        let_go(p, true);
        r = p->n > 0 ? hf__subscribe_part(s) : HF_OK;
    }
    (void)r;
    hf__free(p->list);
    hf__free(p);
    s->subscriptions = NULL;
}
