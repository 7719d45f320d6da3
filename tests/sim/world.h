/* SPDX-License-Identifier: MIT */
/*
 * The world of the simulation: true time, the events still to come, one
 * seeded source of chance, and the trace of what was done. Nothing here asks
 * the machine for anything, so a seed replays byte for byte; the hash of the
 * trace proves it. One thread.
 */
#ifndef HF_TESTS_SIM_WORLD_H
#define HF_TESTS_SIM_WORLD_H

#include "src/backend/backend.h"

enum {
    HF__SIM_CLIENTS = 12,
    HF__MEMBERS_MAX = 5,
    HF__EVENTS_MAX = 4096,
    HF__TRACE_LENGTH = 60
};

/* What passes between a client and a member of the store. */
struct hf__message {
    enum hf__op_kind op;
    int client;
    int life; /* of the client that sent it: an answer finds no other */
    int member;
    int incarnation; /* of the member: a restart forgets what was on its way */
    int epoch;       /* of the connection */
    int result;
    bool is_wake; /* from a store that knows who is next: look again */
    uint64_t id;
    uint64_t session;    /* of a session lock; else 0 */
    uint64_t token;      /* 0: nobody */
    uint64_t next_token; /* HANDOVER */
    uint64_t fence;
    uint64_t proposal; /* ACQUIRE: the fence that a quorum would like */
    bool is_mended;    /* RENEW: made anew */
    bool undoes;       /* RELEASE of what was told to nobody */
    hf_reason reason;
    struct hf__manner manner; /* ACQUIRE, as the next; and their answers */
    enum hf__queueing queueing;
    int slot;
    bool is_queued;
    hf__time sent;     /* by the client's clock, before it left */
    int64_t sent_true; /* the same by true time, for the oracles */
    int64_t begun;     /* the store's clock when the statement began */
    int64_t stepped;   /* the sum of that clock's steps then */
    int64_t uptime_ns; /* of the member that answered */
};

enum hf__sim_kind {
    HF__SIM_WAKE, /* a client's next timer: id */
    HF__SIM_REQUEST,
    HF__SIM_STATEMENT, /* a request that a stranger's row lock held up */
    HF__SIM_REPLY,
    HF__SIM_CUT,           /* a client learns that its connection is gone */
    HF__SIM_FIN,           /* the store learns it: id, the session */
    HF__SIM_SESSION_CHECK, /* a session may have been silent too long: id */
    HF__SIM_DETECT,        /* the store looks if a waiter lives: id */
    HF__SIM_PAUSE,         /* SIGSTOP: the machine and its clocks go on */
    HF__SIM_SUSPEND,       /* CLOCK_BOOTTIME goes on, CLOCK_MONOTONIC stops */
    HF__SIM_VM_STOP,       /* no clock of the client goes on */
    HF__SIM_RESUME,        /* client */
    HF__SIM_CRASH,
    HF__SIM_RESTART, /* client */
    HF__SIM_MEMBER_DOWN,
    HF__SIM_MEMBER_UP, /* id: the member */
    HF__SIM_FAILOVER,
    HF__SIM_BREAK,
    HF__SIM_CLOCK_STEP, /* of a member */
    HF__SIM_WALL_STEP,  /* of a client's wall clock */
    HF__SIM_RESET,
    HF__SIM_HALF_OPEN,
    HF__SIM_STUCK, /* a claim for another name hangs in its session */
    HF__SIM_SPURIOUS,
    HF__SIM_HEAL,
    HF__SIM_DRAIN /* nobody claims any more */
};

struct hf__sim_event {
    int64_t at; /* true time in nanoseconds */
    enum hf__sim_kind kind;
    int client;
    uint64_t id;
    struct hf__message message;
};

/* What may stand in the trace. */
#define HF__DEED_MAP(X)                                                        \
    X(CLAIMS, "claims")                                                        \
    X(GIVES_UP, "gives up its claim")                                          \
    X(SENDS, "sends")                                                          \
    X(NEVER_ARRIVES, "is lost on the way:")                                    \
    X(IS_APPLIED, "is answered by the store:")                                 \
    X(IS_BLOCKED, "is held up in the store:")                                  \
    X(HEARS, "hears")                                                          \
    X(HEARS_LATE, "hears late")                                                \
    X(HEARS_NOTHING, "hears nothing for")                                      \
    X(HOLDS, "holds")                                                          \
    X(IS_TOLD, "is told of the loss")                                          \
    X(OWES, "owes a release")                                                  \
    X(DETACHES, "leaves its grant to the lease")                               \
    X(ADOPTS, "adopts what was left")                                          \
    X(WRITES, "writes to the resource")                                        \
    X(PAUSES, "pauses")                                                        \
    X(RESUMES, "resumes")                                                      \
    X(CRASHES, "crashes")                                                      \
    X(RESTARTS, "restarts")                                                    \
    X(IS_CUT, "loses a connection")                                            \
    X(WALL_STEPS, "has its wall clock stepped")                                \
    X(IS_STUCK, "has a claim for another name that hangs")                     \
    X(SESSION_ENDS, "the store ends a session")                                \
    X(MEMBER_DOWN, "a member crashes")                                         \
    X(MEMBER_UP, "a member is up")                                             \
    X(FAILOVER, "a replica takes over")                                        \
    X(IS_BROKEN, "is broken by an operator")                                   \
    X(CLOCK_STEPS, "the store's clock steps")                                  \
    X(HEALS, "the faults end")                                                 \
    X(DRAINS, "nobody claims any more")                                        \
    X(IS_HEIR, "is handed its next grant")                                     \
    X(WANTS_MANY, "wants several names")                                       \
    X(HAS_MANY, "has them all")                                                \
    X(ENDS_MANY, "gives them all back")

enum hf__deed {
#define HF_X(name, text) HF__DEED_##name,
    HF__DEED_MAP(HF_X)
#undef HF_X
};

struct hf__trace_line {
    int64_t at;
    enum hf__deed deed;
    int client; /* −1: nobody's */
    int member; /* where a message is at one; else 0 */
    int op;     /* enum hf__op_kind; −1: none */
    uint64_t token;
    int64_t number; /* a result, a fence or a duration */
};

/* When an event is due, and where it lies. */
struct hf__sim_due {
    int64_t at;
    uint64_t seq;
    int where;
};

struct hf__world {
    int64_t now; /* true time in nanoseconds */
    uint64_t chance[4];
    uint64_t seq;
    uint64_t hash; /* of the whole trace so far */
    uint64_t lines;
    int events;
    struct hf__trace_line trace[HF__TRACE_LENGTH];
    struct hf__sim_due heap[HF__EVENTS_MAX];
    int used; /* so many of the places were ever taken */
    int free_count;
    int free[HF__EVENTS_MAX];
    struct hf__sim_event places[HF__EVENTS_MAX];
};

void hf__world_init(struct hf__world *, uint64_t seed);
/* Evenly distributed; the same numbers in the same order for a seed. */
uint64_t hf__world_random(struct hf__world *);
/* Evenly in [low, high]. */
int64_t hf__world_between(struct hf__world *, int64_t low, int64_t high);
bool hf__world_chance(struct hf__world *, int permille);

/* Events of one instant happen in order of their making. */
void hf__world_add(struct hf__world *, const struct hf__sim_event *);
/* The next event; time moves to it. False: none before `end`. */
bool hf__world_next(struct hf__world *, int64_t end, struct hf__sim_event *);

void hf__world_note(struct hf__world *, const struct hf__trace_line *);
/* The last lines of the trace to standard output, as TAP comments. */
void hf__world_print(const struct hf__world *);

#endif
