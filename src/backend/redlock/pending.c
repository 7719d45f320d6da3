/* SPDX-License-Identifier: MIT */
/*
 * Outstanding replies and releases of a member. It answers in order, so a queue
 * of unanswered commands tells which one a reply belongs to. And releases for
 * members that were away: one that was down or disconnected when a grant ended
 * would keep it until its lease ends, and refuse the next claims when it is
 * back; so the last releases are remembered and sent to it first. They are kept
 * in the session's memory, so a client that closes loses them. Called by the
 * session's thread.
 */
#include "src/backend/redlock/members.h"

#include <string.h>

#define BEHIND (HF__SEGMENTS / 2)
void hf__round_begin(struct hf__redlock *s, hf__round_fn take, void *arg)
{
    s->round++;
    s->take = take;
    s->arg = arg;
}

void hf__round_end(struct hf__redlock *s)
{
    s->round++;
    s->take = NULL;
}

/* ---- replies that a member still has to send */

bool hf__pending_replies_add(struct hf__redlock_member *m,
                             struct hf__segment segment)
{
    struct hf__segment *last =
        &m->pending[(m->pending_from + m->n_pending + HF__SEGMENTS - 1) %
                    HF__SEGMENTS];

    if (m->n_pending > 0 && last->round == segment.round &&
        (segment.round == 0 || last->first + last->count == segment.first)) {
        last->count += segment.count;
        return true;
    }
    if (m->n_pending == HF__SEGMENTS) {
        return false;
    }
    m->pending[(m->pending_from + m->n_pending) % HF__SEGMENTS] = segment;
    m->n_pending++;
    return true;
}

bool hf__pending_replies_repay(struct hf__redlock_member *m,
                               struct hf__segment *ret_one)
{
    struct hf__segment *first = &m->pending[m->pending_from];

    if (m->n_pending == 0) {
        return false;
    }
    *ret_one = *first;
    m->answered = first->round != 0 ? first->round : m->answered;
    first->first++;
    first->count--;
    if (first->count == 0) {
        m->pending_from = (m->pending_from + 1) % HF__SEGMENTS;
        m->n_pending--;
    }
    return true;
}

bool hf__pending_replies_is_behind(const struct hf__redlock_member *m)
{
    return m->is_in && m->n_pending > BEHIND;
}

unsigned hf__round_behind(const struct hf__redlock *s)
{
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        found |= hf__pending_replies_is_behind(&s->members[i]) ? 1u << i : 0;
    }
    return found;
}

/* Queue commands outside the rounds; their replies are dropped. */
void hf__round_disown(struct hf__redlock_member *m)
{
    struct hf__segment segment = {.round = 0,
                                  .count = m->peer.resp.out.commands};

    if (hf__resp_queue(&m->peer.resp) == HF_OK &&
        !hf__pending_replies_add(m, segment)) {
        hf__peer_fail(&m->peer, HF_EUNAVAIL, "it owes too many answers");
    }
}

/* ---- releases remembered for it */

/* How many are left after make_room(). */
#define KEPT (HF__PENDING_RELEASES * 3 / 4)

/* A member answers in order: a reply to a later round shows that it got
 * this. */
static bool has_heard(const struct hf__redlock_member *m,
                      const struct hf__pending_release *one)
{
    return m->is_in && m->answered > one->round;
}

static unsigned still_open(const struct hf__redlock *s,
                           const struct hf__pending_release *one)
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

    for (int i = 0; i < s->n_pending_releases; i++) {
        const struct hf__pending_release *one = &s->pending_releases[i];

        if (one->members != 0 && one->after_us <= after_us) {
            s->pending_releases[n++] = *one;
        }
    }
    s->n_pending_releases = n;
}

/* The middle between the smallest and the largest after_us. False: all are
 * equal. */
static bool find_middle(const struct hf__redlock *s, int64_t *ret_after_us)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;

    for (int i = 0; i < s->n_pending_releases; i++) {
        int64_t after_us = s->pending_releases[i].after_us;

        least = after_us < least ? after_us : least;
        most = after_us > most ? after_us : most;
    }
    *ret_after_us = least + (most - least) / 2;
    return least < most;
}

/* The longer after the loss of its members a grant was made, the less likely
 * they have it: drop those first, whatever their age. */
static void make_room(struct hf__redlock *s)
{
    int64_t after_us = INT64_MAX;
    int oldest = HF__PENDING_RELEASES - KEPT;

    for (int i = 0; i < s->n_pending_releases; i++) {
        s->pending_releases[i].members = still_open(s, &s->pending_releases[i]);
    }
    do {
        keep_up_to(s, after_us);
    } while (s->n_pending_releases > KEPT && find_middle(s, &after_us));
    if (s->n_pending_releases > KEPT) {
        s->n_pending_releases -= oldest;
        memmove(s->pending_releases, s->pending_releases + oldest,
                (size_t)s->n_pending_releases * sizeof *s->pending_releases);
    }
}

/* A fence is about the time of the grant, or a margin ahead of it. A member
 * that was lost before that was not asked for this grant, though a renewal may
 * have reached it. A member that is connected has got the release, or gets it
 * at once. */
static int64_t after_loss_us(const struct hf__redlock *s, unsigned members,
                             uint64_t fence)
{
    int64_t after_us = fence != 0 ? INT64_MAX : 0;

    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];
        int64_t since_us = m->gone_us > 0 ? (int64_t)fence - m->gone_us : 0;

        if ((members >> i & 1) != 0 && !m->is_in && since_us < after_us) {
            after_us = since_us > 0 ? since_us : 0;
        }
    }
    return after_us;
}

void hf__pending_release_note(struct hf__redlock *s, const struct hf__op *op,
                              const struct hf__ask *how, unsigned members,
                              uint64_t fence)
{
    struct hf__pending_release *one;

    if (members == 0) {
        return;
    }
    if (s->n_pending_releases == HF__PENDING_RELEASES) {
        make_room(s);
    }
    one = &s->pending_releases[s->n_pending_releases++];
    one->members = members;
    one->round =
        s->lacks_durability ? UINT64_MAX : s->round; /* not all were sent */
    one->after_us = after_loss_us(s, members, fence);
    one->token = op->token;
    one->reopens = op->reopens;
    one->leaves_tombstone = how->leaves_tombstone;
    one->undoes = how->undoes;
    one->length = op->key.length;
    one->name_at = op->key.name_at;
    memcpy(one->bytes, op->key.bytes, op->key.length);
}

void hf__pending_release_settle(struct hf__redlock *s, int member)
{
    for (int i = 0; i < s->n_pending_releases; i++) {
        if (has_heard(&s->members[member], &s->pending_releases[i])) {
            s->pending_releases[i].members &= ~(1u << member);
        }
    }
}

/* ---- sending releases */

/* Repeating a release is harmless: only its token matters. A command that the
 * old connection still delivers comes too late. */
static void add(struct hf__bytes *bytes, const struct hf__pending_release *one,
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

void hf__pending_release_tell(struct hf__redlock *s, int member)
{
    struct hf__redlock_member *m = &s->members[member];
    unsigned own = 1u << member;

    for (int i = 0; i < s->n_pending_releases; i++) {
        struct hf__pending_release *one = &s->pending_releases[i];

        if ((one->members & own) != 0) {
            add(&m->peer.resp.out, one, s->head.client);
            one->members &= m->peer.resp.out.is_broken ? ~0U : ~own;
        }
    }
    if (m->peer.resp.out.commands > 0 || m->peer.resp.out.is_broken) {
        hf__round_disown(m);
    }
}
