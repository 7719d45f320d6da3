/* SPDX-License-Identifier: MIT */
/*
 * One connection with its queue. Leader–follower, as in a database's group
 * commit: a caller enqueues; if nobody executes, it leads: it takes all that
 * is queued as one batch, runs it on its own thread, completes the others
 * and hands over. A lone caller pays no thread switch, and under load
 * batches form by themselves. A leader leads one batch only.
 *
 * The runner is the session's own thread, for work that no caller waits for:
 * started before the first claim, so that what a claim leaves behind has
 * somebody who sends it; else at first need.
 *
 * Requests belong to their owner, who keeps them alive until they are done;
 * the session allocates nothing. A dead connection is reopened by the next
 * batch.
 */
#ifndef HF_CORE_SESSION_H
#define HF_CORE_SESSION_H

#include "src/backend/conn.h"
#include "src/base/list.h"
#include "src/base/log.h"
#include "src/base/thread.h"
#include "src/base/wake.h"
#include "src/core/stats.h"

/* Of one kind in a client. */
#define HF__CONNECTIONS_MAX 64

/* The most operations of one batch: 10,000 renewals are 20 round trips. */
#define HF__BATCH_MAX 512

/* What a session needs of its client; outlives the session. */
struct hf__settings {
    struct hf__counters *counters;
    const struct hf__backend *backend;
    unsigned caps; /* of the store at the URL */
    const struct hf__url *url;
    const char *allow;
    uint64_t mark; /* by which stores know that sessions are of one client */
    int64_t io_timeout_ms;
    int64_t connect_timeout_ms;
    int wait_connections; /* the most, where one waits for one name */
    struct hf__log log;
    /* A session has opened at another place than its last one. Called by who
     * opened it, without locks. */
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
 * An operation, or (call not NULL) something else that needs the connection
 * to itself. Zeroed before first use; reused after DONE.
 */
struct hf__request {
    struct hf__op op;
    int (*call)(struct hf__conn *, struct hf__request *, hf__time deadline);
    bool changes; /* the call changes something that others have to find */
    struct hf__link link;
    enum hf__progress progress;
    bool is_engaged;           /* it engaged its parker, to lead */
    hf__time send_by;          /* not sent later; 0: no such limit */
    hf__time lead_until;       /* its caller has the time to lead until then */
    int again;                 /* HF__AGAIN answers so far */
    struct hf__parker *parker; /* who waits; NULL: nobody */
    /* Nobody waits: called once, without locks, on whoever executed it. */
    void (*done)(struct hf__request *);
};

/*
 * Who sees to the queue; asserted whenever the mutex is let go.
 *
 * Who waits for several things sleeps on one parker and leads one session at a
 * time: to lead or to be chosen is to engage the parker, and who is engaged is
 * chosen nowhere else. Where nobody can be chosen who has the time the runner
 * leads; without a thread for one somebody who is late, or at work elsewhere.
 */
enum hf__lead {
    HF__LEAD_NOBODY, /* it is empty */
    HF__LEAD_LEADER, /* somebody executes a batch, and will pass it on */
    HF__LEAD_CHOSEN, /* the caller of `chosen`, which is queued, is to lead */
    HF__LEAD_RUNNER, /* the runner was woken; a caller may come before it */
    HF__LEAD_BEGUN   /* that of `chosen` has no time to lead, or never does: it
                        wakes the runner at its next step, so that what it
                        begins meanwhile goes too */
};

struct hf__session {
    const struct hf__settings *settings;
    const char *role; /* "main", for log lines */
    struct hf__mutex mutex;
    struct hf__conn conn;  /* the leader's alone, but for interrupting it */
    struct hf__link queue; /* requests, in order of arrival */
    enum hf__lead lead;
    struct hf__request *chosen; /* NULL unless somebody was */
    bool is_executing;          /* the connection may be interrupted */
    bool is_connecting;         /* and it is, meanwhile */
    bool is_runners; /* no caller leads: a stopped one stops nothing */
    bool is_closing;
    struct hf__thread runner;
    atomic_bool has_runner; /* or needs none: it is being closed */
    struct hf__parker runner_parker;
    struct hf__parker idle_parker; /* hf__session_close waits for the leader */
    struct hf__server_info server_info; /* found at the last open */
    atomic_bool is_elsewhere; /* than the locks are: to connect anew */
    uint64_t goal;            /* … where they were said to be, last */
    struct hf__op *ops[HF__BATCH_MAX];
    struct hf__request *batch[HF__BATCH_MAX];
    atomic_uint *sleepers[HF__BATCH_MAX]; /* of the batch, to be woken */
    int n_sleepers;
    int last_n; /* how large the last batch was */
};

void hf__session_init(struct hf__session *, const struct hf__settings *,
                      const char *role);
/* Connect before anybody else knows the session, rather than with the first
 * batch. Thread: user. Blocks: up to the limit. Gives what the backend's open
 * gives. */
HF_MUST_CHECK int hf__session_connect(struct hf__session *, int64_t limit_ms,
                                      hf_error *);
/* Start the runner unless it runs: HF_OK, or HF_EUNAVAIL if the system gives no
 * thread. Before anything is submitted, or begun that may go on with nobody
 * waiting and then has to be undone. Thread: user. */
HF_MUST_CHECK int hf__session_start_runner(struct hf__session *);

enum hf__ending {
    HF__ENDING_RAN,       /* it has its result */
    HF__ENDING_WITHDRAWN, /* taken out of the queue: surely not sent */
    HF__ENDING_DETACHED   /* it goes on with nobody waiting; its done() will
                             be called, so it must have one */
};
/*
 * Executing a request, leading or following, in steps. begin()
 * enqueues, and chooses the caller if it may lead and nobody does: until
 * shortly before its limit, and never on a crew's parker, or with a limit of
 * zero. From then on the parker says when to look again, and advance() gives
 * true when the request ran, leading meanwhile if the caller may. Who began
 * advances soon. leave() ends the waiting before that; poll() is to advance,
 * and at the limit to leave: true then, and it says how it ended. Thread: user.
 * Blocks: advance() of a caller that leads, for its batch; else never.
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
/* Enqueue, on a session whose runner was started; done() is called when it has
 * been executed. Thread: any. Never blocks on the store. */
void hf__session_submit(struct hf__session *, struct hf__request *);
/* The server of that id has the locks now. A session that is on another one
 * connects anew before its next batch, and what it asks there is interrupted:
 * true then. Thread: any. */
bool hf__session_move(struct hf__session *, uint64_t server_id);
/* Give up what is queued (HF_EUNAVAIL), interrupt what runs, end the runner,
 * close the connection. Requests submitted later fail at once. */
void hf__session_close(struct hf__session *);
/* After close. */
void hf__session_fini(struct hf__session *);
/* What the last open found. Thread: any. */
struct hf__server_info hf__session_server_info(struct hf__session *);

#endif
