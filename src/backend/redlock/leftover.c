/* SPDX-License-Identifier: MIT */
/*
 * Giving back what did not win; and what is over, for members that were away. A
 * member that was down or hung up on when a grant ended would keep it until its
 * lease is over, and stand in the next claims' way when it is back: the last
 * ones are remembered and told to it at first. A session's memory, so that of a
 * client that closes is lost. Called by the session's thread.
 */
#include "src/backend/redis/ask.h"
#include "src/backend/redlock/vote.h"
#include "src/base/rand.h"

#include <string.h>

/* So many are left when room is made. */
#define KEPT (HF__LEFTOVERS * 3 / 4)

/* ---- what is remembered */

/* A member answers in order. */
static bool has_heard(const struct hf__voter *m, const struct hf__leftover *one)
{
    return m->is_in && m->answered > one->wave;
}

static unsigned still_open(const struct hf__redlock *s,
                           const struct hf__leftover *one)
{
    unsigned open = one->members;

    for (int i = 0; i < s->n; i++) {
        open &= has_heard(&s->members[i], one) ? ~(1u << i) : ~0U;
    }
    return open;
}

static void keep_up_to(struct hf__redlock *s, int64_t after_us)
{
    int n = 0;

    for (int i = 0; i < s->n_leftovers; i++) {
        const struct hf__leftover *one = &s->leftovers[i];

        if (one->members != 0 && one->after_us <= after_us) {
            s->leftovers[n++] = *one;
        }
    }
    s->n_leftovers = n;
}

/* Half-way from the first to the last of them. False: all are alike. */
static bool find_middle(const struct hf__redlock *s, int64_t *ret_after_us)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;

    for (int i = 0; i < s->n_leftovers; i++) {
        int64_t after_us = s->leftovers[i].after_us;

        least = after_us < least ? after_us : least;
        most = after_us > most ? after_us : most;
    }
    *ret_after_us = least + (most - least) / 2;
    return least < most;
}

/* The longer after its members' loss a grant was, the less can it matter to
 * them: those go first, however old the others are. */
static void make_room(struct hf__redlock *s)
{
    int64_t after_us = INT64_MAX;
    int oldest = HF__LEFTOVERS - KEPT;

    for (int i = 0; i < s->n_leftovers; i++) {
        s->leftovers[i].members = still_open(s, &s->leftovers[i]);
    }
    do {
        keep_up_to(s, after_us);
    } while (s->n_leftovers > KEPT && find_middle(s, &after_us));
    if (s->n_leftovers > KEPT) {
        s->n_leftovers -= oldest;
        memmove(s->leftovers, s->leftovers + oldest,
                (size_t)s->n_leftovers * sizeof *s->leftovers);
    }
}

/* A fence is about the time of the grant, or a margin ahead of it: a member
 * that had gone by then was not asked for it here, though perhaps by a renewal.
 * Who is there has heard of it, or will at once. */
static int64_t after_loss_us(const struct hf__redlock *s, unsigned members,
                             uint64_t fence)
{
    int64_t after_us = fence != 0 ? INT64_MAX : 0;

    for (int i = 0; i < s->n; i++) {
        const struct hf__voter *m = &s->members[i];
        int64_t since_us = m->gone_us > 0 ? (int64_t)fence - m->gone_us : 0;

        if ((members >> i & 1) != 0 && !m->is_in && since_us < after_us) {
            after_us = since_us > 0 ? since_us : 0;
        }
    }
    return after_us;
}

static void note(struct hf__redlock *s, const struct hf__op *op,
                 const struct hf__ask *how, unsigned members, uint64_t fence)
{
    struct hf__leftover *one;

    if (members == 0) {
        return;
    }
    if (s->n_leftovers == HF__LEFTOVERS) {
        make_room(s);
    }
    one = &s->leftovers[s->n_leftovers++];
    one->members = members;
    one->wave = s->lacks_memory ? UINT64_MAX : s->wave; /* not all was sent */
    one->after_us = after_loss_us(s, members, fence);
    one->token = op->token;
    one->reopens = op->reopens;
    one->buries = how->buries;
    one->undoes = how->undoes;
    one->length = op->key.length;
    one->name_at = op->key.name_at;
    memcpy(one->bytes, op->key.bytes, op->key.length);
}

void hf__leftover_settle(struct hf__redlock *s, int member)
{
    for (int i = 0; i < s->n_leftovers; i++) {
        if (has_heard(&s->members[member], &s->leftovers[i])) {
            s->leftovers[i].members &= ~(1u << member);
        }
    }
}

/* ---- telling */

/* It may have been told before; the token is what counts. And what the old
 * connection still delivers comes too late. */
static void add(struct hf__bytes *bytes, const struct hf__leftover *one,
                uint64_t client)
{
    struct hf__op op = {.kind = HF__OP_RELEASE,
                        .key = {one->bytes, one->length, one->name_at},
                        .token = one->token,
                        .fence = 1,
                        .reopens = one->reopens};
    struct hf__ask how = {.client = client,
                          .recreates = true,
                          .buries = one->buries,
                          .undoes = one->undoes};

    hf__ask_add(bytes, &op, &how);
}

void hf__leftover_tell(struct hf__redlock *s, int member)
{
    struct hf__voter *m = &s->members[member];
    unsigned own = 1u << member;

    for (int i = 0; i < s->n_leftovers; i++) {
        struct hf__leftover *one = &s->leftovers[i];

        if ((one->members & own) != 0) {
            add(&m->peer.resp.out, one, s->head.client);
            one->members &= m->peer.resp.out.is_broken ? ~0U : ~own;
        }
    }
    if (m->peer.resp.out.commands > 0 || m->peer.resp.out.is_broken) {
        hf__wave_disown(m);
    }
}

/* ---- giving back */

/*
 * Who did not win does not keep others from it. What is unknown stays: asked
 * again with its token it is settled, or the core gives it back, unless it is
 * closed.
 *
 * An attempt that won some members left a fence there that is above a holder's
 * who has the others: it is undone, or these members would refuse to make the
 * holder's grant anew, and it would be lost with the next of its own. Nobody
 * was told of that fence, and nobody will be, as the token is not used again.
 */
static bool is_to_give_back(struct hf__redlock *s, const struct hf__vote *v)
{
    bool is_in_vain =
        v->op->result == HF_BUSY ||
        (v->op->result == HF_EUNKNOWN && hf__is_interrupted(&s->head));

    return (v->op->kind == HF__OP_ACQUIRE && is_in_vain) ||
           (v->op->kind == HF__OP_RENEW && v->op->result == HF_LOST &&
            v->ours != 0);
}

static struct hf__op release_of(const struct hf__vote *v)
{
    return (struct hf__op){.kind = HF__OP_RELEASE,
                           .key = v->op->key,
                           .token = v->op->token,
                           .fence = 1, /* it may be asked for again */
                           .manner = v->op->manner,
                           .reopens = true};
}

/* Where a majority granted it nobody else can have it still: then nothing is to
 * be made anew, and who was told of a loss shall not find it undone. */
static bool was_granted(const struct hf__redlock *s, const struct hf__vote *v)
{
    return hf__is_majority(s, v->granted);
}

static struct hf__ask how_to_give_back(const struct hf__redlock *s,
                                       const struct hf__vote *v)
{
    return (struct hf__ask){.client = s->head.client,
                            .recreates = v->op->kind == HF__OP_RENEW,
                            .buries = v->op->is_doubtful,
                            .undoes = v->op->kind == HF__OP_ACQUIRE &&
                                      !was_granted(s, v)};
}

/* Who may have it: also by an attempt before, of which nothing is known. */
static unsigned perhaps(const struct hf__redlock *s, const struct hf__vote *v)
{
    return v->op->is_doubtful ? (1u << s->n) - 1
                              : v->granted | v->out | v->blank;
}

/* For when they are connected to again. */
static void note_leftovers(struct hf__redlock *s)
{
    unsigned away = s->lacks_memory ? ~0U : hf__members_away(s);

    for (int i = 0; i < s->n_votes; i++) {
        const struct hf__vote *v = &s->votes[i];
        unsigned without = away | v->out | v->blank;

        if (v->is_refused) {
            continue;
        }
        if (v->op->kind == HF__OP_RELEASE) {
            struct hf__ask how = hf__redlock_how_to_ask(s, v->op);

            note(s, v->op, &how, ((1u << s->n) - 1) & ~v->heard, v->ours);
        } else if (is_to_give_back(s, v)) {
            struct hf__op op = release_of(v);
            struct hf__ask how = how_to_give_back(s, v);

            note(s, &op, &how, perhaps(s, v) & without, 0);
        }
    }
}

static void give_back_to(struct hf__redlock *s, int member)
{
    hf__bytes_clear(&s->bytes);
    for (int i = 0; i < s->n_votes; i++) {
        const struct hf__vote *v = &s->votes[i];

        if (!v->is_refused && is_to_give_back(s, v) &&
            (perhaps(s, v) >> member & 1) != 0) {
            struct hf__op op = release_of(v);
            struct hf__ask how = how_to_give_back(s, v);

            hf__ask_add(&s->bytes, &op, &how);
        }
    }
    s->lacks_memory = s->lacks_memory || s->bytes.is_broken;
    if (s->bytes.commands > 0 && !s->bytes.is_broken) {
        (void)hf__wave_send(s, 1u << member, 0, false);
    }
}

/* Who came while the batch ran was told of what was over before it. */
static void tell_newcomers(struct hf__redlock *s)
{
    unsigned old = hf__members_away(s);

    for (int i = 0; i < s->n_votes; i++) {
        old |= s->votes[i].sent | s->votes[i].blank;
    }
    for (int i = 0; i < s->n; i++) {
        if ((old >> i & 1) == 0) {
            hf__leftover_tell(s, i);
            (void)hf__resp_flush(&s->members[i].peer.resp); /* polling tells */
        }
    }
}

/* A member that was hung up on may hear of the giving back after the next
 * attempt: so that has a token of its own. */
static void change_token(struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && op->result == HF_BUSY) {
        hf__random(op->token.bytes, sizeof op->token.bytes);
        op->is_doubtful = false;
    }
}

/* Nobody waits for it. */
void hf__redlock_give_back(struct hf__redlock *s)
{
    hf__wave_end(s);
    for (int i = 0; i < s->n; i++) {
        give_back_to(s, i);
    }
    note_leftovers(s);
    tell_newcomers(s);
    for (int i = 0; i < s->n_votes; i++) {
        change_token(s->votes[i].op);
    }
}
