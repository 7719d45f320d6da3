/* SPDX-License-Identifier: MIT */
/*
 * The store mysql://…?scheme=session: GET_LOCK(), whose locks last as long as
 * the connection that took them.
 *
 * pool.c shares the connections, conn.c makes, uses and ends them, locks.c
 * keeps their locks; batch.c is execute(), with ask.c for the packet of a
 * connection and holder.c for the table; wait.c listen.c operate.c list.c are
 * the other calls, store.c opens and closes.
 *
 * Thread: a session's.
 */
#ifndef HF_BACKEND_MYSQL_SESSION_SESSION_H
#define HF_BACKEND_MYSQL_SESSION_SESSION_H

#include "src/backend/mysql/schema.h"
#include "src/backend/mysql_session/pool.h"

extern const struct hf__backend hf__mysql_session_backend; /* in store.c */

/* ---- a scheme: how a store takes locks that belong to a connection. That is a
 * user lock alone (scheme=session, store.c), or a row that an open transaction
 * has locked, with a user lock beside it that tells the holder (scheme=row,
 * src/backend/mysql_row/) */

/* The table of holders and fences; all schemes have the same columns. */
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
    const char *what;     /* what it locks, in error texts */
    const char *prefix;   /* of the names of its user locks */
    const char *patience; /* seconds that an attempt at a user lock waits */
    const char *table;    /* of holders and fences */
    const struct hf__schema *schema;
    bool is_dedicated; /* a lock has a connection to itself, which is no
                          session's home */

    /* Set up a new dedicated connection. NULL: nothing to set up. */
    int (*fit)(struct hf__ul_session *f);
    /* When a session opens: find out what the server can do. NULL: nothing. */
    int (*probe)(struct hf__ul_session *f);
    /* Write hf__ul_write_packet() and send it. Returns as hf__ul_conn_ask(). */
    int (*ask)(struct hf__ul_session *f, struct hf__ul_conn *conn);
    /* Called before each question of a connection that waits in the server's
     * queue; is_missing: the name has no row yet. NULL: nothing to do. */
    int (*stand)(struct hf__ul_session *f, struct hf__ul_conn *conn,
                 bool is_missing);
    /* Write the end of that question, after "SELECT GET_LOCK(name,". */
    void (*write_queue)(struct hf__ul_session *f);
    /* Add to the packet that deletes the record of an idle name. NULL:
     * nothing. */
    void (*write_deletion)(struct hf__text *to, const char *key, size_t length);
    /* Report what check() says besides. Returns as hf__ul_conn_ask(). NULL:
     * nothing. */
    int (*check)(struct hf__ul_session *f, struct hf__ul_conn *conn,
                 struct hf__report *to);
};

extern const struct hf__ul_scheme hf__ul_session_scheme; /* in store.c */

/* open() of a store with f->scheme. `most`: as for hf__ul_join(). */
HF_MUST_CHECK int hf__ul_open(struct hf__ul_session *f,
                              const struct hf__url *url, const char *allow,
                              int most);
void hf__ul_close(void *state);

/* ---- ask.c: the packet of a connection */

enum hf__ul_stage {
    HF__UL_TO_ASK,
    HF__UL_TO_LOOK, /* decided, but must read who has the name */
    HF__UL_TO_BREAK,
    HF__UL_OVER
};

/* An operation of the running batch. */
struct hf__ul_task {
    struct hf__op *op;
    enum hf__ul_stage stage;
    struct hf__ul_lock *lock; /* on the connection that is asked; else NULL */
    bool is_stamped;          /* its lock has a fence, or needs none */
    int verdict;              /* TO_LOOK: its result */
};

/* Write the questions of the tasks that have a lock: one SELECT, without a
 * FROM. */
void hf__ul_write_packet(struct hf__ul_session *f,
                         const struct hf__ul_conn *conn);
/* Ask the connection, which f has taken, for all tasks that it can answer.
 * After that those tasks are over, or TO_LOOK, unless another connection must
 * be asked. */
void hf__ul_ask(struct hf__ul_session *f, struct hf__ul_conn *conn);

/* ---- locks.c: names, replies and errors of user locks */

/* Write the name of a key's user lock, as an expression. */
void hf__ul_write_name(struct hf__ul_session *f, const char *key,
                       uint16_t length);
/* Set the operation's result, with the text of the last failure. */
void hf__ul_fail(const struct hf__ul_session *f, struct hf__op *op, int result);
/* The next row of the reply, with n columns. NULL: there is none, or it has
 * other columns, because the server answers something else. */
MYSQL_ROW hf__ul_row(struct hf__ul_session *f, unsigned n);
/* In a row that begins with CONNECTION_ID(): is it still the same
 * connection? */
bool hf__ul_is_same(const struct hf__ul_session *f, MYSQL_ROW row);
/* KILL QUERY, or a limit of the server: the statement was ended, but not the
 * connection. */
bool hf__ul_is_cut_short(unsigned error);

/* ---- holder.c: the table of holders and fences */

/* Give fences to the locks that the tasks have just won. */
void hf__ul_write_fences(struct hf__ul_session *f, struct hf__ul_conn *conn);

/* What was read about a name. */
struct hf__ul_view {
    uint64_t holder; /* its connection; 0: nobody has the lock */
    bool is_known;   /* the fields below are the holder's */
    uint64_t fence;
    uint64_t broken;
    struct hf__token token;
    int64_t acquired_at;
    struct hf__owner owner;
};
/* Write a statement that reads it. is_thorough: if there is no table, also the
 * user of the holder's connection. */
void hf__ul_write_look(struct hf__ul_session *f, const struct hf__key *key,
                       bool is_thorough);
/* The columns of the table that it reads, after IS_USED_LOCK(). */
#define HF__UL_SIGHT                                                           \
    ",fence,connection,broken,token,acquired_at,label,host,pid,thread,note"
/* Read the next such row, which has `more` columns after those. NULL: there is
 * none. */
HF_MUST_CHECK MYSQL_ROW hf__ul_read_look(struct hf__ul_session *f,
                                         unsigned more,
                                         struct hf__ul_view *ret_view);
void hf__ul_tell(const struct hf__ul_view *view, struct hf__record *record);

/* ---- operate.c */

/* Read the names of all tasks that are TO_LOOK. */
void hf__ul_look(struct hf__ul_session *f);
/* Fire the watches whose name has changed since they saw it. HF_OK, also if no
 * answer came in time; negative: reading failed. */
HF_MUST_CHECK int hf__ul_look_around(struct hf__ul_session *f,
                                     struct hf__watch *const w[], int n,
                                     bool *ret_has_fired);
void hf__ul_break(struct hf__ul_session *f, struct hf__ul_task *t);

/* ---- the calls */

int hf__ul_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err);
int hf__ul_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *err);
/* The session stops waiting for a lock. */
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
