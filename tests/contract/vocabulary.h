/* SPDX-License-Identifier: MIT */
/*
 * The words of the contract suite: parties who claim names, one operation to
 * a word. A party has a session of its own and a token of its own for each
 * name; what its last operation told is in fence, record and error. Tests say
 * what a store does and never ask which one it is: what a store may lack is a
 * capability, and a test that needs one begins with NEEDS().
 *
 *     PARTY(alice);
 *     PARTY(bob);
 *
 *     EXPECT_IS(acquire(&alice, "job"), HF_OK);
 *     EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
 *
 * The store is the one whose scheme is the program's first argument; all
 * parties of a test share one that is new and empty when the test begins.
 */
#ifndef HF_TESTS_CONTRACT_VOCABULARY_H
#define HF_TESTS_CONTRACT_VOCABULARY_H

#include "src/backend/compatibility.h"
#include "src/backend/conn.h"
#include "tests/lib/each.h"
#include "tests/lib/test.h"

#include <stdio.h>

enum { CLAIMS_MAX = 72 };

struct claim {
    char name[HF_NAME_MAX + 1];
    struct hf__token token;
    uint64_t fence; /* of the last grant; 0 before */
    bool is_over;   /* the next acquire begins a new claim */
};

struct party {
    struct hf__conn conn;
    struct hf__owner owner;
    struct claim claims[CLAIMS_MAX];
    int n_claims;
    uint64_t fence;           /* that the last operation gave */
    struct hf__record record; /* that the last operation gave */
    hf_reason reason;         /* that the last operation gave */
    int slot;                 /* that the last operation gave; −1: none */
    bool is_queued;           /* the last acquire left a ticket */
    bool took_over;           /* what nobody gave back, the last acquire */
    uint64_t expired;         /* of what was deleted last */
    struct hf__lock_mode lock_mode; /* of the last acquire */
    hf_error error;                 /* of the last call */
};

/* A party called `who`, connected until the end of the scope; then it gives
 * back what it has. */
#define PARTY(who)                                                             \
    HF_AUTO(give_back_and_leave) struct party who = {0};                       \
    join(&who, #who)
#define PARTIES(...) HF__EACH(PARTY, __VA_ARGS__)
/* The same, and the first one has "job". */
#define JOB_OF(...)                                                            \
    PARTIES(__VA_ARGS__);                                                      \
    EXPECT_IS(acquire(&HF__FIRST(__VA_ARGS__, 0), "job"), HF_OK)

/* ---- the store */

const char *scheme(void);
const struct hf__backend *backend(void);
/* By its URL alone: the runner asks, too. */
bool has(unsigned caps);
/* Can it delete what nobody uses? */
bool cleans(void);
/* Does what it keeps of a grant tell whether that was given back? */
bool tells_ends(void);
/* As urls.h says of the store. */
bool ends_at_once(void);
bool breaks_more(void);
bool settles_late(void);
/* "sqlite:/…/locks.db", the same at each call of a test. */
const char *store_url(void);
/* A time that sanitizers and valgrind may stretch. */
int64_t slowly(int64_t ms);

/* ---- sessions */

void join(struct party *, const char *label);
/* As join, of that URL; gives what open gave. */
int join_url(struct party *p, const char *label, const char *text);
/* Close and open again; claims and tokens stay. */
void rejoin(struct party *);
/* Who asks no more, so that leases and tickets end. Where these live with their
 * session, that one is cut, and the party has another. */
void fall_silent(struct party *);
/* The lease of a grant that asks for this one: the session's, if it has one. */
int64_t lease_given(const struct party *, int64_t lease_ms);
/* A bound for what may take the end of a session that was cut besides, which
 * has half as much again as a lease of it, and a tick of the server. */
int64_t slowly_to_the_end(const struct party *, int64_t ms);
void leave(struct party *);
/* Release all claims, over a session that meets no injected faults. */
void give_back_and_leave(struct party *);

/* ---- operations on one name */

#define LEASE_MS 20000

int acquire(struct party *, const char *name);
/* A claim keeps its token until it is released, handed over or begun anew;
 * so acquiring again what one has is the same claim. */
int acquire_for(struct party *, const char *name, int64_t lease_ms);
int acquire_and_keep(struct party *, const char *name, int64_t lease_ms,
                     int64_t keep_ms);
void begin_anew(struct party *, const char *name);
int renew(struct party *, const char *name);
int renew_for(struct party *, const char *name, int64_t lease_ms);
int release(struct party *, const char *name);
int release_and_reopen(struct party *, const char *name);
/* From one party to the other; the answer and the fence are the giver's, and
 * the fence the taker's too. */
int hand_over(struct party *, const char *name, struct party *taker);
int raise_to(struct party *, const char *name, uint64_t fence);
int inspect(struct party *, const char *name);
/* Break the grant with that fence; 0: any. */
int break_it(struct party *, const char *name, uint64_t fence);
/* Of the party's claim of that name. */
uint64_t fence_of(struct party *, const char *name);
struct claim *claim_of(struct party *, const char *name);
/* The record that was last told has the fence of the party's grant, or, where
 * fences are the server's own numbers, perhaps a later one. */
void expect_last_fence(struct party *, const char *name);
/* Ask until the name is no longer held nor kept, up to 10 s. */
void until_free(struct party *, const char *name);

/* The key of a name, written to buf[HF__KEY_MAX]. */
struct hf__key make_key(char *buf, const char *name);

/* ---- batches */

struct request {
    struct hf__op op; /* op.result is the answer */
    char key[HF__KEY_MAX];
    struct hf__record record;
    hf_error error;
};

/* The operation as the words above would send it. */
void ask(struct party *, struct request *, enum hf__op_kind, const char *name);
/* Sorts by key, sends all in one batch, again what is HF__AGAIN; HF_OK or
 * what killed the session. Takes over what the grants say. */
int send_batch(struct party *, struct request *, int n);
/* Sends one and keeps what it told; the answer, or what killed the session. */
int send_one_request(struct party *, struct request *);

/* ---- waiting */

/* Somebody who waits in a thread of his own for a name to change. */
struct waiting {
    struct party *who;
    struct hf__watch watch;
    char key[HF__KEY_MAX];
    int64_t limit_ms;
    int64_t took_ms;
    int result;
    struct hf__test_thread *thread;
};

/* From what the party's last record said of the name; of its ticket, if its
 * last acquire left one. */
void watch_name(struct waiting *, struct party *, const char *name);
/* Wait on this thread, at most that long. */
int wait_up_to(struct waiting *, int64_t ms);
/* Wait on another thread until woken: some seconds at most. */
void start_waiting(struct waiting *);
/* Fails the test unless it returned well within that time, having fired. */
void expect_woken(struct waiting *);
/* The end of it; took_ms is known then. */
void stop_waiting(struct waiting *);

/* ---- listing */

struct listing {
    char names[CLAIMS_MAX][HF_NAME_MAX + 1];
    struct hf__record records[CLAIMS_MAX];
    int count;
    int stop_after; /* 0: never */
};

/* All held names that begin with `prefix`. */
int list(struct party *, const char *prefix, struct listing *);

/* ---- cleaning */

/* Delete what has been idle for so long; *ret_count: how many. */
int collect_garbage(struct party *, int64_t idle_ms, uint64_t *ret_count);

#endif
