/* SPDX-License-Identifier: MIT */
/*
 * What only the files of the ZooKeeper session and those that send on it know
 * of it. The C client calls us on two threads of its own, mostly on its
 * completion thread. Nothing blocks there, except shortly at the end.
 *
 * Order of locks: the session's mutex, then that of its calls; we call the C
 * client under neither.
 */
#ifndef HF_BACKEND_ZOOKEEPER_INTERNAL_H
#define HF_BACKEND_ZOOKEEPER_INTERNAL_H

#include "src/backend/zookeeper/call.h"
#include "src/backend/zookeeper/evidence.h"

enum hf__zk_state {
    HF__ZK_STARTING, /* its first reference is making the handle */
    HF__ZK_AWAY, /* not connected: the session may expire, but is not over */
    HF__ZK_CONNECTED, /* the server gets our requests, in the order sent */
    HF__ZK_EXPIRED,   /* over: the server ended the session */
    HF__ZK_REFUSED,   /* over: the server refuses our credentials */
    HF__ZK_SHORTENED, /* over: its timeout is shorter than before */
    HF__ZK_STRAYED,   /* over: not connected for longer than its timeout */
    HF__ZK_FAILED     /* over: the handle could not be made */
};

/* A host may have several addresses; only the first 64 in all are tried. */
enum { HF__ZK_ADDRESSES = 64, HF__ZK_ADDRESSES_MAX = HF__ZK_ADDRESSES * 80 };

struct hf__zk_session {
    uint64_t client;
    struct hf__link in_registry; /* guarded by the registry's mutex */
    int n_refs;                  /* also by the registry's */

    struct hf__mutex mutex; /* guards what follows */
    zhandle_t *handle;      /* NULL: not made, or given up; kept once let in */
    struct hf__link refs;
    struct hf__link calls;   /* all that were not freed yet */
    struct hf__link watches; /* all that were not freed yet */
    size_t watched;          /* of the room that watch.h tells of, in bytes */
    bool is_known;           /* credentials, if any, go before requests */
    bool was_let_in; /* it was connected: references may use its handle */
    hf__time away_since;
    hf__time look_at;    /* when to look for a hanging handshake again */
    hf__time made_at;    /* taken just before its handle was made */
    zhandle_t *given_up; /* a handle that is being closed and replaced */
    struct hf__zk_evidence evidence;
    hf_error why; /* why the state is FAILED */
    int socket;   /* our duplicate of the library's; −1: not known */
    char server[80];
    char addresses[HF__ZK_ADDRESSES_MAX]; /* as given to the library */

    _Atomic(enum hf__zk_state) state; /* written under the mutex */
    atomic_llong id;
    atomic_int timeout_ms;
    atomic_int n_addresses;
    atomic_uint connection; /* number of the connection */
    atomic_llong heard_ns;  /* when the last answer came */
    atomic_llong noted_ns;  /* evidence.newest, read without the mutex */
    atomic_bool has_lingered;
    atomic_bool is_abandoned;
    atomic_bool has_told_all; /* no event comes after the last one */
    atomic_int farewell;      /* stop.c's: what became of its last request */
    struct hf__parker closer;

    /* Not changed after the session is made. */
    bool has_user;
    int io_timeout_ms; /* how long its users wait for an answer */
    char shown[256];   /* its hosts, for error texts */

    struct hf__zk_common common;
};

static inline bool hf__zk_state_is_over(enum hf__zk_state state)
{
    return state > HF__ZK_CONNECTED;
}

/* The library passes our own pointers back as const. */
static inline void *hf__zk_mutable(const void *data)
{
    return (void *)(uintptr_t)data;
}

/* The ACL of the nodes that we make. */
static inline const struct ACL_vector *
hf__zk_acl_of(const struct hf__zk_session *session)
{
    return session->has_user ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

/* ---- state.c */

/* The handle is made; called before it is CONNECTED. */
void hf__zk_made(struct hf__zk_session *session, zhandle_t *handle);
/* Unpark all references of the session. */
void hf__zk_news(struct hf__zk_session *session);
/* Change the state and unpark the references. A state that is over stays. */
void hf__zk_move(struct hf__zk_session *session, enum hf__zk_state state);
/* The library's thread reports a change of the connection. */
void hf__zk_on_session_event(struct hf__zk_session *session, zhandle_t *handle,
                             int state);

/* ---- start.c */

/* Make the handle, which connects by itself from then on. HF_OK, or a status
 * and its text. May look up names, which blocks without a limit. */
HF_MUST_CHECK int hf__zk_start(struct hf__zk_session *,
                               const struct hf__zk_target *, hf_error *);
/* Close a handle that no server let in, and make another, which tries the first
 * host last. As hf__zk_start(). */
HF_MUST_CHECK int hf__zk_start_elsewhere(struct hf__zk_session *,
                                         const struct hf__zk_target *,
                                         hf_error *);

/* ---- stop.c */

/* End its connection, but not its session: the library connects again. False:
 * its socket is not known. Thread: any, under the mutex. */
bool hf__zk_hang_up(struct hf__zk_session *session);
/* End its connection for good, but close nothing. Does not block. Thread:
 * any. */
void hf__zk_cut(struct hf__zk_session *session);
/* Close the handle. The session ends with it, unless `keeps_session`, or its
 * server is silent. True: the library calls us no more. False: closing would
 * end the session, so handle and session stay as they are. */
HF_MUST_CHECK bool hf__zk_stop(struct hf__zk_session *session,
                               bool keeps_session);

/* ---- start.c: why nobody lets us in */

/* If all addresses refuse a connection at once: the errno of the last. Else
 * 0. */
int hf__zk_probe(const char *addresses);

/* ---- evidence.c */

/* If a server took a connection and said nothing for too long, cut it, so that
 * the library makes another. When to call this again. Thread: a reference's. */
hf__time hf__zk_mind_handshake(struct hf__zk_session *);

/* ---- request.c */

enum hf__zk_stage { HF__ZK_UNSENT, HF__ZK_SENT, HF__ZK_ANSWERED };

/* One request; the library hands its address back with the answer. */
struct hf__zk_slot {
    struct hf__zk_answer answer;
    struct hf__zk_calls *calls;
    struct hf__zk_watch *watch; /* the watch that it sets; or NULL */
    hf__time sent;
    zoo_op_result_t results[HF__ZK_TOGETHER]; /* the library's until answered */
    enum hf__zk_stage stage;
};

struct hf__zk_calls {
    struct hf__zk_session *session;
    struct hf__link in_session;
    struct hf__mutex mutex;    /* guards what follows, and the slots */
    struct hf__zk_ref *ref;    /* NULL: the reference dropped the calls */
    struct hf__zk_join *joins; /* used by the reference's thread until sent */
    int n;
    bool is_spare; /* goes back to ref->spare if dropped when all is answered */
    int in_flight;
    hf__time asked; /* when the last request was sent */
    struct hf__zk_slot slots[];
};

/* Call this before the request is given to the library. */
struct hf__zk_slot *hf__zk_slot_sent(struct hf__zk_calls *calls, int i);
/* Takes the library's answer, with what was put in *answer; by any thread. The
 * calls may be freed by it. */
void hf__zk_slot_answer(struct hf__zk_slot *slot, struct hf__zk_answer *answer);
/* Free calls of a closed session that the library will never answer. */
void hf__zk_calls_discard(struct hf__zk_calls *calls);
/* Fill f->spare, room for requests that must not fail for want of memory,
 * unless it is filled. HF_OK or HF_ENOMEM. */
int hf__zk_calls_reserve(struct hf__zk_ref *f);

/* As zoo_amulti(), but returns ZINVALIDSTATE itself where the session is over:
 * the library, which knows that earlier, would free the paths. */
int hf__zk_multi(zhandle_t *, int n, const zoo_op_t *ops,
                 zoo_op_result_t *results, void_completion_t, const void *data);

/* ---- send.c */

/* Free a watch of a closed session. */
void hf__zk_watch_discard(struct hf__zk_watch *watch);
struct hf__zk_watch *hf__zk_watch_in(struct hf__link *in_session);

#endif
