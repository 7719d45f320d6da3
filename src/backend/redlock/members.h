/* SPDX-License-Identifier: MIT */
/*
 * What there is to do with members, from below: what each owes and is owed,
 * from when on it counts for what it remembers, its coming and going, and what
 * is told of those that have no part in a majority. Thread: the session's.
 */
#ifndef HF_BACKEND_REDLOCK_MEMBERS_H
#define HF_BACKEND_REDLOCK_MEMBERS_H

#include "src/backend/redlock/redlock.h"

/* ---- pending.c */

/* What is sent from now on is answered to `take`; nobody hears more of the
 * round before. */
void hf__round_begin(struct hf__redlock *s, hf__round_fn take, void *arg);
/* Nobody cares for answers any more. */
void hf__round_end(struct hf__redlock *s);
/* Answers of so many commands; false: too many are owed. */
HF_MUST_CHECK bool hf__pending_replies_add(struct hf__redlock_member *m,
                                           struct hf__segment segment);
/* The next answer's. False: it owes none. */
HF_MUST_CHECK bool hf__pending_replies_repay(struct hf__redlock_member *m,
                                             struct hf__segment *ret_one);
bool hf__pending_replies_is_behind(const struct hf__redlock_member *m);
/* Those that are there, but slow. */
unsigned hf__round_behind(const struct hf__redlock *s);
/* What is in m->peer.resp.out is sent, and its answers dropped. */
void hf__round_disown(struct hf__redlock_member *m);
/* What is over: for those of the members that are away, or have not heard of
 * it; the grant's fence, or 0. */
void hf__pending_release_note(struct hf__redlock *s, const struct hf__op *op,
                              const struct hf__ask *how, unsigned members,
                              uint64_t fence);
void hf__pending_release_tell(struct hf__redlock *s, int member);
/* Its connection ends: what it has answered it need not be told again. */
void hf__pending_release_settle(struct hf__redlock *s, int member);

/* ---- durability.c */

/* From what it said when it came. */
void hf__durability_judge(struct hf__redlock_member *m);
/* From then on nothing that it may have forgotten runs. */
hf__time hf__durability_counts_at(const struct hf__redlock *s,
                                  const struct hf__redlock_member *m);
/* It has no mark where others have one: it was emptied, or all are new and
 * another client is marking them just now. */
bool hf__durability_may_be_marked(const struct hf__redlock *s, int member);
/* Mark those that are without, once a majority is there. True: some were. */
bool hf__durability_settle_all(struct hf__redlock *s);
/* Why it does not count yet; as snprintf(). */
int hf__durability_describe(const struct hf__redlock_member *m, int64_t left_ms,
                            char *to, size_t size);
/* Since when it is known to remember, and where that stands. */
void hf__durability_tell(const struct hf__redlock *s,
                         const struct hf__redlock_member *m, char *to,
                         size_t size);

/* ---- member.c */

/* Begin to connect. Names are looked up, which may block, only where nothing
 * would go on without. */
void hf__member_start(struct hf__redlock *s, int member);
/* After something may have happened to it: judge one that has come, give up
 * one that is gone. */
void hf__member_settle(struct hf__redlock *s, int member);
/* Are its answers worth something now? */
bool hf__member_counts(const struct hf__redlock_member *m, hf__time now);
/* One of those is still coming. */
bool hf__is_any_due(const struct hf__redlock *s, unsigned of);
/* Those who are not in. */
unsigned hf__members_away(const struct hf__redlock *s);
int hf__members_count(const struct hf__redlock *s);
/* Connect again to those whose time it is, hang up on those that are silent
 * for too long, hear what has come. Sleeps for a moment, if one is behind, or
 * is coming and nobody has listened for long. */
void hf__members_tend(struct hf__redlock *s);
/* Sleep until a majority counts, nobody more can come or will count before
 * `until`, or until then. */
void hf__members_await(struct hf__redlock *s, hf__time until);
/* Send it the scripts that are needed once more, so that it knows them before
 * what is sent to it later: an operation that it must be asked for again is
 * late if others decide. */
void hf__member_load_scripts(struct hf__redlock_member *m);

/* Send s->bytes, whose first command is that number of the round, to those of
 * the members `to` that are in and, if it is heard, not behind. Gives
 * to whom. `is_heard`: of the round; else the answers are dropped when they
 * come. */
unsigned hf__round_send(struct hf__redlock *s, unsigned to, int first,
                        bool is_heard);
/* Sleep until something happened, and hear it; false at `until`, when
 * interrupted, and if there is nobody to wait for. */
HF_MUST_CHECK bool hf__round_turn(struct hf__redlock *s, hf__time until);

/* ---- tell.c */

/* For people, who are told when to try again; also of what never comes. */
static inline int64_t hf__seconds_left(int64_t ms)
{
    return ms / 1000 + (ms % 1000 != 0);
}

/* Why it does not count; as snprintf(). */
int hf__member_describe(const struct hf__redlock *s, int member, char *to,
                        size_t size);
void hf__refusals_begin(struct hf__redlock *s);
void hf__refusal_note(struct hf__redlock_member *m, const hf_error *why);
/* Why there is no majority: each member that does not count or has refused, by
 * name. Gives `status`. */
int hf__members_tell(const struct hf__redlock *s, int status, hf_error *err);
/* The status of having too few of them: HF_EUNAVAIL, unless so many are
 * refused that those which may come back are too few. */
int hf__members_status(const struct hf__redlock *s);

#endif
