/* SPDX-License-Identifier: MIT */
/*
 * One session with ZooKeeper, and the C client's handle of it. All sessions of
 * one client (backend.h) share it: each has a reference, and sees the nodes
 * that the others created. It outlives lost connections, which the C client
 * makes again by itself. It is over once the server has expired it or refuses
 * our credentials; then its references are closed, and the next one that opens
 * makes a new session.
 *
 * Thread: one thread at a time for a reference; hf__zk_ref_wake() is for any. A
 * forked child uses no reference of its parent.
 */
#ifndef HF_BACKEND_ZOOKEEPER_SESSION_H
#define HF_BACKEND_ZOOKEEPER_SESSION_H

#include "src/backend/backend.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

#include <zookeeper/zookeeper.h>

struct hf__zk_session;

/* One session's part in a session. Zeroed, it is closed. */
struct hf__zk_ref {
    struct hf__head *head;
    struct hf__zk_session *session; /* NULL: closed */
    struct hf__parker parker; /* unparked by answers, watches, states, wakes */
    struct hf__link in_session;
    struct hf__zk_calls *spare; /* request.c's, for when there is no memory */
};

/* Where to, as whom; lent for the call. */
struct hf__zk_target {
    const char *hosts; /* "h1:2181,h2:2181" */
    const char *user;  /* NULL: nobody in particular */
    const char *password;
    int timeout_ms; /* of the session, as it is asked for */
    int io_timeout_ms;
};

enum { HF__ZK_BROKEN = 256 };

/*
 * What all references of a session know together: the nodes that are ours. As
 * long as one is granted, the session is not ended with the last front, for
 * somebody may count on it: it is left to its time-out. The recipes' matter,
 * under its mutex; what is left at the end is given to `drop`.
 */
struct hf__zk_common {
    struct hf__mutex mutex;
    struct hf__map nodes;
    struct hf__token broken[HF__ZK_BROKEN]; /* the last that were, in a ring */
    unsigned n_broken;
    int n_granted;        /* of them */
    struct hf__link news; /* of them, the grants that own.h's take() gives */
    void (*drop)(struct hf__map_link *);
    struct hf__parker *listener;   /* to be told of the next grant; or NULL */
    atomic_bool has_no_containers; /* the server said so */
    atomic_bool doubts_containers; /* its answer was lost */
};

/*
 * Join the session of head->client, or make one, and sleep until it is
 * connected and knows who we are. HF_OK; HF_EUNAVAIL (not in time, interrupted,
 * a name that is not known), HF_EAUTH, HF_ENOMEM: to be closed all the same.
 */
HF_MUST_CHECK int hf__zk_ref_open(struct hf__zk_ref *, struct hf__head *,
                                  const struct hf__zk_target *,
                                  hf__time deadline, hf_error *);
/* Leave it; the last one ends it. Takes a closed one. May take up to half of
 * io_timeout if the server is silent, whose session is left to its time-out
 * then; if it falls silent after its last answer, 1.5 s more. One whose session
 * is kept may take a tenth of a second, two if a handshake hangs. */
void hf__zk_ref_close(struct hf__zk_ref *);
/* Thread: any; async-signal-safe. */
void hf__zk_ref_wake(struct hf__zk_ref *);

/*
 * Sleep until the session is connected. HF_OK; HF_BUSY: it was not by the
 * deadline, or an interrupt came; negative: the session is over, HF_EUNAVAIL or
 * HF_EAUTH, and err says why. Nothing was sent.
 */
HF_MUST_CHECK int hf__zk_ready(struct hf__zk_ref *, hf__time deadline,
                               hf_error *);
/* HF_OK, or the negative status and the text of why it is over. */
HF_MUST_CHECK int hf__zk_is_over(struct hf__zk_ref *, hf_error *);
/* The same while there is time: HF_BUSY after the deadline, or an interrupt. */
HF_MUST_CHECK int hf__zk_may_wait(struct hf__zk_ref *, hf__time deadline,
                                  hf_error *);

/* Of a session that is over: the server hears of us no more, and so the session
 * ends there in its time. */
void hf__zk_abandon(struct hf__zk_ref *);

/* Valid once it was opened. */
struct hf__zk_common *hf__zk_common(struct hf__zk_ref *);
/* Of the session, as ephemeralOwner has it. */
int64_t hf__zk_session_id(const struct hf__zk_ref *);
/* Of the session, as the server allows it; may change with the server. */
int hf__zk_timeout_ms(const struct hf__zk_ref *);
/* Nodes are the creator's alone, for it said who it is. */
bool hf__zk_has_user(const struct hf__zk_ref *);
/* The server that it is connected to, "127.0.0.1:2181", or the hosts that it
 * looks for; for people. Returns `to`. */
const char *hf__zk_server(struct hf__zk_ref *, char *to, size_t size);

/* ---- evidence.c: of when the session was heard of, which is said there */

/* A write that is sent from then on, and answered, proves that the session
 * lives as long as a lease that counts `from`. HF__NEVER: no one does yet. */
hf__time hf__zk_provable_from(struct hf__zk_ref *, hf__time from,
                              int64_t lease_us);
/* From when a lease may count at the latest by a write that was sent then, and
 * answered; long ago: there is no evidence. */
hf__time hf__zk_proven_from(struct hf__zk_ref *, hf__time write,
                            int64_t lease_us);
/* An answer has been waited for since then, or since the last that came: if
 * that is too long, the connection is cut, for the library to go to the next
 * server, or to come to this one anew; so is a handshake's. When to be called
 * again. */
hf__time hf__zk_mind_silence(struct hf__zk_ref *, hf__time since);
/* End that connection, unless it is over already: after it there is another.
 * False: its socket can't be told from others. */
bool hf__zk_reconnect(struct hf__zk_ref *, unsigned connection);
/* Counts the connections. */
unsigned hf__zk_connection(const struct hf__zk_ref *);
/* When the last answer came. */
hf__time hf__zk_heard_at(const struct hf__zk_ref *);
bool hf__zk_is_connected(const struct hf__zk_ref *);
/* Has it more than one server to go to? */
bool hf__zk_has_choice(const struct hf__zk_ref *);

#endif
