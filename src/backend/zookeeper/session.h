/* SPDX-License-Identifier: MIT */
/*
 * One ZooKeeper session, and the C client's handle of it. All backend sessions
 * of one client (backend.h) share it: each has a reference, and sees the nodes
 * that the others created. It outlives lost connections, for the C client
 * connects again by itself. It is over once the server has expired it or
 * refuses our credentials; then its references are closed, and the next one
 * that opens makes a new session.
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

/* A backend session's reference to a ZooKeeper session. Zeroed, it is
 * closed. */
struct hf__zk_ref {
    struct hf__head *head;
    struct hf__zk_session *session; /* NULL: closed */
    struct hf__parker parker; /* unparked by answers, watches, states, wakes */
    struct hf__link in_session;
    struct hf__zk_calls *spare; /* request.c's, kept for when memory is short */
};

/* Which servers to connect to, and as whom; lent for the call. */
struct hf__zk_target {
    const char *hosts; /* "h1:2181,h2:2181" */
    const char *user;  /* NULL: no user */
    const char *password;
    int timeout_ms; /* session timeout to ask for */
    int io_timeout_ms;
};

enum { HF__ZK_BROKEN = 256 };

/*
 * The nodes that the session made, known to all its references. While one of
 * them is granted, closing the last reference does not end the session, for
 * somebody may rely on that grant: the session is left to time out. own.c fills
 * this, under its mutex; entries that are left at the end are given to `drop`.
 */
struct hf__zk_common {
    struct hf__mutex mutex;
    struct hf__map nodes;
    struct hf__token broken[HF__ZK_BROKEN]; /* ring of broken ones */
    unsigned n_broken;
    int n_granted;        /* nodes that are granted */
    struct hf__link news; /* grants that hf__zk_own_take() has not given yet */
    void (*drop)(struct hf__map_link *);
    struct hf__parker *listener;   /* unparked by the next grant; or NULL */
    atomic_bool has_no_containers; /* the server said that it knows none */
    atomic_bool doubts_containers; /* the answer to making one was lost */
};

/*
 * Join the session of head->client, or make one, and sleep until it is
 * connected and the server knows who we are. HF_OK; HF_EUNAVAIL (not in time,
 * interrupted, a host name that is not known), HF_EAUTH, HF_ENOMEM: close it
 * after these, too.
 */
HF_MUST_CHECK int hf__zk_ref_open(struct hf__zk_ref *, struct hf__head *,
                                  const struct hf__zk_target *,
                                  hf__time deadline, hf_error *);
/* Close the reference; the last one ends the session. Takes a closed one. If
 * the server is silent, this may take up to half of io_timeout, and the session
 * is left to time out; if the server falls silent after its last answer, 1.5 s
 * more. If the session is kept, this may take a tenth of a second, two tenths
 * if a handshake hangs. */
void hf__zk_ref_close(struct hf__zk_ref *);
/* Thread: any; async-signal-safe. */
void hf__zk_ref_wake(struct hf__zk_ref *);

/*
 * Sleep until the session is connected. HF_OK; HF_BUSY: it was not by the
 * deadline, or an interrupt came; negative: the session is over, HF_EUNAVAIL or
 * HF_EAUTH, and err says why. Nothing is sent.
 */
HF_MUST_CHECK int hf__zk_ready(struct hf__zk_ref *, hf__time deadline,
                               hf_error *);
/* HF_OK, or if the session is over a negative status, with the reason in
 * err. */
HF_MUST_CHECK int hf__zk_is_over(struct hf__zk_ref *, hf_error *);
/* The same, but HF_BUSY after the deadline, or an interrupt. */
HF_MUST_CHECK int hf__zk_may_wait(struct hf__zk_ref *, hf__time deadline,
                                  hf_error *);

/* Keep a session that is over from ever connecting again, so that it times out
 * at the server. */
void hf__zk_abandon(struct hf__zk_ref *);

/* Valid after the reference was opened. */
struct hf__zk_common *hf__zk_common(struct hf__zk_ref *);
/* The session's id, as ephemeralOwner has it. */
int64_t hf__zk_session_id(const struct hf__zk_ref *);
/* The session's timeout, as the server grants it; may change with the
 * server. */
int hf__zk_timeout_ms(const struct hf__zk_ref *);
/* We gave a user: only that user may use the nodes we make. */
bool hf__zk_has_user(const struct hf__zk_ref *);
/* The connected server, "127.0.0.1:2181", or the configured hosts; for people.
 * Returns `to`. */
const char *hf__zk_server(struct hf__zk_ref *, char *to, size_t size);

/* ---- evidence.c: of when the session was heard of, which is said there */

/* A write that is sent then or later, and answered, proves that the session
 * lives as long as a lease that counts from `from`. HF__NEVER: no write would
 * prove it yet. */
hf__time hf__zk_provable_from(struct hf__zk_ref *, hf__time from,
                              int64_t lease_us);
/* The latest time from which a lease may count, by a write that was sent then
 * and answered; a time long ago if there is no evidence. */
hf__time hf__zk_proven_from(struct hf__zk_ref *, hf__time write,
                            int64_t lease_us);
/* A caller has waited for an answer since then. If no answer came for too long,
 * cut the connection, so that the library goes to the next server, or connects
 * to this one again; a hanging handshake is cut likewise. Returns when to call
 * this again. */
hf__time hf__zk_mind_silence(struct hf__zk_ref *, hf__time since);
/* End that connection, unless it has ended already; the library makes another.
 * False: its socket can't be told from others. */
bool hf__zk_reconnect(struct hf__zk_ref *, unsigned connection);
/* The number of the current connection, or of the last. */
unsigned hf__zk_connection(const struct hf__zk_ref *);
/* When the last answer came. */
hf__time hf__zk_heard_at(const struct hf__zk_ref *);
bool hf__zk_is_connected(const struct hf__zk_ref *);
/* Are there several addresses to connect to? */
bool hf__zk_has_choice(const struct hf__zk_ref *);

#endif
