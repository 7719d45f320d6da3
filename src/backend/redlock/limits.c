/* SPDX-License-Identifier: MIT */
/*
 * What is decided before the members are asked: whose answers count for an
 * operation, and which operations the connected members cannot grant. Then it
 * receives the answers, waiting for each vote only as long as its operation
 * allows. batch.c decides who is asked. Called by the session's thread.
 */
#include "src/backend/redlock/vote.h"

#include "src/base/error.h"

#include <inttypes.h>

/* ---- leases longer than a restarted member waits */

static bool is_long(const struct hf__redlock *s, const struct hf__op *op)
{
    int64_t longest_us = s->longest_ms * 1000;

    return !s->allows_volatile &&
           (op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_RENEW) &&
           (op->lease_us > longest_us || op->keep_us > longest_us);
}

static unsigned members_in(const struct hf__redlock *s, bool is_durable)
{
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        if (s->members[i].is_in && s->members[i].is_durable == is_durable) {
            found |= 1u << i;
        }
    }
    return found;
}

/* A member that restarts counts again after longest_lease, so a longer lease is
 * granted only by members that forget nothing. */
static int refuse_long(const struct hf__redlock *s, const struct hf__op *op)
{
    if (!is_long(s, op) || s->n - __builtin_popcount(members_in(s, false)) >=
                               hf__redlock_majority(s)) {
        return HF_OK;
    }
    return hf__fail(
        op->err, HF_EINVAL,
        "a lease or hold of %" PRId64
        " ms is longer than longest_lease, %" PRId64
        " ms: a member that restarts would have forgotten it; say "
        "longest_lease=… (the same for all clients), or let the members keep "
        "their data (appendonly yes, appendfsync always)",
        (op->lease_us > op->keep_us ? op->lease_us : op->keep_us) / 1000,
        s->longest_ms);
}

unsigned hf__redlock_counting(const struct hf__redlock *s,
                              const struct hf__op *op)
{
    hf__time now = hf__now();
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        if (hf__member_counts(&s->members[i], now)) {
            found |= 1u << i;
        }
    }
    return is_long(s, op) ? found & members_in(s, true) : found;
}

/* An acquire that too few members could grant is not sent; what is held goes
 * on. */
static int refuse_few(const struct hf__redlock *s, const struct hf__op *op)
{
    return op->kind != HF__OP_ACQUIRE ||
                   hf__is_majority(s, hf__redlock_counting(s, op))
               ? (int)HF_OK
               : hf__members_tell(s, hf__members_status(s), op->err);
}

/* The next grant's fence would need a round of its own; a release and an
 * acquire take no longer. */
static int refuse_handover(const struct hf__op *op)
{
    return op->kind != HF__OP_HANDOVER
               ? (int)HF_OK
               : hf__fail(op->err, HF_ENOTSUP,
                          "a quorum can not hand a lock over: release it, and "
                          "acquire it again");
}

/* The client is being closed: a grant would be received and given back by
 * nobody. Operations that end a grant are still sent. */
static int refuse_late(struct hf__redlock *s, const struct hf__op *op)
{
    return op->kind != HF__OP_ACQUIRE || !hf__is_interrupted(&s->head)
               ? (int)HF_OK
               : hf__fail(op->err, HF_EUNAVAIL, "interrupted");
}

bool hf__vote_is_refused(struct hf__redlock *s, struct hf__vote *v)
{
    int r = refuse_late(s, v->op);

    r = r == HF_OK ? refuse_handover(v->op) : r;
    r = r == HF_OK ? refuse_long(s, v->op) : r;
    r = r == HF_OK ? refuse_few(s, v->op) : r;
    if (r != HF_OK) {
        v->is_refused = true;
        v->op->result = r;
    }
    return v->is_refused;
}

/* A member that does not answer may cost a twentieth of the lease, so that most
 * of a grant is left to use; but at least LIMIT_LEAST_MS, so that a slow
 * machine is not taken for a dead one. A renewal may take as long as renewals
 * do everywhere, a sixth. */
#define LIMIT_PART     20
#define LIMIT_RENEWAL  6
#define LIMIT_LEAST_MS 100
#define LIMIT_SHORT    2 /* of a lease too short for that, this part */
#define LIMIT_MIN_MS   20
#define LIMIT_MAX_MS   1500

/* How long an INSPECT waits for the rest once a majority has answered. */
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
 * Each vote waits as long as its own lease allows, counted from now: the second
 * round of a grant as long as the first. But all renewals end with the first of
 * them: none can be tried again before the batch is over, and all wait for the
 * same members.
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

/* ---- receiving answers */

/* An INSPECT that a majority has answered waits LOOK_MS more for the others. */
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

/* End the votes whose time is up. False: there were none. */
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
        bool has_moved = hf__round_turn(s, next_end(s));

        hurry(s);
        goes_on = end_late(s) || has_moved;
    }
    for (int i = 0; i < s->n_votes; i++) {
        hf__vote_end(&s->votes[i]);
    }
}
