/* SPDX-License-Identifier: MIT */
/*
 * What a store keeps of one name, in the form in which the engine decides on
 * it: who was granted it, who waits for it, how long it stays closed.
 * A store reads that into a hf__name, says where each of them stands by its own
 * clock, lets decide.c change it, and writes what is marked as changed. Pure
 * but for the memory. Thread: one at a time.
 */
#ifndef HF_BACKEND_NAME_NAME_H
#define HF_BACKEND_NAME_NAME_H

#include "src/backend/compatibility.h"

/* Of a ticket: RUNNING, its claim waits; DEAD, it did not show itself lately,
 * its place stays; ENDED, it is gone for good. */
enum hf__participant_state {
    HF__PARTICIPANT_RUNNING,
    HF__PARTICIPANT_DEAD,    /* the lease runs, and the holder is gone */
    HF__PARTICIPANT_ENDED,   /* the lease is over */
    HF__PARTICIPANT_BROKEN,  /* an operator ended it; its holder is yet to hear
                              */
    HF__PARTICIPANT_FOREIGN, /* its lease runs by a clock that is not to be had
                              */
    HF__PARTICIPANT_DAMAGED  /* not what we wrote */
};

/* What a decision changed, of one of them or of the name itself. */
enum hf__mark {
    HF__MARK_NEW = 1U << 0,
    HF__MARK_LEASE = 1U << 1, /* when it ends, is it detached */
    HF__MARK_OWNER = 1U << 2,
    HF__MARK_FENCE = 1U << 3,
    HF__MARK_BROKEN = 1U << 4,
    HF__MARK_GONE = 1U << 5,
    HF__MARK_KEEP = 1U << 6,   /* of the name: how long it is kept closed */
    HF__MARK_TOUCHED = 1U << 7 /* of the name: it was granted or freed */
};

/* One who was granted the name, or has a ticket. A grant stays until it is
 * given back, or until a later grant finds that it is over: till then its
 * holder can learn why it has the name no more. */
struct hf__participant {
    struct hf__token token;
    struct hf__lock_mode lock_mode;
    int slot;         /* of a grant of one; else −1 */
    uint64_t fence;   /* of a grant; of a ticket what the store sorts by */
    uint64_t life;    /* to which it is bound; 0: to none. The store's to say */
    int64_t ends_us;  /* of a grant; INT64_MAX: it ends with its life */
    int64_t seen_us;  /* of a ticket: when its claim last asked or waited */
    int64_t since_us; /* wall clock */
    enum hf__participant_state state;
    int holder_lives; /* as in hf__record */
    bool is_detached;
    bool is_past; /* begun by a clock that is no more: no lease follows it */
    unsigned marks;
    struct hf__owner owner;
};

/* Room of a session's own for what most names have, so that to renew and to
 * give back a grant takes no memory. */
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
    bool is_partial; /* those were left out who can only matter to a result
                        other than HF_OK */
    uint64_t fence;  /* the highest given so far */
    uint64_t broken; /* that of the last exclusive grant that was broken */
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

/* Add one at its place: a grant by its slot, a ticket at the end. NULL: out of
 * memory. */
HF_MODULE_API HF_MUST_CHECK struct hf__participant *
hf__participants_add(struct hf__participants *, int slot);
/* NULL: none is of that token. Those that are marked as gone are none. */
HF_MODULE_API struct hf__participant *
hf__participants_find(const struct hf__participants *,
                      const struct hf__token *);
/* Forget those marked as gone, and all other marks. */
HF_MODULE_API void hf__name_settle(struct hf__name *);
/* Forget all, but the room. */
HF_MODULE_API void hf__name_fini(struct hf__name *);

/* The lease runs, whether its holder is there or not. */
HF_MODULE_API bool hf__participant_runs(const struct hf__participant *);
/* Somebody has it, as far as can be told. */
bool hf__participant_holds(const struct hf__participant *);
bool hf__name_is_held(const struct hf__name *);
/* Free, but closed for a while. */
HF_MODULE_API bool hf__name_is_kept(const struct hf__name *);
/* Anybody in the queue but that token's claim (NULL: anybody) still waits. */
bool hf__name_is_awaited(const struct hf__name *, const struct hf__token *);
/* The grant that holds it and ends first; NULL: it is free, or kept closed. */
const struct hf__participant *hf__name_first_to_end(const struct hf__name *);
/* Who has it alone once what is marked is written; NULL: nobody. */
const struct hf__participant *hf__name_holder(const struct hf__name *);
/* One who is there has it alone: nobody else may enter. */
HF_MODULE_API bool hf__name_is_had_alone(const struct hf__name *);
/* So many wait, of those that were read, beside the operation's own claim. */
int hf__name_waiting(const struct hf__name *, const struct hf__op *);
/* Nobody who is there has had it for so long, nobody keeps it, waits for it, or
 * could get a lower fence once it is forgotten. */
bool hf__name_is_idle(const struct hf__name *, int64_t idle_us);

/* All who count, as the claim of that token sees them: its own ticket does.
 * HF_OK or HF_ENOMEM; to be freed. */
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

/* What is to be said of it; record may be NULL. */
void hf__name_tell(const struct hf__name *, struct hf__record *record);
void hf__participant_tell(const struct hf__name *,
                          const struct hf__participant *,
                          struct hf__record *record);
/* All who hold it or wait: HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__name_tell_all(const struct hf__name *,
                                    struct hf__participant_list *);

#endif
