/* SPDX-License-Identifier: MIT */
/*
 * What a session that waits has told the server of its watches, and what it is
 * still owed for it. wait.c decides when to tell it what, armed.c keeps the
 * list, arm.c has the commands, hear.c the replies. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_ARMED_H
#define HF_BACKEND_REDIS_ARMED_H

#include "src/backend/redis/redis.h"

/* A watch as the server knows it. */
struct hf__arm {
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

struct hf__armed {
    struct hf__arm *list; /* not changed while replies are owed */
    int n;
    int room;
    char channel[HF__PREFIX_MAX + 32];
    bool is_subscribed;
    bool has_no_channel; /* this user may not: it polls */
    bool with_text[2];   /* the server did not know ARM, DISARM */
    int acks;            /* replies that say no more than that all is well */
    bool owes_batch;     /* then one with all others in it */
    bool is_apart;       /* it did not begin, and each was taken by itself */
    bool is_discarded;   /* the batch won't run: */
    int refusal;         /* why */
    hf__time asked_at;
};

/* ---- armed.c: no reply is owed at most of these */

/* These are wanted from now on, and no others. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__armed_take(struct hf__armed *,
                                 struct hf__watch *const w[], int n);
/* None is; what was told to have fired leaves as well, `with_told`, or is being
 * tried. */
void hf__armed_part(struct hf__armed *, bool with_told);
/* All that has fired; the caller knows it then. */
void hf__armed_tell(struct hf__armed *, struct hf__watch *w[], int n);
bool hf__armed_has_news(const struct hf__armed *);
/* When there is something to say; what was refused fires instead. */
hf__time hf__armed_next_due(struct hf__armed *, hf__time now);
/* What the server knows of no more, and nobody here. Also while replies are
 * owed. */
void hf__armed_forget(struct hf__armed *);

/* ---- arm.c and hear.c */

/* Is a reply owed? */
bool hf__arm_is_asking(const struct hf__armed *);
/* Arm what is due and disarm what is leaving, as one step of the server that
 * ends with listening. HF_OK; negative: the session is dead. */
HF_MUST_CHECK int hf__arm_ask(struct hf__redis *s);
/* Disarm what is leaving and listen no more. As above. */
HF_MUST_CHECK int hf__arm_part(struct hf__redis *s);
/* One reply of the server, or a message. As above. */
HF_MUST_CHECK int hf__arm_take(struct hf__redis *s, const redisReply *);

/* Its key, for as long as the list is as it is. */
struct hf__key hf__arm_key(const struct hf__arm *);
bool hf__arm_has_ticket(const struct hf__arm *);
/* How it wants the name: "x", "s", or of how many slots one. */
struct hf__arm_kind {
    char text[12];
};
struct hf__arm_kind hf__arm_kind(const struct hf__arm *);
/* The session is of no use any more: gives its status. */
int hf__arm_dead(struct hf__redis *s, int status, const char *why);

#endif
