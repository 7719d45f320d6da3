/* SPDX-License-Identifier: MIT */
/*
 * A private Redis for tests: folder, port and socket of its own, nothing
 * written but an append-only file if that is asked for, and an administrator
 * whom no password or ACL of a test keeps out. What can't be done fails the
 * test. A server and its folder never outlive the process that started it.
 *
 *     struct hf__redis *r = hf__redis_start(NULL);
 *
 *     hf__redis_url(r, 0, url, sizeof url);
 *     …
 *     hf__redis_free(r);
 */
#ifndef HF_TESTS_SERVERS_REDIS_H
#define HF_TESTS_SERVERS_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hf__redis;

struct hf__redis_opts {
    const char *const *extra; /* lines of redis.conf; NULL-ended; or NULL */
    const char *password;     /* of the default user; NULL: none is needed */
    const char *users; /* more lines of the ACL file: "user bob on …" */
    bool has_aof;      /* each write is flushed before its reply */
    bool has_tls;      /* on a port of its own; a client's certificate
                        * is asked for, but not needed */
    bool on_disk;      /* the folder; else in memory, if there is room */
    int sentinel_port; /* it is a Sentinel, there; 0: a server */
};

enum { HF__REDIS_URL = 320, HF__REDIS_DATABASES = 10000 };

bool hf__redis_is_installed(void);
/* Ends the test where Redis is not installed: skipped; failed in CI. */
void hf__redis_need(void);

/* Starts one and waits until it answers. Without opts: all of them unset.
 * Calls hf__redis_need(). Not to be called beside threads of the test. */
struct hf__redis *hf__redis_start(const struct hf__redis_opts *);
/* Kills it, if it runs, and removes its folder. NULL is fine. */
void hf__redis_free(struct hf__redis *);

/* For the process that started it: */
/* As a service manager stops it. Returns when it has ended. */
void hf__redis_stop(struct hf__redis *);
/* By SIGKILL. Returns when it has ended. */
void hf__redis_kill(struct hf__redis *);
/* After stop or kill: on the same port, with what the append-only file kept;
 * other lines of redis.conf if not NULL. Waits until it answers. */
void hf__redis_restart(struct hf__redis *, const char *const *extra);
/* The same in two halves: starts it, and waits; it may be loading meanwhile. */
void hf__redis_launch(struct hf__redis *, const char *const *extra);
void hf__redis_await(struct hf__redis *);
/* SIGSTOP and SIGCONT. */
void hf__redis_pause(struct hf__redis *);
void hf__redis_resume(struct hf__redis *);
/* Has it ended by itself? */
bool hf__redis_has_ended(struct hf__redis *);

/* For any process and thread: */
int hf__redis_port(const struct hf__redis *);
int hf__redis_tls_port(const struct hf__redis *);
pid_t hf__redis_pid(const struct hf__redis *);
const char *hf__redis_socket(const struct hf__redis *);
/* redis://[:PASSWORD@]127.0.0.1:PORT/DATABASE */
void hf__redis_url(const struct hf__redis *, int database, char *url,
                   size_t size);

/* ---- commands of the administrator */

/* Each on a connection of its own by the socket. The words are separated by
 * spaces; what a % stands for is one word or a part of one, whatever is in it.
 * A text that is given back is valid until this thread's next call.
 *
 * A number or a text as it is, "" for nil, each element of an array on a line
 * of its own. An error fails the test. */
__attribute__((format(printf, 2, 3))) const char *
hf__redis_command(const struct hf__redis *, const char *format, ...);
/* The text of the error; NULL: it went well. */
__attribute__((format(printf, 2, 3))) const char *
hf__redis_try(const struct hf__redis *, const char *format, ...);
/* The value of a field in a reply of lines FIELD:VALUE, as INFO's, or of
 * fields and values in turn, as those of HGETALL and CONFIG GET; "" if there
 * is none. */
__attribute__((format(printf, 3, 4))) const char *
hf__redis_value(const struct hf__redis *, const char *field, const char *format,
                ...);
/* The database of the calling process's commands from now on; at first 0, on
 * a shared server that of the test. */
void hf__redis_select(struct hf__redis *, int database);

/* ---- TLS */

/* The path of a file: "ca.crt", which signed all but itself; "client.crt" and
 * "client.key"; "server", the one shown at first, for 127.0.0.1 and localhost;
 * "elsewhere", for other.example only; "expired"; and "other-ca.crt" with
 * "stranger", signed by that. Valid until this thread's next call. */
const char *hf__redis_tls_file(const struct hf__redis *, const char *name);
/* From now on the server shows NAME.crt. */
void hf__redis_show_certificate(const struct hf__redis *, const char *name);

/* ---- several at once */

enum { HF__REDIS_GROUP = 5, HF__REDIS_MEMBERS = 16 };
struct hf__redis_group;

/* So many, started side by side; 0: five. */
struct hf__redis_group *hf__redis_group_start(int n,
                                              const struct hf__redis_opts *);
void hf__redis_group_free(struct hf__redis_group *);
int hf__redis_group_size(const struct hf__redis_group *);
/* By number, from 0. */
struct hf__redis *hf__redis_member(const struct hf__redis_group *, int);
/* Mark it as a member of a group that was seen whole when it was new, so that
 * no first client must find all of them there: on a busy machine one may be
 * late. In the database of this process's commands; one that is marked stays as
 * it is. */
void hf__redis_mark(const struct hf__redis *);
/* redlock://127.0.0.1:PORT,…/DATABASE */
void hf__redis_group_url(const struct hf__redis_group *, int database,
                         char *url, size_t size);

/* ---- one server, or one group of five, for all tests of a program */

/* To be called before the first test; starts it, and it ends with the program.
 * Does nothing where Redis is not installed. Both have an append-only file and
 * are not for a test that stops, pauses or configures. */
void hf__redis_share(void);
void hf__redis_share_group(void);
/* What was started. In a test its commands are for the database of this test,
 * the same in each of its processes, empty when the test begins; all others
 * are empty then too, and no script is known. Ends the test where Redis is not
 * installed. */
const struct hf__redis *hf__redis_shared(void);
/* The URLs of that database. */
void hf__redis_test_url(char *url, size_t size);
void hf__redlock_test_url(char *url, size_t size);
int hf__redis_test_database(void);

#endif
