/* SPDX-License-Identifier: MIT */
/*
 * A private MariaDB for tests: data folder, port and socket of its own, an
 * ordinary user whose privileges end at databases called hf_…, and an
 * administrator who gets in by the socket only. What can't be done fails the
 * test. A server and its folder never outlive the process that started it.
 *
 *     struct hf__mariadb *m = hf__mariadb_start(NULL);
 *
 *     hf__mariadb_fresh_url(m, url, sizeof url);
 *     …
 *     hf__mariadb_free(m);
 */
#ifndef HF_TESTS_SERVERS_MARIADB_H
#define HF_TESTS_SERVERS_MARIADB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HF__MARIADB_USER     "holdfast"
#define HF__MARIADB_PASSWORD "knock-twice"

struct hf__mariadb;

struct hf__mariadb_opts {
    const char *const *extra; /* options of mariadbd; NULL-ended; or NULL */
    bool on_disk;             /* the folder; else in memory, if there is room */
};

enum { HF__MARIADB_NAME = 64, HF__MARIADB_URL = 256 };

bool hf__mariadb_is_installed(void);
/* Ends the test where MariaDB is not installed: skipped; failed in CI. */
void hf__mariadb_need(void);

/* Starts one and waits until it answers. Without opts: the default. Calls
 * hf__mariadb_need(). Not to be called beside threads of the test. */
struct hf__mariadb *hf__mariadb_start(const struct hf__mariadb_opts *);
/* Kills it, if it runs, and removes its folder. NULL is fine. */
void hf__mariadb_free(struct hf__mariadb *);

/* For the process that started it: */
/* As a service manager stops it; the data stay. Returns when it has ended. */
void hf__mariadb_stop(struct hf__mariadb *);
/* By SIGKILL; the data stay. Returns when it has ended. */
void hf__mariadb_kill(struct hf__mariadb *);
/* After stop or kill: the same data and port; other options if not NULL.
 * Waits until it answers. */
void hf__mariadb_restart(struct hf__mariadb *, const char *const *extra);
/* SIGSTOP and SIGCONT. */
void hf__mariadb_pause(struct hf__mariadb *);
void hf__mariadb_resume(struct hf__mariadb *);
/* Has it ended by itself? */
bool hf__mariadb_has_ended(struct hf__mariadb *);

/* For any process and thread: */
int hf__mariadb_port(const struct hf__mariadb *);
pid_t hf__mariadb_pid(const struct hf__mariadb *);
const char *hf__mariadb_socket(const struct hf__mariadb *);

/* Runs one statement as the administrator. */
__attribute__((format(printf, 2, 3))) void
hf__mariadb_sql(const struct hf__mariadb *, const char *format, ...);
/* The same; 0, or the number of the error. */
__attribute__((format(printf, 2, 3))) unsigned
hf__mariadb_try(const struct hf__mariadb *, const char *format, ...);
/* The first value of its first row: "" if there is none or it is NULL. Valid
 * until this thread's next call. */
__attribute__((format(printf, 2, 3))) const char *
hf__mariadb_value(const struct hf__mariadb *, const char *format, ...);

/* What SHOW GLOBAL STATUS says of that; "" if there is none, or no server. */
const char *hf__mariadb_status(const struct hf__mariadb *, const char *name);
/* The same of SHOW SLAVE STATUS. */
const char *hf__mariadb_replica(const struct hf__mariadb *, const char *name);

/* Makes a database that no other call has made, hf_<something>. */
void hf__mariadb_database(const struct hf__mariadb *,
                          char name[HF__MARIADB_NAME]);
/* mysql://USER:PASSWORD@127.0.0.1:PORT/DATABASE */
void hf__mariadb_url(const struct hf__mariadb *, const char *database,
                     char *url, size_t size);
/* Both in one. */
void hf__mariadb_fresh_url(const struct hf__mariadb *, char *url, size_t size);

/* ---- one server for all tests of a program */

/* To be called before the first test; starts the server, which ends with the
 * program. Does nothing where MariaDB is not installed. */
void hf__mariadb_share(void);
/* The shared server. Ends the test where MariaDB is not installed. */
const struct hf__mariadb *hf__mariadb_shared(void);
/* In a test: the database of this test on the shared server, the same in each
 * of its processes, empty when the test begins. */
void hf__mariadb_test_url(char *url, size_t size);

#endif
