/* SPDX-License-Identifier: MIT */
/*
 * Hearing the answers: each vote for as long as its operation is worth it. This
 * file decides when nobody waits any more; who is asked is batch.c's. Called
 * by the session's thread.
 */
#include "src/backend/redlock/vote.h"

/* A member that does not answer costs no more than a twentieth of the lease,
 * so that what is won is of use; but a slow machine is no dead one. What is
 * held already has the time of a renewal's answer anywhere, a sixth. */
#define LIMIT_PART     20
#define LIMIT_RENEWAL  6
#define LIMIT_LEAST_MS 100
#define LIMIT_SHORT    2 /* this part of a lease that is shorter than that */
#define LIMIT_MIN_MS   20
#define LIMIT_MAX_MS   1500

/* Who looks waits so long for the last ones. */
#define LOOK_MS 50

/* ---- limits */

static int64_t limit_ms_of(const struct hf__op *op)
{
    int64_t lease_ms = op->lease_us / 1000;
    int64_t least_ms = lease_ms / LIMIT_SHORT < LIMIT_LEAST_MS
                           ? lease_ms / LIMIT_SHORT
                           : LIMIT_LEAST_MS;
    int part = op->kind == HF__OP_RENEW ? LIMIT_RENEWAL : LIMIT_PART;
    int64_t ms = lease_ms / part > least_ms ? lease_ms / part : least_ms;

    return op->lease_us <= 0 || ms > LIMIT_MAX_MS ? LIMIT_MAX_MS
           : ms < LIMIT_MIN_MS                    ? LIMIT_MIN_MS
                                                  : ms;
}

hf__time hf__redlock_limit(struct hf__op *const ops[], int n, hf__time deadline)
{
    int64_t ms = LIMIT_MAX_MS;

    for (int i = 0; i < n; i++) {
        ms = limit_ms_of(ops[i]) < ms ? limit_ms_of(ops[i]) : ms;
    }
    return hf__earlier(deadline, hf__after_ms(hf__now(), ms));
}

/*
 * Each waits as long as its own lease allows, from now on: the second round of
 * a grant as long as the first. But renewals do not wait for one another: none
 * of them can be tried again before the batch is over, and those that wait do
 * so for the same members.
 */
void hf__redlock_set_limits(struct hf__redlock *s, int n, hf__time deadline)
{
    hf__time now = hf__now();
    hf__time latest = deadline;

    for (int i = 0; i < n; i++) {
        struct hf__vote *v = &s->votes[s->order[i]];

        v->until = hf__after_ms(now, limit_ms_of(v->op));
        if (v->op->kind == HF__OP_RENEW) {
            latest = hf__earlier(latest, v->until);
        }
    }
    for (int i = 0; i < n; i++) {
        struct hf__vote *v = &s->votes[s->order[i]];

        v->until = hf__earlier(v->until, latest);
    }
}

/* ---- hearing */

/* A look that a majority has answered waits for the others no longer. */
static void hurry(struct hf__redlock *s)
{
    hf__time soon = hf__after_ms(hf__now(), LOOK_MS);

    for (int i = 0; i < s->n_votes; i++) {
        struct hf__vote *v = &s->votes[i];

        if (!v->is_decided && v->op->kind == HF__OP_INSPECT &&
            v->quorum.granted >= hf__redlock_majority(s)) {
            v->until = hf__earlier(v->until, soon);
        }
    }
}

/* Those whose time is up. False: there was none. */
static bool end_late(struct hf__redlock *s)
{
    hf__time now = hf__now();
    bool has_ended = false;

    for (int i = 0; i < s->n_votes; i++) {
        struct hf__vote *v = &s->votes[i];

        if (!v->is_decided && !hf__before(now, v->until)) {
            hf__vote_end(v);
            s->undecided--;
            has_ended = true;
        }
    }
    return has_ended;
}

static hf__time next_end(const struct hf__redlock *s)
{
    hf__time next = HF__NEVER;

    for (int i = 0; i < s->n_votes; i++) {
        if (!s->votes[i].is_decided) {
            next = hf__earlier(next, s->votes[i].until);
        }
    }
    return next;
}

void hf__redlock_hear(struct hf__redlock *s)
{
    bool goes_on = true;

    while (s->undecided > 0 && goes_on) {
        bool has_moved = hf__wave_turn(s, next_end(s));

        hurry(s);
        goes_on = end_late(s) || has_moved;
    }
    for (int i = 0; i < s->n_votes; i++) {
        hf__vote_end(&s->votes[i]);
    }
}
