/* SPDX-License-Identifier: MIT */
/*
 * What a member owes, and what it is owed. It answers in order, so a queue of
 * what it owes tells whose an answer is. And what is over, for members that
 * were away: one that was down or hung up on when a grant ended would keep it
 * until its lease is over, and stand in the next claims' way when it is back:
 * the last ones are remembered and told to it at first. A session's memory, so
 * that of a client that closes is lost. Called by the session's thread.
 */
#include "src/backend/redlock/members.h"

#include <string.h>

#define BEHIND (HF__SEGMENTS / 2)
void hf__wave_begin(struct hf__redlock *s, hf__wave_fn take, void *arg)
{
    s->wave++;
    s->take = take;
    s->arg = arg;
}

void hf__wave_end(struct hf__redlock *s)
{
    s->wave++;
    s->take = NULL;
}

/* ---- answers that it owes */

bool hf__owed_add(struct hf__voter *m, struct hf__segment segment)
{
    struct hf__segment *last =
        &m->owed[(m->owed_from + m->owed_n + HF__SEGMENTS - 1) % HF__SEGMENTS];

    if (m->owed_n > 0 && last->wave == segment.wave &&
        (segment.wave == 0 || last->first + last->count == segment.first)) {
        last->count += segment.count;
        return true;
    }
    if (m->owed_n == HF__SEGMENTS) {
        return false;
    }
    m->owed[(m->owed_from + m->owed_n) % HF__SEGMENTS] = segment;
    m->owed_n++;
    return true;
}

bool hf__owed_repay(struct hf__voter *m, struct hf__segment *ret_one)
{
    struct hf__segment *first = &m->owed[m->owed_from];

    if (m->owed_n == 0) {
        return false;
    }
    *ret_one = *first;
    m->answered = first->wave != 0 ? first->wave : m->answered;
    first->first++;
    first->count--;
    if (first->count == 0) {
        m->owed_from = (m->owed_from + 1) % HF__SEGMENTS;
        m->owed_n--;
    }
    return true;
}

bool hf__owed_is_behind(const struct hf__voter *m)
{
    return m->is_in && m->owed_n > BEHIND;
}

unsigned hf__wave_behind(const struct hf__redlock *s)
{
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        found |= hf__owed_is_behind(&s->members[i]) ? 1u << i : 0;
    }
    return found;
}

/* What was queued beside the waves: its answers are dropped. */
void hf__wave_disown(struct hf__voter *m)
{
    struct hf__segment segment = {.wave = 0,
                                  .count = m->peer.resp.out.commands};

    if (hf__resp_queue(&m->peer.resp) == HF_OK && !hf__owed_add(m, segment)) {
        hf__peer_fail(&m->peer, HF_EUNAVAIL, "it owes too many answers");
    }
}

/* ---- what is remembered for it */

/* So many are left when room is made. */
#define KEPT (HF__LEFTOVERS * 3 / 4)

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

void hf__leftover_note(struct hf__redlock *s, const struct hf__op *op,
                       const struct hf__ask *how, unsigned members,
                       uint64_t fence)
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
    one->leaves_tombstone = how->leaves_tombstone;
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
                          .leaves_tombstone = one->leaves_tombstone,
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
