/* SPDX-License-Identifier: MIT */
/*
 * A client of the simulation: the pure core of the library (struct hf__grant,
 * struct hf__quorum) with a driver that does what the real one does. A token
 * for each claim; every operation goes to all members at once and their
 * answers make one verdict; what got no answer is asked again with the same
 * token, or, of a quorum, given back; what was given up is released by token
 * as a debt, and the next claim waits behind it; renewals when the core says
 * so. On a store that locks by session, the session is the client's.
 */
#ifndef HF_TESTS_SIM_SIM_CLIENT_H
#define HF_TESTS_SIM_SIM_CLIENT_H

#include "src/backend/quorum.h"
#include "tests/sim/network.h"
#include "tests/sim/oracles.h"
#include "tests/sim/sim_many.h"

enum { HF__LEFT_MAX = 32, HF__DEBTS_MAX = 24, HF__INBOX_MAX = 256 };

/* What the schedules met, over many runs: proof that they are not idle. */
#define HF__TALLY_MAP(X)                                                       \
    X(grants)                                                                  \
    X(resettled)   /* granted to a claim that had got no answer before */      \
    X(late_grants) /* an OK too late to be of use */                           \
    X(recovered)   /* at risk, then renewed */                                 \
    X(late_renewals)                                                           \
    X(expired) /* lost by the clock alone */                                   \
    X(refused) /* told by the store */                                         \
    X(cut_off) /* lost with the session */                                     \
    X(debts)                                                                   \
    X(timed_out)                                                               \
    X(slept_over) /* a stop longer than the lease while holding */             \
    X(crashed_holding)                                                         \
    X(takeovers) /* a lapsed lease given to another */                         \
    X(orphans)   /* a dead owner's lease given before its time */              \
    X(excused)                                                                 \
    X(blocked)     /* statements applied with an old NOW */                    \
    X(rolled_back) /* a grant was lost with the store's last changes */        \
    X(not_counted) /* answers of a member that had just restarted */           \
    X(split)       /* attempts at a quorum that won some, and gave back */     \
    X(mended)      /* a member that forgot is told of the grant again */       \
    X(agreed)      /* fences that a majority gave at once */                   \
    X(raised)      /* fences raised on a majority */                           \
    X(detected)    /* waiters whose death was seen */                          \
    X(cuts)        /* connections that a client lost */                        \
    X(stuck)       /* holders with a claim for another name that hangs */      \
    X(detached)                                                                \
    X(adopted)                                                                 \
    X(hold_limits) /* lost at max_hold */                                      \
    X(served)      /* sessions that became the owner by waiting */             \
    X(silent)      /* sessions ended for their silence */                      \
    X(shares)      /* grants beside others */                                  \
    X(queued)      /* waits with a ticket in the store's line */               \
    X(returned)    /* tickets of claims that gave up */                        \
    X(misfits)     /* slots of another number were held */                     \
    X(handed)      /* hand-overs */                                            \
    X(not_handed)  /* refused for those in line */                             \
    X(many)        /* several names, all granted */                            \
    X(many_waits)  /* for one of them, keeping those before it */              \
    X(many_failed)                                                             \
    X(writes)                                                                  \
    X(fenced_off)   /* writes that the fenced copy refused */                  \
    X(lost_updates) /* that the other copy suffered */

struct hf__tally {
#define HF_X(name) int64_t name;
    HF__TALLY_MAP(HF_X)
#undef HF_X
};

enum hf__app {
    HF__APP_THINKS,
    HF__APP_CLAIMS,
    HF__APP_HOLDS,
    HF__APP_RELEASES
};

/* Reads, is about to check, is about to write. */
enum hf__work { HF__WORK_NONE, HF__WORK_HAS_READ, HF__WORK_HAS_CHECKED };

enum hf__nap { HF__NAP_STOP, HF__NAP_SUSPEND, HF__NAP_VM };

/* One operation on every member, and what came of it so far. */
struct hf__round {
    uint64_t id;    /* 0: none is out */
    hf__time until; /* then no answer counts as unknown */
    hf__time sent;
    int64_t sent_true;
    uint64_t token;
    uint64_t fence; /* that was sent along */
    bool undoes;    /* RELEASE: it was told to nobody */
    unsigned out;   /* members that have not answered */
    unsigned lost;  /* members that say it is not ours */
    hf_reason reason;
    int slot;
    bool is_queued;
    unsigned granted;                 /* members … */
    uint64_t fences[HF__MEMBERS_MAX]; /* … that gave these */
    struct hf__quorum quorum;
};

struct hf__debt {
    uint64_t token; /* 0: none */
    struct hf__round round;
    hf__time until; /* the store's lease is over by then */
};

struct hf__sim_client {
    struct hf__sim_many *many; /* of its process */
    enum hf__role role;
    struct hf__world *world;
    const struct hf__plan *plan;
    struct hf__store *store; /* asked for nothing; its sign of life is set */
    struct hf__network *network;
    struct hf__oracle *oracle;
    struct hf__resource *resource;
    struct hf__tally *tally;
    int index;
    int life; /* rises with each restart */
    bool is_up;
    bool is_paused;
    bool is_draining; /* claims no more */
    enum hf__nap nap;
    int64_t paused_at;
    int64_t suspended_ns; /* in all suspensions so far */
    int64_t stopped_ns;   /* in all stops of its virtual machine */
    int64_t wall_ns;      /* sum of the steps of its wall clock */
    int64_t offset;       /* of its clocks */
    uint64_t wake_id;     /* of the timer that counts */
    int64_t wakes_at;     /* true time; INT64_MAX: none */

    enum hf__app app;
    hf__time app_at; /* when the application does its next thing */
    hf__time hold_until;
    hf__time claimed_at;
    bool has_napped; /* during this claim */
    enum hf__work work;
    hf__time work_at;
    struct hf__write write;
    struct hf__grant grant;
    uint64_t claim_no;
    uint64_t token;
    int64_t invoked;          /* true time: the token's first request left */
    struct hf__parcel parcel; /* that it is adopting */
    bool is_adopted;
    uint64_t session;
    uint64_t seen_fence;
    bool is_uncertain; /* an attempt of this claim may have been applied */
    struct hf__manner manner;
    enum hf__queueing queueing;
    int slot;
    bool has_ticket;
    uint64_t heir;        /* the token that it is being handed over to */
    hf__time stuck_until; /* a claim for another name is in the session */
    hf__time poll_at;     /* the next attempt */
    bool has_release_due; /* waits until what is out is settled */
    bool has_renewal_due; /* the mutant's, behind a claim */
    struct hf__round claim;
    struct hf__round won; /* the claim's, while its fence is raised */
    struct hf__round raise;
    struct hf__round renewal;
    struct hf__round release;
    int left_count;
    uint64_t left[HF__LEFT_MAX]; /* tokens of the last grants it detached */
    struct hf__debt debts[HF__DEBTS_MAX];
    int inbox_count;
    struct hf__message inbox[HF__INBOX_MAX]; /* arrived while it was paused */
};

/* All pointers and index must be set. */
void hf__sim_client_start(struct hf__sim_client *);
/* Its next timer, after another client of its process was stepped. */
void hf__sim_client_arm(struct hf__sim_client *);
void hf__sim_client_view(const struct hf__sim_client *, struct hf__view *);

/* What happens to it; each arms its next timer. */
void hf__sim_client_wake(struct hf__sim_client *, uint64_t wake_id);
void hf__sim_client_hear(struct hf__sim_client *, const struct hf__message *);
/* Its connection to that member is gone. */
void hf__sim_client_cut(struct hf__sim_client *, int member);
void hf__sim_client_pause(struct hf__sim_client *, enum hf__nap);
void hf__sim_client_resume(struct hf__sim_client *);
void hf__sim_client_crash(struct hf__sim_client *);
void hf__sim_client_step_wall(struct hf__sim_client *, int64_t by_ns);
void hf__sim_client_stick(struct hf__sim_client *, int64_t for_ns);
void hf__sim_client_drain(struct hf__sim_client *);

#endif
