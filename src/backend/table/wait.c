/* SPDX-License-Identifier: MIT */
/*
 * wait(): sleep until the name may be had, on the server, by asking for a lock
 * of the server's that somebody else holds. Who is in no line first asks for
 * the turn of its name, of which the server keeps a queue. The first asks for
 * the bell of the holder's token; it keeps the turn while its claim tries and
 * lets go of it then, so that a hand-over costs as many statements for a
 * hundred waiters as for one. One in line holds the bell of its ticket and asks
 * for that of the ticket before it, or the holder's.
 *
 * All come back after a while to look: a bell that nobody holds, a break, a
 * stopped owner of the turn cost time and no more. The server drops a session
 * that is stopped while it waits, with its turn and bell. Called by the
 * session's thread.
 */
#include "src/backend/table/wait.h"

#include <string.h>

/* A bell or a turn is asked for that long; two statements each time. */
#define ASK_MS 1250
/* The lease that was in the way is surely over. */
#define SLACK_MS 2

/* ---- questions */

static int64_t ms_up_to(int64_t ms, hf__time until)
{
    int64_t left = hf__ms_until(until, hf__now());

    return left < ms ? left : ms;
}

static int ask(struct hf__parked *p, enum hf__question q)
{
    int64_t ms = ms_up_to(ASK_MS, *p->deadline);
    int r;

    if (q == HF__ASK_BELL) {
        ms = p->sight.wants_looks && ms > HF__TICKET_LOOK_MS
                 ? HF__TICKET_LOOK_MS
                 : ms;
        ms = ms_up_to(ms, p->due);
        p->asked_for = p->sight.bell;
        p->asked_ticket = p->sight.is_ticket;
    }
    *p->grace_ms = HF__GRACE_MS;
    r = p->ways->ask(p->session, p, q, ms);
    if (r == HF_OK) {
        p->asked = q;
        p->answer_by = hf__after_ms(hf__now(), ms + 1000 + HF__BRIEF_MS);
    }
    return r;
}

static void take_answer(struct hf__parked *p, enum hf__question q,
                        const struct hf__answer *answer)
{
    if (q == HF__ASK_TURN) {
        p->has_turn = answer->is_had;
        /* What happened while others had the turn is theirs to see to. */
        p->is_fresh = p->is_fresh && answer->is_had && answer->was_free;
    } else if (q == HF__ASK_OWN_BELL) {
        p->has_own_bell = answer->is_had;
    } else if (q == HF__ASK_BELL) {
        p->is_fresh = false;
        if (answer->is_had) {
            p->unmanned = p->asked_for;
            p->unmanned_ticket = p->asked_ticket;
        }
    }
}

int hf__parked_see(struct hf__parked *p, const struct hf__watch *watch)
{
    int r;

    hf__table_name_init(p->name, &watch->key);
    r = p->ways->read(p->session, p->name);
    r = r == HF_OK ? hf__sight_make(p->name, watch, &p->sight) : r;
    hf__table_name_fini(p->name);
    return r;
}

/* All of the packet whose first reply has come. */
static int take_replies(struct hf__parked *p)
{
    enum hf__question q = p->asked;
    struct hf__answer answer = {.is_had = false};
    int r;

    p->asked = HF__ASK_NOTHING;
    r = p->ways->hear(p->session, q, &answer);
    take_answer(p, q, &answer);
    p->is_short = p->is_short || q != HF__ASK_LOOK;
    return r == HF_OK ? hf__parked_see(p, &p->place) : r;
}

/* Take the replies of the packet under way, if they come by then. */
static int hear(struct hf__parked *p, hf__time until, bool *ret_is_heard)
{
    hf__time limit = *p->deadline;
    int r;

    *p->grace_ms = 0;
    r = p->ways->await(p->session, hf__earlier(until, p->answer_by),
                       ret_is_heard);
    *p->grace_ms = HF__GRACE_MS;
    if (r == HF_OK && *ret_is_heard) {
        *p->deadline = hf__later(limit, hf__after_ms(hf__now(), HF__BRIEF_MS));
        r = take_replies(p);
        *p->deadline = limit;
    } else if (r == HF_OK && !hf__before(hf__now(), p->answer_by)) {
        r = p->ways->dead(p->session);
    }
    return r;
}

/* ---- places */

static bool is_same_place(const struct hf__watch *a, const struct hf__watch *b)
{
    return hf__key_compare(&a->key, &b->key) == 0 &&
           hf__token_equal(&a->ticket, &b->ticket) &&
           a->manner.mode == b->manner.mode &&
           a->manner.slots == b->manner.slots;
}

static int say_farewell(struct hf__parked *p)
{
    hf__time limit = *p->deadline;
    int r;

    *p->deadline = hf__later(limit, hf__after_ms(hf__now(), HF__BRIEF_MS));
    *p->grace_ms = HF__GRACE_MS;
    r = p->ways->leave(p->session, p);
    *p->deadline = limit;
    return r;
}

/* HF_OK, if interrupted too: then it is placed still. */
static int let_go(struct hf__parked *p)
{
    int r = HF_OK;

    if (p->asked != HF__ASK_NOTHING) {
        bool is_heard = false;

        r = hear(p, *p->deadline, &is_heard);
        if (r == HF_OK && !is_heard) {
            return hf__is_interrupted(p->session) ? HF_OK
                                                  : p->ways->dead(p->session);
        }
    }
    if (r == HF_OK && (p->is_short || p->has_turn || p->has_own_bell)) {
        r = say_farewell(p);
    }
    p->is_placed = false;
    p->is_short = false;
    p->has_turn = false;
    p->has_own_bell = false;
    return r;
}

int hf__parked_leave(struct hf__parked *p)
{
    int r;

    if (!p->is_placed) {
        return HF_OK;
    }
    r = let_go(p);
    *p->grace_ms = 0;
    return r == HF_OK && p->is_placed ? p->ways->dead(p->session) : r;
}

/* Is it to be told now? */
static bool must_fire(struct hf__parked *p)
{
    bool is_told = p->sight.is_over ||
                   (p->sight.is_news && (p->is_fresh || p->sight.is_crowded) &&
                    p->told_fence != p->sight.fence);

    if (is_told) {
        p->told_fence = p->sight.fence;
    }
    p->is_fresh = false;
    return is_told;
}

/* ---- one name, with bells */

/* HF__ASK_NOTHING: there is no bell to ask for. */
static enum hf__question choose(const struct hf__parked *p)
{
    bool has_ticket = !hf__token_is_zero(&p->place.ticket);
    bool is_in_vain;

    if (has_ticket ? !p->has_own_bell : !p->has_turn) {
        return has_ticket ? HF__ASK_OWN_BELL : HF__ASK_TURN;
    }
    is_in_vain = hf__token_equal(&p->sight.bell, &p->unmanned) &&
                 p->sight.is_ticket == p->unmanned_ticket;
    return hf__token_is_zero(&p->sight.bell) || is_in_vain ? HF__ASK_NOTHING
                                                           : HF__ASK_BELL;
}

/* After a look that told nothing. */
static int go_on(struct hf__parked *p)
{
    bool is_short = p->sight.is_ticket || p->sight.wants_looks;
    enum hf__question q;

    if (p->sight.is_manned) {
        p->unmanned = (struct hf__token){{0}};
    }
    p->due = hf__is_never(p->sight.due) ? HF__NEVER
                                        : hf__after_ms(p->sight.due, SLACK_MS);
    q = choose(p);
    if (q != HF__ASK_NOTHING) {
        return ask(p, q);
    }
    p->look_at =
        hf__after_ms(hf__now(), is_short ? HF__TICKET_LOOK_MS : p->look_ms);
    p->look_at = hf__earlier(p->look_at, p->due);
    return HF_OK;
}

/* The watch is new. The bell of whom it has seen may be asked for at once by
 * who has the turn already. */
static int start(struct hf__parked *p, const struct hf__watch *watch)
{
    enum hf__question q;

    p->is_fresh = true;
    p->due = HF__NEVER;
    if (p->asked != HF__ASK_NOTHING) {
        return HF_OK;
    }
    p->sight = (struct hf__sight){
        .due = HF__NEVER,
        .wants_looks = watch->manner.mode == HF__MODE_SLOTS,
    };
    if (hf__token_is_zero(&watch->ticket)) {
        p->sight.bell = watch->token;
    }
    q = choose(p);
    return ask(p, q == HF__ASK_NOTHING ? HF__ASK_LOOK : q);
}

static int take_place(struct hf__parked *p, const struct hf__watch *watch)
{
    bool is_same = p->is_placed && is_same_place(&p->place, watch);
    bool is_new = !is_same || p->has_fired || p->place.fence != watch->fence ||
                  !hf__token_equal(&p->place.token, &watch->token);
    int r = is_same ? HF_OK : hf__parked_leave(p);

    if (r != HF_OK) {
        return r;
    }
    if (!is_same) {
        p->told_fence = 0;
        p->unmanned = (struct hf__token){{0}};
    }
    p->place = *watch;
    memcpy(p->key, watch->key.bytes, watch->key.length);
    p->place.key.bytes = p->key;
    p->is_placed = true;
    p->has_fired = false;
    return is_new ? start(p, watch) : HF_OK;
}

/* Whole seconds may end later than what they wait for. */
static hf__time patience_of(const struct hf__parked *p)
{
    bool is_coarse = p->is_coarse && p->asked == HF__ASK_BELL;

    return is_coarse ? hf__earlier(*p->deadline, p->due) : *p->deadline;
}

static int step(struct hf__parked *p)
{
    hf__time until = patience_of(p);
    bool is_heard = false;
    int r;

    if (p->asked == HF__ASK_NOTHING) {
        if (!hf__before(hf__now(), p->look_at)) {
            return ask(p, HF__ASK_LOOK);
        }
        p->ways->rest(p->session, hf__earlier(p->look_at, *p->deadline));
        return HF_OK;
    }
    r = hear(p, until, &is_heard);
    if (r != HF_OK || !is_heard) {
        p->has_fired = r == HF_OK && hf__before(until, *p->deadline) &&
                       !hf__before(hf__now(), until);
        return r;
    }
    p->has_fired = must_fire(p);
    return p->has_fired ? HF_OK : go_on(p);
}

static bool is_over(struct hf__parked *p)
{
    return hf__is_interrupted(p->session) ||
           !hf__before(hf__now(), *p->deadline);
}

static int wait_parked(struct hf__parked *p, struct hf__watch *watch)
{
    int r = take_place(p, watch);

    while (r == HF_OK && !p->has_fired && !is_over(p)) {
        r = step(p);
    }
    watch->has_fired = p->has_fired;
    *p->grace_ms = 0;
    return r;
}

/* ---- the calls */

int hf__parked_wait(struct hf__parked *p, struct hf__watch *w[], int n,
                    bool has_bells)
{
    int r;

    if (n == 0) {
        r = p->is_placed ? let_go(p) : HF_OK;
        *p->grace_ms = 0;
        return r;
    }
    if (n == 1 && has_bells) {
        return wait_parked(p, w[0]);
    }
    r = hf__parked_leave(p);
    return r == HF_OK ? hf__parked_poll(p, w, n) : r;
}

bool hf__parked_is_owed(const struct hf__parked *p)
{
    return p->asked != HF__ASK_NOTHING;
}
