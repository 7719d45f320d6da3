/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the Redis store say besides the words of
 * tests/contract/api.h, which work here too: where the store is, what its
 * records say, what check() finds. A test uses the server that the program's
 * tests share, unless it starts one of its own.
 */
#ifndef HF_TESTS_STORE_REDIS_WORLD_H
#define HF_TESTS_STORE_REDIS_WORLD_H

#include "src/backend/conn.h"
#include "tests/servers/redis.h"
#include "tests/store_server/server.h"

#define AUTO_SERVER __attribute__((cleanup(free_server))) struct hf__redis
void free_server(struct hf__redis **);

/* A server of this test, with these lines of redis.conf (NULL-ended, or NULL):
 * the store is on it from now on. Before the test starts threads. */
struct hf__redis *own_server(const char *const *extra);
/* The same with an append-only file, flushed at each write. */
struct hf__redis *own_server_with_aof(const char *const *extra);
/* The same with such lines in its ACL file. */
struct hf__redis *own_server_with_users(const char *users);
/* Where the store is; commands to it are in the store's database. */
const struct hf__redis *server(void);
/* A URL of that store for this user, "bob:password" ("" for none), with these
 * options ("" for none); till the next call. */
const char *url_as(const char *user, const char *options);

/* A session at the contract, by such a URL. */
void open_session(struct hf__conn *, const char *url);

/* ---- records */

/* The key of that lock's record, "holdfast:{job}"; till the next call. */
const char *record(const char *name);
/* The value of a field of it, "" if there is none; till the next call. */
const char *record_says(const char *name, const char *field);
/* How many keys the store's database has. */
int count_keys(void);

/* ---- fitness */

/* What hf_check() says of `name`: its value, "" if it says nothing; its verdict
 * in *ret_verdict if not NULL. Till the next call. */
const char *finding(hf_client *, const char *name, hf_verdict *ret_verdict);
char grade_of(hf_client *);

#endif
