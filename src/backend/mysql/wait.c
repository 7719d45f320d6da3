/* SPDX-License-Identifier: MIT */
/*
 * wait(): sleep until the name may be had, on the server, by asking for a user
 * lock that somebody else holds. Who is in no line first asks for the turn of
 * its name, of which the server keeps a queue. The first asks for the bell of
 * the holder's token; it keeps the turn while its claim tries and lets go of
 * it then, so that a hand-over costs as many statements for a hundred waiters
 * as for one. One in line holds the bell of its ticket and asks for that of
 * the ticket before it, or the holder's.
 *
 * All come back after a while to look: a bell that nobody holds, a break, a
 * stopped owner of the turn cost time and no more. The server drops a session
 * that is stopped while it waits, with its turn and bell. Called by the
 * session's thread.
 */
#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/change.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/parked.h"
#include "src/base/alloc.h"

#include <string.h>

/* The lease that was in the way is surely over. */
#define SLACK_MS 2
/* Between looks at what has no bell: another's ticket is HF__TICKET_LOOK_MS. */
#define LOOK_MS 500
/* Without memory nothing can be asked. */
#define BLIND_MS 100

/* ---- places */

static bool is_same_place(const struct hf__watch *a, const struct hf__watch *b)
{
    return hf__key_compare(&a->key, &b->key) == 0 &&
           hf__token_equal(&a->ticket, &b->ticket) &&
           a->manner.mode == b->manner.mode &&
           a->manner.slots == b->manner.slots;
}

/* Its ticket lives on for a while, as of one that asks when this is begun. */
static void write_stamp(struct hf__text *sql, const struct hf__watch *place)
{
    hf__text_add(sql, ";UPDATE holdfast_ticket FORCE INDEX(PRIMARY) "
                      "SET asked=" HF__SQL_NOW " WHERE name_key=");
    hf__text_key(sql, &place->key);
    hf__text_add(sql, " AND token=");
    hf__text_token(sql, &place->ticket);
}

static void write_release(struct hf__text *sql, const struct hf__parked *p)
{
    hf__text_add(sql, "DO RELEASE_LOCK(");
    if (p->has_turn) {
        hf__bell_of_turn(sql, &p->place.key);
    } else {
        hf__bell_of_ticket(sql, &p->place.ticket);
    }
    hf__text_add(sql, ")");
}

static int send_release(struct hf__mysql *s)
{
    int r;

    hf__text_clear(&s->sql);
    write_release(&s->sql, s->parked);
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error != 0) {
        s->wire.is_dead = true; /* or it would keep the lock */
        r = hf__mysql_dead(s);
    }
    return r;
}

/* The bell shows that it stands in line until its stamp does: so it goes last,
 * and the stamp may wait for a row that others have locked. What the server
 * refuses stops a packet before the bell has gone. */
static int send_farewell(struct hf__mysql *s)
{
    const struct hf__parked *p = s->parked;
    bool has_lock = p->has_turn || p->has_own_bell;
    int r;

    hf__mysql_packet_begin(s);
    hf__text_add(&s->sql, "SET SESSION wait_timeout=28800");
    if (p->has_own_bell) {
        write_stamp(&s->sql, &p->place);
    }
    if (has_lock) {
        hf__text_add(&s->sql, ";");
        write_release(&s->sql, p);
    }
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error != 0) {
        s->lock_wait_s = -1; /* the statement that sets it may not have run */
        r = has_lock ? send_release(s) : HF_OK;
    }
    return r;
}

static int say_farewell(struct hf__mysql *s)
{
    hf__time limit = s->deadline;
    int r;

    s->deadline = hf__later(limit, hf__after_ms(hf__now(), HF__BRIEF_MS));
    r = send_farewell(s);
    s->deadline = limit;
    return r;
}

/* HF_OK, if interrupted too: then it is placed still. */
static int let_go(struct hf__mysql *s)
{
    struct hf__parked *p = s->parked;
    int r = HF_OK;

    if (p->asked != HF__ASK_NOTHING) {
        bool is_heard = false;

        r = hf__parked_hear(s, s->deadline, &is_heard);
        if (r == HF_OK && !is_heard) {
            s->wire.is_dead = !hf__is_interrupted(&s->head);
            return s->wire.is_dead ? hf__mysql_dead(s) : HF_OK;
        }
    }
    if (r == HF_OK && (p->is_short || p->has_turn || p->has_own_bell)) {
        r = say_farewell(s);
    }
    p->is_placed = false;
    p->is_short = false;
    p->has_turn = false;
    p->has_own_bell = false;
    return r;
}

int hf__mysql_wait_leave(struct hf__mysql *s)
{
    int r = s->parked != NULL && s->parked->is_placed ? let_go(s) : HF_OK;

    s->wire.grace_ms = 0;
    return r == HF_OK && s->parked != NULL && s->parked->is_placed
               ? hf__mysql_dead(s)
               : r;
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
static int go_on(struct hf__mysql *s)
{
    struct hf__parked *p = s->parked;
    bool is_short = p->sight.is_ticket || p->sight.wants_looks;
    enum hf__question q;

    if (p->sight.is_manned) {
        p->unmanned = (struct hf__token){{0}};
    }
    p->due = hf__is_never(p->sight.due) ? HF__NEVER
                                        : hf__after_ms(p->sight.due, SLACK_MS);
    q = choose(p);
    if (q != HF__ASK_NOTHING) {
        return hf__parked_ask(s, q);
    }
    p->look_at =
        hf__after_ms(hf__now(), is_short ? HF__TICKET_LOOK_MS : LOOK_MS);
    p->look_at = hf__earlier(p->look_at, p->due);
    return HF_OK;
}

/* The watch is new. The bell of whom it has seen may be asked for at once by
 * who has the turn already. */
static int start(struct hf__mysql *s, const struct hf__watch *watch)
{
    struct hf__parked *p = s->parked;
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
    return hf__parked_ask(s, q == HF__ASK_NOTHING ? HF__ASK_LOOK : q);
}

static int take_place(struct hf__mysql *s, const struct hf__watch *watch)
{
    struct hf__parked *p = s->parked;
    bool is_same = p->is_placed && is_same_place(&p->place, watch);
    bool is_new = !is_same || p->has_fired || p->place.fence != watch->fence ||
                  !hf__token_equal(&p->place.token, &watch->token);
    int r = is_same ? HF_OK : hf__mysql_wait_leave(s);

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
    return is_new ? start(s, watch) : HF_OK;
}

/* Whole seconds may end later than what they wait for. */
static hf__time patience_of(const struct hf__mysql *s)
{
    bool is_coarse =
        s->parked->asked == HF__ASK_BELL && !hf__parked_is_fractional(s);

    return is_coarse ? hf__earlier(s->deadline, s->parked->due) : s->deadline;
}

static int step(struct hf__mysql *s)
{
    struct hf__parked *p = s->parked;
    hf__time until = patience_of(s);
    bool is_heard = false;
    int r;

    if (p->asked == HF__ASK_NOTHING) {
        if (!hf__before(hf__now(), p->look_at)) {
            return hf__parked_ask(s, HF__ASK_LOOK);
        }
        hf__wire_sleep(s, hf__earlier(p->look_at, s->deadline));
        return HF_OK;
    }
    r = hf__parked_hear(s, until, &is_heard);
    if (r != HF_OK || !is_heard) {
        p->has_fired = r == HF_OK && hf__before(until, s->deadline) &&
                       !hf__before(hf__now(), until);
        return r;
    }
    p->has_fired = must_fire(p);
    return p->has_fired ? HF_OK : go_on(s);
}

static bool is_over(struct hf__mysql *s)
{
    return hf__is_interrupted(&s->head) || !hf__before(hf__now(), s->deadline);
}

static int wait_parked(struct hf__mysql *s, struct hf__watch *watch)
{
    struct hf__parked *p = s->parked;
    int r = take_place(s, watch);

    while (r == HF_OK && !p->has_fired && !is_over(s)) {
        r = step(s);
    }
    watch->has_fired = p->has_fired;
    s->wire.grace_ms = 0;
    return r;
}

/* ---- the call */

int hf__mysql_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__mysql *s = state;
    int r;

    hf__mysql_begin(s, deadline, err);
    if (s->parked == NULL && n > 0) {
        s->parked = hf__alloc(sizeof *s->parked);
    }
    if (s->parked == NULL) {
        /* Nothing fired: the core asks again. */
        hf__wire_sleep(
            s, hf__earlier(deadline, hf__after_ms(hf__now(), BLIND_MS)));
        return HF_OK;
    }
    if (n == 0) {
        r = s->parked->is_placed ? let_go(s) : HF_OK;
        s->wire.grace_ms = 0;
        return r;
    }
    if (n == 1 && s->server.has_bells) {
        return wait_parked(s, w[0]);
    }
    r = hf__mysql_wait_leave(s);
    return r == HF_OK ? hf__parked_poll(s, w, n) : r;
}

void hf__mysql_wait_fini(struct hf__mysql *s)
{
    struct hf__parked *p = s->parked;

    if (p == NULL) {
        return;
    }
    if (p->asked != HF__ASK_NOTHING) {
        s->wire.is_dead = true; /* a reply is owed */
    }
    hf__free(p);
    s->parked = NULL;
}
