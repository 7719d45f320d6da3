/* SPDX-License-Identifier: MIT */
/*
 * Functions on members, from the lowest layer up: their outstanding replies and
 * releases, from when on they count for what they remember, connecting and
 * disconnecting, and error texts about members that do not count. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_REDLOCK_MEMBERS_H
#define HF_BACKEND_REDLOCK_MEMBERS_H

#include "src/backend/redlock/redlock.h"

/* ---- pending.c */

/* Begin a round: replies to what is sent from now on go to `take`, later
 * replies of earlier rounds are dropped. */
void hf__round_begin(struct hf__redlock *s, hf__round_fn take, void *arg);
/* Replies are dropped from now on. */
void hf__round_end(struct hf__redlock *s);
/* Expect replies to that many commands. False: too many are outstanding. */
HF_MUST_CHECK bool hf__pending_replies_add(struct hf__redlock_member *m,
                                           struct hf__segment segment);
/* Which command the next reply belongs to. False: none is outstanding. */
HF_MUST_CHECK bool hf__pending_replies_repay(struct hf__redlock_member *m,
                                             struct hf__segment *ret_one);
bool hf__pending_replies_is_behind(const struct hf__redlock_member *m);
/* Members that are connected, but slow to answer. */
unsigned hf__round_behind(const struct hf__redlock *s);
/* Queue the commands in m->peer.resp.out; their replies are dropped. */
void hf__round_disown(struct hf__redlock_member *m);
/* Remember a release for those of the members that are away or have not
 * confirmed it. `fence`: the grant's, or 0. */
void hf__pending_release_note(struct hf__redlock *s, const struct hf__op *op,
                              const struct hf__ask *how, unsigned members,
                              uint64_t fence);
void hf__pending_release_tell(struct hf__redlock *s, int member);
/* The member's connection ends: forget the releases that it has confirmed. */
void hf__pending_release_settle(struct hf__redlock *s, int member);

/* ---- durability.c */

/* Set m->durability from what the member reported when it connected. */
void hf__durability_judge(struct hf__redlock_member *m);
/* From then on, no grant that it may have forgotten still runs. */
hf__time hf__durability_counts_at(const struct hf__redlock *s,
                                  const struct hf__redlock_member *m);
/* True if this member has no mark, but others do: it was emptied, or the group
 * is new and another client is marking it right now. */
bool hf__durability_may_be_marked(const struct hf__redlock *s, int member);
/* Mark the members without a mark, once a majority is connected. True: some
 * were marked. */
bool hf__durability_settle_all(struct hf__redlock *s);
/* Write why it does not count yet; returns as snprintf(). */
int hf__durability_describe(const struct hf__redlock_member *m, int64_t left_ms,
                            char *to, size_t size);
/* Write since when it is known to remember, and by what evidence. */
void hf__durability_tell(const struct hf__redlock *s,
                         const struct hf__redlock_member *m, char *to,
                         size_t size);

/* ---- member.c */

/* Begin to connect. Looks names up, which may block, only if no majority counts
 * without this member. */
void hf__member_start(struct hf__redlock *s, int member);
/* Do its answers count now? */
bool hf__member_counts(const struct hf__redlock_member *m, hf__time now);
/* True if one of those members is still connecting. */
bool hf__is_any_due(const struct hf__redlock *s, unsigned of);
/* The members that are not connected. */
unsigned hf__members_away(const struct hf__redlock *s);
int hf__members_count(const struct hf__redlock *s);
/* Connect again to members whose retry is due, disconnect members that are
 * silent for too long, read what has come. Sleeps for a moment if a member is
 * behind, or if one is connecting and the session was idle. */
void hf__members_tend(struct hf__redlock *s);
/* Sleep until a majority counts, until no further member can connect or count
 * before `until`, or until then. */
void hf__members_await(struct hf__redlock *s, hf__time until);
/* Send the needed scripts again, so that the member knows them before later
 * commands arrive: an operation that must be sent to it twice is late if the
 * others decide. */
void hf__member_load_scripts(struct hf__redlock_member *m);

/* Send s->bytes, whose first command has number `first` of the round, to those
 * of `to` that are connected and, if is_heard, not behind. Returns to which.
 * is_heard: the replies belong to the round; else they are dropped. */
unsigned hf__round_send(struct hf__redlock *s, unsigned to, int first,
                        bool is_heard);
/* Sleep until a member's connection has input or changes state, and handle it.
 * False: `until` passed, interrupted, or no member to wait for. */
HF_MUST_CHECK bool hf__round_turn(struct hf__redlock *s, hf__time until);

/* ---- tell.c */

/* Rounded up, for texts that tell people when to try again; INT64_MAX, which is
 * never, does not overflow. */
static inline int64_t hf__seconds_left(int64_t ms)
{
    return ms / 1000 + (ms % 1000 != 0);
}

/* Write why it does not count; returns as snprintf(). */
int hf__member_describe(const struct hf__redlock *s, int member, char *to,
                        size_t size);
void hf__refusals_begin(struct hf__redlock *s);
void hf__refusal_note(struct hf__redlock_member *m, const hf_error *why);
/* Write why there is no majority: each member that does not count or has
 * refused, by name. Returns `status`. */
int hf__members_tell(const struct hf__redlock *s, int status, hf_error *err);
/* The status when too few members count: HF_EUNAVAIL, unless so many are
 * refused that the rest, which may connect again, is too few. */
int hf__members_status(const struct hf__redlock *s);

#endif
