/* SPDX-License-Identifier: MIT */
/*
 * A session of the store redlock://, as the files of this folder share it:
 * several independent Redis servers, of which a majority decides. One thread
 * writes the same commands to all of them and polls them together. From below:
 * pending.c has what each owes and is owed, durability.c since when it
 * remembers, member.c its coming and going, sending and hearing, tell.c what
 * people are told, vote.c makes one answer of many, limits.c whose answers
 * count and how long is waited for them, rollback.c gives back, batch.c is
 * execute(), list.c is looking around, redlock.c reads the URL, opens and
 * closes.
 *
 * Thread: the session's, except interrupt().
 */
#ifndef HF_BACKEND_REDLOCK_REDLOCK_H
#define HF_BACKEND_REDLOCK_REDLOCK_H

#include "src/backend/quorum.h"
#include "src/backend/redis/ask.h"
#include "src/backend/redis/peer.h"

/* As many as a URL has hosts; sets of them are bits. */
enum { HF__MEMBERS_MAX = 16 };
/* Who owes answers of more than half as many sendings is behind: nothing is
 * asked of it any more, and answers to what it is told are dropped, which takes
 * one segment together. */
enum { HF__SEGMENTS = 64 };

/* Commands, one after another, that a member has not answered yet. */
struct hf__segment {
    uint64_t round; /* 0: nobody cares for the answers */
    int first;      /* its number in the round; each next one is one more */
    int count;
};

/* What a member said of its past. */
struct hf__durability {
    bool is_unseen;   /* we may not look */
    bool is_unmarked; /* by nobody yet, or not as what it is now */
    bool is_wrong;    /* … and the mark that is there is none */
    int64_t since_us; /* the mark: it forgot nothing since */
    int64_t server_us;
};

struct hf__redlock_member {
    struct hf__peer peer;
    struct hf__target target;
    bool is_in;       /* connected and judged; else on its way, or dead */
    bool is_over;     /* dead, which was noted */
    int failures;     /* attempts to connect to it, since it was in */
    int duplicate_of; /* the member whose server it is, too; −1: none */
    bool is_durable;  /* it forgets nothing, however it ends */
    uint64_t
        scripts_lost_in; /* the round in which it had forgotten the scripts */
    struct hf__durability durability;
    hf__time judged_at;
    hf__time counts_at;   /* its answers do, from then on, while it is in */
    hf__time retry_at;    /* of one that is over */
    hf__time silent_from; /* nothing was heard since, and something is owed */
    struct hf__segment pending[HF__SEGMENTS];
    int pending_from;
    int n_pending;
    uint64_t answered; /* the last round of which it answered anything */
    int64_t gone_us;   /* wall clock, when it was last lost; 0: never */
    hf_error said;     /* its first refusal in this call; status 0: none */
};

/* Of a grant or an attempt that is over, and that some members may have. */
struct hf__pending_release {
    unsigned members; /* who have not said that it is; 0: none */
    uint64_t round;   /* who answers a later one has heard of it */
    int64_t after_us; /* from the loss of who is away to the grant; 0: it may
                         have been before; INT64_MAX: nobody is away */
    struct hf__token token;
    bool reopens;          /* as hf__op's */
    bool leaves_tombstone; /* as hf__ask's */
    bool undoes;           /* the same */
    uint16_t length;       /* of the key */
    uint16_t name_at;
    char bytes[HF__KEY_MAX];
};
/* As many are remembered. */
enum { HF__PENDING_RELEASES = 512 };

struct hf__redlock;
struct hf__vote;

/* Told of the answers of the round that runs. reply NULL: that member is gone
 * and answers nothing any more; whether anything had left for it is in
 * peer.resp.has_sent. */
typedef void (*hf__round_fn)(struct hf__redlock *, int member, int at,
                             const redisReply *reply);

struct hf__redlock {
    struct hf__head head;
    struct hf__rest rest;
    struct hf__url *url; /* ours: members are connected to at any time */
    char *allow;
    char mark_key[HF__PREFIX_MAX + 8]; /* where a member has its mark */
    int64_t longest_ms;                /* no lease is longer */
    bool allows_volatile;              /* who has restarted counts at once */
    int64_t margin_us;                 /* how far ahead fences are proposed */
    int agreed; /* grants since it was learned or lowered */
    int n;
    struct hf__redlock_member members[HF__MEMBERS_MAX];

    uint64_t round;     /* that runs */
    hf__time polled_at; /* what has come since is not known yet */
    hf__round_fn take;
    void *arg;
    struct hf__bytes bytes; /* commands for all */
    struct hf__pending_release pending_releases[HF__PENDING_RELEASES];
    int n_pending_releases; /* the oldest first */

    struct hf__vote *votes; /* one for each operation of a batch */
    int *order;             /* whose the commands of the round are */
    int room;
    int n_votes;
    int undecided;
    bool lacks_durability; /* of this call, a command was not sent for that */
    uint64_t proposal;
};

/* How far ahead at first: a request takes less to reach all members, and their
 * clocks differ by less, where NTP keeps them. */
#define HF__MARGIN_US 100000

static inline int hf__redlock_majority(const struct hf__redlock *s)
{
    return hf__quorum_majority(s->n);
}

static inline bool hf__is_majority(const struct hf__redlock *s,
                                   unsigned members)
{
    return __builtin_popcount(members) >= hf__redlock_majority(s);
}

/* ---- batch.c, list.c: as backend.h says */

/* Once, at the beginning. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__redlock_reserve(struct hf__redlock *s, hf_error *err);
int hf__redlock_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err);
int hf__redlock_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                     void *arg, hf__time deadline, hf_error *err);
int hf__redlock_check(void *state, hf__check_fn fn, void *arg,
                      hf__time deadline, hf_error *err);

#endif
