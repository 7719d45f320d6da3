/* SPDX-License-Identifier: MIT */
/*
 * The pool of a client's connections, each with the locks that it holds. All
 * sessions of one client (backend.h) share one pool. A session takes a
 * connection, uses it alone and gives it back; so a renewal can use the
 * connection of a lock that another session acquired, and a lock granted to a
 * waiter stays on its connection. Thread: one session's at a time; the mutex
 * guards the pool.
 */
#ifndef HF_BACKEND_MYSQL_SESSION_POOL_H
#define HF_BACKEND_MYSQL_SESSION_POOL_H

#include "src/backend/mysql/mysql.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/thread.h"

/* How long the rest of a reply may take once its first part has come. */
#define HF__UL_BRIEF_MS 2000

enum hf__ul_state {
    HF__UL_WANTED, /* asked for, without an answer yet: perhaps held */
    HF__UL_WON,    /* held by a waiter whose claim has not come yet */
    HF__UL_HELD,
    HF__UL_LEAVING /* released, without an answer yet */
};

/* A user lock on a connection. */
struct hf__ul_lock {
    struct hf__link in_conn;
    struct hf__map_link by_token; /* unless WON */
    struct hf__map_link by_key;
    struct hf__ul_conn *conn;
    const struct hf__ul_session *winner; /* WON: the session that waited */
    enum hf__ul_state state;
    struct hf__token token;
    uint64_t fence;
    hf__time sent;     /* when the question was sent that the server granted */
    hf__time heard;    /* the same, of an answer no renewal has used; or 0 */
    uint64_t question; /* number of the connection's last question */
    unsigned column;   /* about it, and its column in the answer */
    uint16_t length;
    char key[HF__KEY_MAX];
};

struct hf__ul_session;

struct hf__ul_conn {
    struct hf__link in_pool;
    struct hf__link locks;        /* of hf__ul_lock; in the order of creation */
    struct hf__ul_session *owner; /* the session whose home or queue it is */
    MYSQL *handle;
    int fd;
    uint64_t connection_id;
    uint64_t question; /* how many questions it was asked */
    hf__time asked;    /* when the last of them was sent */
    int n_locks;
    int wait_s;        /* wait for locked rows; 0: as it was made */
    bool is_dedicated; /* only for one lock or waiter: no home */
    bool is_busy;      /* a session has taken it */
    bool is_cut;       /* whoever has taken it must end it */
    bool owes;         /* a reply is outstanding, before any other */
};

struct hf__ul_pool {
    struct hf__link in_registry;
    uint64_t client;
    int n_sessions;      /* guarded by the registry's mutex */
    struct hf__url *url; /* with the password, if it has one */
    char *allow;
    int lease_s; /* the server's wait_timeout for our connections */
    bool has_database;
    int dedicated_most; /* limit on connections for one lock alone */

    struct hf__mutex mutex; /* guards the fields below */
    struct hf__link sessions;
    struct hf__link conns;
    struct hf__map tokens;
    struct hf__map keys;
    uint64_t server_id;        /* the server that has its locks; 0: none yet */
    int most;                  /* limit on the locks of one connection */
    int n_dedicated;           /* dedicated ones, also those being made */
    atomic_bool has_nowait;    /* the server knows NOWAIT */
    atomic_size_t packet_most; /* bytes of a packet, roughly */
    atomic_llong took_ns;      /* time that the last answer took */
    char database[256]; /* in the form that the server compares; fixed once
                           there is one */
    struct hf__ul_session *listener;
    bool is_news;           /* listener: new connections, lost locks */
    struct hf__token *lost; /* locks to report as lost, in order */
    unsigned n_lost;
    unsigned lost_room;
};

struct hf__ul_task;
struct hf__ul_scheme;
struct hf__ul_session {
    struct hf__mysql mysql; /* first; its wire is the taken connection's */
    const struct hf__ul_scheme *scheme;
    struct hf__ul_pool *pool;
    struct hf__link in_pool;
    bool is_waiting;           /* for a connection; guarded by the mutex */
    struct hf__ul_conn *home;  /* its own, or NULL; guarded by it, too */
    struct hf__ul_conn *queue; /* the same: waits for another's lock */
    hf__time asked;            /* when it began to wait */
    char queue_key[HF__KEY_MAX];
    uint16_t queue_length;
    unsigned n_heard;          /* how many of pool->lost it has reported */
    unsigned n_reheard;        /* how many of them a second time */
    hf__time rehears;          /* when that is due */
    struct hf__ul_task *tasks; /* of the running batch; kept for the next */
    int n_tasks;
};

/* ---- pool.c */

/* Join the client's pool, or make one. `most`: locks of a connection or, if
 * each lock has its own, connections. HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__ul_join(struct hf__ul_session *f,
                              const struct hf__url *url, const char *allow,
                              int lease_s, int most);
/* Leave the pool, if joined; the last session ends it and its connections. */
void hf__ul_leave(struct hf__ul_session *f);
/* ---- conn.c */

/* Take the connection for f, until it is given back; false: another session has
 * it. The mutex is held. */
HF_MUST_CHECK bool hf__ul_conn_try(struct hf__ul_session *f,
                                   struct hf__ul_conn *conn);
/* Sleep until a connection was given back. The mutex is held, but released
 * while it sleeps. False: the deadline has come, or an interrupt. */
HF_MUST_CHECK bool hf__ul_conn_await(struct hf__ul_session *f);
/* Take f's own connection; needs_room: for one more lock. */
HF_MUST_CHECK int hf__ul_conn_home(struct hf__ul_session *f, bool needs_room,
                                   struct hf__ul_conn **ret_conn);
/* The same without room, and settled. On failure none is taken. */
HF_MUST_CHECK int hf__ul_conn_use(struct hf__ul_session *f,
                                  struct hf__ul_conn **ret_conn);
/* Set f's taken connection aside, to use another, and resume it. */
void hf__ul_conn_set_aside(struct hf__ul_session *f);
void hf__ul_conn_resume(struct hf__ul_session *f,
                        const struct hf__ul_conn *conn);
/* Give it back after use. If it is dead, its locks are lost and reported. */
void hf__ul_conn_give(struct hf__ul_session *f, struct hf__ul_conn *conn);
/* Has the server closed it? The mutex is held. In listen.c. */
bool hf__ul_conn_has_ended(const struct hf__ul_conn *conn);
/* Before use: take the outstanding reply, and undo what it was about. HF_OK;
 * HF_BUSY: no reply by the deadline; negative: the connection is dead. */
HF_MUST_CHECK int hf__ul_conn_settle(struct hf__ul_session *f,
                                     struct hf__ul_conn *conn);
/* Send the session's text; the first reply stays. Returns as settle(); after
 * HF_BUSY the reply is outstanding. */
HF_MUST_CHECK int hf__ul_conn_ask(struct hf__ul_session *f,
                                  struct hf__ul_conn *conn);
/* The same; negative also if the server refused it, and if_late for HF_BUSY. */
HF_MUST_CHECK int hf__ul_conn_run(struct hf__ul_session *f,
                                  struct hf__ul_conn *conn, int if_late);
/* Skip the replies that are left, up to an error. */
HF_MUST_CHECK int hf__ul_conn_skip(struct hf__ul_session *f);
/* After a refusal: release all that was asked for. Returns as settle(). */
HF_MUST_CHECK int hf__ul_conn_undo(struct hf__ul_session *f,
                                   struct hf__ul_conn *conn);

/* Take a connection without locks: a spare or a new one. */
HF_MUST_CHECK int hf__ul_conn_new(struct hf__ul_session *f,
                                  struct hf__ul_conn **ret_conn);
/* The same for a dedicated connection, which is for one lock alone. */
HF_MUST_CHECK int hf__ul_conn_dedicated(struct hf__ul_session *f,
                                        struct hf__ul_conn **ret_conn);

/* ---- locks.c; the pool's mutex is held */

/* Add a lock to the connection; NULL: no memory. */
struct hf__ul_lock *hf__ul_lock_new(struct hf__ul_pool *pool,
                                    struct hf__ul_conn *conn, const char *key,
                                    uint16_t length);
/* The lock is now that claim's. */
void hf__ul_lock_claim(struct hf__ul_pool *pool, struct hf__ul_lock *lock,
                       const struct hf__token *token);
/* Its holder loses the lock: queue that for the listener to report. */
void hf__ul_lock_lose(struct hf__ul_pool *pool, const struct hf__ul_lock *lock);
void hf__ul_lock_free(struct hf__ul_pool *pool, struct hf__ul_lock *lock);
/* Find a lock; NULL: none. */
struct hf__ul_lock *hf__ul_lock_of(struct hf__ul_pool *pool,
                                   const struct hf__token *token);
struct hf__ul_lock *hf__ul_lock_named(struct hf__ul_pool *pool, const char *key,
                                      uint16_t length);

/* Wake sessions that wait for a connection, and the listener if there is news.
 * The mutex is held. */
void hf__ul_notify(struct hf__ul_pool *pool);
/* May the connection be ended, as no session needs it? The mutex is held. */
bool hf__ul_conn_is_needless(const struct hf__ul_pool *pool,
                             const struct hf__ul_conn *conn);
bool hf__ul_conn_is_spare(const struct hf__ul_conn *conn);

#endif
