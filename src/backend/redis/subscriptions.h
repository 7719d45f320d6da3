/* SPDX-License-Identifier: MIT */
/*
 * What a session that waits has told the server of its watches, and what it is
 * still owed for it. wait.c keeps the list and decides when to tell it what,
 * subscribe.c has the commands and replies. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_SUBSCRIPTIONS_H
#define HF_BACKEND_REDIS_SUBSCRIPTIONS_H

#include "src/backend/redis/redis.h"

/* A watch as the server knows it. */
struct hf__subscription {
    struct hf__watch watch; /* key.bytes is set where it is used */
    char key[HF__KEY_MAX];
    hf__time due;    /* when to look again, at the latest; of what was told to
                        have fired, when to pass its wake on */
    bool is_entered; /* the server may have it among those who sleep */
    bool was_woken;  /* in others' place: they are if it leaves */
    bool is_asked;   /* its reply is owed */
    bool is_failing; /* it was refused: fires when due, to be told why */
    bool is_leaving; /* nobody waits: to be forgotten, here and there */
    bool is_wanted;  /* by the call that runs */
    bool has_fired;
    bool was_told; /* the caller knows that it has */
};

struct hf__subscriptions {
    struct hf__subscription *list; /* not changed while replies are owed */
    int n;
    int room;
    char channel[HF__PREFIX_MAX + 32];
    bool is_subscribed;
    bool has_no_channel; /* this user may not: it polls */
    bool with_text[2];   /* the server did not know SUBSCRIBE, UNSUBSCRIBE */
    int acks;            /* replies that say no more than that all is well */
    bool owes_batch;     /* then one with all others in it */
    bool is_apart;       /* it did not begin, and each was taken by itself */
    bool is_discarded;   /* the batch won't run: */
    int refusal;         /* why */
    hf__time asked_at;
};

/* ---- subscribe.c */

/* Is a reply owed? */
bool hf__subscribe_is_asking(const struct hf__subscriptions *);
/* Subscribe what is due and unsubscribe what is leaving, as one step of the
 * server that ends with listening. HF_OK; negative: the session is dead. */
HF_MUST_CHECK int hf__subscribe_ask(struct hf__redis *s);
/* Unsubscribe what is leaving and listen no more. As above. */
HF_MUST_CHECK int hf__subscribe_part(struct hf__redis *s);
/* One reply of the server, or a message. As above. */
HF_MUST_CHECK int hf__subscribe_take(struct hf__redis *s, const redisReply *);

/* Its key, for as long as the list is as it is. */
struct hf__key hf__subscription_key(const struct hf__subscription *);

#endif
