/* SPDX-License-Identifier: MIT */
/*
 * What the tests of mysql://…?scheme=session say besides the words of
 * tests/contract/api.h: where the store is and with which options, what an
 * administrator sees of a lock on the server, and who waits on a thread of its
 * own. The server is the one that the program's tests share, the database the
 * test's.
 */
#ifndef HF_TESTS_STORE_MYSQL_SESSION_WORLD_H
#define HF_TESTS_STORE_MYSQL_SESSION_WORLD_H

#include "tests/contract/peer.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/proxy.h"

#include <mysql.h>
#include <stdatomic.h>

#define AUTO_PROXY __attribute__((cleanup(free_proxy))) struct hf__proxy
void free_proxy(struct hf__proxy **);
#define AUTO_STRANGER __attribute__((cleanup(end_stranger))) MYSQL
void end_stranger(MYSQL **);

/* ---- the store: the last that was said, also in processes forked then */

/* How long its sessions live, unless a test says otherwise: whole seconds. */
int session_ms(void);
/* "session", unless a test says otherwise. */
void choose_scheme(const char *scheme);
/* Its other options: "session_timeout=9s". */
void say_options(const char *options);
/* Its URL has this port of 127.0.0.1; 0: the server's. */
void reach_by_port(int port);
/* Its URL names no database; or this one. */
void name_database(const char *name);
/* Its user; NULL: the ordinary one. */
void come_as(const char *user_and_password);
/* A user of this test who may do that, "GRANT … TO" is written by it; gives
 * what come_as() takes, till the next call. */
const char *new_user(const char *name, const char *privileges);

const struct hf__mariadb *server(void);
const char *database(void);
struct hf__proxy *start_proxy(void);
/* A client by it. */
hf_client *open_by(int port, const char *options);

/* ---- a lock on the server, as an administrator sees it */

/* The connection that holds it; 0: none does. */
int64_t holder_of(const char *name);
/* How many are in the server's queue for it, or for any user lock of this
 * test's database. Waits until there are so many. */
void await_queue(int n);
/* The one of them that waits. */
int64_t first_in_queue(void);
int connections(void);
void end_connection(int64_t id);
void end_query(int64_t id);
/* One value of the row of that lock; till the next call. */
const char *row_says(const char *name, const char *expression);
/* "fence=7,token=''" */
void set_row(const char *name, const char *assignments);

/* A connection of the ordinary user's that is no client of ours. */
MYSQL *stranger(void);

/* ---- one who waits, on a thread of its own, and keeps what it is given */

struct waiter {
    hf_client *client;
    const char *name;
    int64_t wait_ms;
    struct hf__test_thread *thread;
    hf_lock *lock;
    int result;
    _Atomic bool is_done;
};
void begin_to_wait(struct waiter *, hf_client *, const char *name,
                   int64_t wait_ms);
int end_waiting(struct waiter *);
/* Ends well, and gives back what it has. */
void finish_waiting(struct waiter *);

#endif
