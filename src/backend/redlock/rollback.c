/* SPDX-License-Identifier: MIT */
/*
 * Giving back what did not win, and noting for those who are away what is over:
 * the end of each batch. Called by the session's thread.
 */
#include "src/backend/redlock/vote.h"
#include "src/base/rand.h"

/* By a token without a fence nothing is ours, so nothing is made anew; what
 * may be under way is given up for longer than a renewal is; and what was in
 * doubt all its life was told to nobody. */
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
                           .lock_mode = v->op->lock_mode,
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
                            .leaves_tombstone = v->op->is_unanswered,
                            .undoes = v->op->kind == HF__OP_ACQUIRE &&
                                      !was_granted(s, v)};
}

/* Who may have it: also by an attempt before, of which nothing is known. */
static unsigned perhaps(const struct hf__redlock *s, const struct hf__vote *v)
{
    return v->op->is_unanswered ? (1u << s->n) - 1
                                : v->granted | v->out | v->blank;
}

/* For when they are connected to again. */
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

/* Who came while the batch ran was told of what was over before it. */
static void tell_newcomers(struct hf__redlock *s)
{
    unsigned old = hf__members_away(s);

    for (int i = 0; i < s->n_votes; i++) {
        old |= s->votes[i].sent | s->votes[i].blank;
    }
    for (int i = 0; i < s->n; i++) {
        if ((old >> i & 1) == 0) {
            hf__pending_release_tell(s, i);
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
        op->is_unanswered = false;
    }
}

/* Nobody waits for it. */
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
