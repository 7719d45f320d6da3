/* SPDX-License-Identifier: MIT */
/*
 * When the ensemble's leader last heard of our session. The leader alone
 * decides when the session ends: T, the session timeout, after the last time
 * that it heard of it.
 *
 * The leader hears of it directly when the session is made, and when another
 * server takes it over. Later it hears of it only with the server's answer to
 * the leader's ping, each half tick, and not by the writes that the server
 * passes on. But what comes from that server comes in order: a write that is
 * sent half a tick after an answer, and answered itself, shows that the leader
 * has heard of the answered request. T is at least two ticks, by default, so
 * half a tick is at most T/4. So a lease that counts from t and ends before t +
 * L is safe if an exchange began after t − (T − L), and was over T/4 before the
 * write; or if the connection that made the session, or took it over, began
 * after t − (T − L).
 *
 * This file also decides how long to wait for a silent server. Called by the
 * references' threads, and by the library's with answers.
 */
#include "src/backend/zookeeper/fds.h"
#include "src/backend/zookeeper/internal.h"

/* Parts of T: how far apart noted exchanges are; how long before a write one
 * must be over; how long silence is taken for slowness on a fast network; the
 * same at least, where there is no other server to go to; and how seldom a
 * connection is cut for silence, for all servers may be slow. */
#define NOTED_PER_T        64
#define RELAYED_PER_T      4
#define SILENCE_PER_T      8
#define LONE_SILENCE_PER_T 5
#define SILENCE_MIN_MS     250
#define CUTS_PER_T         3

static int64_t timeout_ns(const struct hf__zk_session *session)
{
    return (int64_t)atomic_load(&session->timeout_ms) * HF__MS;
}

void hf__zk_note_connected(struct hf__zk_session *session)
{
    HF_SCOPED_LOCK(&session->mutex);
    struct hf__zk_evidence *e = &session->evidence;

    /* The library does not tell when it began to connect; that was after all
     * requests that were answered on the last connection were sent. */
    e->direct = hf__later(session->made_at, e->newest);
    e->n = 0;
    e->connected_at = hf__now();
    atomic_fetch_add(&session->connection, 1);
}

void hf__zk_note_answer(struct hf__zk_session *session, hf__time sent)
{
    int64_t apart_ns = timeout_ns(session) / NOTED_PER_T;
    hf__time now = hf__now();

    atomic_store(&session->heard_ns, now.ns);
    if (sent.ns < atomic_load(&session->noted_ns) + apart_ns) {
        return;
    }
    HF_SCOPED_LOCK(&session->mutex);
    struct hf__zk_evidence *e = &session->evidence;

    e->exchanges[e->n++ % HF__ZK_EXCHANGES] =
        (struct hf__zk_exchange){.sent = sent, .answered = now};
    e->newest = hf__later(e->newest, sent);
    atomic_store(&session->noted_ns, e->newest.ns);
}

/* When the first answer came to a request sent since then; HF__NEVER: there is
 * none. */
static hf__time first_answer(const struct hf__zk_evidence *e, hf__time since)
{
    hf__time first = HF__NEVER;

    for (unsigned i = 0; i < HF__ZK_EXCHANGES && i < e->n; i++) {
        if (!hf__before(e->exchanges[i].sent, since)) {
            first = hf__earlier(first, e->exchanges[i].answered);
        }
    }
    return first;
}

hf__time hf__zk_provable_from(struct hf__zk_ref *f, hf__time from,
                              int64_t lease_us)
{
    struct hf__zk_session *session = f->session;
    int64_t t_ns = timeout_ns(session);
    hf__time since = hf__after_ns(from, lease_us * 1000 - t_ns);
    HF_SCOPED_LOCK(&session->mutex);
    hf__time first = first_answer(&session->evidence, since);

    if (atomic_load(&session->state) != HF__ZK_CONNECTED) {
        return HF__NEVER;
    }
    if (!hf__before(session->evidence.direct, since)) {
        /* By then the leader itself had heard of us. */
        return session->evidence.connected_at;
    }
    return hf__is_never(first) ? first
                               : hf__after_ns(first, t_ns / RELAYED_PER_T);
}

hf__time hf__zk_proven_from(struct hf__zk_ref *f, hf__time write,
                            int64_t lease_us)
{
    struct hf__zk_session *session = f->session;
    int64_t t_ns = timeout_ns(session);
    HF_SCOPED_LOCK(&session->mutex);
    const struct hf__zk_evidence *e = &session->evidence;
    hf__time known = {0}; /* when the leader last heard of us, surely */

    if (atomic_load(&session->state) != HF__ZK_CONNECTED) {
        return known;
    }
    if (!hf__before(write, e->connected_at)) {
        known = e->direct;
    }
    for (unsigned i = 0; i < HF__ZK_EXCHANGES && i < e->n; i++) {
        const struct hf__zk_exchange *x = &e->exchanges[i];

        if (!hf__before(write,
                        hf__after_ns(x->answered, t_ns / RELAYED_PER_T))) {
            known = hf__later(known, x->sent);
        }
    }
    return hf__after_ns(known, t_ns - lease_us * 1000);
}

/* With no other server to go to, a connection is not cut while a caller may
 * still wait for its answer (io_timeout). */
static int64_t silence_limit_ns(const struct hf__zk_session *session,
                                bool has_choice)
{
    int64_t ns =
        timeout_ns(session) / (has_choice ? SILENCE_PER_T : LONE_SILENCE_PER_T);
    int64_t least_ns =
        HF__MS * (has_choice ? SILENCE_MIN_MS : session->io_timeout_ms);

    return ns < least_ns ? least_ns : ns;
}

hf__time hf__zk_mind_silence(struct hf__zk_ref *f, hf__time since)
{
    struct hf__zk_session *session = f->session;
    int64_t limit_ns = silence_limit_ns(session, hf__zk_has_choice(f));
    hf__time now = hf__now();
    hf__time due;

    if (atomic_load(&session->state) != HF__ZK_CONNECTED) {
        return hf__zk_mind_handshake(session);
    }
    hf__mutex_lock(&session->mutex);
    since = hf__later(since, session->evidence.connected_at);
    since = hf__later(since, session->evidence.cut_at);
    since = hf__later(since, (hf__time){atomic_load(&session->heard_ns)});
    due = hf__after_ns(since, limit_ns);
    if (session->evidence.cut_at.ns != 0) {
        due = hf__later(due, hf__after_ns(session->evidence.cut_at,
                                          timeout_ns(session) / CUTS_PER_T));
    }
    if (!hf__before(now, due)) {
        session->evidence.cut_at = now;
        (void)hf__zk_hang_up(session);
        due = hf__after_ns(now, limit_ns);
    }
    hf__mutex_unlock(&session->mutex);
    return due;
}

bool hf__zk_reconnect(struct hf__zk_ref *f, unsigned connection)
{
    struct hf__zk_session *session = f->session;
    HF_SCOPED_LOCK(&session->mutex);

    return atomic_load(&session->connection) != connection ||
           atomic_load(&session->state) != HF__ZK_CONNECTED ||
           hf__zk_hang_up(session);
}

unsigned hf__zk_connection(const struct hf__zk_ref *f)
{
    return atomic_load(&f->session->connection);
}

hf__time hf__zk_heard_at(const struct hf__zk_ref *f)
{
    return (hf__time){atomic_load(&f->session->heard_ns)};
}

bool hf__zk_is_connected(const struct hf__zk_ref *f)
{
    return atomic_load(&f->session->state) == HF__ZK_CONNECTED;
}

bool hf__zk_has_choice(const struct hf__zk_ref *f)
{
    return atomic_load(&f->session->n_addresses) > 1;
}

/* ---- a handshake that is never answered
 *
 * A server that is just starting may take a connection and forget it (3.8 does,
 * for some tens of milliseconds), and the library leaves it only after two
 * thirds of the session timeout: too late for a holder. So such a connection is
 * ended after an eighth of the timeout, and the library makes another. That is
 * done once each time that the session is away: a server may also be slow, and
 * is then waited for. We can't know which socket it is, but can tell by what it
 * does: fds.c.
 */

/* Parts of T: how long an answer is waited for, and how often sockets are
 * looked at again. */
#define UNHEARD_PER_T 8
#define LOOKS_PER_T   64
#define APART_MIN_MS  50

hf__time hf__zk_mind_handshake(struct hf__zk_session *session)
{
    if (atomic_load(&session->state) != HF__ZK_AWAY) {
        return HF__NEVER;
    }
    hf__mutex_lock(&session->mutex);
    hf__time now = hf__now();
    int64_t t_ns = (int64_t)atomic_load(&session->timeout_ms) * HF__MS;
    int64_t patience_ns = t_ns / UNHEARD_PER_T;
    /* Once it was let in, its addresses no longer change. */
    bool is_ours =
        session->was_let_in && atomic_load(&session->state) == HF__ZK_AWAY;
    hf__time away_since = session->away_since;
    hf__time due =
        hf__later(session->look_at, hf__after_ns(away_since, patience_ns));
    bool is_due = is_ours && !hf__before(now, due);
    if (is_due) {
        due = hf__later(hf__after_ns(now, t_ns / LOOKS_PER_T),
                        hf__after_ms(now, APART_MIN_MS));
        session->look_at = due;
    }
    hf__mutex_unlock(&session->mutex);
    if (is_due) {
        (void)hf__zk_fds_end_unheard(session->addresses, patience_ns,
                                     away_since);
    }
    return is_ours ? due : HF__NEVER;
}
