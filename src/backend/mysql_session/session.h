/* SPDX-License-Identifier: MIT */
/*
 * The store mysql://…?scheme=session: GET_LOCK(), whose locks live with the
 * connection that took them.
 *
 * pool.c says who shares the connections, conn.c how one is made, used and
 * lost, locks.c what it holds; batch.c is execute(), with ask.c for the packet
 * of a connection and holder.c for the table; wait.c listen.c operate.c list.c
 * are the other calls, store.c opens and closes.
 *
 * Thread: a session's.
 */
#ifndef HF_BACKEND_MYSQL_SESSION_SESSION_H
#define HF_BACKEND_MYSQL_SESSION_SESSION_H

#include "src/backend/mysql/schema.h"
#include "src/backend/mysql_session/pool.h"

extern const struct hf__backend hf__mysql_session_backend; /* store.c's */

/* ---- what the schemes whose locks are a connection's do each in its own way:
 * a user lock alone (scheme=session, store.c), or a row that an open
 * transaction has locked, with a user lock beside it that says whose it is
 * (scheme=row, src/backend/mysql_row/) */

/* The table of holders and fences: its columns are the same for all. */
#define HF__UL_HOLDER_COLUMNS(X)                                               \
    X(name_key, HF__KIND_BYTES, 320, true, "VARBINARY(320) NOT NULL")          \
    X(lock_name, HF__KIND_TEXT, 64, false, HF__SQL_WORDS(64))                  \
    X(fence, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)    \
    X(broken, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)   \
    X(token, HF__KIND_BYTES, 16, false, "VARBINARY(16) NOT NULL DEFAULT ''")   \
    X(connection, HF__KIND_UNSIGNED, 8, false,                                 \
      "BIGINT UNSIGNED" HF__SQL_NUMBER)                                        \
    X(acquired_at, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)         \
    HF__OWNER_COLUMNS(X)

struct hf__report;
struct hf__ul_scheme {
    const char *name;
    const char *what;     /* it locks, for people */
    const char *prefix;   /* of the names of its user locks */
    const char *patience; /* seconds for a user lock that is tried */
    const char *table;    /* of holders and fences */
    const struct hf__schema *schema;
    bool is_dedicated; /* a lock's connection has nothing but that lock, and is
                      no home */

    /* A new connection, for locks if is_apart, is as it must be. NULL: it
     * is. */
    int (*fit)(struct hf__ul_session *f);
    /* The first session of a session: what the server can. NULL: nothing. */
    int (*probe)(struct hf__ul_session *f);
    /* Write hf__ul_write_packet() and send it, as hf__ul_conn_ask(). */
    int (*ask)(struct hf__ul_session *f, struct hf__ul_conn *conn);
    /* Before each question of a connection that stands in a queue. NULL:
     * nothing. */
    int (*stand)(struct hf__ul_session *f, struct hf__ul_conn *conn,
                 bool is_missing);
    /* The question's end, after "SELECT GET_LOCK(name,". */
    void (*write_queue)(struct hf__ul_session *f);
    /* In the packet that deletes the record of an idle name. NULL: nothing. */
    void (*write_deletion)(struct hf__text *to, const char *key, size_t length);
    /* What check() says besides, as hf__ul_conn_ask(). NULL: nothing. */
    int (*check)(struct hf__ul_session *f, struct hf__ul_conn *conn,
                 struct hf__report *to);
};

extern const struct hf__ul_scheme hf__ul_session_scheme; /* store.c's */

/* open() of a store with that scheme. `most`: locks of one connection. */
HF_MUST_CHECK int hf__ul_open(struct hf__ul_session *f,
                              const struct hf__url *url, const char *allow,
                              int most);
void hf__ul_close(void *state);

/* ---- ask.c: what a connection is asked */

enum hf__ul_stage {
    HF__UL_TO_ASK,
    HF__UL_TO_LOOK, /* decided, but for what is told of the name */
    HF__UL_TO_BREAK,
    HF__UL_OVER
};

/* An operation of the batch that runs. */
struct hf__ul_task {
    struct hf__op *op;
    enum hf__ul_stage stage;
    struct hf__ul_lock *lock; /* on the connection that is asked; else NULL */
    bool is_stamped;          /* its lock has a fence, or needs none */
    int verdict;              /* TO_LOOK: its result */
};

/* What the tasks that have a lock ask: one SELECT, without a FROM. */
void hf__ul_write_packet(struct hf__ul_session *f,
                         const struct hf__ul_conn *conn);
/* Ask the connection, which f has taken, all that is to be asked of it; those
 * tasks are over then, or to be looked at, unless another connection must be
 * asked. */
void hf__ul_ask(struct hf__ul_session *f, struct hf__ul_conn *conn);

/* ---- locks.c: what is said of a user lock, and heard */

/* The name of the user lock of a key, as an expression. */
void hf__ul_write_name(struct hf__ul_session *f, const char *key,
                       uint16_t length);
/* The operation's result, in the words of what failed last. */
void hf__ul_fail(const struct hf__ul_session *f, struct hf__op *op, int result);
/* The next row of the reply, with n columns; NULL: there is none, or it has
 * others, as of a server that answers something else. */
MYSQL_ROW hf__ul_row(struct hf__ul_session *f, unsigned n);
/* Of a row that begins with CONNECTION_ID(): is it the connection's, still? */
bool hf__ul_is_same(const struct hf__ul_session *f, MYSQL_ROW row);
/* KILL QUERY, or a limit of the server's: the statement has ended, and the
 * connection has not. */
bool hf__ul_is_cut_short(unsigned error);

/* ---- holder.c: the table of who has what, and its fences */

/* The locks of the tasks that were just won get their fences. */
void hf__ul_write_fences(struct hf__ul_session *f, struct hf__ul_conn *conn);

/* What is known of a name. */
struct hf__ul_sight {
    uint64_t holder; /* its connection; 0: nobody */
    bool is_known;   /* what follows is the holder's */
    uint64_t fence;
    uint64_t broken;
    struct hf__token token;
    int64_t acquired_at;
    struct hf__owner owner;
};
/* A statement that reads it; is_thorough: whose connection it is, if there is
 * no table. */
void hf__ul_write_look(struct hf__ul_session *f, const struct hf__key *key,
                       bool is_thorough);
/* What a row of the table says of it, after IS_USED_LOCK(). */
#define HF__UL_SIGHT                                                           \
    ",fence,connection,broken,token,acquired_at,label,host,pid,thread,note"
/* The next such row, with `more` columns after those. NULL: there is none. */
HF_MUST_CHECK MYSQL_ROW hf__ul_read_look(struct hf__ul_session *f,
                                         unsigned more,
                                         struct hf__ul_sight *ret_sight);
void hf__ul_tell(const struct hf__ul_sight *sight, struct hf__record *record);

/* ---- operate.c */

/* Looks for all tasks that want one. */
void hf__ul_look(struct hf__ul_session *f);
/* What has changed since the watches saw it fires. HF_OK, or no answer. */
HF_MUST_CHECK int hf__ul_look_around(struct hf__ul_session *f,
                                     struct hf__watch *const w[], int n,
                                     bool *ret_has_fired);
void hf__ul_break(struct hf__ul_session *f, struct hf__ul_task *t);

/* ---- the calls */

int hf__ul_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err);
int hf__ul_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *err);
/* The session asks for no lock any more. */
void hf__ul_wait_leave(struct hf__ul_session *f);
int hf__ul_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                  hf_error *err);
int hf__ul_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err);
int hf__ul_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err);
int hf__ul_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err);

#endif
