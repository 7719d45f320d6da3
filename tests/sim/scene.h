/* SPDX-License-Identifier: MIT */
/*
 * The real core in a made world: a few hosts, each a client of the library as
 * it is with threads of its own, in virtual time (tests/virtual/), over the
 * decisions of memory: behind a network that loses, delays and repeats. What a
 * schedule is like is drawn from its seed; the oracles look at every turn.
 *
 * One schedule is one process: its state is what is here.
 */
#ifndef HF_TESTS_SIM_SCENE_H
#define HF_TESTS_SIM_SCENE_H

#include "include/holdfast.h"
#include "src/backend/record.h"
#include "tests/virtual/hosts.h"

#include <stdarg.h>
#include <stddef.h>

enum { HF__NAMES = 3, HF__CREW = 3 /* threads of a host */ };
#define HF__MS_NS INT64_C(1000000)

/* X(fault, what it does). What no client can foresee comes last. */
#define HF__FAULT_MAP(X)                                                       \
    X(LOSE_REQUEST, "requests are lost")                                       \
    X(LOSE_REPLY, "replies are lost")                                          \
    X(LATE, "requests arrive after all patience")                              \
    X(TWICE, "requests arrive twice")                                          \
    X(PART, "of a batch a part arrives")                                       \
    X(DIE, "connections are dead before they are used")                        \
    X(SLOW, "replies take their time")                                         \
    X(AGAIN, "the store asks to try again")                                    \
    X(CUT, "a host is cut off in silence")                                     \
    X(RESTART, "the store restarts, and keeps all")                            \
    X(PAUSE, "a host's processes are stopped")                                 \
    X(SUSPEND, "a host is suspended")                                          \
    X(KILL, "a host dies, and comes back as another")                          \
    X(WALL_STEP, "a host's wall clock steps")                                  \
    X(BREAK, "an operator breaks locks")                                       \
    X(FREEZE, "a host stands still with its clocks")                           \
    X(STEP, "the store's clocks step")                                         \
    X(FORGET, "the store restarts, and forgets all")

enum hf__fault {
#define HF_X(name, text) HF__FAULT_##name,
    HF__FAULT_MAP(HF_X)
#undef HF_X
        HF__FAULTS
};

struct hf__lot {
    uint64_t seed;
    unsigned faults; /* a set, 1u << each */
    int permille;    /* of requests that meet one */
    int quorum;      /* members; 0: one store */
    int hosts;
    int crew;
    int names;
    int64_t lease_ms;
    int64_t io_timeout_ms;
    int64_t session_ms;  /* grants live with their client; 0: by a lease */
    int64_t longest_ms;  /* lease, of a quorum */
    int64_t max_hold_ms; /* 0: no limit */
    int64_t delay_ns;    /* the most that a message takes */
    int64_t think_ns;
    int64_t hold_ns;
    int64_t wait_ms;
    int slots[HF__NAMES];
    /* permille of claims */
    int renewed;
    int shared;
    int slotted;
    int fair;
    int tried; /* without waiting */
    int many;
    int detached;
    int async;
    int64_t ppm[HF__VIRTUAL_HOSTS];
    int64_t heal_ns; /* faults end */
    int64_t calm_ns; /* … and have worn off */
    int64_t drain_ns;
};

/* What happened, over all schedules of a program: with a quorum and without,
 * without one, with one. */
#define HF__MET_MAP(X)                                                         \
    X(grants)                                                                  \
    X(busy)                                                                    \
    X(unknown)                                                                 \
    X(lost)                                                                    \
    X(renewals)                                                                \
    X(several)                                                                 \
    X(detached)                                                                \
    X(adopted)                                                                 \
    X(requests_lost)                                                           \
    X(replies_lost)                                                            \
    X(late)                                                                    \
    X(stops)                                                                   \
    X(kills)                                                                   \
    X(breaks)                                                                  \
    X(restarts)                                                                \
    X(forgotten)                                                               \
    X(excused)                                                                 \
    X(async)                                                                   \
    X(cancelled)                                                               \
    X(updates)
#define HF__CORE_MET_MAP(X)                                                    \
    X(shared) X(slotted) X(sessions) X(handed_over) X(steps)
#define HF__QUORUM_MET_MAP(X)                                                  \
    X(mended) X(undone) X(buried) X(raised) X(ghosts) X(unknown_scripts)
struct hf__tally {
    int64_t schedules;
    uint64_t hash; /* of the last one */
#define HF_X(name) int64_t name;
    HF__MET_MAP(HF_X)
    HF__CORE_MET_MAP(HF_X)
    HF__QUORUM_MET_MAP(HF_X)
#undef HF_X
};

struct hf__scene {
    struct hf__lot plan;
    struct hf__tally *tally;
    bool shows; /* what happens, as it does */
    uint64_t chance;
    int n_hosts; /* begun so far; 1 is the first */
    int n_alive;
    bool is_dead[HF__VIRTUAL_HOSTS];
    int64_t cut_until[HF__VIRTUAL_HOSTS];
    int64_t disturbed[HF__VIRTUAL_HOSTS]; /* until then */
    int64_t resumed[HF__VIRTUAL_HOSTS];   /* when it last did */
    int64_t frozen_until[HF__VIRTUAL_HOSTS];
    hf_client *clients[HF__VIRTUAL_HOSTS]; /* NULL: not open */
    int claims;                            /* so far; each has its number */
};
extern struct hf__scene hf__scene;

/* ---- plan.c */
void hf__scene_draw(struct hf__lot *, uint64_t seed, bool is_quorum);
void hf__scene_print(const struct hf__lot *);
const char *hf__scene_fault(enum hf__fault); /* in words */
int64_t hf__between(int64_t least, int64_t most);
bool hf__chance(int permille);
static inline bool hf__has(enum hf__fault f)
{
    return (hf__scene.plan.faults & (1u << f)) != 0;
}

/* ---- store.c: the store, and the way there */
const struct hf__backend *hf__sim_store(void);
void hf__store_restart(bool forgets);
/* The connections of a host that died are closed. */
void hf__store_bury(int host);
/* The thread that brings what is late. */
void *hf__store_bring(void *);
/* Nothing may be left in the store of who lives, or of that host. */
void hf__store_expect_empty(int host);

/* ---- host.c */
void hf__host_begin(void);
/* ---- crew.c: a thread of a host */
void *hf__ready_list_work(void *);
/* ---- faults.c */
/* Until then that host may be kept from giving back. */
void hf__disturb(int host, int64_t until);
void *hf__faults_run(void *);
/* ---- run.c: by true time */
int64_t hf__true_now(void);
void hf__doze_until(int64_t at); /* or woken */
void hf__wake_doze(void);
bool hf__is_quiet(void); /* faults are over, and have worn off */
/* One schedule; the process ends: 0, or 1 with what was found. */
_Noreturn void hf__scene_run(uint64_t seed, bool is_quorum, struct hf__tally *,
                             bool shows);

/* ---- run.c */
/* What is told with a flaw; and the flaw. */
void hf__note(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void hf__flaw(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
uint64_t hf__notes_hash(void);

#endif
