/* SPDX-License-Identifier: MIT */
/*
 * The words of the contract tests over the public API. A test reads as a
 * sentence about a store; which store it is, the program's first argument
 * says, and no test asks. Differences are capabilities: a test that speaks of
 * one which not all stores have is a TEST_IF().
 *
 * All of it fails the running test when something unexpected happens, so
 * that only what a test is about has a status.
 */
#ifndef HF_TESTS_CONTRACT_API_H
#define HF_TESTS_CONTRACT_API_H

#include "include/holdfast.h"
#include "tests/lib/each.h"
#include "tests/lib/test.h"

#include <stdio.h>

/* Close or free what the variable has when its scope ends. Locks declared
 * after their client are freed before it is closed. */
#define AUTO_CLIENT __attribute__((cleanup(close_client))) hf_client
#define AUTO_LOCK   __attribute__((cleanup(free_lock), unused)) hf_lock
#define AUTO_INFO   __attribute__((cleanup(free_info))) hf_info
#define AUTO_CANCEL __attribute__((cleanup(free_cancel))) hf_cancel
void close_client(hf_client **);
void free_lock(hf_lock **);
void free_info(hf_info **);
void free_cancel(hf_cancel **);

/* ---- time */

/* A bound, or a lease, for the machine the tests run on: five times as much
 * where HOLDFAST_TEST_SLOW says that sanitizers or valgrind watch. */
int64_t patience(int64_t ms);
/* Milliseconds since a point of hf__test_now_ms(). */
int64_t since(int64_t start_ms);
/* How much of a lease its holder may believe: less 1 % and 5 ms. */
int64_t safe(int64_t lease_ms);

/* ---- the store */

const char *scheme(void);
/* What its URL says of it, so that the runner may ask, and any word: has it all
 * these HF_CAP_ flags? */
bool store_can(unsigned flags);
/* Has a grant the lease that its caller asks for? One that lives with its
 * session has the session's, and api_session.c says what holds there. */
bool store_leases(void);
/* Can other processes have it? */
bool store_is_shared(void);
/* Is who waits told when a name is free? Else it looks now and then. */
bool store_wakes(void);
/* Can it delete what nobody uses? */
bool store_cleans(void);
/* Does what it keeps of a grant tell whether that was given back? */
bool store_tells_ends(void);
/* Does all that waits stand in line there? */
bool store_queues(void);
/* Is a grant over as soon as its session is closed? */
bool store_ends_at_once(void);
/* Is a grant there until its lease is over, though its session was cut? */
bool store_keeps_what_is_cut(void);
/* Does a break end nothing but that grant? */
bool store_breaks_one(void);
/* Can a client hold hundreds? Not where each costs a connection. */
bool store_has_room(void);
/* What it says of itself when it is opened. */
hf_caps_info store_info(void);
/* The lease that a grant really has which was asked for with this one. */
int64_t lease_given(int64_t lease_ms);
/* How long a holder that is dead and not seen to be has it at most: a session
 * is given half as much again, and a tick of the server. */
int64_t end_given(int64_t lease_ms);
/* Is a place in line its session's, and gone with that? */
bool has_session_places(void);
/* How long one that is dead, or does not ask again, is waited for in a line at
 * most: as long as said, or till the end of the session whose place it is. */
int64_t wait_given(int64_t ms);
/* The URL of this test's own store; the same in all its processes. With
 * options, "prefix=a&io_timeout=1s", or NULL. */
const char *store_url(const char *options);
/* The same with another time-out of sessions, where the store has them. */
void write_timed_url(char *to, size_t size, const char *options,
                     int64_t timeout_ms);
/* "io_timeout=1500ms&more": who answers at all answers within that patience. */
const char *io_timeout(int64_t ms, const char *more);
hf_client *open_store(void);
/* A client of each of these names, until the end of the scope. */
#define CLIENTS(...)     HF__EACH(HF__CLIENT, __VA_ARGS__)
#define HF__CLIENT(name) AUTO_CLIENT *name = open_store()
hf_client *open_with(const char *options);
/* Its session, if a lease is that one's, lasts as long as any lease that a test
 * asks for, so that nothing is renewed but by the test. */
hf_client *open_lasting(const char *options);
/* The same store, seen through faults: "fault=lose_reply:acquire:1". */
hf_client *open_faulty(const char *options);
/* hf_open() of any URL, for those that must be refused. */
int open_status(const char *url, hf_error *err);

/* ---- locks */

/* Options with this patience and lease, or the session's; renewed unless said
 * otherwise; of an owner of their own, as if another thread asked. */
hf_acquire_opts wanting(int64_t wait_ms, int64_t lease_ms);
/* Waits up to 10 s; fails the test unless granted. Lease 30 s. */
hf_lock *acquire(hf_client *, const char *name);
/* A client of each name, the first of which has the lock: HELD(job, alice) has
 * "job". */
#define HELD(lock, ...)                                                        \
    HF__EACH(HF__CLIENT, __VA_ARGS__);                                         \
    AUTO_LOCK *lock = acquire(HF__FIRST(__VA_ARGS__, 0), #lock)
/* The same with this lease, renewed by the library … */
hf_lock *acquire_leased(hf_client *, const char *name, int64_t lease_ms);
/* … or not renewed: so it is lost. A session's lease is not the caller's to
 * choose, so there it is held no longer than that, which loses it as well. */
hf_lock *acquire_fixed(hf_client *, const char *name, int64_t lease_ms);
/* With these options; fails the test unless granted. */
hf_lock *must_acquire(hf_client *, const char *name, const hf_acquire_opts *);
/* Fails the test unless that is the status, and the error has that word. */
void expect_no_grant(hf_client *, const char *name, const hf_acquire_opts *,
                     int status, const char *word);
/* The options for it: a lease, if it is the caller's to choose … */
void set_lease(hf_acquire_opts *, int64_t lease_ms);
/* … or such an end. */
void end_after(hf_acquire_opts *, int64_t ms);
/* The status of one attempt; a grant is given back. */
int attempt_with(hf_client *, const char *name, const hf_acquire_opts *);
/* The same with this patience and the usual lease. */
int attempt(hf_client *, const char *name, int64_t wait_ms);
int try_once(hf_client *, const char *name);
/* Waits at most so long for the name, gives it back, and says how many
 * milliseconds it took. Fails the test if it stays held. */
int64_t await_free(hf_client *, const char *name, int64_t wait_ms);
/* The thread that hears of breaks opens a connection of its own when the first
 * acquire is long done. Returns once it has told of one, of "heard". */
void await_listening(hf_client *);
/* Fails the test unless the lock is lost, with that reason, in every way
 * one can ask. */
void expect_lost(hf_lock *, hf_reason);
void expect_held(hf_lock *);
/* Fails the test unless inspection says so. */
hf_info *look_at(hf_client *, const char *name);
hf_presence presence(hf_client *, const char *name);
hf_cancel *new_cancel(void);
/* What the client counts. */
hf_stats_info stats_of(hf_client *);

/* ---- log lines */

/* Opens the store with a sink that keeps up to 32 lines. */
hf_client *open_logged(hf_level);
hf_client *open_logged_with(hf_open_opts *);
/* Opens it as open_faulty(), with this sink. */
hf_client *open_heard(const char *options, hf_level, hf_log_fn, void *arg);
/* A kept line that contains all of these, NULL-ended; NULL if none does. */
const char *logged(const char *first, ...) __attribute__((sentinel));

/* ---- this process */

int count_threads(void);
/* Waits until the number of threads has come down to n; says the number. */
int threads_after_ending(int n);
int count_fds(void);
/* The thread's number for await_sleep(). */
int thread_number(void);
/* Waits until that thread has been asleep for some milliseconds, or ended. */
void await_sleep(const _Atomic int *thread);
/* Waits a moment for all threads of that process to be asleep: none of them
 * is then in the midst of something that others wait for. */
void await_rest(int process);

#endif
