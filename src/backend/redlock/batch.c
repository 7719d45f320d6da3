/* SPDX-License-Identifier: MIT */
/*
 * execute(): one round for all operations of a batch, and a second one for the
 * fences that must be made known. This file decides which members are asked;
 * limits.c decides how long to wait for them, vote.c what their answers add up
 * to. Called by the session's thread.
 */
#include "src/backend/redlock/vote.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <string.h>

/* Without memory for more, a batch is done in parts of this size. */
#define ROOM_LEAST 8

/* Stays below the 500 ms ahead of its clock up to which a member accepts a
 * proposal (next_fence() of lua/seize.lua). */
#define MARGIN_MAX_US   400000
#define MARGIN_SPARE_US 200
/* After that many grants in one round the margin is lowered by half of its
 * excess: at most one grant in that many needs a second round for it. */
#define MARGIN_GRANTS 256

static unsigned all_members(const struct hf__redlock *s)
{
    return (1u << s->n) - 1;
}

/* ---- a round */

static const struct hf__op *op_of(const struct hf__vote *v)
{
    return v->is_raising ? &v->raise : v->op;
}

static void add(struct hf__redlock *s, const struct hf__op *op, bool with_text)
{
    struct hf__ask how = hf__redlock_how_to_ask(s, op);

    how.with_text = with_text;
    hf__ask_add(&s->bytes, op, &how);
}

static void decided(struct hf__redlock *s, bool is_now)
{
    s->undecided -= is_now;
}

/* The server does not know the script, because it was flushed: send the text at
 * once, then the other scripts, which may be needed to release this grant. */
static void send_text(struct hf__redlock *s, int member, int at)
{
    hf__bytes_clear(&s->bytes);
    add(s, op_of(&s->votes[s->order[at]]), true);
    if (hf__round_send(s, 1u << member, at, true) == 0) {
        decided(s, hf__vote_miss(&s->votes[s->order[at]], member, HF_EUNAVAIL));
    }
    if (s->members[member].is_in &&
        s->members[member].scripts_lost_in != s->round) {
        s->members[member].scripts_lost_in = s->round;
        hf__member_load_scripts(&s->members[member]);
    }
}

static void miss_all(struct hf__redlock *s, int member)
{
    int result = s->members[member].peer.resp.has_sent ? (int)HF_EUNKNOWN
                                                       : (int)HF_EUNAVAIL;

    for (int i = 0; i < s->n_votes; i++) {
        decided(s, hf__vote_miss(&s->votes[i], member, result));
    }
}

static void take(struct hf__redlock *s, int member, int at,
                 const redisReply *reply)
{
    struct hf__answer answer = {.err = HF_ERROR_INIT};
    struct hf__vote *v = NULL;
    struct hf__op op;

    if (reply == NULL) {
        miss_all(s, member);
        return;
    }
    v = &s->votes[s->order[at]];
    op = *op_of(v);
    op.ret_participants = NULL; /* give_views() fills it from all members */
    hf__answer_read(reply, &op, &answer);
    if (answer.has_no_script) {
        send_text(s, member, at);
        return;
    }
    if (answer.result < 0) {
        hf__refusal_note(&s->members[member], &answer.err);
    }
    decided(s, hf__vote_note(v, member, &answer));
    if (answer.is_elsewhere) {
        hf__peer_fail(&s->members[member].peer, HF_EUNAVAIL, answer.err.text);
    }
}

/* A member that is behind is asked nothing, but still told of renewals and
 * releases: so it is not disconnected, and keeps no grant that has ended. */
static void tell_slow(struct hf__redlock *s, int n)
{
    unsigned behind = hf__round_behind(s);

    hf__bytes_clear(&s->bytes);
    for (int i = 0; i < n && behind != 0; i++) {
        struct hf__vote *v = &s->votes[s->order[i]];

        if (!v->is_raising &&
            (v->op->kind == HF__OP_RENEW || v->op->kind == HF__OP_RELEASE)) {
            add(s, v->op, false);
            v->blank |= behind;
        }
    }
    if (s->bytes.commands > 0 && !s->bytes.is_broken) {
        (void)hf__round_send(s, behind, 0, false);
    }
}

/* Send the commands of the first n votes of s->order, and begin to count. */
static void ask(struct hf__redlock *s, int n, hf__time deadline)
{
    unsigned sent;
    unsigned gone; /* members lost while commands were sent to them */

    hf__round_begin(s, take, NULL);
    s->take = NULL; /* no vote has begun yet */
    tell_slow(s, n);
    hf__bytes_clear(&s->bytes);
    for (int i = 0; i < n; i++) {
        add(s, op_of(&s->votes[s->order[i]]), false);
    }
    s->lacks_durability |= s->bytes.is_broken;
    sent = s->bytes.is_broken ? 0 : hf__round_send(s, all_members(s), 0, true);
    gone = sent & hf__members_away(s);
    s->take = take;
    s->undecided = 0;
    hf__redlock_set_limits(s, n, deadline);
    for (int i = 0; i < n; i++) {
        struct hf__vote *v = &s->votes[s->order[i]];

        hf__vote_begin(v, s->n, sent, hf__redlock_counting(s, v->op) | gone);
        s->undecided += !v->is_decided;
    }
    for (int i = 0; i < s->n; i++) {
        if ((gone >> i & 1) != 0) {
            miss_all(s, i);
        }
    }
}

/* ---- the second round */

static void learn_margin(struct hf__redlock *s, const struct hf__vote *v)
{
    int64_t late_us = (int64_t)(v->raise.fence - s->proposal);

    if (v->op->kind == HF__OP_ACQUIRE && late_us > 0 &&
        s->margin_us + late_us < MARGIN_MAX_US) {
        s->margin_us += late_us + MARGIN_SPARE_US;
        s->agreed = 0;
    }
}

/* The clock that was ahead may be right again. */
static void lower_margin(struct hf__redlock *s, const struct hf__vote *v)
{
    if (v->op->kind == HF__OP_ACQUIRE && ++s->agreed >= MARGIN_GRANTS) {
        s->margin_us -= (s->margin_us - HF__MARGIN_US) / 2;
        s->agreed = 0;
    }
}

static bool has_fence_to_tell(const struct hf__vote *v)
{
    return !v->is_refused && hf__vote_verdict(v) == HF_OK &&
           (v->op->kind == HF__OP_ACQUIRE || v->op->kind == HF__OP_INSPECT);
}

static void raise_fences(struct hf__redlock *s, hf__time deadline)
{
    int n = 0;

    for (int i = 0; i < s->n_votes; i++) {
        struct hf__vote *v = &s->votes[i];

        if (has_fence_to_tell(v) && hf__vote_wants_raise(v)) {
            learn_margin(s, v);
            v->is_raising = true;
            s->order[n++] = i;
        } else if (has_fence_to_tell(v)) {
            lower_margin(s, v);
        }
    }
    if (n > 0) {
        ask(s, n, deadline);
        hf__redlock_hear(s);
    }
}

/* ---- results */

/* The text for a break that too few members confirmed, while too few others say
 * that there was nothing to break. */
static void tell_broken(const struct hf__redlock *s, const struct hf__vote *v)
{
    hf_error who = HF_ERROR_INIT;

    (void)hf__members_tell(s, HF_EUNKNOWN, &who);
    (void)hf__fail(v->op->err, HF_EUNKNOWN,
                   "broken on %d of %d members; on the others it may go on "
                   "until its lease ends: %s",
                   v->quorum.granted, s->n, who.text);
}

static void tell(struct hf__redlock *s, struct hf__op *op)
{
    if (op->result < 0 && (op->err == NULL || op->err->status == 0)) {
        (void)hf__members_tell(s, op->result, op->err);
    }
}

static void give(struct hf__redlock *s, struct hf__vote *v)
{
    int r = v->is_refused ? v->op->result : hf__vote_verdict(v);

    if (v->is_refused) {
        return;
    }
    if (v->is_raising && r != HF_OK) {
        r = HF_EUNKNOWN; /* its fence must not be told yet */
    }
    if (r < 0 && v->op->kind != HF__OP_INSPECT &&
        (v->granted | v->out | v->blank) != 0) {
        r = HF_EUNKNOWN;
    } else if (r == HF_EUNAVAIL) {
        /* An EINVAL is about a member's part of the URL, not about this
         * operation. */
        r = hf__members_status(s);
        r = r == HF_EINVAL ? (int)HF_EUNAVAIL : r;
        r = s->lacks_durability ? (int)HF_ENOMEM : r;
    }
    hf__vote_give(v, r);
    if (r == HF_EUNKNOWN && v->op->kind == HF__OP_BREAK &&
        v->quorum.granted > 0) {
        tell_broken(s, v);
    } else {
        tell(s, v->op);
    }
}

/* ---- the batch */

static bool make_room(struct hf__redlock *s, int n)
{
    if (n <= s->room) {
        return true;
    }
    struct hf__vote *votes = hf__alloc((size_t)n * sizeof *votes);
    int *order = hf__alloc((size_t)n * sizeof *order);
    if (votes == NULL || order == NULL) {
        hf__free(votes);
        hf__free(order);
        return false;
    }
    hf__free(s->votes);
    hf__free(s->order);
    s->votes = votes;
    s->order = order;
    s->room = n;
    return true;
}

/* One view for each INSPECT of the batch and each member. */
static bool make_views(struct hf__redlock *s, struct hf__op *const ops[], int n,
                       struct hf__member_view **ret_views)
{
    size_t looks = 0;

    for (int i = 0; i < n; i++) {
        looks += ops[i]->kind == HF__OP_INSPECT;
    }
    if (looks > 0) {
        *ret_views = hf__alloc(looks * (size_t)s->n * sizeof **ret_views);
    }
    return looks == 0 || *ret_views != NULL;
}

static int prepare(struct hf__redlock *s, struct hf__op *ops[], int n,
                   struct hf__member_view *views)
{
    int asked = 0;

    s->n_votes = n;
    s->lacks_durability = false;
    hf__refusals_begin(s);
    s->proposal = (uint64_t)(hf__wall_us() + s->margin_us);
    for (int i = 0; i < n; i++) {
        struct hf__vote *v = &s->votes[i];

        *v = (struct hf__vote){
            .op = ops[i], .ours = ops[i]->fence, .is_decided = true};
        if (ops[i]->kind == HF__OP_INSPECT) {
            v->views = views;
            views += s->n;
        }
        if (!hf__vote_is_refused(s, v)) {
            s->order[asked++] = i;
        }
    }
    return asked;
}

static void run(struct hf__redlock *s, struct hf__op *ops[], int n,
                struct hf__member_view *views, hf__time deadline)
{
    int asked;

    hf__members_tend(s);
    hf__members_await(s, hf__redlock_limit(ops, n, deadline));
    asked = prepare(s, ops, n, views);
    if (asked > 0) {
        ask(s, asked, deadline);
        hf__redlock_hear(s);
        raise_fences(s, deadline);
    }
    for (int i = 0; i < n; i++) {
        give(s, &s->votes[i]);
    }
    hf__redlock_give_back(s);
}

static void execute(struct hf__redlock *s, struct hf__op *ops[], int n,
                    hf__time deadline)
{
    struct hf__member_view *views = NULL;

    if (make_views(s, ops, n, &views)) {
        run(s, ops, n, views, deadline);
        hf__free(views);
        return;
    }
    for (int i = 0; i < n; i++) {
        ops[i]->result = hf__fail(ops[i]->err, HF_ENOMEM, "out of memory");
    }
}

int hf__redlock_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err)
{
    struct hf__redlock *s = state;
    int most = make_room(s, n) ? n : s->room;

    (void)err; /* the session outlives any of its members */
    for (int i = 0; i < n; i += most) {
        execute(s, ops + i, n - i < most ? n - i : most, deadline);
    }
    return HF_OK;
}

/* Renewals and releases must not need new memory: reserve room for a few
 * operations and for a command. */
int hf__redlock_reserve(struct hf__redlock *s, hf_error *err)
{
    hf__bytes_words(&s->bytes, HF__WORDS("PING"));
    return make_room(s, ROOM_LEAST) && !s->bytes.is_broken
               ? (int)HF_OK
               : hf__fail(err, HF_ENOMEM, "out of memory for a session");
}
