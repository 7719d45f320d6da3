/* SPDX-License-Identifier: MIT */
/*
 * Waiting without bells: of several names on one connection, or on a server
 * that has no user locks to rely on. One statement a round reads all rows, and
 * another, now and then, says which tickets are still wanted. Called by the
 * session's thread.
 */
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/parked.h"
#include "src/base/rand.h"

/* Between rounds. */
#define POLL_LOW_MS  50
#define POLL_HIGH_MS 150
/* A ticket without a bell lives by being asked for. */
#define SHOW_MS 400

/* Those of them who are in line say that they are there. */
static void add_showing(struct hf__mysql *s, struct hf__watch *const w[], int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        count += !hf__token_is_zero(&w[i]->ticket);
    }
    if (count == 0) {
        return;
    }
    hf__text_add(&s->sql, "UPDATE holdfast_ticket FORCE INDEX(PRIMARY) "
                          "SET asked=" HF__SQL_NOW " WHERE name_key IN(''");
    for (int i = 0; i < n; i++) {
        if (!hf__token_is_zero(&w[i]->ticket)) {
            hf__text_add(&s->sql, ",");
            hf__text_key(&s->sql, &w[i]->key);
        }
    }
    hf__text_add(&s->sql, ") AND token IN(''");
    for (int i = 0; i < n; i++) {
        if (!hf__token_is_zero(&w[i]->ticket)) {
            hf__text_add(&s->sql, ",");
            hf__text_token(&s->sql, &w[i]->ticket);
        }
    }
    hf__text_add(&s->sql, ")");
}

/* One look at all. `is_fresh`: who has not been told yet that others are there
 * is told; *ret_due: something ends. */
static int look_around(struct hf__mysql *s, struct hf__watch *const w[], int n,
                       bool is_fresh, int n_before, hf__time *ret_due)
{
    struct hf__parked *p = s->parked;
    int r = hf__wire_send(s);

    for (; r == HF_OK && s->reply.error == 0 && n_before > 0; n_before--) {
        r = hf__wire_next(s);
    }
    if (r != HF_OK || s->reply.error != 0) {
        return r != HF_OK ? r : hf__mysql_fail(s, s->err);
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        struct hf__sight *sight = &p->sight;

        r = hf__look_hear(s, w[i], sight);
        w[i]->has_fired =
            r == HF_OK && (sight->is_over ||
                           (sight->is_news && (is_fresh || sight->is_crowded)));
        p->has_fired |= w[i]->has_fired;
        *ret_due = hf__earlier(*ret_due, sight->due);
    }
    return r == HF_OK ? hf__wire_skip(s) : r;
}

int hf__parked_poll(struct hf__mysql *s, struct hf__watch *const w[], int n)
{
    struct hf__parked *p = s->parked;
    hf__time limit = s->deadline;
    hf__time shown = {0};
    bool is_fresh = n == 1;
    int r = HF_OK;

    p->has_fired = false;
    do {
        hf__time now = hf__now();
        int64_t ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);
        hf__time until = hf__earlier(limit, hf__after_ms(now, ms));
        int n_before;

        hf__text_clear(&s->sql);
        n_before = hf__pair_guard(s);
        hf__mysql_name_ask(s, w, n, HF__TO_WAIT);
        hf__text_add(&s->sql, ";");
        if (!hf__before(now, hf__after_ms(shown, SHOW_MS))) {
            add_showing(s, w, n);
            shown = now;
        }
        s->wire.grace_ms = HF__GRACE_MS;
        s->deadline = hf__later(limit, hf__after_ms(now, HF__BRIEF_MS));
        r = look_around(s, w, n, is_fresh, n_before, &until);
        s->deadline = limit;
        s->wire.grace_ms = 0;
        if (r == HF_OK && !p->has_fired) {
            hf__wire_sleep(s, until);
        }
        is_fresh = false;
    } while (r == HF_OK && !p->has_fired && !hf__is_interrupted(&s->head) &&
             hf__before(hf__now(), limit));
    return r;
}
