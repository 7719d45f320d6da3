/* SPDX-License-Identifier: MIT */
/*
 * The promises, looked at after every step; mutants.h lists the rules. The
 * oracles know neither how the core works nor how the store does: they see what
 * each client would answer to hf_held() now, the store's records, what is sent,
 * granted and written; their arithmetic is their own.
 * oracles.c has the rules of one instant, oracle_order.c those of the order
 * of things, oracle_live.c those of time.
 */
#ifndef HF_TESTS_SIM_ORACLES_H
#define HF_TESTS_SIM_ORACLES_H

#include "src/core/lock.h"
#include "tests/sim/resource.h"
#include "tests/sim/store.h"
#include "tests/sim/trail.h"

enum {
    HF__EXCUSED_MAX = 512,
    HF__GRANTS_MAX = 2048,
    HF__QUEUE_MAX = 256,
    HF__RELEASED_MAX = 8,
    HF__STEPS_MAX = 2000
};

/* One client as an onlooker sees it at this instant. */
struct hf__view {
    bool is_claiming;
    bool is_held; /* hf__grant_is_held by its own clock */
    bool is_awake;
    bool is_same; /* as it was at the last step, but for `now`; not held */
    enum hf__phase phase;
    hf_reason reason;
    uint64_t claim; /* rises with each new claim; 0: none */
    uint64_t token;
    uint64_t session;
    hf__time now;    /* by its clock */
    bool is_settled; /* it owes nothing and waits for nothing */
    struct hf__manner manner;
    int slot;
    bool is_part; /* of a claim for several names */
    bool is_kept; /* held while others of them are missing */
    bool is_idle; /* its application wants nothing */
};

/* What the oracles remember of a client. */
struct hf__memory {
    struct hf__view last;
    bool has_held;
    bool has_ended;      /* was held and then was not */
    int64_t held_at;     /* true time */
    hf__time held_from;  /* by its clock */
    hf__time tried_at;   /* by its clock: the last renewal, while at risk */
    uint64_t refused;    /* token: the store said that it is not ours */
    uint64_t given_back; /* token of the last release that was sent */
    uint64_t owed;       /* token: must be given back in this very step */
    uint64_t highest;    /* fence that it was told of */
    hf__time deadline;   /* by its clock; from what the store confirmed */
};

/* A grant that a client believed. */
struct hf__grant_fact {
    int client;
    bool is_adopted;
    struct hf__manner manner;
    uint64_t token;
    uint64_t fence;
    int64_t invoked; /* true time: its token's first request left */
    int64_t asked;   /* true time: the request left that won it */
    int64_t ok;      /* true time: the client believed it */
};

/* What a fenced resource took last. */
struct hf__written {
    int64_t invoked; /* of the latest grant that wrote */
    uint64_t fence;  /* of the last write that was accepted */
    uint64_t token;
};

/* A statement that a member applied. */
struct hf__applied {
    const struct hf__message *m; /* with its result */
    const struct hf__row *before;
    const struct hf__row *after;
    bool was_running; /* somebody owned it then, and lived */
    const int *lives; /* as in crowd.h */
};

/* A ticket as the oracles saw it come, in that order. */
struct hf__ticket_fact {
    uint64_t token;
    struct hf__manner manner;
    int client;
    int life;
    int64_t beat;  /* by the store's clock */
    int64_t asked; /* true time: the last request for it left */
};
struct hf__line_fact {
    int count;
    struct hf__ticket_fact tickets[HF__TICKETS_MAX + 1];
};

struct hf__oracle {
    const struct hf__plan *plan;
    unsigned watched;
    unsigned broken; /* the first rule that was broken; 0: none */
    char text[160];
    int64_t lost_updates; /* where no fence was asked, in a plan that may */

    int64_t instant;   /* true time of the last step */
    int steps;         /* of this one instant */
    int64_t vacant_at; /* since when nobody held it, but wanted it; or never */
    int64_t free_at;   /* the same, and the store had it free */
    int sleepers;      /* sessions that were dead and in line then */
    struct hf__memory clients[HF__SIM_CLIENTS];
    int excused_count;
    uint64_t excused[HF__EXCUSED_MAX]; /* tokens that lost by force */
    int grant_count;
    struct hf__grant_fact grants[HF__GRANTS_MAX];
    struct hf__written written[HF__NAMES_MAX];
    struct hf__line_fact lines[HF__NAMES_MAX];
    int64_t open_at[HF__SIM_CLIENTS];  /* since when nobody is in its way */
    int64_t first_at[HF__SIM_CLIENTS]; /* since when it is first in line */
    int64_t circle_at;  /* since when processes wait for each other */
    int64_t useless_at; /* since when some want and nobody has all */
    int n_released;     /* ever */
    struct hf__message released[HF__RELEASED_MAX]; /* on members */
    struct hf__trail trails[HF__MEMBERS_MAX];
    int queue_count;
    uint64_t queue[HF__QUEUE_MAX]; /* sessions in line */
};
void hf__oracle_init(struct hf__oracle *, const struct hf__plan *,
                     unsigned watched);
/* For the oracles' own files: that rule is broken. */
void hf__oracle_convict(struct hf__oracle *, unsigned rule, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));
/* The owner loses the name by an operator, by a step of the store's clock, by
 * data that the store lost, by a stop of its virtual machine: no client can
 * foresee it, so its claim on exclusion ends here. Its fence's does not. */
void hf__oracle_excuse(struct hf__oracle *, uint64_t token);
bool hf__oracle_is_excused(const struct hf__oracle *, uint64_t token);
/* ---- oracles.c ---- */
/* A client heard that its lease runs, for a request that left at `sent`. */
void hf__oracle_confirmed(struct hf__oracle *, int client, bool is_grant,
                          hf__time sent, const struct hf__view *);
void hf__oracle_sent(struct hf__oracle *, const struct hf__message *,
                     const struct hf__view *);
/* The store told a client that a token is not its. */
void hf__oracle_refused(struct hf__oracle *, int client, uint64_t token);
/* The store may think it ours although we do not: it is to be given back. */
void hf__oracle_owes(struct hf__oracle *, int client, uint64_t token);
/* After every step. */
void hf__oracle_check(struct hf__oracle *, const struct hf__view views[],
                      const struct hf__store *, int64_t true_ns);
/* A client's process ended; its views begin anew. */
void hf__oracle_forget(struct hf__oracle *, int client);

/* ---- oracle_order.c ---- */
/* A client was told of a fence, of its own grant or of another. */
void hf__oracle_saw(struct hf__oracle *, int client, uint64_t fence);
void hf__oracle_granted(struct hf__oracle *, const struct hf__grant_fact *);
void hf__oracle_applied(struct hf__oracle *, const struct hf__applied *);
/* A client heard OK to a renewal that left at that true time. */
void hf__oracle_renewed(struct hf__oracle *, uint64_t token, int64_t sent);
/* A second release left those duties. */
void hf__oracle_released_again(struct hf__oracle *, unsigned duties);
/* The resource took a write, or not. */
void hf__oracle_wrote(struct hf__oracle *, const struct hf__write *);
/* A line of sessions. */
void hf__oracle_came(struct hf__oracle *, uint64_t session);
void hf__oracle_left(struct hf__oracle *, uint64_t session);
void hf__oracle_served(struct hf__oracle *, uint64_t session);

/* ---- oracle_crowd.c, _shares.c, _many.c ---- */
/* A statement of a crowd was applied. */
void hf__oracle_shared(struct hf__oracle *, const struct hf__applied *);
void hf__oracle_lined_up(struct hf__oracle *, const struct hf__applied *);
/* The store of that name has lost data: its line is what is in its row. */
void hf__oracle_line_is(struct hf__oracle *, int name, const struct hf__row *);
void hf__oracle_crowd_live(struct hf__oracle *, const struct hf__view views[],
                           const struct hf__store *, int64_t true_ns);
void hf__oracle_crowd_end(struct hf__oracle *, const struct hf__store *);

/* Of so many names wanted together so many are held. */
void hf__oracle_many_granted(struct hf__oracle *, int held, int wanted);
void hf__oracle_many_live(struct hf__oracle *, const struct hf__view views[],
                          int64_t true_ns);

/* ---- oracle_live.c ---- */
/* For so long it may be free although somebody wants it. */
int64_t hf__oracle_idle_bound(const struct hf__plan *);
/* A claim for so long a time ended without a grant after so long. */
void hf__oracle_timed_out(struct hf__oracle *, int client, int64_t waited_ns);
void hf__oracle_live(struct hf__oracle *, const struct hf__view views[],
                     const struct hf__store *, int64_t true_ns);
/* At the end of the schedule. */
void hf__oracle_end(struct hf__oracle *, const struct hf__view views[],
                    const struct hf__store *, int64_t true_ns);

#endif
