/* SPDX-License-Identifier: MIT */
/*
 * One operation, asked of all members, and what their answers amount to. The
 * majority rule itself is quorum.h's; here is what goes with it: which fence is
 * the grant's, why it was lost, whose the name is. Thread: the session's.
 */
#ifndef HF_BACKEND_REDLOCK_VOTE_H
#define HF_BACKEND_REDLOCK_VOTE_H

#include "src/backend/redlock/members.h"

/* What one member shows of a name. */
struct hf__member_view {
    bool is_there;
    uint64_t fence;
    struct hf__record record;
};

struct hf__vote {
    struct hf__op *op;
    uint64_t ours;       /* op->fence as it was given */
    struct hf__op raise; /* once it is granted: the fence that must be known */
    bool is_raising;
    bool is_decided;
    bool is_refused; /* before anybody was asked; op->result has it */
    hf__time until;  /* then who has not answered does not count */
    struct hf__quorum quorum;
    unsigned counted; /* members whose answer is noted */
    unsigned sent;    /* … to whom it was sent */
    unsigned out;     /* … who have not answered */
    unsigned heard;   /* … who did, however it was */
    unsigned granted; /* … who granted, since the operation was begun */
    unsigned blank; /* … who sent what is no answer: perhaps it is applied */
    unsigned refused;                 /* … who refused, and have a record */
    uint64_t fences[HF__MEMBERS_MAX]; /* that they gave */
    int reasons[HF_REASON_STORE_GONE + 1];
    uint64_t newest; /* fence of what was told, in op->ret_record */
    struct hf__member_view *views; /* INSPECT: of each member; else NULL */
};

/* A round of it begins: `sent` were sent the command; of the others, and of
 * those that do not count, nothing is to be had. */
void hf__vote_begin(struct hf__vote *v, int members, unsigned sent,
                    unsigned counting);
/* A member's answer. True: with it the round is decided. */
bool hf__vote_note(struct hf__vote *v, int member, const struct hf__answer *);
/* It gives none any more: surely not applied, or unknown. The same. */
bool hf__vote_miss(struct hf__vote *v, int member, int result);
/* Those who have not answered will not. */
void hf__vote_end(struct hf__vote *v);

/* Of a round that is decided. */
int hf__vote_verdict(const struct hf__vote *v);
/*
 * An acquire that a majority granted, or a look that found a holder: must the
 * fence be made known by v->raise before anybody is told? Each member gives a
 * fence above what it has. If a majority gave one and the same number, every
 * later majority has a member with it, and gives more; and one of those who
 * gave it had all that was told before, so it is above that. If they gave
 * different ones, the highest is above what was told before, but a later
 * majority may meet none of those who have it: it is told only once a majority
 * does (as a write of Attiya, Bar-Noy and Dolev's register). A member refuses
 * to raise what is no longer the token's, so nobody came in between.
 */
bool hf__vote_wants_raise(struct hf__vote *v);
/* The operation's result and all that goes with it. */
void hf__vote_give(struct hf__vote *v, int result);

/* ---- rollback.c */

/* Of an operation's command; with_text is open. */
struct hf__ask hf__redlock_how_to_ask(const struct hf__redlock *s,
                                      const struct hf__op *op);
/* Of the batch that is over: what did not win is released, and what ended is
 * remembered for those who are away. */
void hf__redlock_give_back(struct hf__redlock *s);

/* ---- limits.c */

/* Until when it is worth waiting for those who are to be asked. */
hf__time hf__redlock_limit(struct hf__op *const ops[], int n,
                           hf__time deadline);
/* Until when the answers to the round that begins are, vote by vote. */
void hf__redlock_set_limits(struct hf__redlock *s, int n, hf__time deadline);
/* Until all votes are decided, or their time is up. */
void hf__redlock_hear(struct hf__redlock *s);

/* Whose answers count for that operation now. */
unsigned hf__redlock_counting(const struct hf__redlock *s,
                              const struct hf__op *op);
/* It is not to be asked; its operation has the result. */
bool hf__vote_is_refused(struct hf__redlock *s, struct hf__vote *v);

#endif
