/* SPDX-License-Identifier: MIT */
/*
 * A private PostgreSQL for tests: data folder, port and socket of its own, an
 * ordinary role that owns the databases which are made for it, and an
 * administrator who gets in by the socket only. What can't be done fails the
 * test. A server and its folder never outlive the process that started it.
 *
 *     struct hf__postgres *s = hf__postgres_start(NULL);
 *
 *     hf__postgres_fresh_url(s, url, sizeof url);
 *     …
 *     hf__postgres_free(s);
 */
#ifndef HF_TESTS_SERVERS_POSTGRES_H
#define HF_TESTS_SERVERS_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HF__POSTGRES_USER     "holdfast"
#define HF__POSTGRES_PASSWORD "knock-twice"

struct hf__postgres;

/* Unless the settings say otherwise what is committed is not flushed: it
 * survives the server, but not the machine. */
struct hf__postgres_opts {
    const char *const *extra; /* settings, "fsync = on"; NULL-ended; or NULL */
    const char *const *hba; /* lines of pg_hba.conf, before its own; as that */
    bool on_disk;           /* the folder; else in memory, if there is room */
    bool with_password;     /* by SCRAM; else whoever comes is let in */
    bool with_tls;          /* who wants has it: see hf__postgres_tls_file() */
    bool is_stranger; /* its data come from no template, in a second, so that
                       * its system_identifier is nobody else's */
};

enum { HF__POSTGRES_NAME = 64, HF__POSTGRES_URL = 256 };

bool hf__postgres_is_installed(void);
/* Ends the test where PostgreSQL is not installed: skipped; failed in CI. */
void hf__postgres_need(void);

/* Starts one and waits until it answers. Without opts: the default. Calls
 * hf__postgres_need(). Not to be called beside threads of the test. */
struct hf__postgres *hf__postgres_start(const struct hf__postgres_opts *);
/* Kills it, if it runs, and removes its folder. NULL is fine. */
void hf__postgres_free(struct hf__postgres *);

/* For the process that started it: */
/* Its clients' sessions end, and the data stay. Returns when it has ended. */
void hf__postgres_stop(struct hf__postgres *);
/* By SIGKILL to all of its processes; the data stay. Returns when they have
 * ended. */
void hf__postgres_kill(struct hf__postgres *);
/* After stop or kill: the same data and port; other settings if not NULL.
 * Waits until it answers. */
void hf__postgres_restart(struct hf__postgres *, const char *const *extra);
/* SIGSTOP and SIGCONT to all of its processes. */
void hf__postgres_pause(struct hf__postgres *);
void hf__postgres_resume(struct hf__postgres *);
/* Has it ended by itself? */
bool hf__postgres_has_ended(struct hf__postgres *);

/* For any process and thread: */
int hf__postgres_port(const struct hf__postgres *);
pid_t hf__postgres_pid(const struct hf__postgres *);
/* The folder of the socket, which libpq takes for a host. */
const char *hf__postgres_socket(const struct hf__postgres *);
/* With with_tls: a file of certificates.h, as "ca.crt". Valid until this
 * thread's next call. */
const char *hf__postgres_tls_file(const struct hf__postgres *,
                                  const char *name);

/* Runs statements as the administrator in that database, NULL: in one that is
 * always there. Several, with ";" between, are one transaction. */
__attribute__((format(printf, 3, 4))) void
hf__postgres_sql(const struct hf__postgres *, const char *database,
                 const char *format, ...);
/* The same; "", or the SQLSTATE of the error, 08006 if there is no server.
 * Valid until this thread's next call. */
__attribute__((format(printf, 3, 4))) const char *
hf__postgres_try(const struct hf__postgres *, const char *database,
                 const char *format, ...);
/* The first value of its first row: "" if there is none or it is NULL. Valid
 * until this thread's next call. */
__attribute__((format(printf, 3, 4))) const char *
hf__postgres_value(const struct hf__postgres *, const char *database,
                   const char *format, ...);

/* Makes a database that no other call has made, hf_<something>. */
void hf__postgres_database(const struct hf__postgres *,
                           char name[HF__POSTGRES_NAME]);
/* postgres://USER@127.0.0.1:PORT/DATABASE, and the password if it asks. */
void hf__postgres_url(const struct hf__postgres *, const char *database,
                      char *url, size_t size);
/* Both in one. */
void hf__postgres_fresh_url(const struct hf__postgres *, char *url,
                            size_t size);

/* ---- one server for all tests of a program */

/* To be called before the first test; starts the server, which ends with the
 * program. Does nothing where PostgreSQL is not installed. */
void hf__postgres_share(void);
/* The shared server. Ends the test where PostgreSQL is not installed. */
const struct hf__postgres *hf__postgres_shared(void);
/* In a test: the database of this test on the shared server, the same in each
 * of its processes, empty when the test begins. */
void hf__postgres_test_url(char *url, size_t size);

#endif
