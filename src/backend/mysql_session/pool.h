/* SPDX-License-Identifier: MIT */
/*
 * The pool of a client's connections, each with the locks that it holds. All
 * sessions of one client (backend.h) share one pool. A session takes a
 * connection, uses it alone and gives it back; so a renewal reaches a lock that
 * another session acquired, and a lock that a waiter was given stays where it
 * is. Thread: one session's at a time; the mutex guards what the pool has.
 */
#ifndef HF_BACKEND_MYSQL_SESSION_POOL_H
#define HF_BACKEND_MYSQL_SESSION_POOL_H

#include "src/backend/mysql/mysql.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/thread.h"

/* How long the rest of an answer may take whose first part is there. */
#define HF__UL_BRIEF_MS 2000

enum hf__ul_state {
    HF__UL_WANTED, /* asked for, and no answer yet: perhaps held */
    HF__UL_WON,    /* held, by a waiter whose claim has not come yet */
    HF__UL_HELD,
    HF__UL_LEAVING /* given back, and no answer yet */
};

/* One user lock of a connection. */
struct hf__ul_lock {
    struct hf__link in_conn;
    struct hf__map_link by_token; /* unless WON */
    struct hf__map_link by_key;
    struct hf__ul_conn *conn;
    const struct hf__ul_session *winner; /* WON: who waited for it */
    enum hf__ul_state state;
    struct hf__token token;
    uint64_t fence;
    hf__time sent;  /* the question that the server's yes was the answer to */
    hf__time heard; /* the same, of a yes that no renewal has used; or 0 */
    uint64_t question; /* the last one of its connection about it, and */
    unsigned column;   /* where in the answer */
    uint16_t length;
    char key[HF__KEY_MAX];
};

struct hf__ul_session;

struct hf__ul_conn {
    struct hf__link in_pool;
    struct hf__link locks;        /* of hf__ul_lock; in order of their making */
    struct hf__ul_session *owner; /* whose home it is, or where it waits */
    MYSQL *handle;
    int fd;
    uint64_t connection_id;
    uint64_t question; /* how many it was asked */
    hf__time asked;    /* when the last of them was sent */
    int n_locks;
    int wait_s;        /* for rows that others have locked; 0: as it was made */
    bool is_dedicated; /* for a lock or a waiter alone: no home */
    bool is_busy;      /* a session has taken it */
    bool is_cut;       /* to be ended by who has taken it */
    bool owes;         /* an answer, which comes before any other */
};

struct hf__ul_pool {
    struct hf__link in_registry;
    uint64_t client;
    int n_sessions;      /* under the registry's mutex */
    struct hf__url *url; /* with the password, if it has one */
    char *allow;
    int lease_s; /* the server's wait_timeout for our connections */
    bool has_database;
    int dedicated_most; /* connections that are for one lock alone */

    struct hf__mutex mutex; /* guards what follows */
    struct hf__link sessions;
    struct hf__link conns;
    struct hf__map tokens;
    struct hf__map keys;
    uint64_t server_id;        /* which server its locks are on; 0: none yet */
    int most;                  /* locks on one connection */
    int n_dedicated;           /* dedicated ones, also those being made */
    atomic_bool has_nowait;    /* the server knows the word */
    atomic_size_t packet_most; /* bytes of a packet, about */
    atomic_llong took_ns;      /* the last answer */
    char database[256]; /* as the server's names of it are compared; fixed once
                           there is one */
    struct hf__ul_session *listener;
    bool is_news;           /* for the listener: new ones, or lost locks */
    struct hf__token *lost; /* what is to be told, in order */
    unsigned n_lost;
    unsigned lost_room;
};

struct hf__ul_task;
struct hf__ul_scheme;
struct hf__ul_session {
    struct hf__mysql mysql; /* first; its wire is that of its connection */
    const struct hf__ul_scheme *scheme;
    struct hf__ul_pool *pool;
    struct hf__link in_pool;
    bool is_waiting;           /* for a connection; under the mutex */
    struct hf__ul_conn *home;  /* under the pool's mutex; NULL: none */
    struct hf__ul_conn *queue; /* the same: asks for a lock that another has */
    hf__time asked;            /* when it began to ask */
    char queue_key[HF__KEY_MAX];
    uint16_t queue_length;
    unsigned n_heard;          /* of pool->lost */
    unsigned n_reheard;        /* the same, a second time */
    hf__time rehears;          /* when it is time for that */
    struct hf__ul_task *tasks; /* of the batch that runs; kept for the next */
    int n_tasks;
};

/* ---- pool.c */

/* Join the pool of the client, or make one. `most`: locks of a connection or,
 * where each has its own, connections. HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__ul_join(struct hf__ul_session *f,
                              const struct hf__url *url, const char *allow,
                              int lease_s, int most);
/* Leave it; the last one ends it, and its connections. Or it never joined. */
void hf__ul_leave(struct hf__ul_session *f);
/* ---- conn.c */

/* A new connection, which f has taken. */
HF_MUST_CHECK int hf__ul_conn_connect(struct hf__ul_session *f,
                                      struct hf__ul_conn **ret_conn);
/* It is f's until given back. The mutex is held; false: it is another's. */
HF_MUST_CHECK bool hf__ul_conn_try(struct hf__ul_session *f,
                                   struct hf__ul_conn *conn);
/* Sleep until a connection was given back. The mutex is held, and let go
 * meanwhile; false: the deadline, or an interrupt. */
HF_MUST_CHECK bool hf__ul_conn_await(struct hf__ul_session *f);
/* f's own connection, taken; needs_room: for one more lock. */
HF_MUST_CHECK int hf__ul_conn_home(struct hf__ul_session *f, bool needs_room,
                                   struct hf__ul_conn **ret_conn);
/* The same for what needs no room, settled. Else none is taken. */
HF_MUST_CHECK int hf__ul_conn_use(struct hf__ul_session *f,
                                  struct hf__ul_conn **ret_conn);
/* What f has taken is set aside for another, and taken up again. */
void hf__ul_conn_set_aside(struct hf__ul_session *f);
void hf__ul_conn_resume(struct hf__ul_session *f,
                        const struct hf__ul_conn *conn);
/* After use. If the connection is dead its locks are lost, and told of. */
void hf__ul_conn_give(struct hf__ul_session *f, struct hf__ul_conn *conn);
/* Has the server closed it? The mutex is held. listen.c */
bool hf__ul_conn_has_ended(const struct hf__ul_conn *conn);
/* Before use: take the answer that it owes, and undo what it was about. HF_OK;
 * HF_BUSY: it is not there by the deadline; negative: it is dead. */
HF_MUST_CHECK int hf__ul_conn_settle(struct hf__ul_session *f,
                                     struct hf__ul_conn *conn);
/* Send the session's text; the first reply stays. As settle(): HF_BUSY, and it
 * owes the answer. */
HF_MUST_CHECK int hf__ul_conn_ask(struct hf__ul_session *f,
                                  struct hf__ul_conn *conn);
/* The same; negative if it was refused, too, and if_late for HF_BUSY. */
HF_MUST_CHECK int hf__ul_conn_run(struct hf__ul_session *f,
                                  struct hf__ul_conn *conn, int if_late);
/* The replies that are left, unseen but for an error. */
HF_MUST_CHECK int hf__ul_conn_skip(struct hf__ul_session *f);
/* After a refusal: of what was asked, nothing is left. As settle(). */
HF_MUST_CHECK int hf__ul_conn_undo(struct hf__ul_session *f,
                                   struct hf__ul_conn *conn);

/* One without locks, which f has taken: a spare one, or a new connection. */
HF_MUST_CHECK int hf__ul_conn_new(struct hf__ul_session *f,
                                  struct hf__ul_conn **ret_conn);
/* The same of those that are for one lock alone. */
HF_MUST_CHECK int hf__ul_conn_dedicated(struct hf__ul_session *f,
                                        struct hf__ul_conn **ret_conn);

/* ---- locks.c; the pool's mutex is held */

/* A new one on the connection, or NULL. */
struct hf__ul_lock *hf__ul_lock_new(struct hf__ul_pool *pool,
                                    struct hf__ul_conn *conn, const char *key,
                                    uint16_t length);
/* It is that claim's. */
void hf__ul_lock_claim(struct hf__ul_pool *pool, struct hf__ul_lock *lock,
                       const struct hf__token *token);
/* Somebody had it: who listens is to tell him. */
void hf__ul_lock_lose(struct hf__ul_pool *pool, const struct hf__ul_lock *lock);
void hf__ul_lock_free(struct hf__ul_pool *pool, struct hf__ul_lock *lock);
/* NULL: none. */
struct hf__ul_lock *hf__ul_lock_of(struct hf__ul_pool *pool,
                                   const struct hf__token *token);
struct hf__ul_lock *hf__ul_lock_named(struct hf__ul_pool *pool, const char *key,
                                      uint16_t length);

/* Who waits for a connection looks again; the listener too, if there is news.
 * The mutex is held. */
void hf__ul_notify(struct hf__ul_pool *pool);
/* Is it of no use to anybody? The mutex is held. */
bool hf__ul_conn_is_needless(const struct hf__ul_pool *pool,
                             const struct hf__ul_conn *conn);
bool hf__ul_conn_is_spare(const struct hf__ul_conn *conn);

#endif
