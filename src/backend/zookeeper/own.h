/* SPDX-License-Identifier: MIT */
/*
 * What a session's sessions remember of their own claims: which child is whose,
 * and how far it has come. It is written before a claim is made in the tree
 * and taken out once it is known to be gone, so a token that is not here has
 * nothing of this session's in the tree; but what is here may be gone.
 * Thread: any; an entry is one operation's at a time, but for renewals.
 */
#ifndef HF_BACKEND_ZOOKEEPER_OWN_H
#define HF_BACKEND_ZOOKEEPER_OWN_H

#include "src/backend/zookeeper/node.h"
#include "src/backend/zookeeper/session.h"

enum hf__zk_own_stage {
    HF__ZK_UNANSWERED, /* it may be there: the answer was lost */
    HF__ZK_CREATED,    /* it is there; nothing has been decided */
    HF__ZK_QUEUED,     /* it waits in the queue */
    HF__ZK_GRANTED
};

struct hf__zk_own {
    enum hf__zk_own_stage stage;
    char name[HF__ZK_CHILD_MAX]; /* of the child; "" of DOUBTFUL */
    struct hf__lock_mode lock_mode;
    uint64_t fence;                   /* of GRANTED */
    int slot;                         /* that it has; −1 */
    char slot_name[HF__ZK_CHILD_MAX]; /* the child that says so, or the marker
                                         by the simple recipe; or "" */
    bool is_slot_unanswered; /* there may be one whose name is not known */
    bool is_leaving;         /* it was told to go, and may be gone */
    bool has_checked_acl;    /* its folder is nobody's to change but ours */
    bool is_called;          /* of QUEUED: nobody seems to be in its way */
    hf__time since;          /* of GRANTED */
};

/* A copy of what is known of the token at that name; false: nothing. */
bool hf__zk_own_find(struct hf__zk_common *, const struct hf__op *,
                     struct hf__zk_own *ret_own);
/* Remember it so from now on. HF_OK; HF_ENOMEM: of one that was not known. */
HF_MUST_CHECK int hf__zk_own_add(struct hf__zk_common *, const struct hf__op *,
                                 const struct hf__zk_own *);
/* The same of one that is known, if it still is. */
void hf__zk_own_set(struct hf__zk_common *, const struct hf__op *,
                    const struct hf__zk_own *);
/* That it was found BROKEN is kept: a renewal or a release may ask next. */
void hf__zk_own_forget(struct hf__zk_common *, const struct hf__op *);
/* Was it taken away by somebody else, not long ago? */
bool hf__zk_own_was_broken(struct hf__zk_common *, const struct hf__token *);
/* It waits, and may enter, as it seems; only a hint. */
void hf__zk_own_call(struct hf__zk_common *, const struct hf__token *,
                     const struct hf__key *);

/* Unpark it, once, when something is granted; NULL: nobody. True: the one
 * before was, or there was none. */
bool hf__zk_own_tell(struct hf__zk_common *, struct hf__parker *);

/* Called for each grant, under the mutex; all is lent for the call. */
typedef void (*hf__zk_own_fn)(void *arg, const struct hf__token *,
                              const struct hf__key *,
                              const struct hf__zk_own *);
void hf__zk_own_each(struct hf__zk_common *, hf__zk_own_fn, void *arg);
/* The same of each grant that was not taken yet, in the order in which they
 * were granted, until fn says that it does not take this one. */
typedef bool (*hf__zk_take_fn)(void *arg, const struct hf__token *,
                               const struct hf__key *,
                               const struct hf__zk_own *);
void hf__zk_own_take(struct hf__zk_common *, hf__zk_take_fn, void *arg);
/* It may be taken again, if it is there. */
void hf__zk_own_untake(struct hf__zk_common *, const struct hf__token *,
                       const struct hf__key *);
/* Is it granted to that token, and not being released? */
bool hf__zk_own_is_granted(struct hf__zk_common *, const struct hf__token *,
                           const struct hf__key *);

#endif
