/* SPDX-License-Identifier: MIT */
/*
 * One connection with its queue. Leader–follower, as in a database's group
 * commit: a caller enqueues its request; if no batch is being executed, it
 * leads: it takes all that is queued as one batch, runs it on its own thread,
 * completes the others' requests and hands over. A lone caller pays no thread
 * switch, and under load batches form by themselves. A leader leads one batch
 * only.
 *
 * The runner is the session's own thread, for requests that no caller waits
 * for. It is started before the first claim, so that what a claim leaves behind
 * will be sent; else when it is first needed.
 *
 * Requests belong to their owners, who keep them alive until they are done; the
 * session allocates nothing. The next batch reopens a dead connection.
 */
#ifndef HF_CORE_SESSION_H
#define HF_CORE_SESSION_H

#include "src/backend/conn.h"
#include "src/base/list.h"
#include "src/base/log.h"
#include "src/base/thread.h"
#include "src/base/wake.h"
#include "src/core/stats.h"

/* The most connections of one kind in a client. */
#define HF__CONNECTIONS_MAX 64

/* The most operations in one batch: 10,000 renewals are 20 round trips. */
#define HF__BATCH_MAX 512

/* A session's settings, which its client owns; they outlive the session. */
struct hf__settings {
    struct hf__counters *counters;
    const struct hf__backend *backend;
    unsigned caps; /* of the store at the URL */
    const struct hf__url *url;
    const char *allow;
    uint64_t mark; /* tells stores which sessions belong to one client */
    int64_t io_timeout_ms;
    int64_t connect_timeout_ms;
    int wait_connections; /* the most watchers, see HF__CAP_WAIT_ONE */
    struct hf__log log;
    /* Called when a session has opened on another server than before, by the
     * thread that opened it, without locks. */
    void (*moved)(void *arg);
    void *moved_arg;
};

enum hf__progress {
    HF__PROGRESS_IDLE,
    HF__PROGRESS_QUEUED,
    HF__PROGRESS_RUNNING,
    HF__PROGRESS_DONE
};

/*
 * An operation, or (if call is not NULL) something else that needs the
 * connection to itself. Zeroed before first use; may be reused after DONE.
 */
struct hf__request {
    struct hf__op op;
    int (*call)(struct hf__conn *, struct hf__request *, hf__time deadline);
    bool changes; /* the call makes a change that others must find */
    struct hf__link link;
    enum hf__progress progress;
    bool is_engaged;           /* it engaged its parker in order to lead */
    hf__time send_by;          /* must not be sent later; 0: no such limit */
    hf__time lead_until;       /* its caller has time to lead until then */
    int again;                 /* number of HF__AGAIN results so far */
    struct hf__parker *parker; /* the caller's, which waits; NULL: no caller */
    /* Without a waiting caller: called once, without locks, on the thread that
     * executed the request. */
    void (*done)(struct hf__request *);
};

/*
 * Who is responsible for the queue; asserted whenever the mutex is unlocked.
 *
 * A caller that waits for several things sleeps on one parker and leads one
 * session at a time: leading or being chosen engages the parker, and an engaged
 * one is not chosen elsewhere. If no caller with enough time can be chosen, the
 * runner leads; if there is no thread for it, a caller that is late or engaged
 * elsewhere does.
 */
enum hf__lead {
    HF__LEAD_NOBODY, /* the queue is empty */
    HF__LEAD_LEADER, /* a thread executes a batch and will pass it on */
    HF__LEAD_CHOSEN, /* the caller of `chosen`, which is queued, shall lead */
    HF__LEAD_RUNNER, /* the runner was woken; a caller may lead first */
    /* the caller of `chosen` has no time to lead, or never leads: at its
     * next step it has another caller or the runner lead, so that requests
     * begun meanwhile share the batch */
    HF__LEAD_BEGUN
};

struct hf__session {
    const struct hf__settings *settings;
    const char *role; /* "main", for log lines */
    struct hf__mutex mutex;
    struct hf__conn conn;  /* used by the leader; others may interrupt it */
    struct hf__link queue; /* requests, in order of arrival */
    enum hf__lead lead;
    struct hf__request *chosen; /* NULL: no caller is chosen */
    bool is_executing;          /* the connection may be interrupted */
    bool is_connecting;         /* the connection is being opened */
    /* only the runner leads: a stopped caller delays nothing */
    bool is_runners;
    bool is_closing;
    struct hf__thread runner;
    /* it runs, or is not needed: the session is closing */
    atomic_bool has_runner;
    struct hf__parker runner_parker;
    /* hf__session_close() waits for the leader */
    struct hf__parker idle_parker;
    struct hf__server_info server_info; /* found at the last open */
    atomic_bool is_elsewhere; /* the locks are on another server: reconnect */
    uint64_t goal;            /* the server said to have them, last */
    struct hf__op *ops[HF__BATCH_MAX];
    struct hf__request *batch[HF__BATCH_MAX];
    /* waiters of the batch, to be woken */
    atomic_uint *sleepers[HF__BATCH_MAX];
    int n_sleepers;
    int last_n; /* size of the last batch */
};

void hf__session_init(struct hf__session *, const struct hf__settings *,
                      const char *role);
/* Connect before other threads know the session, instead of with the first
 * batch. Thread: user. Blocks: up to the limit. Returns what the backend's open
 * returns. */
HF_MUST_CHECK int hf__session_connect(struct hf__session *, int64_t limit_ms,
                                      hf_error *);
/* Start the runner unless it runs: HF_OK, or HF_EUNAVAIL if the system grants
 * no thread. Must be called before anything is submitted, or begun that may go
 * on without its caller and then has to be undone. Thread: user. */
HF_MUST_CHECK int hf__session_start_runner(struct hf__session *);

enum hf__ending {
    HF__ENDING_RAN,       /* it has its result */
    HF__ENDING_WITHDRAWN, /* taken out of the queue: surely not sent */
    /* it goes on without its caller; its done() will be called, so it must
     * have one */
    HF__ENDING_DETACHED
};
/*
 * Executing a request in steps, as leader or follower. begin() enqueues it, and
 * chooses its caller to lead if the queue has no leader and the caller may:
 * until shortly before its limit, but never on an executor job's parker or with
 * a limit of zero. After begin() the caller must advance soon; then its parker
 * says when to step again. advance() returns true once the request has run, and
 * leads meanwhile if the caller may. leave() ends the waiting early. poll()
 * advances, and leaves at the limit; it returns true if that ended the request,
 * and how. Thread: user. Blocks: only advance(), for the batch of a caller that
 * leads.
 */
void hf__session_begin(struct hf__session *, struct hf__request *,
                       struct hf__parker *, hf__time limit);
HF_MUST_CHECK bool hf__session_advance(struct hf__session *,
                                       struct hf__request *);
HF_MUST_CHECK enum hf__ending hf__session_leave(struct hf__session *,
                                                struct hf__request *);
HF_MUST_CHECK bool hf__session_poll(struct hf__session *, struct hf__request *,
                                    hf__time limit,
                                    enum hf__ending *ret_ending);
/* Enqueue on a session whose runner was started; done() is called when the
 * request has been executed. Thread: any. Never blocks on the store. */
void hf__session_submit(struct hf__session *, struct hf__request *);
/* The server of that id has the locks now. A session on another one reconnects
 * before its next batch; if a request is under way there it is interrupted.
 * True: the session was on another server. Thread: any. */
bool hf__session_move(struct hf__session *, uint64_t server_id);
/* Fail what is queued (HF_EUNAVAIL), interrupt what runs, end the runner, close
 * the connection. Requests submitted later fail at once. */
void hf__session_close(struct hf__session *);
/* Free its resources; after close. */
void hf__session_fini(struct hf__session *);
/* What the last open found out about the server. Thread: any. */
struct hf__server_info hf__session_server_info(struct hf__session *);

#endif
