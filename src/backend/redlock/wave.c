/* SPDX-License-Identifier: MIT */
/*
 * The same commands to several members, and their answers as they come. A
 * member answers in order, so a queue of what it owes tells whose an answer is;
 * one that comes after its wave is taken from the socket and dropped. Called
 * by the session's thread.
 */
#include "src/backend/redlock/redlock.h"

#include <poll.h>
#include <string.h>

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

/* ---- what is owed */

static bool owe(struct hf__voter *m, struct hf__segment segment)
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

/* The next answer's. False: it owes none. */
static bool repay(struct hf__voter *m, struct hf__segment *ret_one)
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

void hf__wave_take(struct hf__redlock *s, int member)
{
    struct hf__voter *m = &s->members[member];
    struct hf__segment own;
    redisReply *reply = NULL;

    while (m->is_in) {
        int r = hf__resp_next(&m->peer.resp, &reply);

        if (r != HF_OK) {
            hf__peer_fail(&m->peer, r, "its answer can't be understood");
            return;
        }
        if (reply == NULL) {
            return;
        }
        m->silent_from = hf__now();
        if (!repay(m, &own)) {
            hf__peer_fail(&m->peer, HF_EPROTO, "it answers unasked");
        } else if (own.wave == s->wave && s->take != NULL) {
            s->take(s, member, own.first, reply);
        } else if (reply->type == REDIS_REPLY_ERROR &&
                   strncmp(reply->str, "NOSCRIPT", 8) == 0) {
            hf__member_teach(m);          /* too late for this one … */
            hf__leftover_tell(s, member); /* … unless it was a release */
        }
        freeReplyObject(reply);
    }
}

/* ---- sending */

#define BEHIND (HF__SEGMENTS / 2)
/* What may wait for a member that takes nothing. */
#define UNSENT_MAX (1 << 20)

static bool is_behind(const struct hf__voter *m)
{
    return m->is_in && m->owed_n > BEHIND;
}

unsigned hf__wave_behind(const struct hf__redlock *s)
{
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        found |= is_behind(&s->members[i]) ? 1u << i : 0;
    }
    return found;
}

static bool send_to(struct hf__redlock *s, int member,
                    struct hf__segment segment)
{
    struct hf__voter *m = &s->members[member];
    struct hf__resp *resp = &m->peer.resp;

    hf__bytes_append(&resp->out, &s->bytes);
    if (hf__resp_queue(resp) != HF_OK) {
        s->lacks_memory = true; /* nothing of it was added */
        return false;
    }
    if (m->owed_n == 0) {
        m->silent_from = hf__now();
        hf__resp_mark(resp);
    }
    if (!owe(m, segment) || resp->queued - resp->sent > UNSENT_MAX) {
        hf__peer_fail(&m->peer, HF_EUNAVAIL, "it owes too many answers");
    } else if (hf__resp_flush(resp) != HF_OK) {
        hf__peer_advance(&m->peer, POLLIN); /* what it said before */
        hf__wave_take(s, member);
    }
    hf__member_settle(s, member);
    return m->is_in || resp->has_sent;
}

unsigned hf__wave_send(struct hf__redlock *s, unsigned to, int first,
                       bool is_heard)
{
    struct hf__segment segment = {.wave = is_heard ? s->wave : 0,
                                  .first = first,
                                  .count = s->bytes.commands};
    unsigned sent = 0;

    for (int i = 0; i < s->n; i++) {
        if ((to >> i & 1) != 0 && s->members[i].is_in &&
            !(is_heard && is_behind(&s->members[i])) &&
            send_to(s, i, segment)) {
            sent |= 1u << i;
        }
    }
    return sent;
}

/* ---- hearing */

/* What was queued beside the waves: its answers are dropped. */
void hf__wave_disown(struct hf__voter *m)
{
    struct hf__segment segment = {.wave = 0,
                                  .count = m->peer.resp.out.commands};

    if (hf__resp_queue(&m->peer.resp) == HF_OK && !owe(m, segment)) {
        hf__peer_fail(&m->peer, HF_EUNAVAIL, "it owes too many answers");
    }
}

bool hf__wave_turn(struct hf__redlock *s, hf__time until)
{
    struct hf__peer *peers[HF__MEMBERS_MAX];
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        if (!s->members[i].is_over) {
            peers[n++] = &s->members[i].peer;
        }
    }
    bool has_moved =
        n > 0 && hf__peers_poll(peers, n, &s->rest, &s->head, until);
    s->polled_at = hf__now();
    if (!has_moved) {
        return false;
    }
    for (int i = 0; i < s->n; i++) {
        hf__wave_take(s, i);
        hf__member_settle(s, i);
    }
    return true;
}
