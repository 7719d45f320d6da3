/* SPDX-License-Identifier: MIT */
/*
 * The words of the tests of stores in files: what can happen to the files and
 * the processes, which the contract suite can't know of. A peer is a session
 * with one token a name; a process is a forked child with a page of memory
 * that it shares with the test.
 */
#ifndef HF_TESTS_STORE_SQLITE_WORLD_H
#define HF_TESTS_STORE_SQLITE_WORLD_H

#include "src/backend/compatibility.h"
#include "src/backend/conn.h"
#include "tests/lib/test.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Of the store that is tested: crowd.c and death.c serve two. */
extern const char *const store_scheme;
/* Its side file, behind path_of(""). */
extern const char *const store_side;
/* Do changes of different names wait for each other? */
extern const bool store_has_one_writer;

struct peer {
    struct hf__conn conn;
    struct hf__token token; /* of the next acquire; kept until begin_anew() */
    uint64_t fence;
    struct hf__record record;
    hf_error error;
    int64_t patience_ms; /* of each call; 0: 5 s, stretched */
    /* Of its acquires, and what the last one said: */
    struct hf__lock_mode lock_mode;
    int64_t keep_ms; /* the name stays closed for so long */
    bool is_fair;
    bool is_queued;
    int slot;
    int tries; /* how many there were */
};

/* A peer that leaves at the end of the scope. */
#define PEER(who)                                                              \
    HF_AUTO(leave) struct peer who = {0};                                      \
    EXPECT_IS(enter(&who), HF_OK)

/* "<folder of the test>/locks.db" and its companions: "", "-wal", "-shm",
 * "-holdfast". The text is valid until the fourth next call. */
const char *path_of(const char *suffix);

int enter(struct peer *);
int enter_path(struct peer *, const char *path);
void leave(struct peer *);

void begin_anew(struct peer *);
int acquire(struct peer *, const char *name, int64_t lease_ms);
int release(struct peer *, const char *name);
int renew(struct peer *, const char *name, int64_t lease_ms);
int raise_to(struct peer *, const char *name, uint64_t fence);
int inspect(struct peer *, const char *name);
/* How many hold the name, and wait in its line. */
void count_crowd(struct peer *, const char *name, int *ret_holders,
                 int *ret_waiters);
/* HF_OK, or what killed the session; fired tells whether it woke. */
int wait_for(struct peer *, const char *name, int64_t ms, bool *ret_fired);
/* The name is free, with nobody in its line. */
void expect_nobody(const char *name);
/* Acquire, waiting and trying again up to that long. */
int acquire_within(struct peer *, const char *name, int64_t ms);

/* ---- processes ---------------------------------------------------------- */

#define STAGE_MAX 256

/* What test and children share; zeroed. */
struct stage {
    atomic_int ready;
    atomic_int go;
    atomic_int stop;
    atomic_int inside; /* who holds the lock, or was killed with it */
    atomic_int clashes;
    atomic_int arrived; /* in line */
    atomic_int served;
    atomic_int tries;
    atomic_llong last_fence;
    atomic_llong count[STAGE_MAX];
    atomic_llong longest_us[STAGE_MAX];
    atomic_llong at_us;
    atomic_llong cpu_us;
};

struct stage *stage_new(void);
/* A child that runs fn(stage, index) and exits; it dies with the test. */
pid_t start(void (*fn)(struct stage *, int), struct stage *, int index);
/* The same, and waits until it is ready. */
pid_t start_ready(void (*fn)(struct stage *, int), struct stage *, int index);
/* In a child: is ready, and stays until the test says stop. */
void stay(struct stage *);
/* A child: has "job" with that lease, its fence in last_fence, and stays. */
void hold_job(struct stage *, int lease_ms);
/* Reap it; gives its exit code, or −SIGKILL. */
int finish(pid_t);
void kill_now(pid_t);
/* Until *value is at least `least`; fails the test after 10 s. */
void until(atomic_int *value, int least);
int64_t now_us(void);
/* A bound, for the machine the tests run on: five times as much where
 * HOLDFAST_TEST_SLOW says that sanitizers watch. */
int64_t stretched(int64_t time);

/* Jain's index of count[0..n): 1 is fair, 1/n is not. In thousandths. */
int fairness(struct stage *, int n);

/* ---- others ------------------------------------------------------------- */

#define GROUP    12
#define STRANGER 65534
#define MEMBER   4321 /* of the group */

/* In a child of root: be that user. Of anybody else's: stay who you are. */
void become(int uid);
/* Everybody may make files in the folder, and remove his own. */
void open_to_all(void);
/* A file in a folder that nobody else may enter, and its path. */
void keep_a_secret(void);
const char *secret(void);
void expect_the_secret_kept(void);

/* ---- the database, from outside ----------------------------------------- */

/* Run SQL with a connection of its own; SQLite's code. Not in a process that
 * has peers: see How To Corrupt, 2.2. Here: in a child. */
void sql(const char *path, const char *text);
void copy_file(const char *from, const char *to);
/* others.c; a child: has SQLite's write lock until go, as a shell after BEGIN
 * IMMEDIATE. */
void be_a_shell(struct stage *, int);

#endif
