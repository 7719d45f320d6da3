/* SPDX-License-Identifier: MIT */
/*
 * A handshake that is never answered. A server that is just starting may take
 * a connection and forget it (3.8 does, for some tens of milliseconds), and the
 * library leaves it only after two thirds of the session's time: too late for
 * who holds something. So such a connection is ended after an eighth of it, and
 * the library makes another. Once each time that it is away: a server may as
 * well be slow, and is waited for then. Which socket it is can't be known, but
 * what it does: fds.c. Called by the fronts' threads.
 */
#include "src/backend/zookeeper/fds.h"
#include "src/backend/zookeeper/parts.h"

/* Of T: how long an answer is waited for, and how often it is looked again. */
#define UNHEARD_PER_T 8
#define LOOKS_PER_T   64
#define APART_MIN_MS  50

hf__time hf__zk_mind_handshake(struct hf__zk_link *link)
{
    if (atomic_load(&link->state) != HF__ZK_AWAY) {
        return HF__NEVER;
    }
    hf__mutex_lock(&link->mutex);
    hf__time now = hf__now();
    int64_t t_ns = (int64_t)atomic_load(&link->timeout_ms) * HF__MS;
    int64_t patience_ns = t_ns / UNHEARD_PER_T;
    bool is_ours = link->was_let_in && /* its addresses stay then */
                   atomic_load(&link->state) == HF__ZK_AWAY;
    hf__time away_since = link->away_since;
    hf__time due =
        hf__later(link->look_at, hf__after_ns(away_since, patience_ns));
    bool is_due = is_ours && !hf__before(now, due);
    if (is_due) {
        due = hf__later(hf__after_ns(now, t_ns / LOOKS_PER_T),
                        hf__after_ms(now, APART_MIN_MS));
        link->look_at = due;
    }
    hf__mutex_unlock(&link->mutex);
    if (is_due) {
        (void)hf__zk_fds_end_unheard(link->addresses, patience_ns, away_since);
    }
    return is_ours ? due : HF__NEVER;
}
