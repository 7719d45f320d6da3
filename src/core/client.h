/* SPDX-License-Identifier: MIT */
/*
 * The parts of a client. Lock order: a grant's mutex, then the client's, then a
 * session's, the timer thread's or the event queue's. None of them is held
 * while the store is asked or a callback of the application runs.
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

/* The number of names whose highest fence a client remembers; a newer name may
 * push out an older one in the same slot. */
#define HF__SEEN_SLOTS 1024

struct hf__seen {
    uint64_t hash;
    uint64_t fence;
};

struct hf_client {
    atomic_int refs; /* one for the application and per grant and claim */
    unsigned fork_generation; /* of the process that opened it */
    struct hf__settings settings;
    struct hf__counters counters;
    atomic_int waiting;   /* number of acquires under way */
    atomic_bool is_ready; /* renewal session and timer thread run */
    struct hf__url *url;
    char *allow;
    const char *prefix;
    char host[HF__HOST_SIZE];
    struct hf__session *main; /* n_main sessions; a name always uses the same */
    int n_main;
    /* For renewals and give-backs of grants; only its runner leads it. */
    struct hf__session renew;
    struct hf__timer_thread timer_thread;
    struct hf__break_listener break_listener;
    struct hf__executor executor;
    struct hf__watchers watchers;
    struct hf__event_queue events;
    struct hf__sweeper sweeper;
    struct hf__request connect; /* connects the renewal session for `unready` */
    hf_error connect_err;       /* of the last such connect */
    struct hf__mutex mutex;     /* guards all below */
    struct hf__link unready;    /* waiters for that connect, oldest first */
    int n_unready;      /* the waiters, and those told but not stepped */
    bool is_connecting; /* the connect is under way */
    struct hf__map name_queues;
    struct hf__link grants;   /* all that were granted, for close */
    struct hf__link cleanups; /* claims whose give-back waits for a timer */
    struct hf__link retrying; /* grants whose give-back waits for a timer */
    struct hf__seen *seen;
    struct hf__contention contention;
    int unsettled;             /* number of claims and grants with a cleanup */
    hf__time close_by;         /* set when closing begins; 0: not yet */
    bool is_closed;            /* give-backs are no longer tried again */
    struct hf__parker settled; /* unparked when unsettled falls */
};

/* Check that the client was opened in this process: HF_OK, HF_EINVAL (NULL) or
 * HF_EFORK. */
HF_MUST_CHECK int hf__client_usable(const struct hf_client *, hf_error *err);
struct hf_client *hf__client_ref(struct hf_client *);
void hf__client_unref(struct hf_client *);

/* The renewal session and the timer thread run. Thread: any. */
static inline bool hf__client_is_ready(const struct hf_client *c)
{
    return atomic_load(&c->is_ready);
}
/* Start the renewal session and the timer thread before the first grant. HF_OK,
 * or why they did not start. Thread: user. Blocks: up to io_timeout. */
HF_MUST_CHECK int hf__client_prepare(struct hf_client *, hf_error *err);
/* The same in steps: true once u->result is set; else the parker is unparked
 * when it will be. The caller sets parker and err; all else starts as zero. A
 * caller that cannot wait any longer calls leave(). Thread: one at a time. */
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
/* The session that a name's acquires and releases use. */
struct hf__session *hf__client_session(struct hf_client *,
                                       const struct hf__key *);

/* The highest fence seen for the name; 0: none is remembered. */
uint64_t hf__client_seen(struct hf_client *, const struct hf__key *);
void hf__client_see(struct hf_client *, const struct hf__key *, uint64_t fence);

/* The lease of grants that live as long as a session, as the last session had
 * it; 0: the caller chooses the lease. */
int64_t hf__client_lease_ms(struct hf_client *);
/* When the store has surely ended a grant requested at `sent`. HF__NEVER: the
 * grant lives as long as its session, and only the store can tell whether that
 * lives, so ask it until it answers, however long it is unreachable. */
hf__time hf__client_moot_at(const struct hf_client *, hf__time sent,
                            int64_t lease_ms);

/* When a call that begins now must be back: after io_timeout. */
hf__time hf__client_limit(const struct hf_client *);

/* When all that is under way has to end; HF__NEVER unless the client is being
 * closed. */
hf__time hf__client_close_by(struct hf_client *);

/* A cleanup begins or ends; hf_close() waits for all, up to io_timeout. */
void hf__client_begin_cleanup(struct hf_client *);
void hf__client_end_cleanup(struct hf_client *);

/* Write prefix, ':' and name to bytes[HF__KEY_MAX]; the key points there. */
void hf__client_key(const struct hf_client *, const char *name, char *bytes,
                    struct hf__key *ret_key);
/* HF_OK, or HF_EINVAL with what is wrong with the name. */
HF_MUST_CHECK int hf__name_check(const char *name, hf_error *err);

#endif
