/* SPDX-License-Identifier: MIT */
/*
 * One operation that is sent to all members, and the result that their answers
 * add up to. The majority rule itself is in quorum.h; this adds which fence the
 * grant has, why it was lost and who holds the name. Thread: the session's.
 */
#ifndef HF_BACKEND_REDLOCK_VOTE_H
#define HF_BACKEND_REDLOCK_VOTE_H

#include "src/backend/redlock/members.h"

/* The state of a name as one member shows it. */
struct hf__member_view {
    bool is_there;
    uint64_t fence;
    struct hf__record record;
};

struct hf__vote {
    struct hf__op *op;
    uint64_t ours;       /* op->fence as it was given */
    struct hf__op raise; /* the second round, which makes the fence known */
    bool is_raising;
    bool is_decided;
    bool is_refused; /* nobody was asked; op->result is set */
    hf__time until;  /* a member that answers later does not count */
    struct hf__quorum quorum;
    unsigned counted; /* members whose answer is counted */
    unsigned sent;    /* … that were sent the command */
    unsigned out;     /* … that have not answered */
    unsigned heard;   /* … that answered, even late, and without an error */
    unsigned granted; /* … that granted, even late; not in a raise */
    unsigned blank;   /* … without a valid reply: it may be applied there */
    unsigned refused; /* … that refused, and have a record */
    uint64_t fences[HF__MEMBERS_MAX]; /* the fence that each member gave */
    int reasons[HF_REASON_STORE_GONE + 1];
    uint64_t newest; /* the fence of the record in op->ret_record */
    struct hf__member_view *views; /* INSPECT: one of each member; else NULL */
};

/* Begin a round: the members in `sent` were sent the command. The others, and
 * those not in `counting`, count as failed. */
void hf__vote_begin(struct hf__vote *v, int members, unsigned sent,
                    unsigned counting);
/* Count a member's answer. True: it decided the round. */
bool hf__vote_note(struct hf__vote *v, int member, const struct hf__answer *);
/* The member will not answer. `result`: HF_EUNAVAIL, surely not applied, or
 * HF_EUNKNOWN. True: as above. */
bool hf__vote_miss(struct hf__vote *v, int member, int result);
/* End the round: members that have not answered count as HF_EUNKNOWN. */
void hf__vote_end(struct hf__vote *v);

/* The result of a decided round. */
int hf__vote_verdict(const struct hf__vote *v);
/*
 * After an acquire that a majority granted, or an INSPECT that found a holder:
 * must v->raise make the fence known before anybody is told of it? Each member
 * gives a fence above what it has. If a majority gave the same number, every
 * later majority has a member with it, and gives more; and one of the members
 * that gave it had everything that was told before, so the number is above
 * that. If they gave different numbers, the highest is above everything told
 * before, but a later majority may include none of the members that have it: it
 * is told only once a majority has it (as a write of Attiya, Bar-Noy and
 * Dolev's register). A member refuses to raise the fence of a name that the
 * token no longer owns, so nobody was granted it in between.
 */
bool hf__vote_wants_raise(struct hf__vote *v);
/* Store the operation's result and all that belongs to it. */
void hf__vote_give(struct hf__vote *v, int result);

/* ---- rollback.c */

/* How the operation's command is written; with_text is left unset. */
struct hf__ask hf__redlock_how_to_ask(const struct hf__redlock *s,
                                      const struct hf__op *op);
/* At the end of a batch: release what did not win, and note what ended for the
 * members that are away. */
void hf__redlock_give_back(struct hf__redlock *s);

/* ---- limits.c */

/* Until when to wait for members to connect before asking them. */
hf__time hf__redlock_limit(struct hf__op *const ops[], int n,
                           hf__time deadline);
/* Set for each vote of the round that begins until when its answers count. */
void hf__redlock_set_limits(struct hf__redlock *s, int n, hf__time deadline);
/* Wait until all votes are decided or their time is up. */
void hf__redlock_hear(struct hf__redlock *s);

/* The members whose answers count for that operation now. */
unsigned hf__redlock_counting(const struct hf__redlock *s,
                              const struct hf__op *op);
/* True: the operation is not to be sent; its result is set. */
bool hf__vote_is_refused(struct hf__redlock *s, struct hf__vote *v);

#endif
