/* SPDX-License-Identifier: MIT */
/*
 * wait(): sleeps until the name may be free, on the server, by asking for a
 * lock that another session holds. A session without a ticket first asks for
 * the turn of its name, of which the server keeps a queue. The first in that
 * queue asks for the wake lock of the holder's token; it keeps the turn while
 * its claim tries and then releases it, so that a hand-over costs as many
 * statements for a hundred waiters as for one. A session with a ticket holds
 * the wake lock of its ticket and asks for that of the ticket before it, or the
 * holder's.
 *
 * All look again after a while, so a wake lock that nobody holds, a break, or a
 * stopped owner of the turn only costs time. The server drops a session that is
 * stopped while it waits, with its turn and wake lock. Called by the session's
 * thread.
 */
#include "src/backend/table/session.h"
#include "src/base/rand.h"

#include <string.h>

/* A session asks for a wake lock or a turn for so long; each time costs two
 * statements. */
#define ASK_MS 1250
/* After so much more the lease that was in the way is surely over. */
#define SLACK_MS 2
/* Between two looks when polling. */
#define POLL_LOW_MS  50
#define POLL_HIGH_MS 150
/* So often a ticket without a wake lock is refreshed, to stay alive. */
#define SHOW_MS 400

/* ---- questions */

static int64_t ms_up_to(int64_t ms, hf__time until)
{
    int64_t left = hf__ms_until(until, hf__now());

    return left < ms ? left : ms;
}

static int ask(struct hf__table_head *t, enum hf__question q)
{
    struct hf__wait_state *p = &t->wait_state;
    int64_t ms = ms_up_to(ASK_MS, t->deadline);
    int r;

    if (q == HF__ASK_WAKE_LOCK) {
        ms = p->view.wants_looks && ms > HF__TICKET_LOOK_MS ? HF__TICKET_LOOK_MS
                                                            : ms;
        ms = ms_up_to(ms, p->due);
        p->asked_for = p->view.wake_lock;
        p->asked_ticket = p->view.is_ticket;
    }
    t->grace_ms = HF__GRACE_MS;
    r = t->wait_ops->ask(t, p, q, ms);
    if (r == HF_OK) {
        p->asked = q;
        p->answer_by = hf__after_ms(hf__now(), ms + 1000 + HF__BRIEF_MS);
    }
    return r;
}

static void take_answer(struct hf__wait_state *p, enum hf__question q,
                        const struct hf__answer *answer)
{
    if (q == HF__ASK_TURN) {
        p->has_turn = answer->is_had;
        /* A change while others had the turn is theirs to handle. */
        p->is_fresh = p->is_fresh && answer->is_had && answer->was_free;
    } else if (q == HF__ASK_OWN_WAKE_LOCK) {
        p->has_own_wake_lock = answer->is_had;
    } else if (q == HF__ASK_WAKE_LOCK) {
        p->is_fresh = false;
        if (answer->is_had) {
            p->unheld = p->asked_for;
            p->unheld_ticket = p->asked_ticket;
        }
    }
}

static int see(struct hf__table_head *t, const struct hf__watch *watch)
{
    struct hf__wait_state *p = &t->wait_state;
    int r;

    hf__table_name_init(&t->name, &watch->key);
    r = t->wait_ops->read(t, &t->name);
    r = r == HF_OK ? hf__wait_view_make(&t->name, watch, &p->view) : r;
    hf__table_name_fini(&t->name);
    return r;
}

/* Take all replies of the packet whose first one has come. */
static int take_replies(struct hf__table_head *t)
{
    struct hf__wait_state *p = &t->wait_state;
    enum hf__question q = p->asked;
    struct hf__answer answer = {.is_had = false};
    int r;

    p->asked = HF__ASK_NOTHING;
    r = t->wait_ops->hear(t, q, &answer);
    take_answer(p, q, &answer);
    p->is_short = p->is_short || q != HF__ASK_LOOK;
    return r == HF_OK ? see(t, &p->queue) : r;
}

/* Take the replies of the packet under way, if they come by `until`. */
static int hear(struct hf__table_head *t, hf__time until, bool *ret_is_heard)
{
    struct hf__wait_state *p = &t->wait_state;
    hf__time limit = t->deadline;
    int r;

    t->grace_ms = 0;
    r = t->wait_ops->await(t, hf__earlier(until, p->answer_by), ret_is_heard);
    t->grace_ms = HF__GRACE_MS;
    if (r == HF_OK && *ret_is_heard) {
        t->deadline = hf__later(limit, hf__after_ms(hf__now(), HF__BRIEF_MS));
        r = take_replies(t);
        t->deadline = limit;
    } else if (r == HF_OK && !hf__before(hf__now(), p->answer_by)) {
        r = t->wait_ops->dead(t);
    }
    return r;
}

/* ---- places */

static bool is_same_queue(const struct hf__watch *a, const struct hf__watch *b)
{
    return hf__key_compare(&a->key, &b->key) == 0 &&
           hf__token_equal(&a->ticket, &b->ticket) &&
           a->lock_mode.mode == b->lock_mode.mode &&
           a->lock_mode.slots == b->lock_mode.slots;
}

static int say_farewell(struct hf__table_head *t)
{
    struct hf__wait_state *p = &t->wait_state;
    hf__time limit = t->deadline;
    int r;

    t->deadline = hf__later(limit, hf__after_ms(hf__now(), HF__BRIEF_MS));
    t->grace_ms = HF__GRACE_MS;
    r = t->wait_ops->leave(t, p);
    t->deadline = limit;
    return r;
}

/* Leave the queue. HF_OK also if interrupted: then p->is_queued is still
 * set. */
static int let_go(struct hf__table_head *t)
{
    struct hf__wait_state *p = &t->wait_state;
    int r = HF_OK;

    if (p->asked != HF__ASK_NOTHING) {
        bool is_heard = false;

        r = hear(t, t->deadline, &is_heard);
        if (r == HF_OK && !is_heard) {
            return hf__is_interrupted(&t->head) ? HF_OK : t->wait_ops->dead(t);
        }
    }
    if (r == HF_OK && (p->is_short || p->has_turn || p->has_own_wake_lock)) {
        r = say_farewell(t);
    }
    p->is_queued = false;
    p->is_short = false;
    p->has_turn = false;
    p->has_own_wake_lock = false;
    return r;
}

int hf__wait_state_leave(struct hf__table_head *t)
{
    struct hf__wait_state *p = &t->wait_state;
    int r;

    if (!p->is_queued) {
        return HF_OK;
    }
    r = let_go(t);
    t->grace_ms = 0;
    return r == HF_OK && p->is_queued ? t->wait_ops->dead(t) : r;
}

/* Is the watch to be told now? */
static bool must_fire(struct hf__wait_state *p)
{
    bool is_told =
        p->view.is_over ||
        (p->view.is_news && (p->is_fresh || p->view.has_holders_waiters) &&
         p->told_fence != p->view.fence);

    if (is_told) {
        p->told_fence = p->view.fence;
    }
    p->is_fresh = false;
    return is_told;
}

/* ---- one name, with wake locks */

/* Choose the next question. HF__ASK_NOTHING: there is no wake lock to ask
 * for. */
static enum hf__question choose(const struct hf__wait_state *p)
{
    bool has_ticket = !hf__token_is_zero(&p->queue.ticket);
    bool is_in_vain;

    if (has_ticket ? !p->has_own_wake_lock : !p->has_turn) {
        return has_ticket ? HF__ASK_OWN_WAKE_LOCK : HF__ASK_TURN;
    }
    is_in_vain = hf__token_equal(&p->view.wake_lock, &p->unheld) &&
                 p->view.is_ticket == p->unheld_ticket;
    return hf__token_is_zero(&p->view.wake_lock) || is_in_vain
               ? HF__ASK_NOTHING
               : HF__ASK_WAKE_LOCK;
}

/* Continue after a look that told the watch nothing. */
static int go_on(struct hf__table_head *t)
{
    struct hf__wait_state *p = &t->wait_state;
    bool is_short = p->view.is_ticket || p->view.wants_looks;
    enum hf__question q;

    if (p->view.is_held) {
        p->unheld = (struct hf__token){{0}};
    }
    p->due = hf__is_never(p->view.due) ? HF__NEVER
                                       : hf__after_ms(p->view.due, SLACK_MS);
    q = choose(p);
    if (q != HF__ASK_NOTHING) {
        return ask(t, q);
    }
    p->look_at =
        hf__after_ms(hf__now(), is_short ? HF__TICKET_LOOK_MS : p->look_ms);
    p->look_at = hf__earlier(p->look_at, p->due);
    return HF_OK;
}

/* Begin with a new watch. If the session has the turn already, it may at once
 * ask for the wake lock of the grant that the watch has seen. */
static int start(struct hf__table_head *t, const struct hf__watch *watch)
{
    struct hf__wait_state *p = &t->wait_state;
    enum hf__question q;

    p->is_fresh = true;
    p->due = HF__NEVER;
    if (p->asked != HF__ASK_NOTHING) {
        return HF_OK;
    }
    p->view = (struct hf__wait_view){
        .due = HF__NEVER,
        .wants_looks = watch->lock_mode.mode == HF__MODE_SLOTS,
    };
    if (hf__token_is_zero(&watch->ticket)) {
        p->view.wake_lock = watch->token;
    }
    q = choose(p);
    return ask(t, q == HF__ASK_NOTHING ? HF__ASK_LOOK : q);
}

static int take_queue(struct hf__table_head *t, const struct hf__watch *watch)
{
    struct hf__wait_state *p = &t->wait_state;
    bool is_same = p->is_queued && is_same_queue(&p->queue, watch);
    bool is_new = !is_same || p->has_fired || p->queue.fence != watch->fence ||
                  !hf__token_equal(&p->queue.token, &watch->token);
    int r = is_same ? HF_OK : hf__wait_state_leave(t);

    if (r != HF_OK) {
        return r;
    }
    if (!is_same) {
        p->told_fence = 0;
        p->unheld = (struct hf__token){{0}};
    }
    p->queue = *watch;
    memcpy(p->key, watch->key.bytes, watch->key.length);
    p->queue.key.bytes = p->key;
    p->is_queued = true;
    p->has_fired = false;
    return is_new ? start(t, watch) : HF_OK;
}

/* Limits of whole seconds may end later than the lease does, so do not wait
 * past p->due for such an answer. */
static hf__time patience_of(const struct hf__table_head *t)
{
    const struct hf__wait_state *p = &t->wait_state;
    bool is_coarse = p->is_coarse && p->asked == HF__ASK_WAKE_LOCK;

    return is_coarse ? hf__earlier(t->deadline, p->due) : t->deadline;
}

static int step(struct hf__table_head *t)
{
    struct hf__wait_state *p = &t->wait_state;
    hf__time until = patience_of(t);
    bool is_heard = false;
    int r;

    if (p->asked == HF__ASK_NOTHING) {
        if (!hf__before(hf__now(), p->look_at)) {
            return ask(t, HF__ASK_LOOK);
        }
        hf__table_rest(t, hf__earlier(p->look_at, t->deadline));
        return HF_OK;
    }
    r = hear(t, until, &is_heard);
    if (r != HF_OK || !is_heard) {
        p->has_fired = r == HF_OK && hf__before(until, t->deadline) &&
                       !hf__before(hf__now(), until);
        return r;
    }
    p->has_fired = must_fire(p);
    return p->has_fired ? HF_OK : go_on(t);
}

static bool is_over(struct hf__table_head *t)
{
    return hf__is_interrupted(&t->head) || !hf__before(hf__now(), t->deadline);
}

static int wait_parked(struct hf__table_head *t, struct hf__watch *watch)
{
    struct hf__wait_state *p = &t->wait_state;
    int r = take_queue(t, watch);

    while (r == HF_OK && !p->has_fired && !is_over(t)) {
        r = step(t);
    }
    watch->has_fired = p->has_fired;
    t->grace_ms = 0;
    return r;
}

/* ---- several names, or none to rely on a wake lock for */

/* Look at all names once. `is_fresh`: a watch that was not told yet that others
 * have the name is told. *ret_due becomes earlier if something ends earlier. */
static int look_around(struct hf__table_head *t, struct hf__watch *const w[],
                       int n, bool shows, bool is_fresh, hf__time *ret_due)
{
    struct hf__wait_state *p = &t->wait_state;
    int r = t->wait_ops->look(t, w, n, shows);

    if (r != HF_OK) {
        return r;
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        const struct hf__wait_view *view = &p->view;

        r = see(t, w[i]);
        w[i]->has_fired =
            r == HF_OK &&
            (view->is_over ||
             (view->is_news && (is_fresh || view->has_holders_waiters)));
        p->has_fired |= w[i]->has_fired;
        *ret_due = hf__earlier(*ret_due, view->due);
    }
    return r == HF_OK ? t->wait_ops->skip(t) : r;
}

static int poll_all(struct hf__table_head *t, struct hf__watch *const w[],
                    int n)
{
    struct hf__wait_state *p = &t->wait_state;
    hf__time limit = t->deadline;
    hf__time shown = {0};
    bool is_fresh = n == 1;
    int r = HF_OK;

    p->has_fired = false;
    do {
        hf__time now = hf__now();
        int64_t ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);
        hf__time until = hf__earlier(limit, hf__after_ms(now, ms));
        bool shows = !hf__before(now, hf__after_ms(shown, SHOW_MS));

        shown = shows ? now : shown;
        t->grace_ms = HF__GRACE_MS;
        t->deadline = hf__later(limit, hf__after_ms(now, HF__BRIEF_MS));
        r = look_around(t, w, n, shows, is_fresh, &until);
        t->deadline = limit;
        t->grace_ms = 0;
        if (r == HF_OK && !p->has_fired) {
            hf__table_rest(t, until);
        }
        is_fresh = false;
    } while (r == HF_OK && !p->has_fired && !hf__is_interrupted(&t->head) &&
             hf__before(hf__now(), limit));
    return r;
}

/* ---- the calls */

int hf__wait_state_wait(struct hf__table_head *t, struct hf__watch *w[], int n)
{
    struct hf__wait_state *p = &t->wait_state;
    int r;

    if (n == 0) {
        r = p->is_queued ? let_go(t) : HF_OK;
        t->grace_ms = 0;
        return r;
    }
    if (n == 1 && t->has_wake_locks) {
        return wait_parked(t, w[0]);
    }
    r = hf__wait_state_leave(t);
    return r == HF_OK ? poll_all(t, w, n) : r;
}

bool hf__wait_state_is_owed(const struct hf__wait_state *p)
{
    return p->asked != HF__ASK_NOTHING;
}
