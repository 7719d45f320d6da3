/* SPDX-License-Identifier: MIT */
/*
 * A private PgBouncer before a private PostgreSQL: the ordinary role comes to
 * all of the server's databases by it, and to its console, the database
 * "pgbouncer". What can't be done fails the test. It never outlives the process
 * that started it.
 *
 *     struct hf__pgbouncer *b = hf__pgbouncer_start(s, "transaction", NULL);
 *
 *     hf__pgbouncer_url(b, database, url, sizeof url);
 *     …
 *     hf__pgbouncer_free(b);
 */
#ifndef HF_TESTS_SERVERS_PGBOUNCER_H
#define HF_TESTS_SERVERS_PGBOUNCER_H

#include "tests/servers/postgres.h"

struct hf__pgbouncer;

/* Ends the test where PgBouncer is not installed: skipped; failed in CI. */
void hf__pgbouncer_need(void);

/* Starts one, whose mode is "session", "transaction" or "statement", and waits
 * until it answers. Extra: settings, "default_pool_size = 1"; NULL-ended; or
 * NULL. Whoever comes is let in; the server's password it knows. Calls
 * hf__pgbouncer_need(). Not to be called beside threads of the test. */
struct hf__pgbouncer *hf__pgbouncer_start(const struct hf__postgres *,
                                          const char *mode,
                                          const char *const *extra);
/* Kills it, if it runs. NULL is fine. */
void hf__pgbouncer_free(struct hf__pgbouncer *);

/* For the process that started it: */
/* By SIGKILL. Returns when it has ended. */
void hf__pgbouncer_kill(struct hf__pgbouncer *);
/* After that, at the same port. Waits until it answers. */
void hf__pgbouncer_restart(struct hf__pgbouncer *);

/* For any process and thread: */
int hf__pgbouncer_port(const struct hf__pgbouncer *);
/* postgres://USER@127.0.0.1:PORT/DATABASE */
void hf__pgbouncer_url(const struct hf__pgbouncer *, const char *database,
                       char *url, size_t size);

#endif
