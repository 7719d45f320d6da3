/* SPDX-License-Identifier: MIT */
/*
 * What the tests of rows on PostgreSQL say: connections of their own to the
 * server that all tests of a program share, statements on them, the usual row.
 * A test has a database of its own.
 */
#ifndef HF_TESTS_ROWS_POSTGRES_WORLD_H
#define HF_TESTS_ROWS_POSTGRES_WORLD_H

#include "include/holdfast-postgres.h"
#include "tests/lib/test.h"
#include "tests/servers/postgres.h"

/* A connection of the ordinary role's, closed at the end of its scope. */
#define AUTO_DB __attribute__((cleanup(leave))) PGconn
PGconn *enter(void);
PGconn *enter_at(int port);
void leave(PGconn **);

/* Where the test's tables are: the shared server, or another from now on. */
const struct hf__postgres *server(void);
void use_server(const struct hf__postgres *);
const char *database(void);

/* Statements that must succeed. */
__attribute__((format(printf, 2, 3))) void tell(PGconn *, const char *, ...);
/* The same, which may fail: "", or the SQLSTATE; till the next call. */
__attribute__((format(printf, 2, 3))) const char *attempt(PGconn *,
                                                          const char *, ...);
/* The first value of the first row, "NULL" or "none"; till the next call. */
__attribute__((format(printf, 2, 3))) const char *value(PGconn *, const char *,
                                                        ...);
/* How many rows the statement changes. */
__attribute__((format(printf, 2, 3))) int changed(PGconn *, const char *, ...);
/* Who waits for a lock in the test's database. */
int waiting(void);

/* A table account(id, n, version) with the rows 1 to 3: n is 100·id. */
void make_accounts(PGconn *);
/* The row of that table with an integer for id; till the next call. */
const hf_row *row_of(const char *table, int64_t id);
/* Locks it, with a patience. */
int lock_for(PGconn *, int64_t id, int64_t wait_ms);
int lock_skipping(PGconn *, int64_t id);
/* What the last call of the thread told. */
extern _Thread_local hf_error err;
extern _Thread_local hf_row_info info;

/* All that a session can be told apart by: isolation, timeouts, path. */
const char *session_of(PGconn *);

/* lock_for() on a thread of its own. */
struct waiter {
    PGconn *db;
    int64_t wait_ms;
    int64_t id;
    int status;
    hf_row_info info;
};
void wait_for_row(void *waiter);

/* Changing a row by version: account's n grows by a number, while somebody else
 * may come between the reading and the writing. */
struct change {
    int64_t by;
    PGconn *rival; /* runs `meanwhile`, as often as that; NULL: nobody */
    const char *meanwhile;
    int times;
    int calls;    /* of the callback */
    int64_t seen; /* n, as it was read last */
};
hf_row_update by_version(struct change *);
/* The row `id` is changed so; what comes of it. */
int change(PGconn *, int64_t id, const hf_row_update *);
/* "n version" of the row. */
const char *row_says(PGconn *, int64_t id);

#endif
