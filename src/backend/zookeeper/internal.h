/* SPDX-License-Identifier: MIT */
/*
 * What the files of the session and those who send know of it, and nobody else.
 * The C client calls us on two threads of its own, mostly on its completion
 * thread. Nothing waits there, except shortly at the end.
 *
 * Order of locks: the session's mutex, then a call's; the C client is called
 * under neither.
 */
#ifndef HF_BACKEND_ZOOKEEPER_INTERNAL_H
#define HF_BACKEND_ZOOKEEPER_INTERNAL_H

#include "src/backend/zookeeper/call.h"
#include "src/backend/zookeeper/evidence.h"

enum hf__zk_state {
    HF__ZK_STARTING,  /* its first front makes the handle */
    HF__ZK_AWAY,      /* not connected: at risk, not over */
    HF__ZK_CONNECTED, /* and what we sent is heard in its order */
    HF__ZK_EXPIRED,   /* over: the server ended the session */
    HF__ZK_REFUSED,   /* over: it refuses who we are */
    HF__ZK_SHORTENED, /* over: its server gives it less time than was promised
                         to those who hold */
    HF__ZK_STRAYED,   /* over: away for longer than a session lives */
    HF__ZK_FAILED     /* over: it was never made */
};

/* A host may have several addresses; more are not tried. */
enum { HF__ZK_ADDRESSES = 64, HF__ZK_ADDRESSES_MAX = HF__ZK_ADDRESSES * 80 };

struct hf__zk_session {
    uint64_t client;
    struct hf__link in_registry; /* guarded by the registry's mutex */
    int n_refs;                  /* the same */

    struct hf__mutex mutex; /* guards what follows */
    zhandle_t *handle;      /* there since it was connected; NULL: not made */
    struct hf__link refs;
    struct hf__link calls;   /* all that were not freed */
    struct hf__link watches; /* the same */
    size_t watched;          /* bytes of those that are set: watch.h */
    bool is_known;           /* the server has heard who we are */
    bool was_let_in;         /* a reference may have used its handle */
    hf__time away_since;
    hf__time look_at;    /* not before: a handshake is minded */
    hf__time made_at;    /* before its handle was */
    zhandle_t *given_up; /* while it is closed: not its handle */
    struct hf__zk_evidence evidence;
    hf_error why; /* FAILED */
    int socket; /* a duplicate of the library's; −1: not known which it is */
    char server[80];
    char addresses[HF__ZK_ADDRESSES_MAX]; /* as the library was given them */

    _Atomic(enum hf__zk_state) state; /* written under the mutex */
    atomic_llong id;
    atomic_int timeout_ms;
    atomic_int n_addresses;
    atomic_uint connection; /* counts them */
    atomic_llong heard_ns;  /* when the last answer came */
    atomic_llong noted_ns;  /* evidence.newest */
    atomic_bool has_lingered;
    atomic_bool is_abandoned;
    atomic_bool has_told_all; /* the library: no news comes after its last */
    atomic_int farewell;      /* stop.c's: what became of the last request */
    struct hf__parker closer;

    /* Never changed once it is made. */
    bool has_user;
    int io_timeout_ms; /* how long its clients wait for an answer */
    char shown[256];   /* its hosts */

    struct hf__zk_common common;
};

static inline bool hf__zk_state_is_over(enum hf__zk_state state)
{
    return state > HF__ZK_CONNECTED;
}

/* The library's "data pointers" are const, and ours to change. */
static inline void *hf__zk_mutable(const void *data)
{
    return (void *)(uintptr_t)data;
}

/* Who may use what we make. */
static inline const struct ACL_vector *
hf__zk_acl_of(const struct hf__zk_session *session)
{
    return session->has_user ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

/* ---- state.c */

/* Its handle is there; before its CONNECTED is. */
void hf__zk_made(struct hf__zk_session *session, zhandle_t *handle);
/* Unpark all its references. */
void hf__zk_news(struct hf__zk_session *session);
/* Move on and tell the references. What is over stays so. */
void hf__zk_move(struct hf__zk_session *session, enum hf__zk_state state);
/* The session's news, by the library's thread. */
void hf__zk_on_session_event(struct hf__zk_session *session, zhandle_t *handle,
                             int state);

/* ---- start.c */

/* Make the handle, which connects by itself from then on. HF_OK, or a status
 * and its text. May look up names, which nobody can hurry. */
HF_MUST_CHECK int hf__zk_start(struct hf__zk_session *,
                               const struct hf__zk_target *, hf_error *);
/* Close a handle that nobody let in, and make it anew; the host that came
 * first is the last one then. As hf__zk_start(). */
HF_MUST_CHECK int hf__zk_start_elsewhere(struct hf__zk_session *,
                                         const struct hf__zk_target *,
                                         hf_error *);

/* ---- stop.c */

/* End its connection, but not its session, which goes on with the next one.
 * False: its socket is not known. Thread: any, under the mutex. */
bool hf__zk_hang_up(struct hf__zk_session *session);
/* End its connection for good, and no more than that. Does not wait. Thread:
 * any. */
void hf__zk_cut(struct hf__zk_session *session);
/* Close the handle; the session ends with it, unless `keeps_session`, or its
 * server is silent. True: nobody calls us back after that. False: it could not
 * be closed without ending the session: it and the session stay. */
HF_MUST_CHECK bool hf__zk_stop(struct hf__zk_session *session,
                               bool keeps_session);

/* ---- start.c: why nobody lets us in */

/* Of the addresses of a session: the errno with which the last of them refuses
 * a connection, if each of them does, at once; else 0. */
int hf__zk_probe(const char *addresses);

/* ---- evidence.c */

/* A server has taken a connection and says nothing: if that is too long, the
 * connection is cut, for the library to make another. When to be called again.
 * Thread: a reference's. */
hf__time hf__zk_mind_handshake(struct hf__zk_session *);

/* ---- request.c */

enum hf__zk_stage { HF__ZK_UNSENT, HF__ZK_SENT, HF__ZK_ANSWERED };

/* What the library is given with a request. */
struct hf__zk_slot {
    struct hf__zk_answer answer;
    struct hf__zk_calls *calls;
    struct hf__zk_watch *watch; /* which it sets; or NULL */
    hf__time sent;
    zoo_op_result_t results[HF__ZK_TOGETHER]; /* the library's meanwhile */
    enum hf__zk_stage stage;
};

struct hf__zk_calls {
    struct hf__zk_session *session;
    struct hf__link in_session;
    struct hf__mutex mutex;    /* guards what follows, and the slots */
    struct hf__zk_ref *ref;    /* NULL: dropped */
    struct hf__zk_join *joins; /* the reference's until they are sent */
    int n;
    bool is_spare; /* a reference's, who has it again if it is the last */
    int in_flight;
    hf__time asked; /* when the last was sent */
    struct hf__zk_slot slots[];
};

/* Before it is given to the library. */
struct hf__zk_slot *hf__zk_slot_sent(struct hf__zk_calls *calls, int i);
/* The library has answered, with what was put in *answer; by any thread. The
 * calls may be gone after that. */
void hf__zk_slot_answer(struct hf__zk_slot *slot, struct hf__zk_answer *answer);
/* Its session is gone, and nobody will. */
void hf__zk_calls_discard(struct hf__zk_calls *calls);
/* Room for the requests that must not want for memory: f->spare, unless there
 * is one. HF_OK or HF_ENOMEM. */
int hf__zk_calls_reserve(struct hf__zk_ref *f);

/* As zoo_amulti(), but ZINVALIDSTATE where the session is over and the library,
 * which knows that before the session does, would free the paths. */
int hf__zk_multi(zhandle_t *, int n, const zoo_op_t *ops,
                 zoo_op_result_t *results, void_completion_t, const void *data);

/* ---- send.c: watches */

/* What the library is given with a watch. */
watcher_fn hf__zk_watch_fn(void);
/* It is on its way. False: there is no room for it, or no memory. */
HF_MUST_CHECK bool hf__zk_watch_sent(struct hf__zk_watch *watch,
                                     const char *path, bool is_list);
/* It was answered: it is set now, or not. */
void hf__zk_watch_answered(struct hf__zk_watch *watch, bool is_set);
/* Its session is gone. */
void hf__zk_watch_discard(struct hf__zk_watch *watch);
struct hf__zk_watch *hf__zk_watch_in(struct hf__link *in_session);

#endif
