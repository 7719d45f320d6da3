/* SPDX-License-Identifier: MIT */
/*
 * Servers that can both be written to, for they do not hear of each other. What
 * both have written stops neither, and who was the primary grants nothing
 * beside the new one.
 */
#include "tests/store_mysql_pair/site.h"

static void lock_some(hf_client *client)
{
    for (int i = 0; i < 5; i++) {
        EXPECT_IS(attempt_longest(client, "job", grant_ms()), HF_OK);
        EXPECT_IS(attempt_longest(client, "other", grant_ms()), HF_OK);
    }
}

/* A server shows now and then only that it is used. */
static bool is_used_beside(hf_client *client)
{
    EXPECT_IS(attempt_longest(client, "job", 0), HF_OK);
    return told_by(0, "shown_at") > told_by(1, "grants_from");
}

/* Both are used all the time, so that neither has to become it anew. */
TEST_WITHIN(60, what_both_wrote_while_they_were_parted_stops_neither)
{
    OWN_PAIR;
    DOOR(d);
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = NULL;
    hf_acquire_opts opts = longest(grant_ms()); /* it has begun just now */
    AUTO_LOCK *kept = NULL;
    hf_verdict verdict = HF_UNFIT;

    lock_some(alice);
    hf__mariadb_pair_await_caught_up(pair(), 1);
    close_client(&alice);
    alice = client_of(url_reaching(0));
    kept = must_acquire(alice, "kept", &opts);
    hf__mariadb_pair_cut_link(pair());
    hf__mariadb_pair_set_read_only(pair(), 1, false);
    bob = client_of(url_reaching(1));
    lock_some(bob);
    EXPECT(hf_held(kept));
    lock_some(alice);
    EXPECT_IS(attempt_longest(alice, "unheard of", 0), HF_OK);
    EXPECT_IS(attempt_longest(bob, "unheard of", 0), HF_OK);
    UNTIL(is_used_beside(alice));
    EXPECT_IS(primary_at(0), 1);
    EXPECT_IS(primary_at(1), 2);
    hf__mariadb_pair_heal_link(pair());
    expect_both_well();
    hf__mariadb_pair_set_read_only(pair(), 0, true);
    lock_some(bob);
    expect_both_well();
    EXPECT_IS(enter(&d, url_of(0)), HF_OK);
    EXPECT_HAS(finding(&d, "two_primaries", &verdict), "at once");
    EXPECT_IS(verdict, HF_WARN);
}

/* The one that comes back writable knows of no other until it has caught up,
 * which takes as long as the operator likes. */
TEST_WITHIN(60, who_comes_back_writable_grants_nothing_beside_the_new_primary)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = NULL;
    hf_acquire_opts opts = longest(grant_ms());
    AUTO_LOCK *lock = NULL;
    int64_t start;

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    hf__mariadb_pair_await_caught_up(pair(), 1);
    lose_the_first();
    lock = must_acquire(alice, "job", &opts);
    hf__mariadb_pair_cut_link(pair());
    hf__mariadb_pair_restart(pair(), 0, false);
    start = hf__test_now_ms();
    while (since(start) < longest_ms()) {
        hf_error err = HF_ERROR_INIT;

        if (hf_open(url_of(0), NULL, &bob, &err) == HF_OK) {
            EXPECT_SAFE(attempt_longest(bob, "job", 0) != HF_OK ||
                        !hf_held(lock));
        }
        EXPECT(hf_held(lock));
        close_client(&bob);
        bob = NULL;
    }
    hf__mariadb_pair_set_read_only(pair(), 0, true);
    hf__mariadb_pair_heal_link(pair());
    expect_both_well();
    EXPECT_IS(primary_at(0), 2);
}

/* Its clients are still connected, and it has heard of nothing. */
TEST_WITHIN(60,
            who_was_stopped_and_goes_on_grants_nothing_beside_the_new_primary)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = NULL;
    hf_acquire_opts opts = longest(grant_ms());
    AUTO_LOCK *lock = NULL;

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    hf__mariadb_pair_await_caught_up(pair(), 1);
    hf__mariadb_pair_cut_link(pair());
    hf__mariadb_pause(node(0));
    hf__mariadb_pair_set_read_only(pair(), 1, false);
    bob = client_of(url_of(1));
    lock = must_acquire(bob, "job", &opts);
    hf__mariadb_resume(node(0));
    EXPECT_SAFE(attempt_longest(alice, "job", 0) != HF_OK || !hf_held(lock));
    EXPECT(hf_held(lock));
    hf__mariadb_pair_set_read_only(pair(), 0, true);
    hf__mariadb_pair_heal_link(pair());
    expect_both_well();
}
