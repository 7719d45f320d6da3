/* SPDX-License-Identifier: MIT */
/*
 * The session of the store redlock://, shared by the files of this folder:
 * several independent Redis servers, of which a majority decides. One thread
 * writes the same commands to all of them and polls them together. From the
 * lowest layer up: pending.c keeps the replies and releases that are
 * outstanding at each member, durability.c knows since when a member remembers,
 * member.c connects, sends and receives, tell.c writes the error texts, vote.c
 * makes one result of many answers, limits.c decides whose answers count and
 * how long to wait for them, rollback.c releases what did not win, batch.c is
 * execute(), list.c is list() and check(), redlock.c reads the URL, opens and
 * closes.
 *
 * Thread: the session's, except interrupt().
 */
#ifndef HF_BACKEND_REDLOCK_REDLOCK_H
#define HF_BACKEND_REDLOCK_REDLOCK_H

#include "src/backend/quorum.h"
#include "src/backend/redis/ask.h"
#include "src/backend/redis/peer.h"

/* The most hosts that a URL may name. Sets of members are bit masks. */
enum { HF__MEMBERS_MAX = 16 };
/* A member is behind when more than half of these segments are unanswered. It
 * is asked nothing more then; it is still told of renewals and releases, whose
 * replies are dropped and share one segment. */
enum { HF__SEGMENTS = 64 };

/* Consecutive commands that a member has not answered yet. */
struct hf__segment {
    uint64_t round; /* 0: the replies are dropped */
    int first;      /* its number in the round; each next one is one more */
    int count;
};

/* What a member reported of its past. */
struct hf__durability {
    bool is_unseen;   /* the user may not read the mark */
    bool is_unmarked; /* there is no mark, or a wrong one */
    bool is_wrong;    /* there is a mark, but it is not valid */
    int64_t since_us; /* the mark: the member forgot nothing since */
    int64_t server_us;
};

struct hf__redlock_member {
    struct hf__peer peer;
    struct hf__target target;
    bool is_in;       /* connected and judged; else connecting or dead */
    bool is_over;     /* dead, and handled as such */
    int failures;     /* failed attempts to connect since it was last in */
    int duplicate_of; /* another member that is the same server; −1: none */
    bool is_durable;  /* it keeps every write, however it ends */
    uint64_t scripts_lost_in; /* the round in which its scripts were missing */
    struct hf__durability durability;
    hf__time judged_at;
    hf__time counts_at;   /* its answers count from then on, while it is in */
    hf__time retry_at;    /* when to connect again, if is_over */
    hf__time silent_from; /* nothing came since, though a reply is due */
    struct hf__segment pending[HF__SEGMENTS];
    int pending_from;
    int n_pending;
    uint64_t answered; /* the last round of which it has answered anything */
    int64_t gone_us;   /* wall clock when it was last lost; 0: never */
    hf_error said;     /* its first refusal in this call; status 0: none */
};

/* A release that some members have not confirmed: of a grant or an attempt that
 * has ended, which they may still hold. */
struct hf__pending_release {
    unsigned members; /* those that have not confirmed it; 0: none */
    uint64_t round;   /* a member that answered a later one has received it */
    int64_t after_us; /* from the loss of its away members to the grant; 0: the
                         grant may be older; INT64_MAX: no member is away */
    struct hf__token token;
    bool reopens;          /* as in hf__op */
    bool leaves_tombstone; /* as in hf__ask */
    bool undoes;           /* as in hf__ask */
    uint16_t length;       /* of the key */
    uint16_t name_at;
    char bytes[HF__KEY_MAX];
};
/* The most that are remembered. */
enum { HF__PENDING_RELEASES = 512 };

struct hf__redlock;
struct hf__vote;

/* Takes the replies of the current round. reply NULL: the member is gone and
 * will answer nothing more; peer.resp.has_sent tells whether anything was sent
 * to it. */
typedef void (*hf__round_fn)(struct hf__redlock *, int member, int at,
                             const redisReply *reply);

struct hf__redlock {
    struct hf__head head;
    struct hf__rest rest;
    struct hf__url *url; /* owned: members connect at any time */
    char *allow;
    char mark_key[HF__PREFIX_MAX + 8]; /* the key of a member's mark */
    int64_t longest_ms;                /* longer leases need durable members */
    bool allows_volatile;              /* a restarted member counts at once */
    int64_t margin_us;                 /* how far ahead fences are proposed */
    int agreed;                        /* grants since margin_us last changed */
    int n;
    struct hf__redlock_member members[HF__MEMBERS_MAX];

    uint64_t round;     /* the current one */
    hf__time polled_at; /* later input has not been read yet */
    hf__round_fn take;
    void *arg;
    struct hf__bytes bytes; /* commands for all members */
    struct hf__pending_release pending_releases[HF__PENDING_RELEASES];
    int n_pending_releases; /* the oldest is first */

    struct hf__vote *votes; /* one for each operation of a batch */
    int *order;             /* the vote of each command of the round */
    int room;
    int n_votes;
    int undecided;
    bool lacks_durability; /* in this call memory lacked, and a command was not
                              sent */
    uint64_t proposal;
};

/* How far ahead fences are proposed at first. A request takes less time to
 * reach all members, and clocks that NTP keeps differ by less. */
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

/* ---- batch.c, list.c: as in backend.h */

/* Allocate the room for small batches, once at open. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__redlock_reserve(struct hf__redlock *s, hf_error *err);
int hf__redlock_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err);
int hf__redlock_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                     void *arg, hf__time deadline, hf_error *err);
int hf__redlock_check(void *state, hf__check_fn fn, void *arg,
                      hf__time deadline, hf_error *err);

#endif
