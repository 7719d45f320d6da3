/* SPDX-License-Identifier: MIT */
/*
 * What a member remembers. A mark stored in each member says since when it is
 * known to have forgotten nothing. A member without a mark was emptied or is
 * new, and may have forgotten a grant that still runs, however long it is up
 * and however durable it is. This file decides from when on a member's answers
 * may count for that reason. Called by the session's thread.
 */
#include "src/backend/redlock/members.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An existing mark stays, unless ARGV[3] says that it is not this server's. */
static const char mark_script[] =
    "if ARGV[3] == '1' or redis.call('EXISTS', KEYS[1]) == 0 then\n"
    "  redis.call('HMSET', KEYS[1], 'since', ARGV[1], 'replid', ARGV[2])\n"
    "end\n"
    "return 1\n";

/* ---- what the member reported of its past */

/*
 * A server that was a replica since it was marked has another server's data,
 * the mark included: its replication id has changed since, and INFO tells the
 * one before, too. A mark from the future was written before the server's clock
 * was set back.
 */
void hf__durability_judge(struct hf__redlock_member *m)
{
    const struct hf__redis_server *server = &m->peer.server;
    const struct hf__past *past = &m->peer.past;
    bool has_followed = server->replid2[strspn(server->replid2, "0")] != '\0';
    int64_t since_us = strtoll(past->since, NULL, 10);
    bool is_none = !isdigit((unsigned char)past->since[0]);
    bool is_wrong =
        (is_none && past->since[0] != '\0') ||
        (has_followed && strcmp(server->replid, past->replid) != 0) ||
        since_us > past->server_us;

    m->durability = (struct hf__durability){
        .is_unseen = past->is_unseen,
        .is_unmarked = !past->is_unseen && (is_none || is_wrong),
        .is_wrong = !past->is_unseen && is_wrong,
        .since_us = since_us,
        .server_us = past->server_us};
}

/* ---- from when on it counts */

/* For how many ms before it was judged it has surely forgotten nothing. Its
 * uptime is in whole seconds, so one is subtracted. */
static int64_t remembered_ms(const struct hf__redlock_member *m)
{
    const struct hf__durability *y = &m->durability;
    int64_t up_ms = (m->peer.server.uptime_s - 1) * 1000;
    int64_t known_ms = (y->server_us - y->since_us) / 1000;

    up_ms = up_ms > 0 ? up_ms : 0;
    if (y->is_unseen) {
        return up_ms;
    }
    return m->is_durable || known_ms < up_ms ? known_ms : up_ms;
}

/* Its clock may be 2 % faster than ours (core/lock.c). */
hf__time hf__durability_counts_at(const struct hf__redlock *s,
                                  const struct hf__redlock_member *m)
{
    int64_t needed_ms = s->longest_ms + s->longest_ms / 50;
    int64_t had_ms = remembered_ms(m);

    if (s->allows_volatile) {
        return m->judged_at;
    }
    if (m->durability.is_unmarked) {
        return HF__NEVER; /* until hf__durability_settle_all() */
    }
    return had_ms >= needed_ms ? m->judged_at
                               : hf__after_ms(m->judged_at, needed_ms - had_ms);
}

static void mark(const struct hf__redlock *s, struct hf__redlock_member *m,
                 int64_t since_us)
{
    struct hf__args args;

    hf__args_begin(&args, "EVAL");
    hf__args_word(&args, mark_script);
    hf__args_word(&args, "1");
    hf__args_word(&args, s->mark_key);
    hf__args_number(&args, since_us);
    hf__args_word(&args, m->peer.server.replid);
    hf__args_word(&args, m->durability.is_wrong ? "1" : "0");
    hf__bytes_add(&m->peer.resp.out, &args);
    if (m->n_pending == 0) {
        m->silent_from = hf__now();
    }
    hf__round_disown(m);
    (void)hf__resp_flush(&m->peer.resp); /* polling finds out if it is dead */
    m->durability.since_us = since_us;
    m->durability.is_unmarked = false;
    m->counts_at = hf__durability_counts_at(s, m);
}

static bool is_blank(const struct hf__redlock_member *m)
{
    return m->is_in && m->durability.is_unmarked && !m->durability.is_wrong;
}

bool hf__durability_may_be_marked(const struct hf__redlock *s, int member)
{
    bool is_any_marked = false;

    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];

        is_any_marked = is_any_marked || (m->is_in && !is_blank(m));
    }
    return is_any_marked && is_blank(&s->members[member]);
}

/*
 * If all members are connected and none was ever marked, the group is new:
 * nothing was granted, nothing is forgotten, and all are marked so. Otherwise a
 * member without a mark is marked as of now. While only a minority is
 * connected, nobody is marked: the group may be new, with members still to
 * come.
 */
bool hf__durability_settle_all(struct hf__redlock *s)
{
    int in = 0;
    int unmarked = 0;
    bool is_new = true;
    bool has_marked = false;

    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];

        in += m->is_in;
        unmarked += m->is_in && m->durability.is_unmarked;
        is_new = is_new && is_blank(m);
    }
    for (int i = 0; i < s->n && in >= hf__redlock_majority(s) && unmarked > 0;
         i++) {
        struct hf__redlock_member *m = &s->members[i];

        if (m->is_in && m->durability.is_unmarked) {
            mark(s, m, is_new ? 0 : m->durability.server_us);
            has_marked = true;
        }
    }
    return has_marked;
}

int hf__durability_describe(const struct hf__redlock_member *m, int64_t left_ms,
                            char *to, size_t size)
{
    int64_t seconds = hf__seconds_left(left_ms);

    if (m->durability.is_unmarked) {
        return snprintf(to, size,
                        "%s: it is new, or was emptied: too few others are "
                        "there to tell",
                        m->target.shown);
    }
    if (!m->durability.is_unseen &&
        (m->is_durable ||
         m->peer.server.uptime_s * 1000 > remembered_ms(m) + 2000)) {
        return snprintf(
            to, size, "%s: it is new, or was emptied, counted in %" PRId64 " s",
            m->target.shown, seconds);
    }
    return snprintf(to, size,
                    "%s: restarted %" PRId64 " s ago, counted again in "
                    "%" PRId64 " s",
                    m->target.shown, m->peer.server.uptime_s, seconds);
}

void hf__durability_tell(const struct hf__redlock *s,
                         const struct hf__redlock_member *m, char *to,
                         size_t size)
{
    const struct hf__durability *y = &m->durability;
    bool is_by_mark = (y->server_us - y->since_us) / 1000 <= remembered_ms(m);
    int64_t had_ms =
        remembered_ms(m) + hf__between_ns(m->judged_at, hf__now()) / HF__MS;

    if (y->is_unseen) {
        (void)snprintf(to, size,
                       "no more than its start, %" PRId64
                       " s ago: this user may not read %s",
                       had_ms / 1000, s->mark_key);
    } else if (y->is_unmarked) {
        (void)snprintf(to, size, "nothing that is known: there is no %s",
                       s->mark_key);
    } else if (y->since_us == 0 && m->is_durable) {
        (void)snprintf(to, size, "all since the group was new (%s)",
                       s->mark_key);
    } else {
        (void)snprintf(to, size, "all since %" PRId64 " s ago (%s)",
                       had_ms / 1000, is_by_mark ? s->mark_key : "its start");
    }
}
