/* SPDX-License-Identifier: MIT */
/*
 * What the backend sessions of one ZooKeeper session remember of their own
 * claims: which child is whose, and how far it has come. An entry is made
 * before its claim is made in the tree, and removed once the claim is known to
 * be gone. So a token without an entry has nothing of this ZooKeeper session in
 * the tree; but the claim of an entry may be gone. Thread: any; only one
 * operation at a time uses an entry, except renewals.
 */
#ifndef HF_BACKEND_ZOOKEEPER_OWN_H
#define HF_BACKEND_ZOOKEEPER_OWN_H

#include "src/backend/zookeeper/node.h"
#include "src/backend/zookeeper/session.h"

enum hf__zk_own_stage {
    HF__ZK_UNANSWERED, /* it may be in the tree: the answer was lost */
    HF__ZK_CREATED,    /* it is in the tree; nothing has been decided */
    HF__ZK_QUEUED,     /* it waits in the queue */
    HF__ZK_GRANTED
};

struct hf__zk_own {
    enum hf__zk_own_stage stage;
    char name[HF__ZK_CHILD_MAX]; /* of the child; "" while UNANSWERED */
    struct hf__lock_mode lock_mode;
    uint64_t fence;                   /* of GRANTED */
    int slot;                         /* its slot; −1: none */
    char slot_name[HF__ZK_CHILD_MAX]; /* its slot's child, or its marker; or
                                         "" */
    bool is_slot_unanswered; /* a slot's child of unknown name may exist */
    bool is_leaving;         /* we delete it, or its session is over */
    bool has_checked_acl;    /* only our user may change its folder */
    bool is_called;          /* of QUEUED: it may enter, as it seems */
    hf__time since;          /* when it became GRANTED */
};

/* Copies the entry of the operation's token at its name. False: there is
 * none. */
bool hf__zk_own_find(struct hf__zk_common *, const struct hf__op *,
                     struct hf__zk_own *ret_own);
/* Add an entry, which must not exist. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__zk_own_add(struct hf__zk_common *, const struct hf__op *,
                                 const struct hf__zk_own *);
/* Change the entry, if it still exists. */
void hf__zk_own_set(struct hf__zk_common *, const struct hf__op *,
                    const struct hf__zk_own *);
/* Remove the entry. If the grant was found broken, its token is remembered, for
 * a renewal or a release may ask next. */
void hf__zk_own_forget(struct hf__zk_common *, const struct hf__op *);
/* Did somebody else break its grant, not long ago? */
bool hf__zk_own_was_broken(struct hf__zk_common *, const struct hf__token *);
/* Note that a waiter may enter, as it seems; only a hint. */
void hf__zk_own_call(struct hf__zk_common *, const struct hf__token *,
                     const struct hf__key *);

/* Unpark that parker, once, at the next grant; NULL: nobody. True: no parker
 * was registered before, or it was unparked. */
bool hf__zk_own_tell(struct hf__zk_common *, struct hf__parker *);

/* Called for each grant, under the mutex; everything is lent for the call. */
typedef void (*hf__zk_own_fn)(void *arg, const struct hf__token *,
                              const struct hf__key *,
                              const struct hf__zk_own *);
void hf__zk_own_each(struct hf__zk_common *, hf__zk_own_fn, void *arg);
/* Give fn each grant that was not taken yet, in the order in which they were
 * granted. If fn returns false, that grant is not taken, and the walk ends. */
typedef bool (*hf__zk_take_fn)(void *arg, const struct hf__token *,
                               const struct hf__key *,
                               const struct hf__zk_own *);
void hf__zk_own_take(struct hf__zk_common *, hf__zk_take_fn, void *arg);
/* Let the grant be taken again, if it still exists. */
void hf__zk_own_untake(struct hf__zk_common *, const struct hf__token *,
                       const struct hf__key *);
/* Is the name granted to that token, and not being released? */
bool hf__zk_own_is_granted(struct hf__zk_common *, const struct hf__token *,
                           const struct hf__key *);

#endif
