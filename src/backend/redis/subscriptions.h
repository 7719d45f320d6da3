/* SPDX-License-Identifier: MIT */
/*
 * The watches that a waiting session has registered at the server, and the
 * replies that are outstanding. wait.c keeps the list and decides when to
 * register or drop a watch, subscribe.c has the commands and replies. Thread:
 * the session's.
 */
#ifndef HF_BACKEND_REDIS_SUBSCRIPTIONS_H
#define HF_BACKEND_REDIS_SUBSCRIPTIONS_H

#include "src/backend/redis/redis.h"

/* A watch that was registered at the server, or is to be. */
struct hf__subscription {
    struct hf__watch watch; /* key.bytes is set where it is used */
    char key[HF__KEY_MAX];
    hf__time due; /* the latest time of the next look; if was_told, when to pass
                     its wake on */
    bool is_entered; /* the server may have it among the waiters that sleep */
    bool was_woken;  /* the server woke it instead of others: wake those if it
                        leaves */
    bool is_asked;   /* its reply is outstanding */
    bool is_failing; /* it was refused: fires when due, so that its claim
                        asks, and is told why */
    bool is_leaving; /* dropped: to be removed here and at the server */
    bool is_wanted;  /* the current call waits for it */
    bool has_fired;
    bool was_told; /* the caller was told that it has fired */
};

struct hf__subscriptions {
    struct hf__subscription *list; /* while replies are outstanding, entries are
                                      removed at most */
    int n;
    int room;
    char channel[HF__PREFIX_MAX + 32];
    bool is_subscribed;
    bool has_no_channel; /* the user may not subscribe: it polls */
    bool with_text[2];   /* send the text of SUBSCRIBE, UNSUBSCRIBE: the server
                            lacked it */
    int acks;            /* outstanding replies that only acknowledge */
    bool owes_batch;     /* then one reply that has all others */
    bool is_apart; /* the batch did not begin; each command has its own reply */
    bool is_discarded; /* the batch will not run: */
    int refusal;       /* why */
    hf__time asked_at;
};

/* ---- subscribe.c */

/* Is any reply outstanding? */
bool hf__subscribe_is_asking(const struct hf__subscriptions *);
/* Subscribe what is due and unsubscribe what is leaving, as one step of the
 * server that ends with SUBSCRIBE to the channel. HF_OK; negative: the session
 * is dead. */
HF_MUST_CHECK int hf__subscribe_ask(struct hf__redis *s);
/* Unsubscribe what is leaving and stop listening. As above. */
HF_MUST_CHECK int hf__subscribe_part(struct hf__redis *s);
/* Handle a reply of the server, or a message. As above. */
HF_MUST_CHECK int hf__subscribe_take(struct hf__redis *s, const redisReply *);

/* The subscription's key, valid until the list changes. */
struct hf__key hf__subscription_key(const struct hf__subscription *);

#endif
