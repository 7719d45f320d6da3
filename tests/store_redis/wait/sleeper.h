/* SPDX-License-Identifier: MIT */
/*
 * The words of the tests about waiting on Redis: a server of the test's own,
 * sessions at the contract that stand each for a client, and those of them
 * that sleep in wait(), each in a thread of its own.
 */
#ifndef HF_TESTS_STORE_REDIS_WAIT_SLEEPER_H
#define HF_TESTS_STORE_REDIS_WAIT_SLEEPER_H

#include "src/backend/compatibility.h"
#include "src/backend/conn.h"
#include "tests/lib/test.h"
#include "tests/servers/redis.h"

#include <stdatomic.h>

/* A bound for the machine the tests run on; see api.h. */
int64_t slowly(int64_t ms);
/* Milliseconds since a point of hf__test_now_ms(). */
int64_t after(int64_t start_ms);

/* The test's own server, until the end of the scope. First in a test. */
#define SERVER(opts)                                                           \
    HF_AUTO(end_server) struct hf__redis *own_server = start_server(opts);     \
    (void)own_server
struct hf__redis *start_server(const struct hf__redis_opts *);
void end_server(struct hf__redis **);
struct hf__redis *server(void);

/* A client's session with it. */
struct party {
    struct hf__conn conn;
    hf_error error;
    struct hf__token token;   /* of its last claim */
    struct hf__record record; /* as its last attempt told it */
    bool is_queued;
};
/* Closed at the end of the scope. */
#define PARTY(name) HF_AUTO(leave) struct party name = {.conn.client = 0}
void leave(struct party *);
/* As that user ("name:password@", "" for none), of that client. */
void enter(struct party *, uint64_t client, const char *user);

/* One attempt for the name: a claim of its own at each call of try_for(), the
 * same one once more by again(). */
int try_for(struct party *, const char *name, int64_t lease_ms);
int try_as(struct party *, const char *name, struct hf__lock_mode,
           enum hf__queueing, int64_t lease_ms);
int again(struct party *, const char *name, struct hf__lock_mode,
          enum hf__queueing, int64_t lease_ms);
int let_go(struct party *, const char *name);

/* A lease that no test outlives; what an offer lasts; the longest until a
 * sleeper looks by itself. */
enum { LONG_MS = 60000, OFFER_MS = 300, LOOK_MS = 1200 };
#define ALONE  ((struct hf__lock_mode){HF__MODE_EXCLUSIVE, 0})
#define SHARED ((struct hf__lock_mode){HF__MODE_SHARED, 0})

/* Someone asleep: a session, and what it waits for. */
struct sleeper {
    struct party who;
    struct hf__watch watch;
    char key[HF__KEY_MAX];
    struct hf__test_thread *thread; /* NULL: it is up */
    atomic_int state; /* 0: it sleeps; 1: it was woken; negative: it failed */
    atomic_bool is_called_off;
};

/* Enters as that client, sees that the name is held, sleeps until it is woken.
 */
void fall_asleep(struct sleeper *, uint64_t client, const char *name);
void fall_asleep_as(struct sleeper *, uint64_t client, const char *name,
                    struct hf__lock_mode, enum hf__queueing);
/* The same for a session that has entered and tried. */
void sleep_on(struct sleeper *, const char *name, struct hf__lock_mode);
/* Once it is woken: its session may be used. */
void rise(struct sleeper *);
/* Ends its sleep, if it sleeps, and its session. */
void call_off(struct sleeper *);
/* Waits until so many of them are woken; fails the test if it takes longer.
 * Gives the milliseconds. */
int64_t await_woken(struct sleeper *, int n, int woken, int64_t ms);
int count_woken(struct sleeper *, int n);

/* The sleepers of most tests, called off at the end of the scope, and the
 * server. */
enum { CROWD = 8 };
extern struct sleeper crowd[CROWD];
#define SCENE(opts)                                                            \
    SERVER(opts);                                                              \
    HF_AUTO(call_all_off) int crowd_sleeps = 0;                                \
    (void)crowd_sleeps
void call_all_off(const int *);
/* The same, and somebody holds "job" for long. */
#define JOB_HELD_BY(name)                                                      \
    SCENE(NULL);                                                               \
    PARTY(name);                                                               \
    hold_job(&name)
void hold_job(struct party *);
/* The first n of them, for "job", one after the other. */
void all_fall_asleep(int n);

/* What the server has: how many sleep for the name, how many channels are
 * listened to. */
int64_t registered(const char *name);
int64_t channels(void);
/* Waits until fn gives n; fails the test if it does not within a second. */
void await_count(int64_t (*fn)(void), int64_t n);
void await_registered(const char *name, int n);

#endif
