/* SPDX-License-Identifier: MIT */
/*
 * What a waiter asks the server, and what it hears. The reply of a packet's
 * first statement comes when it does, the others at once: they look at the
 * rows, so that nothing is missed between an answer and the next question.
 * Called by the session's thread.
 */
#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/parked.h"

#include <string.h>

/* A bell or a turn is asked for that long; two statements each time. */
#define ASK_MS 1250

/* ---- packets */

bool hf__parked_is_fractional(const struct hf__mysql *s)
{
    return strstr(s->server.version, "MariaDB") != NULL;
}

/* Seconds of GET_LOCK(). What has whole ones only gets one at least: what is
 * due earlier is seen to by the client. */
static void add_seconds(struct hf__mysql *s, int64_t ms)
{
    if (hf__parked_is_fractional(s)) {
        hf__text_addf(&s->sql, "%lld.%03lld", (long long)(ms / 1000),
                      (long long)(ms % 1000));
    } else {
        hf__text_addf(&s->sql, "%lld", (long long)(ms < 1500 ? 1 : ms / 1000));
    }
}

static void add_bell(struct hf__mysql *s, const struct hf__sight *sight)
{
    if (sight->is_ticket) {
        hf__bell_of_ticket(&s->sql, &sight->bell);
    } else {
        hf__bell_of_grant(&s->sql, &sight->bell);
    }
}

/* The reply of the first statement comes when it does, the others at once;
 * what is taken to be short is so from the end of the packet on. A bell that
 * was had is let go of again: only its owner is to have it. */
static void write_question(struct hf__mysql *s, enum hf__question q, int64_t ms)
{
    struct hf__parked *p = s->parked;
    struct hf__watch *place = &p->place;
    struct hf__text *t = &s->sql;

    hf__text_clear(t);
    if (q == HF__ASK_TURN) {
        hf__text_add(t, "SELECT IS_USED_LOCK(");
        hf__bell_of_turn(t, &place->key);
        hf__text_add(t, "),GET_LOCK(");
        hf__bell_of_turn(t, &place->key);
        hf__text_add(t, ",");
        add_seconds(s, ms);
        hf__text_add(t, ");");
    } else if (q == HF__ASK_OWN_BELL) {
        hf__text_add(t, "SELECT NULL,GET_LOCK(");
        hf__bell_of_ticket(t, &place->ticket);
        hf__text_add(t, ",1);");
    } else if (q == HF__ASK_BELL) {
        hf__text_add(t, "SELECT NULL,GET_LOCK(");
        add_bell(s, &p->sight);
        hf__text_add(t, ",");
        add_seconds(s, ms);
        hf__text_add(t, "),RELEASE_LOCK(");
        add_bell(s, &p->sight);
        hf__text_add(t, ");");
    }
    if (!p->is_short && q != HF__ASK_LOOK) {
        hf__text_add(t, "SET SESSION wait_timeout=1;");
    }
    (void)hf__pair_guard(s);
    hf__mysql_name_ask(s, &place, 1, HF__TO_WAIT);
    hf__text_add(t, ";");
}

static int64_t ms_up_to(int64_t ms, hf__time until)
{
    int64_t left = hf__ms_until(until, hf__now());

    return left < ms ? left : ms;
}

int hf__parked_ask(struct hf__mysql *s, enum hf__question q)
{
    struct hf__parked *p = s->parked;
    int64_t ms = ms_up_to(ASK_MS, s->deadline);
    int r;

    if (q == HF__ASK_BELL) {
        ms = p->sight.wants_looks && ms > HF__TICKET_LOOK_MS
                 ? HF__TICKET_LOOK_MS
                 : ms;
        ms = ms_up_to(ms, p->due);
        p->asked_for = p->sight.bell;
        p->asked_ticket = p->sight.is_ticket;
    }
    write_question(s, q, ms);
    s->wire.grace_ms = HF__GRACE_MS;
    r = hf__wire_begin(s);
    if (r == HF_OK && s->reply.error == 0) {
        p->asked = q;
        p->answer_by = hf__after_ms(hf__now(), ms + 1000 + HF__BRIEF_MS);
    }
    return r == HF_OK && s->reply.error != 0 ? hf__mysql_fail(s, s->err) : r;
}

/* ---- replies */

static bool says_yes(const char *cell)
{
    return cell != NULL && *cell == '1';
}

/* The first statement's. */
static void hear_answer(struct hf__mysql *s, enum hf__question q)
{
    struct hf__parked *p = s->parked;
    MYSQL_ROW row = hf__wire_row(s);
    bool is_had = row != NULL && says_yes(row[1]);

    if (q == HF__ASK_TURN) {
        p->has_turn = is_had;
        /* What happened while others had the turn is theirs to see to. */
        p->is_fresh = p->is_fresh && is_had && row[0] == NULL;
    } else if (q == HF__ASK_OWN_BELL) {
        p->has_own_bell = is_had;
    } else {
        p->is_fresh = false;
        if (row == NULL || row[1] == NULL || is_had) {
            p->unmanned = p->asked_for;
            p->unmanned_ticket = p->asked_ticket;
        }
    }
}

/* All of the packet whose first reply has come. */
static int take_replies(struct hf__mysql *s)
{
    struct hf__parked *p = s->parked;
    enum hf__question q = p->asked;
    int r = HF_OK;

    p->asked = HF__ASK_NOTHING;
    if (s->reply.error == 0 && q != HF__ASK_LOOK) {
        hear_answer(s, q);
    }
    while (r == HF_OK && !s->reply.is_last) {
        r = hf__wire_next(s);
    }
    if (r != HF_OK || s->reply.error != 0) {
        return r != HF_OK ? r : hf__mysql_fail(s, s->err);
    }
    p->is_short = p->is_short || q != HF__ASK_LOOK;
    return hf__look_hear(s, &p->place, &p->sight);
}

int hf__parked_hear(struct hf__mysql *s, hf__time until, bool *ret_is_heard)
{
    struct hf__parked *p = s->parked;
    hf__time limit = s->deadline;
    int r;

    s->wire.grace_ms = 0;
    r = hf__wire_await(s, hf__earlier(until, p->answer_by), ret_is_heard);
    s->wire.grace_ms = HF__GRACE_MS;
    if (r == HF_OK && *ret_is_heard) {
        s->deadline = hf__later(limit, hf__after_ms(hf__now(), HF__BRIEF_MS));
        r = take_replies(s);
        s->deadline = limit;
    } else if (r == HF_OK && !hf__before(hf__now(), p->answer_by)) {
        s->wire.is_dead = true;
        r = hf__mysql_dead(s);
    }
    return r;
}
