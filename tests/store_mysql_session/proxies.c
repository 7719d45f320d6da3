/* SPDX-License-Identifier: MIT */
/*
 * Proxies, and servers that are not as ours: what would let two in is refused
 * when the store is opened, in one sentence; what changes later costs the
 * locks, and never grants one.
 */
#include "tests/store_mysql_session/relay.h"
#include "tests/store_mysql_session/world.h"

#define PLAIN "tls=off"

static void expect_refused(int port, int status, const char *words)
{
    hf_error err = HF_ERROR_INIT;

    reach_by_port(port);
    EXPECT_IS(open_status(store_url(PLAIN), &err), status);
    EXPECT_HAS(err.text, words);
    reach_by_port(0);
}

TEST(a_proxy_that_shares_connections_is_refused)
{
    AUTO_RELAY *r = start_relay();

    relay_multiplex(r);
    expect_refused(relay_port(r), HF_EUNSAFE,
                   "scheme=session: statements of one connection reach "
                   "several, so it is a proxy's: connect to the server itself");
}

TEST(a_proxy_that_keeps_connections_longer_is_refused)
{
    AUTO_RELAY *r = start_relay();

    relay_translate(r, "wait_timeout=", "wait_timeout=1", 0);
    expect_refused(relay_port(r), HF_EUNSAFE,
                   "the session's wait_timeout can't be set to");
}

TEST(a_server_that_takes_no_writes_is_refused)
{
    AUTO_RELAY *r = start_relay();

    relay_translate(
        r, "SHOW SESSION VARIABLES WHERE Variable_name IN(",
        "SELECT VARIABLE_NAME,IF(VARIABLE_NAME='read_only','ON',VARIABLE_VALUE)"
        " FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME IN(",
        0);
    expect_refused(relay_port(r), HF_EUNAVAIL, "the server is read-only");
}

/* ---- a connection that is another from one statement to the next */

/* The old one is there still, with the lock: the holder ends it. */
TEST_WITHIN(60, who_has_another_connection_has_its_locks_no_more)
{
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), PLAIN);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *other = acquire(alice, "other");

    EXPECT_IS(holder_of("job"), holder_of("other"));
    relay_replace(r);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    EXPECT_IS(hf_wait_lost(other, patience(5000)), HF_LOST);
    expect_lost(job, HF_REASON_SESSION);
    expect_lost(other, HF_REASON_SESSION);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    EXPECT_MORE(await_free(bob, "job", patience(5000)), -1);
    EXPECT_MORE(await_free(bob, "other", patience(5000)), -1);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* By what it asks for, not only by what it renews. */
TEST_WITHIN(60, a_claim_answered_by_another_connection_is_no_grant)
{
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), PLAIN);
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *job = acquire(alice, "job");
    int64_t before = holder_of("job");

    relay_replace(r);
    AUTO_LOCK *other = must_acquire(alice, "other", &opts);

    EXPECT_NOT(holder_of("other"), before);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    expect_held(other);
    EXPECT_IS(try_once(bob, "other"), HF_BUSY);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
    EXPECT_IS(holder_of("other"), 0);
    EXPECT_MORE(await_free(bob, "job", patience(5000)), -1);
}

/* ---- a server that has it no more, of the connection that took it */

/* Whatever somebody did there: no answer but "yours" is one. */
#define GONE "RELEASE_ALL_LOCKS()*0+"

static void lose_to(const char *somebody)
{
    say_options("session_timeout=60s");
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), PLAIN);
    AUTO_LOCK *job = acquire(alice, "job");

    relay_translate(r, "IS_USED_LOCK(", somebody, 1);
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    EXPECT_IS(relay_hits(r), 1);
    expect_lost(job, HF_REASON_SESSION);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

CASE(a_lock_that_nobody_has_is_lost, lose_to(GONE "IS_USED_LOCK("));
CASE(a_lock_that_another_has_is_lost, lose_to("1+IS_USED_LOCK("));

TEST(what_was_not_ours_to_give_back_was_lost)
{
    say_options("session_timeout=60s");
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), PLAIN);
    AUTO_LOCK *job = acquire(alice, "job");

    relay_translate(r, "RELEASE_LOCK(", GONE "RELEASE_LOCK(", 1);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    EXPECT_IS(relay_hits(r), 1);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* ---- a server on which a connection has one user lock at most */

TEST(where_a_connection_has_one_lock_each_lock_has_a_connection)
{
    AUTO_RELAY *r = start_relay();
    hf_lock *locks[5];

    relay_translate(r, "CONNECTION_ID(),IS_USED_LOCK('hp.",
                    "CONNECTION_ID(),0*IS_USED_LOCK('hp.", 0);
    AUTO_CLIENT *alice = open_by(relay_port(r), PLAIN);

    EXPECT_MORE(relay_hits(r), 0);
    for (int i = 0; i < 5; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        locks[i] = acquire(alice, name);
        for (int k = 0; k < i; k++) {
            char earlier[8];

            snprintf(earlier, sizeof earlier, "n%d", k);
            EXPECT_MORE(holder_of(earlier), 0);
            EXPECT_NOT(holder_of(earlier), holder_of(name));
        }
    }
    end_connection(holder_of("n2"));
    EXPECT_IS(hf_wait_lost(locks[2], patience(5000)), HF_LOST);
    for (int i = 0; i < 5; i++) {
        EXPECT_IS(hf_held(locks[i]), i != 2);
        EXPECT_IS(hf_release(locks[i], NULL), i == 2 ? HF_LOST : HF_OK);
        hf_free(locks[i]);
    }
}
