/* SPDX-License-Identifier: MIT */
/*
 * The connections of a client whose locks live with them. All sessions that one
 * client has (backend.h) are fronts of one link, which has the lines:
 * connections to the server, each with the locks that it holds. A line is used
 * by one front at a time, who takes it and gives it back; so a renewal reaches
 * the lock that another session acquired, and a lock that a waiter was given
 * stays where it is.
 *
 * Thread: a front's, one at a time; what the link has is under its mutex.
 */
#ifndef HF_BACKEND_MYSQL_SESSION_LINK_H
#define HF_BACKEND_MYSQL_SESSION_LINK_H

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

/* One user lock of a line. */
struct hf__ul_lock {
    struct hf__link in_line;
    struct hf__map_link by_token; /* unless WON */
    struct hf__map_link by_key;
    struct hf__ul_line *line;
    const struct hf__ul_front *winner; /* WON: who waited for it */
    enum hf__ul_state state;
    struct hf__token token;
    uint64_t fence;
    hf__time sent;  /* the question that the server's yes was the answer to */
    hf__time heard; /* the same, of a yes that no renewal has used; or 0 */
    uint64_t question; /* the last one of its line about it, and */
    unsigned column;   /* where in the answer */
    uint16_t length;
    char key[HF__KEY_MAX];
};

struct hf__ul_front;

struct hf__ul_line {
    struct hf__link in_link;
    struct hf__link locks;      /* of hf__ul_lock; in order of their making */
    struct hf__ul_front *owner; /* whose home it is, or where it waits */
    MYSQL *handle;
    int fd;
    uint64_t connection_id;
    uint64_t question; /* how many it was asked */
    hf__time asked;    /* when the last of them was sent */
    int n_locks;
    int wait_s;    /* for rows that others have locked; 0: as it was made */
    bool is_apart; /* for a lock or a waiter alone: no home */
    bool is_busy;  /* a front has taken it */
    bool is_cut;   /* to be ended by who has taken it */
    bool owes;     /* an answer, which comes before any other */
};

struct hf__ul_link {
    struct hf__link in_registry;
    uint64_t client;
    int n_fronts;        /* under the registry's mutex */
    struct hf__url *url; /* with the password, if it has one */
    char *allow;
    int lease_s; /* the server's wait_timeout for our connections */
    bool has_database;
    int apart_most; /* lines that are for one lock alone */

    struct hf__mutex mutex; /* guards what follows */
    struct hf__link fronts;
    struct hf__link lines;
    struct hf__map tokens;
    struct hf__map keys;
    uint64_t server_id; /* which server its locks are on; 0: none yet */
    int most;           /* locks on one line */
    int n_apart;        /* lines that are so; those that are being made count */
    atomic_bool has_nowait;    /* the server knows the word */
    atomic_size_t packet_most; /* bytes of a packet, about */
    atomic_llong took_ns;      /* the last answer */
    char database[256]; /* as the server's names of it are compared; does not
                           change any more once there is a line */
    struct hf__ul_front *listener;
    bool is_news;           /* for the listener: a new line, or lost locks */
    struct hf__token *lost; /* what is to be told, in order */
    unsigned n_lost;
    unsigned lost_room;
};

struct hf__ul_task;
struct hf__ul_scheme;
struct hf__ul_front {
    struct hf__mysql mysql; /* first; its wire is the line's that it took */
    const struct hf__ul_scheme *scheme;
    struct hf__ul_link *link;
    struct hf__link in_link;
    bool is_waiting;          /* for a line to be given back; under the mutex */
    struct hf__ul_line *home; /* under the link's mutex; NULL: none */
    struct hf__ul_line *queue; /* the same: asks for a lock that another has */
    hf__time asked;            /* when it began to ask */
    char queue_key[HF__KEY_MAX];
    uint16_t queue_length;
    unsigned n_heard;          /* of link->lost */
    unsigned n_reheard;        /* the same, a second time */
    hf__time rehears;          /* when it is time for that */
    struct hf__ul_task *tasks; /* of the batch that runs; kept for the next */
    int n_tasks;
};

/* ---- link.c */

/* Join the link of the client, or make one. `most`: locks of a line or, where
 * each has its own, lines. HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__ul_join(struct hf__ul_front *f, const struct hf__url *url,
                              const char *allow, int lease_s, int most);
/* Leave it; the last one ends it, and its lines. Or it never joined. */
void hf__ul_leave(struct hf__ul_front *f);
/* ---- line.c */

/* A new connection, which f has taken. */
HF_MUST_CHECK int hf__ul_line_connect(struct hf__ul_front *f,
                                      struct hf__ul_line **ret_line);
/* It is f's until given back. The mutex is held; false: it is another's. */
HF_MUST_CHECK bool hf__ul_line_try(struct hf__ul_front *f,
                                   struct hf__ul_line *line);
/* Sleep until a line was given back. The mutex is held, and let go meanwhile;
 * false: the deadline, or an interrupt. */
HF_MUST_CHECK bool hf__ul_line_await(struct hf__ul_front *f);
/* f's own line, taken; needs_room: for one more lock. */
HF_MUST_CHECK int hf__ul_line_home(struct hf__ul_front *f, bool needs_room,
                                   struct hf__ul_line **ret_line);
/* The same for what needs no room, settled. Else none is taken. */
HF_MUST_CHECK int hf__ul_line_use(struct hf__ul_front *f,
                                  struct hf__ul_line **ret_line);
/* A line that f has taken, laid aside for another; taken up again after it. */
void hf__ul_line_lay(struct hf__ul_front *f);
void hf__ul_line_lift(struct hf__ul_front *f, const struct hf__ul_line *line);
/* After use. If the connection is dead its locks are lost, and told of. */
void hf__ul_line_give(struct hf__ul_front *f, struct hf__ul_line *line);
/* Has the server closed it? The mutex is held. listen.c */
bool hf__ul_line_has_ended(const struct hf__ul_line *line);
/* Before use: take the answer that it owes, and undo what it was about. HF_OK;
 * HF_BUSY: it is not there by the deadline; negative: the line is dead. */
HF_MUST_CHECK int hf__ul_line_settle(struct hf__ul_front *f,
                                     struct hf__ul_line *line);
/* Send the front's text; the first reply stays. As settle(): HF_BUSY, and it
 * owes the answer. */
HF_MUST_CHECK int hf__ul_line_ask(struct hf__ul_front *f,
                                  struct hf__ul_line *line);
/* The same; negative if it was refused, too, and if_late for HF_BUSY. */
HF_MUST_CHECK int hf__ul_line_run(struct hf__ul_front *f,
                                  struct hf__ul_line *line, int if_late);
/* The replies that are left, unseen but for an error. */
HF_MUST_CHECK int hf__ul_line_skip(struct hf__ul_front *f);
/* After a refusal: of what was asked, nothing is left. As settle(). */
HF_MUST_CHECK int hf__ul_line_undo(struct hf__ul_front *f,
                                   struct hf__ul_line *line);

/* One without locks, which f has taken: a spare one, or a new connection. */
HF_MUST_CHECK int hf__ul_line_new(struct hf__ul_front *f,
                                  struct hf__ul_line **ret_line);
/* The same of those that are for one lock alone. */
HF_MUST_CHECK int hf__ul_line_apart(struct hf__ul_front *f,
                                    struct hf__ul_line **ret_line);

/* ---- locks.c; the link's mutex is held */

/* A new one on the line, or NULL. */
struct hf__ul_lock *hf__ul_lock_new(struct hf__ul_link *link,
                                    struct hf__ul_line *line, const char *key,
                                    uint16_t length);
/* It is that claim's. */
void hf__ul_lock_claim(struct hf__ul_link *link, struct hf__ul_lock *lock,
                       const struct hf__token *token);
/* Somebody had it: who listens is to tell him. */
void hf__ul_lock_lose(struct hf__ul_link *link, const struct hf__ul_lock *lock);
void hf__ul_lock_free(struct hf__ul_link *link, struct hf__ul_lock *lock);
/* NULL: none. */
struct hf__ul_lock *hf__ul_lock_of(struct hf__ul_link *link,
                                   const struct hf__token *token);
struct hf__ul_lock *hf__ul_lock_named(struct hf__ul_link *link, const char *key,
                                      uint16_t length);

/* Who waits for a line looks again; the listener too, if there is news.
 * The mutex is held. */
void hf__ul_stir(struct hf__ul_link *link);
/* Is it of no use to anybody? The mutex is held. */
bool hf__ul_line_is_needless(const struct hf__ul_link *link,
                             const struct hf__ul_line *line);
bool hf__ul_line_is_spare(const struct hf__ul_line *line);

#endif
