/* SPDX-License-Identifier: MIT */
/*
 * The end of each batch: releases what did not win, and remembers releases for
 * the members that are away. Called by the session's thread.
 */
#include "src/backend/redlock/vote.h"
#include "src/base/rand.h"

/* A token without a fence has no grant of ours that could be recreated; its
 * claim may still be under way, so the tombstone must outlast that, which takes
 * longer than for a renewal; and if no claim of it was ever answered, nobody
 * was told of a grant, so it may be undone. */
struct hf__ask hf__redlock_how_to_ask(const struct hf__redlock *s,
                                      const struct hf__op *op)
{
    return (struct hf__ask){.client = s->head.client,
                            .proposal = s->proposal,
                            .recreates = op->fence != 0,
                            .leaves_tombstone = op->fence == 0 && op->reopens,
                            .undoes = op->fence == 0 && op->is_unanswered};
}

/*
 * True if the members must release what they granted. An attempt that did not
 * win must not keep others from the name. If the result is unknown the grant
 * stays: a retry with the same token settles it, or the core releases it,
 * unless the client is being closed.
 *
 * An attempt that won only some members left a fence there above that of a
 * holder on the other members. It must be undone: otherwise these members would
 * refuse to recreate the holder's grant, and it would be lost as soon as one
 * more of its own members is. Nobody was told of that fence, and nobody will
 * be, for the token is not used again.
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
                           .fence = 1, /* a retry with this token is possible */
                           .lock_mode = v->op->lock_mode,
                           .reopens = true};
}

/* A majority granted it, so nobody else can still have the name: there is no
 * older grant to recreate, and a holder that was told of its loss must not find
 * the loss undone. */
static bool was_granted(const struct hf__redlock *s, const struct hf__vote *v)
{
    return hf__is_majority(s, v->granted);
}

static struct hf__ask how_to_give_back(const struct hf__redlock *s,
                                       const struct hf__vote *v)
{
    return (struct hf__ask){.client = s->head.client,
                            .recreates = v->op->kind == HF__OP_RENEW,
                            .leaves_tombstone = v->op->is_unanswered,
                            .undoes = v->op->kind == HF__OP_ACQUIRE &&
                                      !was_granted(s, v)};
}

/* The members that may have it, also from an earlier attempt that was not
 * answered. */
static unsigned perhaps(const struct hf__redlock *s, const struct hf__vote *v)
{
    return v->op->is_unanswered ? (1u << s->n) - 1
                                : v->granted | v->out | v->blank;
}

/* Remember releases for members to get when they connect again. */
static void note_pending_releases(struct hf__redlock *s)
{
    unsigned away = s->lacks_durability ? ~0U : hf__members_away(s);

    for (int i = 0; i < s->n_votes; i++) {
        const struct hf__vote *v = &s->votes[i];
        unsigned without = away | v->out | v->blank;

        if (v->is_refused) {
            continue;
        }
        if (v->op->kind == HF__OP_RELEASE) {
            struct hf__ask how = hf__redlock_how_to_ask(s, v->op);

            hf__pending_release_note(s, v->op, &how,
                                     ((1u << s->n) - 1) & ~v->heard, v->ours);
        } else if (is_to_give_back(s, v)) {
            struct hf__op op = release_of(v);
            struct hf__ask how = how_to_give_back(s, v);

            hf__pending_release_note(s, &op, &how, perhaps(s, v) & without, 0);
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
    s->lacks_durability = s->lacks_durability || s->bytes.is_broken;
    if (s->bytes.commands > 0 && !s->bytes.is_broken) {
        (void)hf__round_send(s, 1u << member, 0, false);
    }
}

/* A member that connected during the batch was sent only releases from
 * before. */
static void tell_newcomers(struct hf__redlock *s)
{
    unsigned old = hf__members_away(s);

    for (int i = 0; i < s->n_votes; i++) {
        old |= s->votes[i].sent | s->votes[i].blank;
    }
    for (int i = 0; i < s->n; i++) {
        if ((old >> i & 1) == 0) {
            hf__pending_release_tell(s, i);
            /* Polling finds out if it is dead. */
            (void)hf__resp_flush(&s->members[i].peer.resp);
        }
    }
}

/* A member that was disconnected may receive the release after the next
 * attempt, so that attempt gets a new token. */
static void change_token(struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && op->result == HF_BUSY) {
        hf__random(op->token.bytes, sizeof op->token.bytes);
        op->is_unanswered = false;
    }
}

/* Does not wait for replies. */
void hf__redlock_give_back(struct hf__redlock *s)
{
    hf__round_end(s);
    for (int i = 0; i < s->n; i++) {
        give_back_to(s, i);
    }
    note_pending_releases(s);
    tell_newcomers(s);
    for (int i = 0; i < s->n_votes; i++) {
        change_token(s->votes[i].op);
    }
}
