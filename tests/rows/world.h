/* SPDX-License-Identifier: MIT */
/*
 * What the tests of rows say on either kind of server: connections of their own
 * to the server that all tests of a program share, statements on them, the
 * usual row. A test has a database of its own. What only one kind has is in
 * mysql/ or postgres/, beside the words that each of the two says in its way.
 */
#ifndef HF_TESTS_ROWS_WORLD_H
#define HF_TESTS_ROWS_WORLD_H

#include "include/holdfast-rows.h"
#include "tests/lib/test.h"

struct hf__framing;

/* A connection of the ordinary user's, closed at the end of its scope. */
#define AUTO_DB __attribute__((cleanup(leave))) struct db
struct db *enter(void);
const char *database(void);

/* Statements that must succeed; MySQL takes one at a time. */
__attribute__((format(printf, 2, 3))) void tell(struct db *, const char *, ...);
/* The same, which may fail: what the server says, as said() has it; till the
 * next call. */
__attribute__((format(printf, 2, 3))) const char *attempt(struct db *,
                                                          const char *, ...);
/* The first value of the first row, "NULL" or "none"; till the next call. */
__attribute__((format(printf, 2, 3))) const char *value(struct db *,
                                                        const char *, ...);
/* How many rows the statement changes. */
__attribute__((format(printf, 2, 3))) int changed(struct db *, const char *,
                                                  ...);

/* A table account(id, n, version) with the rows 1 to 3: n is 100·id. If there
 * is one, it is made anew. */
void make_accounts(struct db *);
/* The row of that table with an integer for id; till the next call. */
const hf_row *row_of(const char *table, int64_t id);
/* Locks it, with a patience. */
int lock_for(struct db *, int64_t id, int64_t wait_ms);
int lock_skipping(struct db *, int64_t id);
/* Locks the row where these columns have integers; b may be NULL. */
int lock_where(struct db *, const char *table, const char *a, int64_t x,
               const char *b, int64_t y);
int lock_value(struct db *, const char *table, const char *column,
               hf_row_value);
int lock_text(struct db *, const char *table, const char *column,
              const char *bytes, size_t length);
/* No row of that table is locked, for a reason with this word. */
void expect_refused(struct db *, const char *table, const char *why);
/* What the last call of the thread told. */
extern _Thread_local hf_error err;
extern _Thread_local hf_row_info info;
/* What the server said to it: the number of MySQL, PostgreSQL's SQLSTATE; or
 * "". Till the next call. */
const char *said(void);

/* lock_for() on a thread of its own. */
struct waiter {
    struct db *db;
    int64_t wait_ms;
    int64_t id;
    int status;
    hf_row_info info;
};
void wait_for_row(void *waiter);

/* ---- what differs */

enum kind { ON_MYSQL, ON_POSTGRES, KINDS };

struct dialect {
    enum kind kind;
    /* As said() has it. */
    const char *busy;
    const char *deadlock;
    const char *duplicate;
    const char *read_only;
    const char *no_savepoint;
    /* In an error's text, where no unique index, or a part of one, serves. */
    const char *no_index;
    const char *index_part;
    /* How far a name reaches, and what is put around it. */
    int longest_name;
    char quote;
    /* The shortest wait that the server knows. */
    int64_t tick_ms;
    const char *levels[5]; /* of isolation, NULL-ended */
    /* The first of them, at which a row is had as it is now: behind an older
     * snapshot, and after waiting for who changes it. */
    int n_fresh;
    int n_patient;
    /* In which a connection may be: the levels, and flags. */
    int n_manners;
    /* Statements: the session's own limit, far off or a tick; its value when
     * nobody has set it. Nobody else gets to the table. Errors are warnings. */
    const char *far_limit;
    const char *near_limit;
    const char *show_limit;
    const char *limit;
    const char *close_table;
    const char *be_lenient;
};
extern const struct dialect its;

/* ---- each kind in its way */

struct db *enter_at(int port);
/* 0 to its.n_manners - 1; its level is its.levels[level_of(manner)]. */
struct db *enter_as(int manner);
int level_of(int manner);
void set_level(struct db *, const char *level);
/* A connection that came to nothing. */
struct db *enter_nowhere(void);
void leave(struct db **);
int server_port(void);
extern const struct hf__framing *const framing;

enum { VALUE = 512 };
struct result {
    char error[8]; /* as said() has it */
    char value[VALUE];
    int changed;
};
void run(struct db *, const char *sql, struct result *);
const char *message_of(struct db *);
/* Of that database: who waits for a row. */
int waiting(void);
/* 'I': no transaction is open, 'T': one is, 'E': one that has failed. */
char state_of(struct db *);
/* All that a session can be told apart by: isolation, timeouts, mode. */
const char *session_of(struct db *);
/* What it does is ended, or all of it. */
void cancel(struct db *by, struct db *whom);
void end_session(struct db *by, struct db *whom);

/* The calls of the library. */
int lock_row(struct db *, const hf_row *, const hf_row_lock_opts *,
             hf_row_info *, hf_error *);
int update_row(struct db *, const hf_row *, const hf_row_update *,
               hf_row_info *, hf_error *);
int guard_sql(char *buf, size_t size, const char *column, uint64_t fence);
const char *status_name(int status);

#endif
