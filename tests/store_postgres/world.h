/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the PostgreSQL store say besides the words of
 * tests/contract/api.h, which work here too: where the store is, what a
 * stranger does on the server, what its tables say. A test uses the server
 * that the program's tests share, unless it starts one of its own.
 */
#ifndef HF_TESTS_STORE_POSTGRES_WORLD_H
#define HF_TESTS_STORE_POSTGRES_WORLD_H

#include "tests/servers/postgres.h"
#include "tests/store_table/tables.h"

#include <libpq-fe.h>

#define AUTO_SERVER   __attribute__((cleanup(free_server))) struct hf__postgres
#define AUTO_STRANGER __attribute__((cleanup(end_stranger))) PGconn
void free_server(struct hf__postgres **);
void end_stranger(PGconn **);

/* A server of this test, with these settings (NULL-ended, or NULL); the store
 * is a new database on it from now on. Before the test starts threads. */
struct hf__postgres *own_server(const char *const *extra);
/* The same in all that can be said of it. */
struct hf__postgres *own_server_as(const struct hf__postgres_opts *);
/* Where the store is. */
const struct hf__postgres *server(void);
const char *database(void);
/* From now on the store's URL is this one, whose database and server are those
 * of before; NULL: its own again. */
void reach_by_url(const char *url);

/* ---- strangers */

/* A connection of the ordinary user's that is no client of ours. */
PGconn *stranger(void);
/* One of that user, who needs no password. */
PGconn *stranger_as(const char *user);
/* Statements of it, which must succeed. */
__attribute__((format(printf, 2, 3))) void tell(PGconn *db, const char *format,
                                                ...);
/* It begins a transaction and locks the row of that lock. */
void lock_row(PGconn *db, const char *name);

/* ---- tables, as the administrator sees them */

/* The first value that a statement gives, "" for none; till the next call. */
__attribute__((format(printf, 1, 2))) const char *answer(const char *format,
                                                         ...);

#endif
