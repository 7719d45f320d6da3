/* SPDX-License-Identifier: MIT */
/*
 * To break a lock is to end the connection that has it: which one that is the
 * server says, never a list in which who waits looks like who holds. Who waits
 * is next, on the connection that it has. Who may not end it is told whose it
 * is, and nothing has changed.
 */
#include "tests/store_mysql_session/relay.h"
#include "tests/store_mysql_session/world.h"

#include <stdlib.h>
#include <string.h>

#define LONG "session_timeout=60s"

TEST(a_break_ends_the_holder_and_serves_the_waiter)
{
    say_options(LONG);
    HELD(job, alice, carol);
    hf_client *bob = open_store();
    AUTO_LOCK *other = acquire(alice, "other");
    int64_t waiting;
    struct waiter w;

    begin_to_wait(&w, bob, "job", patience(10000));
    await_queue(1);
    waiting = first_in_queue();
    EXPECT_IS(hf_break(carol, "job", hf_fence(job), NULL), HF_OK);
    EXPECT_IS(end_waiting(&w), HF_OK);
    EXPECT_SAFE_IS(holder_of("job"), waiting);
    EXPECT_SAFE_MORE(hf_fence(w.lock), hf_fence(job));
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    EXPECT_IS(hf_wait_lost(other, patience(5000)), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
    expect_lost(other, HF_REASON_SESSION);
    expect_held(w.lock);
    EXPECT_IS(hf_release(w.lock, NULL), HF_OK);
    hf_free(w.lock);
    hf_close(bob);
}

TEST(what_is_free_or_another_grant_is_not_broken)
{
    HELD(job, alice, bob);

    EXPECT_IS(hf_break(bob, "nothing", 0, NULL), HF_CONFLICT);
    EXPECT_IS(hf_break(bob, "job", hf_fence(job) + 1, NULL), HF_CONFLICT);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_CONFLICT);
}

/* ---- without the right to */

TEST(who_may_not_end_the_holder_is_told_whose_it_is)
{
    say_options(LONG);
    HELD(job, alice, bob);
    uint64_t fence = hf_fence(job);
    char whose[60];
    hf_error err = HF_ERROR_INIT;

    come_as(new_user("other", "ALL"));
    AUTO_CLIENT *carol = open_store();
    come_as(NULL);

    EXPECT_IS(hf_break(carol, "job", fence, &err), HF_EAUTH);
    snprintf(whose, sizeof whose, "the lock is that of connection %lld, which",
             (long long)holder_of("job"));
    EXPECT_HAS(err.text, whose);
    EXPECT_HAS(err.text, "CONNECTION ADMIN");
    EXPECT_IS(err.native, 1095);
    expect_held(job);
    EXPECT_IS(hf_fence(job), fence);
    /* Nothing has changed: it is that grant still. */
    AUTO_INFO *info = look_at(bob, "job");
    EXPECT_IS(hf_info_fence(info), fence);
    EXPECT_TEXT(row_says("job", "broken"), "0");
    EXPECT_IS(hf_break(bob, "job", fence, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
}

/* ---- of one's own client */

TEST(a_client_breaks_a_lock_of_its_own_and_no_other)
{
    say_options(LONG);
    HELD(job, alice);
    AUTO_LOCK *other = acquire(alice, "other");
    int64_t holder = holder_of("other");

    EXPECT_IS(hf_break(alice, "job", hf_fence(job), NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
    EXPECT_IS(holder_of("job"), 0);
    expect_held(other);
    EXPECT_IS(holder_of("other"), holder);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* It is on another connection than what asks. */
TEST(a_client_breaks_a_lock_of_its_own_elsewhere)
{
    say_options(LONG "&locks_per_connection=1");
    HELD(job, alice);
    AUTO_LOCK *other = acquire(alice, "other");

    EXPECT_IS(hf_break(alice, "job", hf_fence(job), NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
    expect_held(other);
    EXPECT_IS(attempt(alice, "job", patience(5000)), HF_OK);
}

/* ---- given back in the meantime */

static void break_it(void *arg)
{
    EXPECT(hf_break(arg, "job", 0, NULL) >= 0);
}

static void await_state(const char *state)
{
    UNTIL(strtol(hf__mariadb_value(server(),
                                   "SELECT COUNT(*) FROM "
                                   "information_schema.PROCESSLIST WHERE "
                                   "DB='%s' AND STATE='%s'",
                                   database(), state),
                 NULL, 10) > 0);
}

/* Its connection has another lock, which is not meant. */
TEST(a_break_that_comes_too_late_ends_no_connection)
{
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *carol = open_by(relay_port(r), "tls=off");
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *other = acquire(alice, "other");
    struct hf__test_thread *breaker;

    relay_translate(r, "KILL IF(", "KILL IF(SLEEP(1)+", 1);
    breaker = hf__test_start(break_it, carol);
    await_state("User sleep");
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(breaker);
    EXPECT_IS(relay_hits(r), 1);
    EXPECT_IS(hf_wait_lost(other, 200), HF_TIMEDOUT);
    expect_held(other);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
}

/* ---- where there is no database */

TEST(without_a_database_a_lock_is_broken_too)
{
    say_options(LONG);
    name_database(NULL);
    HELD(job, alice, bob);
    AUTO_LOCK *next = NULL;

    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    EXPECT_IS(hf_held(job), 0);
    next = acquire(bob, "job");
    expect_held(next);
}
