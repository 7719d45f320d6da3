/* SPDX-License-Identifier: MIT */
/*
 * What a client is made of. Lock order: a grant's mutex, then the client's,
 * then a session's, the timer thread's or the event queue's; none is held while
 * the store is asked or a callback of the application runs.
 */
#ifndef HF_CORE_CLIENT_H
#define HF_CORE_CLIENT_H

#include "src/base/host.h"
#include "src/base/map.h"
#include "src/core/break_listener.h"
#include "src/core/contention.h"
#include "src/core/event_queue.h"
#include "src/core/executor.h"
#include "src/core/session.h"
#include "src/core/sweeper.h"
#include "src/core/timer_thread.h"
#include "src/core/watcher.h"

/* Names of which a client remembers the highest fence; a newer name may push
 * out an older one with the same slot. */
#define HF__SEEN_SLOTS 1024

struct hf__seen {
    uint64_t hash;
    uint64_t fence;
};

struct hf_client {
    atomic_int refs;          /* the application's, each grant's and claim's */
    unsigned fork_generation; /* of the process that opened it */
    struct hf__settings settings;
    struct hf__counters counters;
    atomic_int waiting;   /* acquires under way */
    atomic_bool is_ready; /* renewal session and timer thread run */
    struct hf__url *url;
    char *allow;
    const char *prefix;
    char host[HF__HOST_SIZE];
    struct hf__session *main; /* n_main of them; a name has its own */
    int n_main;
    /* Renewals and give-backs; led by its runner alone. */
    struct hf__session renew;
    struct hf__timer_thread timer_thread;
    struct hf__break_listener break_listener;
    struct hf__executor executor;
    struct hf__watchers watchers;
    struct hf__event_queue events;
    struct hf__sweeper sweeper;
    struct hf__request connect; /* of the renewal session, for the unready */
    hf_error connect_err;       /* of the last one */
    struct hf__mutex mutex;     /* all below */
    struct hf__link unready;    /* who waits for it, in their order */
    int n_unready;              /* these, and those told but not stepped */
    bool is_connecting;         /* it is under way */
    struct hf__map name_queues;
    struct hf__link grants;   /* that were granted, for close */
    struct hf__link cleanups; /* claims whose give-back waits for a timer */
    struct hf__link retrying; /* grants of which the same is true */
    struct hf__seen *seen;
    struct hf__contention contention;
    int unsettled;             /* claims and grants with a cleanup */
    hf__time close_by;         /* set when closing begins; 0: not yet */
    bool is_closed;            /* nobody tries a give-back again */
    struct hf__parker settled; /* unparked when unsettled falls */
};

/* Opened in this process? HF_OK, HF_EINVAL (NULL) or HF_EFORK. */
HF_MUST_CHECK int hf__client_usable(const struct hf_client *, hf_error *err);
struct hf_client *hf__client_ref(struct hf_client *);
void hf__client_unref(struct hf_client *);

/* Do the renewal session and the timer thread run? Thread: any. */
static inline bool hf__client_is_ready(const struct hf_client *c)
{
    return atomic_load(&c->is_ready);
}
/* The renewal session and the timer thread, before the first grant. HF_OK or
 * what kept them from starting. Thread: user. Blocks: up to io_timeout. */
HF_MUST_CHECK int hf__client_prepare(struct hf_client *, hf_error *err);
/* The same in steps: true once u->result says how it went, else the parker is
 * unparked when it does. Parker and err are the caller's to set, all else is
 * zero at first; leave() is for who can't wait any longer. Thread: one at a
 * time. */
struct hf__unready {
    struct hf__link link;
    struct hf__parker *parker;
    hf_error *err;
    bool is_queued;
    bool has_result;
    int told;
    int result;
};
HF_MUST_CHECK bool hf__client_prepare_step(struct hf_client *,
                                           struct hf__unready *u);
void hf__client_prepare_leave(struct hf_client *, struct hf__unready *);
/* The session of a name's acquires and releases. */
struct hf__session *hf__client_session(struct hf_client *,
                                       const struct hf__key *);

/* The highest fence seen for the name; 0 if none is remembered. */
uint64_t hf__client_seen(struct hf_client *, const struct hf__key *);
void hf__client_see(struct hf_client *, const struct hf__key *, uint64_t fence);

/* The lease of grants that live with a session, as the last one had it; 0:
 * the caller chooses. */
int64_t hf__client_lease_ms(struct hf_client *);
/* When the store has surely ended what was asked for at `sent`; HF__NEVER: as
 * long as the session lives it has not, and whether it does only the store can
 * tell: it is asked until it answers, however long it is away. */
hf__time hf__client_moot_at(const struct hf_client *, hf__time sent,
                            int64_t lease_ms);

/* When a call that begins now must be back: after io_timeout. */
hf__time hf__client_limit(const struct hf_client *);

/* Until when what is still under way has to end: HF__NEVER unless it is being
 * closed. */
hf__time hf__client_close_by(struct hf_client *);

/* A cleanup begins or ends; hf_close() waits for all, up to io_timeout. */
void hf__client_begin_cleanup(struct hf_client *);
void hf__client_end_cleanup(struct hf_client *);

/* prefix, ':', name into bytes[HF__KEY_MAX]; the key points there. */
void hf__client_key(const struct hf_client *, const char *name, char *bytes,
                    struct hf__key *ret_key);
/* HF_OK, or HF_EINVAL saying what is wrong with the name. */
HF_MUST_CHECK int hf__name_check(const char *name, hf_error *err);

#endif
