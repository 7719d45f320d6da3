/* SPDX-License-Identifier: MIT */
/*
 * What a store keeps of one name, in the form in which the engine decides on
 * it: its grants, its tickets, how long it stays closed. A store reads that
 * into a hf__name, sets the state of each by its own clock, lets decide.c
 * change it, and writes what is marked as changed. Pure but for the memory.
 * Thread: one at a time.
 */
#ifndef HF_BACKEND_NAME_NAME_H
#define HF_BACKEND_NAME_NAME_H

#include "src/backend/compatibility.h"

/* The state of a grant, as said below, or of a ticket: RUNNING, its claim
 * waits; DEAD, it was not seen lately but keeps its position; ENDED, it is gone
 * for good. */
enum hf__participant_state {
    HF__PARTICIPANT_RUNNING,
    HF__PARTICIPANT_DEAD,    /* the lease runs, but the holder has gone */
    HF__PARTICIPANT_ENDED,   /* the lease is over */
    HF__PARTICIPANT_BROKEN,  /* an operator ended it; its holder does not know
                                yet */
    HF__PARTICIPANT_FOREIGN, /* its lease runs by a clock that can't be read */
    HF__PARTICIPANT_DAMAGED  /* its record is not as we write it */
};

/* What a decision changed, in a participant or in the name itself. */
enum hf__mark {
    HF__MARK_NEW = 1U << 0,
    HF__MARK_LEASE = 1U << 1, /* its end, and whether it is detached */
    HF__MARK_OWNER = 1U << 2,
    HF__MARK_FENCE = 1U << 3,
    HF__MARK_BROKEN = 1U << 4,
    HF__MARK_GONE = 1U << 5,
    HF__MARK_KEEP = 1U << 6,   /* of the name: how long it is kept closed */
    HF__MARK_TOUCHED = 1U << 7 /* of the name: it was granted or freed */
};

/* A grant or a ticket. A grant stays until it is given back, or until a later
 * grant finds that it is over: until then its holder can learn why it lost the
 * name. */
struct hf__participant {
    struct hf__token token;
    struct hf__lock_mode lock_mode;
    int slot;        /* of a grant that has a slot; else −1 */
    uint64_t fence;  /* of a grant; of a ticket what the store sorts by */
    uint64_t life;   /* what it is bound to; 0: nothing. The store defines it */
    int64_t ends_us; /* of a grant; INT64_MAX: it ends with its life */
    int64_t seen_us; /* of a ticket: when its claim last asked or waited */
    int64_t since_us; /* wall clock */
    enum hf__participant_state state;
    int holder_lives; /* as in hf__record */
    bool is_detached;
    bool is_past; /* its lease began by a clock that has ended: it can't be
                     renewed */
    unsigned marks;
    struct hf__owner owner;
};

/* The session's own memory for what most names have, so that renewing and
 * releasing a grant allocate nothing. */
struct hf__inline_participants {
    struct hf__participant one;
    struct hf__participant *list[4];
    bool is_taken;
};

struct hf__participants {
    struct hf__participant **list; /* grants by slot, then by age; the queue by
                                      arrival */
    int n;
    int room;
    struct hf__inline_participants *inline_one; /* NULL: none */
};

struct hf__name {
    bool is_there; /* there is a record */
    bool is_damaged;
    bool is_partial; /* participants were left out that only matter to a result
                        other than HF_OK */
    uint64_t fence;  /* the highest given so far */
    uint64_t broken; /* fence of the last exclusive grant that was broken */
    int64_t keep_until_us;
    int64_t touched_us; /* wall clock */
    struct hf__participants grants;
    struct hf__participants waiters;
    unsigned marks;
    /* Set whenever it is read: */
    int64_t now_us; /* the clock of leases */
    int64_t wall_us;
    int64_t fence_floor; /* the next fence is not below it */
};

/* Add one at its position: a grant by its slot, a ticket at the end. NULL: out
 * of memory. */
HF_MODULE_API HF_MUST_CHECK struct hf__participant *
hf__participants_add(struct hf__participants *, int slot);
/* Find the one with that token, except those marked as gone. NULL: there is
 * none. */
HF_MODULE_API struct hf__participant *
hf__participants_find(const struct hf__participants *,
                      const struct hf__token *);
/* Forget those marked as gone, and clear all other marks. */
HF_MODULE_API void hf__name_settle(struct hf__name *);
/* Forget all, and free what is not the session's own memory. */
HF_MODULE_API void hf__name_fini(struct hf__name *);

/* Its lease runs, whether its holder is there or not. */
HF_MODULE_API bool hf__participant_runs(const struct hf__participant *);
/* The grant holds the name, as far as can be told. */
bool hf__participant_holds(const struct hf__participant *);
bool hf__name_is_held(const struct hf__name *);
/* The name is free, but closed for a while. */
HF_MODULE_API bool hf__name_is_kept(const struct hf__name *);
/* Does a claim in the queue still wait, other than that token's (NULL: any)? */
bool hf__name_is_awaited(const struct hf__name *, const struct hf__token *);
/* The grant that holds the name and ends first; NULL: it is free, or kept
 * closed. */
const struct hf__participant *hf__name_first_to_end(const struct hf__name *);
/* The exclusive grant that remains once what is marked is written; NULL:
 * none. */
const struct hf__participant *hf__name_holder(const struct hf__name *);
/* An exclusive grant is in the way: nobody else may enter. */
HF_MODULE_API bool hf__name_is_had_alone(const struct hf__name *);
/* How many wait, of those that were read, except the operation's own claim. */
int hf__name_waiting(const struct hf__name *, const struct hf__op *);
/* May the name be forgotten? Nobody held it for so long, nobody keeps it or
 * waits for it, and the clock has passed its fence, so that the next one can't
 * be lower. */
bool hf__name_is_idle(const struct hf__name *, int64_t idle_us);

/* The grants and tickets that count, as the claim with that token sees them:
 * its own ticket counts. HF_OK or HF_ENOMEM; hf__contenders_free() must
 * follow. */
struct hf__contenders {
    struct hf__holders_waiters all;
    struct hf__contender *more;
    struct hf__contender inline_one[8];
};
HF_MODULE_API HF_MUST_CHECK int hf__contenders_make(struct hf__contenders *,
                                                    const struct hf__name *,
                                                    const struct hf__token *);
HF_MODULE_API void hf__contenders_free(struct hf__contenders *);

/* ---- told (tell.c) */

/* Fill the record with what is told of the name; record may be NULL. */
void hf__name_tell(const struct hf__name *, struct hf__record *record);
void hf__participant_tell(const struct hf__name *,
                          const struct hf__participant *,
                          struct hf__record *record);
/* Add all that hold the name or wait for it: HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__name_tell_all(const struct hf__name *,
                                    struct hf__participant_list *);

#endif
