/* SPDX-License-Identifier: MIT */
/*
 * Waiting without bells: of several names on one connection, or where there
 * are none to rely on. One statement a round reads all rows, and another, now
 * and then, says which tickets are still wanted. Called by the session's
 * thread.
 */
#include "src/backend/table/wait.h"
#include "src/base/rand.h"

/* Between rounds. */
#define POLL_LOW_MS  50
#define POLL_HIGH_MS 150
/* A ticket without a bell lives by being asked for. */
#define SHOW_MS 400

/* One look at all. `is_fresh`: who has not been told yet that others are there
 * is told; *ret_due: something ends. */
static int look_around(struct hf__parked *p, struct hf__watch *const w[], int n,
                       bool shows, bool is_fresh, hf__time *ret_due)
{
    int r = p->ways->look(p->session, w, n, shows);

    if (r != HF_OK) {
        return r;
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        const struct hf__sight *sight = &p->sight;

        r = hf__parked_see(p, w[i]);
        w[i]->has_fired =
            r == HF_OK && (sight->is_over ||
                           (sight->is_news && (is_fresh || sight->is_crowded)));
        p->has_fired |= w[i]->has_fired;
        *ret_due = hf__earlier(*ret_due, sight->due);
    }
    return r == HF_OK ? p->ways->skip(p->session) : r;
}

int hf__parked_poll(struct hf__parked *p, struct hf__watch *const w[], int n)
{
    hf__time limit = *p->deadline;
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
        *p->grace_ms = HF__GRACE_MS;
        *p->deadline = hf__later(limit, hf__after_ms(now, HF__BRIEF_MS));
        r = look_around(p, w, n, shows, is_fresh, &until);
        *p->deadline = limit;
        *p->grace_ms = 0;
        if (r == HF_OK && !p->has_fired) {
            p->ways->rest(p->session, until);
        }
        is_fresh = false;
    } while (r == HF_OK && !p->has_fired && !hf__is_interrupted(p->session) &&
             hf__before(hf__now(), limit));
    return r;
}
