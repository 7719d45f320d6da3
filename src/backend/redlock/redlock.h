/* SPDX-License-Identifier: MIT */
/*
 * A session of the store redlock://, as the files of this folder share it:
 * several independent Redis servers, of which a majority decides. One thread
 * writes the same commands to all of them and polls them together. redlock.c
 * opens and closes, place.c reads the URL, member.c has one server's coming
 * and going and whether it counts, memory.c since when it remembers,
 * leftover.c what it is told then, tell.c what people are told, wave.c sends
 * and hears, vote.c makes one answer of many, sight.c of what they show,
 * batch.c is execute(), hear.c waits for it, look.c is looking around.
 *
 * Thread: the session's, except interrupt().
 */
#ifndef HF_BACKEND_REDLOCK_REDLOCK_H
#define HF_BACKEND_REDLOCK_REDLOCK_H

#include "src/backend/quorum.h"
#include "src/backend/redis/ask.h"
#include "src/backend/redis/peer.h"
#include "src/backend/redlock/memory.h"

/* As many as a URL has hosts; sets of them are bits. */
enum { HF__MEMBERS_MAX = 16 };
/* Who owes answers of more than half as many sendings is behind: nothing is
 * asked of it any more, and answers to what it is told are dropped, which takes
 * one segment together. */
enum { HF__SEGMENTS = 64 };

/* Commands, one after another, that a member has not answered yet. */
struct hf__segment {
    uint64_t wave; /* 0: nobody cares for the answers */
    int first;     /* its number in the wave; each next one is one more */
    int count;
};

struct hf__voter {
    struct hf__peer peer;
    struct hf__target target;
    bool is_in;      /* connected and judged; else on its way, or dead */
    bool is_over;    /* dead, which was noted */
    int failures;    /* attempts to connect to it, since it was in */
    int twin;        /* the member whose server it is, too; −1: none */
    bool is_durable; /* it forgets nothing, however it ends */
    uint64_t taught; /* the wave in which it had forgotten the scripts */
    struct hf__memory memory;
    hf__time judged_at;
    hf__time counts_at;   /* its answers do, from then on, while it is in */
    hf__time retry_at;    /* of one that is over */
    hf__time silent_from; /* nothing was heard since, and something is owed */
    struct hf__segment owed[HF__SEGMENTS];
    int owed_from;
    int owed_n;
    uint64_t answered; /* the last wave of which it answered anything */
    int64_t gone_us;   /* wall clock, when it was last lost; 0: never */
    hf_error said;     /* its first refusal in this call; status 0: none */
};

/* Of a grant or an attempt that is over, and that some members may have. */
struct hf__leftover {
    unsigned members; /* who have not said that it is; 0: none */
    uint64_t wave;    /* who answers a later one has heard of it */
    int64_t after_us; /* from the loss of who is away to the grant; 0: it may
                         have been before; INT64_MAX: nobody is away */
    struct hf__token token;
    bool reopens;    /* as hf__op's */
    bool buries;     /* as hf__ask's */
    bool undoes;     /* the same */
    uint16_t length; /* of the key */
    uint16_t name_at;
    char bytes[HF__KEY_MAX];
};
/* As many are remembered. */
enum { HF__LEFTOVERS = 512 };

struct hf__redlock;
struct hf__vote;

/* Told of the answers of the wave that runs. reply NULL: that member is gone
 * and answers nothing any more; whether anything had left for it is in
 * peer.resp.has_sent. */
typedef void (*hf__wave_fn)(struct hf__redlock *, int member, int at,
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
    struct hf__voter members[HF__MEMBERS_MAX];

    uint64_t wave;      /* that runs */
    hf__time polled_at; /* what has come since is not known yet */
    hf__wave_fn take;
    void *arg;
    struct hf__bytes bytes; /* commands for all */
    struct hf__leftover leftovers[HF__LEFTOVERS];
    int n_leftovers; /* the oldest first */

    struct hf__vote *votes; /* one for each operation of a batch */
    int *order;             /* whose the commands of the wave are */
    int room;
    int n_votes;
    int undecided;
    bool lacks_memory; /* of this call, a command was not sent for that */
    uint64_t proposal;
};

/* How far ahead at first: a request takes less to reach all members, and their
 * clocks differ by less, where NTP keeps them. */
#define HF__MARGIN_US 100000

/* ---- place.c */

extern const char *const hf__redlock_options[];
/* HF_OK; HF_EINVAL, HF_EUNSAFE (too few), HF_ENOMEM. */
HF_MUST_CHECK int hf__redlock_place(struct hf__redlock *s,
                                    const struct hf__url *url,
                                    const char *allow, hf_error *err);

/* ---- member.c */

/* Begin to connect. Names are looked up, which may block, only where nothing
 * would go on without. */
void hf__member_start(struct hf__redlock *s, int member);
/* After something may have happened to it: judge one that has come, give up
 * one that is gone. */
void hf__member_settle(struct hf__redlock *s, int member);
/* Are its answers worth something now? */
bool hf__member_counts(const struct hf__voter *m, hf__time now);
/* One of those is still coming. */
bool hf__is_any_due(const struct hf__redlock *s, unsigned of);
/* Those who are not in. */
unsigned hf__members_away(const struct hf__redlock *s);
int hf__members_count(const struct hf__redlock *s);
int hf__redlock_majority(const struct hf__redlock *s);
bool hf__is_majority(const struct hf__redlock *s, unsigned members);
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
void hf__member_teach(struct hf__voter *m);

/* ---- leftover.c; and see vote.h */

void hf__leftover_tell(struct hf__redlock *s, int member);
/* Its connection ends: what it has answered it need not be told again. */
void hf__leftover_settle(struct hf__redlock *s, int member);

/* ---- wave.c */

/* What is sent from now on is answered to `take`; nobody hears more of the
 * wave before. */
void hf__wave_begin(struct hf__redlock *s, hf__wave_fn take, void *arg);
/* Nobody cares for answers any more. */
void hf__wave_end(struct hf__redlock *s);
/* Send s->bytes, whose first command is that number of the wave, to those of
 * the members `to` that are in and, if it is heard, not behind. Gives
 * to whom. `is_heard`: of the wave; else the answers are dropped when they
 * come. */
unsigned hf__wave_send(struct hf__redlock *s, unsigned to, int first,
                       bool is_heard);
/* Those that are there, but slow. */
unsigned hf__wave_behind(const struct hf__redlock *s);
/* Take the replies that have come from it. */
void hf__wave_take(struct hf__redlock *s, int member);
/* What is in m->peer.resp.out is sent, and its answers dropped. */
void hf__wave_disown(struct hf__voter *m);
/* Sleep until something happened, and hear it; false at `until`, when
 * interrupted, and if there is nobody to wait for. */
HF_MUST_CHECK bool hf__wave_turn(struct hf__redlock *s, hf__time until);

/* ---- batch.c, look.c: as backend.h says */

/* Once, at the beginning. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__redlock_reserve(struct hf__redlock *s, hf_error *err);
/* Of an operation's command; with_text is open. */
struct hf__ask hf__redlock_how_to_ask(const struct hf__redlock *s,
                                      const struct hf__op *op);
int hf__redlock_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err);
int hf__redlock_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                     void *arg, hf__time deadline, hf_error *err);
int hf__redlock_check(void *state, hf__check_fn fn, void *arg,
                      hf__time deadline, hf_error *err);

#endif
