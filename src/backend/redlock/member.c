/* SPDX-License-Identifier: MIT */
/*
 * Connections of the members. This file decides when to connect to a member
 * again, when to disconnect it, and whether its answers count: not while it may
 * have forgotten a grant that still runs, and not twice if two names lead to
 * one server. It also sends the same commands to several members and takes
 * their replies; a reply that comes after its round is read from the socket and
 * dropped. Called by the session's thread.
 */
#include "src/backend/redlock/members.h"

#include <poll.h>
#include <string.h>

/* Pause between two attempts to connect; doubled each time. */
#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS   2000
/* A member that was silent for so long, or that has not connected in so long,
 * is disconnected. Not sooner: the releases for it wait in its socket behind
 * the commands that they belong to, and reach it in order. */
#define SILENT_MS  2000
#define CONNECT_MS 3000
/* A client that only renews polls rarely. For members that are connecting, at
 * most IDLE_MS of the time since its last poll counts as silence, and they then
 * get IDLE_TURNS_MS for their next steps. */
#define IDLE_MS       500
#define IDLE_TURNS_MS 50
/* How long to wait for a member that is behind, but was heard just now. */
#define BEHIND_MS 20

bool hf__member_counts(const struct hf__redlock_member *m, hf__time now)
{
    return m->is_in && m->duplicate_of < 0 && !hf__before(now, m->counts_at);
}

/* Is it still connecting? */
static bool is_due(const struct hf__redlock_member *m)
{
    return !m->is_in && !m->is_over;
}

bool hf__is_any_due(const struct hf__redlock *s, unsigned of)
{
    for (int i = 0; i < s->n; i++) {
        if ((of >> i & 1) != 0 && is_due(&s->members[i])) {
            return true;
        }
    }
    return false;
}

unsigned hf__members_away(const struct hf__redlock *s)
{
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        found |= s->members[i].is_in ? 0 : 1u << i;
    }
    return found;
}

int hf__members_count(const struct hf__redlock *s)
{
    hf__time now = hf__now();
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        n += hf__member_counts(&s->members[i], now);
    }
    return n;
}

/* ---- a connection begins or ends */

static int find_duplicate(const struct hf__redlock *s, int member)
{
    const struct hf__redis_server *own = &s->members[member].peer.server;

    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];

        if (i != member && m->is_in && m->duplicate_of < 0 &&
            own->run_id[0] != '\0' &&
            strcmp(m->peer.server.run_id, own->run_id) == 0) {
            return i;
        }
    }
    return -1;
}

static void judge(struct hf__redlock *s, int member)
{
    struct hf__redlock_member *m = &s->members[member];
    const struct hf__redis_server *server = &m->peer.server;

    hf__durability_judge(m);
    m->is_in = true;
    m->failures = 0;
    m->is_durable = server->has_aof && strcmp(server->fsync, "always") == 0 &&
                    !m->peer.past.is_lax;
    m->judged_at = hf__now();
    m->counts_at = hf__durability_counts_at(s, m);
    m->duplicate_of = find_duplicate(s, member);
    m->silent_from = hf__now();
    hf__pending_release_tell(s, member);
}

/* The scripts that a quorum needs. */
static const enum hf__script needed[] = {
    HF__SCRIPT_ACQUIRE, HF__SCRIPT_RENEW, HF__SCRIPT_RELEASE,
    HF__SCRIPT_RAISE,   HF__SCRIPT_BREAK, HF__SCRIPT_INSPECT};

void hf__member_load_scripts(struct hf__redlock_member *m)
{
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        hf__bytes_words(
            &m->peer.resp.out,
            HF__WORDS("SCRIPT", "LOAD", hf__script_text(needed[i])));
    }
    hf__round_disown(m);
}

static void note_end(struct hf__redlock *s, int member)
{
    struct hf__redlock_member *m = &s->members[member];
    int64_t pause_ms = 0;

    if (m->is_in && m->n_pending > 0 && s->take != NULL) {
        s->take(s, member, 0, NULL);
    }
    for (int i = 0; i < s->n; i++) {
        if (s->members[i].duplicate_of == member) {
            s->members[i].duplicate_of = -1; /* judged when it connects again */
        }
    }
    if (!m->is_in) {
        pause_ms = RETRY_FIRST_MS;
        for (int i = 0; i < m->failures && pause_ms < RETRY_MAX_MS; i++) {
            pause_ms *= 2;
        }
        m->failures++;
    }
    m->retry_at = hf__after_ms(
        hf__now(), pause_ms < RETRY_MAX_MS ? pause_ms : RETRY_MAX_MS);
    if (m->is_in) {
        hf__pending_release_settle(s, member);
        m->gone_us = hf__wall_us();
    }
    m->is_in = false;
    m->is_over = true;
    m->n_pending = 0;
}

/* Handle a change of its connection: judge one that has connected, note the
 * end of one that is dead. */
static void settle(struct hf__redlock *s, int member)
{
    struct hf__redlock_member *m = &s->members[member];

    if (m->peer.state == HF__PEER_READY && !m->is_in) {
        judge(s, member);
    }
    if (m->peer.state == HF__PEER_DEAD && !m->is_over) {
        note_end(s, member);
    }
}

/* ---- connecting and disconnecting */

/* A lookup blocks as long as the resolver takes, and locks that are held would
 * be lost meanwhile: so not while a majority counts, nor at the first attempt
 * if addresses are known. */
static bool needs_look_up(const struct hf__redlock *s,
                          const struct hf__redlock_member *m)
{
    return hf__members_count(s) < hf__redlock_majority(s) &&
           (m->failures > 0 || m->peer.known.n == 0);
}

void hf__member_start(struct hf__redlock *s, int member)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__redlock_member *m = &s->members[member];
    hf_error err = HF_ERROR_INIT;
    int r = hf__secret_read(s->url, &secret, &err);

    m->is_over = false;
    m->is_in = false;
    m->n_pending = 0;
    m->answered = 0;
    if (r != HF_OK) {
        hf__peer_close(&m->peer);
        m->peer.target = m->target;
        hf__peer_fail(&m->peer, r, err.text);
    } else {
        hf__peer_start(&m->peer, &m->target, &secret, s->allow,
                       needs_look_up(s, m));
    }
    m->silent_from = hf__now(); /* the lookup may have taken long */
    settle(s, member);
}

static void hang_up(struct hf__redlock *s, int member, hf__time now)
{
    struct hf__redlock_member *m = &s->members[member];
    int64_t silent_ms = hf__between_ns(m->silent_from, now) / HF__MS;

    if (m->is_in && m->n_pending > 0 && silent_ms >= SILENT_MS) {
        hf__peer_fail(&m->peer, HF_EUNAVAIL, "it has stopped answering");
        settle(s, member);
        m->retry_at = hf__after_ms(now, RETRY_FIRST_MS);
    } else if (is_due(m) && silent_ms >= CONNECT_MS) {
        hf__peer_fail(&m->peer, HF_EUNAVAIL, "it does not answer");
    }
    settle(s, member);
}

/* ---- sending and receiving */

/* Handle the replies that have come from it. */
static void take(struct hf__redlock *s, int member)
{
    struct hf__redlock_member *m = &s->members[member];
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
        if (!hf__pending_replies_repay(m, &own)) {
            hf__peer_fail(&m->peer, HF_EPROTO, "it answers unasked");
        } else if (own.round == s->round && s->take != NULL) {
            s->take(s, member, own.first, reply);
        } else if (reply->type == REDIS_REPLY_ERROR &&
                   strncmp(reply->str, "NOSCRIPT", 8) == 0) {
            hf__member_load_scripts(m); /* too late for this command … */
            hf__pending_release_tell(s, member); /* … unless it was a release */
        }
        freeReplyObject(reply);
    }
}

/* The most bytes that may be queued for a member that reads nothing. */
#define UNSENT_MAX (1 << 20)

static bool send_to(struct hf__redlock *s, int member,
                    struct hf__segment segment)
{
    struct hf__redlock_member *m = &s->members[member];
    struct hf__resp *resp = &m->peer.resp;

    hf__bytes_append(&resp->out, &s->bytes);
    if (hf__resp_queue(resp) != HF_OK) {
        s->lacks_durability = true; /* none of it was queued */
        return false;
    }
    if (m->n_pending == 0) {
        m->silent_from = hf__now();
        hf__resp_mark(resp);
    }
    if (!hf__pending_replies_add(m, segment) ||
        resp->queued - resp->sent > UNSENT_MAX) {
        hf__peer_fail(&m->peer, HF_EUNAVAIL, "it owes too many answers");
    } else if (hf__resp_flush(resp) != HF_OK) {
        hf__peer_advance(&m->peer, POLLIN); /* what it said before that */
        take(s, member);
    }
    settle(s, member);
    return m->is_in || resp->has_sent;
}

unsigned hf__round_send(struct hf__redlock *s, unsigned to, int first,
                        bool is_heard)
{
    struct hf__segment segment = {.round = is_heard ? s->round : 0,
                                  .first = first,
                                  .count = s->bytes.commands};
    unsigned sent = 0;

    for (int i = 0; i < s->n; i++) {
        if ((to >> i & 1) != 0 && s->members[i].is_in &&
            !(is_heard && hf__pending_replies_is_behind(&s->members[i])) &&
            send_to(s, i, segment)) {
            sent |= 1u << i;
        }
    }
    return sent;
}

bool hf__round_turn(struct hf__redlock *s, hf__time until)
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
        take(s, i);
        settle(s, i);
    }
    return true;
}

/* ---- between batches */

/* Slow members: a batch is decided by the others, and the next one begins
 * before these have answered. They get a moment; after that they are asked
 * nothing new. */
static bool is_anybody_behind(const struct hf__redlock *s, hf__time now)
{
    unsigned behind = hf__round_behind(s);

    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];

        if ((behind >> i & 1) != 0 &&
            hf__between_ns(m->silent_from, now) < BEHIND_MS * HF__MS) {
            return true;
        }
    }
    return false;
}

static void await_slow(struct hf__redlock *s)
{
    hf__time now = hf__now();
    hf__time until = hf__after_ms(now, BEHIND_MS);

    while (is_anybody_behind(s, hf__now()) && hf__round_turn(s, until)) {
    }
}

/* The session did not poll meanwhile, so members that are connecting could not
 * go on: that is not their silence. */
static void excuse(struct hf__redlock *s, int64_t idle_ns)
{
    for (int i = 0; i < s->n; i++) {
        struct hf__redlock_member *m = &s->members[i];

        if (is_due(m)) {
            m->silent_from =
                hf__after_ns(m->silent_from, idle_ns - IDLE_MS * HF__MS);
        }
    }
}

static void let_come(struct hf__redlock *s)
{
    hf__time until = hf__after_ms(hf__now(), IDLE_TURNS_MS);

    while (hf__is_any_due(s, ~0U) && hf__round_turn(s, until)) {
    }
}

void hf__members_tend(struct hf__redlock *s)
{
    hf__time now = hf__now();
    int64_t idle_ns = hf__between_ns(s->polled_at, now);
    bool was_idle = idle_ns > IDLE_MS * HF__MS;

    if (was_idle) {
        excuse(s, idle_ns);
    }
    bool has_moved = hf__round_turn(s, now);

    (void)has_moved;
    await_slow(s);
    for (int i = 0; i < s->n; i++) {
        struct hf__redlock_member *m = &s->members[i];

        hang_up(s, i, now);
        if (m->is_over && !hf__before(hf__now(), m->retry_at)) {
            hf__member_start(s, i);
        }
    }
    if (was_idle) {
        let_come(s);
    }
    (void)hf__durability_settle_all(s);
}

/* When the next connected member begins to count; HF__NEVER: none will. */
static hf__time next_to_count(const struct hf__redlock *s)
{
    hf__time now = hf__now();
    hf__time next = HF__NEVER;

    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];

        if (m->is_in && m->duplicate_of < 0 && hf__before(now, m->counts_at)) {
            next = hf__earlier(next, m->counts_at);
        }
    }
    return next;
}

void hf__members_await(struct hf__redlock *s, hf__time until)
{
    while (hf__members_count(s) < hf__redlock_majority(s)) {
        hf__time next = next_to_count(s);

        if (!hf__is_any_due(s, ~0U) && !hf__before(next, until)) {
            return;
        }
        if (!hf__round_turn(s, hf__earlier(next, until)) &&
            hf__before(hf__now(), hf__earlier(next, until))) {
            return; /* interrupted, or no member is left */
        }
        if (!hf__before(hf__now(), until)) {
            return;
        }
    }
}
