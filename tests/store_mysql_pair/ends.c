/* SPDX-License-Identifier: MIT */
/*
 * Servers that are switched over and killed. What the new primary has got goes
 * on there; what it may lack is nobody's until it is over.
 */
#include "tests/store_mysql_pair/site.h"

#include <stdlib.h>

/* ---- what is held goes on */

static void expect_the_same(hf_client *client, const char *name, uint64_t fence)
{
    AUTO_INFO *info = look_at(client, name);

    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_SAFE_IS(hf_info_fence(info), fence);
}

/* For so long that it was renewed at whoever is the primary now. */
static void expect_it_goes_on(hf_lock *lock, hf_client *other)
{
    int64_t start = hf__test_now_ms();

    while (since(start) < longest_ms() * 5 / 4) {
        int r = attempt_longest(other, "job", 0);

        EXPECT_SAFE(r != HF_OK || !hf_held(lock));
        EXPECT(hf_held(lock));
        EXPECT_IS(r, HF_BUSY);
        hf__test_pause_ms(20);
    }
    expect_the_same(other, "job", hf_fence(lock));
}

TEST_WITHIN(60, who_holds_as_the_servers_are_switched_over_holds_on)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = client_of(url_of(1));
    hf_acquire_opts opts = longest(0);
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);
    AUTO_LOCK *next = NULL;
    uint64_t fence = hf_fence(lock);

    hf__mariadb_pair_switch_over(pair(), 1);
    expect_it_goes_on(lock, bob);
    EXPECT_IS(primary_at(1), 2);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    opts = longest(0); /* nothing is waited for: all was there */
    next = must_acquire(bob, "job", &opts);
    EXPECT_SAFE_MORE(hf_fence(next), fence);
    hf__mariadb_pair_switch_over(pair(), 0);
    expect_it_goes_on(next, alice);
    EXPECT_IS(primary_at(0), 1);
    expect_both_well();
}

TEST_WITHIN(60, what_was_replicated_goes_on_after_a_loss_and_the_rest_waits)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = client_of(url_of(1));
    hf_acquire_opts opts = longest(0);
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);
    AUTO_LOCK *other = NULL;
    int64_t start;

    hf__mariadb_pair_await_caught_up(pair(), 1);
    start = hf__test_now_ms();
    lose_the_first();
    opts = longest(grant_ms());
    other = must_acquire(bob, "other", &opts);
    EXPECT_SAFE_MORE(since(start), longest_ms() - 1);
    EXPECT(hf_held(lock));
    expect_it_goes_on(lock, bob);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    hf__mariadb_pair_restart(pair(), 0, true);
    expect_both_well();
    EXPECT_IS(primary_at(0), 2);
    EXPECT(hf_held(other));
}

static hf_acquire_opts one_of_two(void)
{
    hf_acquire_opts opts = longest(0);

    opts.slots = 2;
    return opts;
}

static hf_acquire_opts reading(void)
{
    hf_acquire_opts opts = longest(0);

    opts.shared = 1;
    return opts;
}

static int attempt_by(hf_client *client, const char *name, hf_acquire_opts opts)
{
    return attempt_with(client, name, &opts);
}

/* Who renews one changes nothing of the name, which may be an old one. */
TEST_WITHIN(60, slots_and_shared_grants_are_held_on_to_as_well)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = client_of(url_of(1));
    hf_acquire_opts opts[] = {one_of_two(), one_of_two(), reading()};
    AUTO_LOCK *one = must_acquire(alice, "pool", &opts[0]);
    AUTO_LOCK *two = must_acquire(bob, "pool", &opts[1]);
    AUTO_LOCK *page = must_acquire(alice, "page", &opts[2]);
    int64_t start = hf__test_now_ms();

    hf__mariadb_sql(node(0), "UPDATE %s.holdfast_lock SET changed_at=1",
                    database());
    hf__mariadb_pair_switch_over(pair(), 1);
    while (since(start) < longest_ms() * 5 / 4) {
        EXPECT_SAFE_IS(attempt_by(bob, "pool", one_of_two()), HF_BUSY);
        EXPECT_SAFE_IS(attempt_by(bob, "page", longest(0)), HF_BUSY);
        EXPECT_IS(attempt_by(bob, "page", reading()), HF_OK);
        EXPECT(hf_held(one) && hf_held(two) && hf_held(page));
        hf__test_pause_ms(20);
    }
    EXPECT_IS(primary_at(1), 2);
    EXPECT_IS(hf_release(two, NULL), HF_OK);
    EXPECT_IS(attempt_by(alice, "pool", one_of_two()), HF_OK);
    EXPECT_IS(hf_release(page, NULL), HF_OK);
    EXPECT_IS(attempt_by(bob, "page", longest(0)), HF_OK);
}

/* The first has a row of it still, whose lease runs. */
TEST_WITHIN(60, what_was_given_back_there_is_free_when_it_is_switched_back)
{
    static const char options[] = "longest_lease=60s";
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_with(0, options));
    AUTO_CLIENT *bob = client_of(url_with(1, options));
    hf_acquire_opts opts = wanting(0, 60000);
    hf_acquire_opts one_of_one = wanting(0, 60000);
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);
    AUTO_LOCK *slot = NULL;
    AUTO_LOCK *next = NULL;
    uint64_t fence = hf_fence(lock);

    one_of_one.slots = 1;
    slot = must_acquire(alice, "pool", &one_of_one);
    hf__mariadb_pair_switch_over(pair(), 1);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(hf_release(slot, NULL), HF_OK);
    EXPECT_IS(primary_at(1), 2);
    hf__mariadb_pair_switch_over(pair(), 0);
    opts = wanting(0, 60000);
    next = must_acquire(bob, "job", &opts);
    EXPECT_SAFE_MORE(hf_fence(next), fence);
    EXPECT_IS(primary_at(0), 1);
}

/* The second waits with new grants, and is the primary no more before it has
 * given any: the first keeps its row, and gets that of the second. */
TEST_WITHIN(60, what_was_given_back_before_anything_was_granted_is_free)
{
    static const char options[] = "longest_lease=60s";
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_with(0, options));
    AUTO_CLIENT *bob = client_of(url_with(1, options));
    hf_acquire_opts opts = wanting(0, 60000);
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);
    AUTO_LOCK *next = NULL;
    uint64_t fence = hf_fence(lock);

    hf__mariadb_pair_await_caught_up(pair(), 1);
    lose_the_first();
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_MORE(told_by(1, "grants_from"), told_by(1, "shown_at"));
    hf__mariadb_pair_restart(pair(), 0, true);
    hf__mariadb_pair_switch_over(pair(), 0);
    opts = wanting(10000, 60000);
    next = must_acquire(bob, "job", &opts);
    EXPECT_SAFE_MORE(hf_fence(next), fence);
    EXPECT_IS(primary_at(0), 1);
}

/* ---- what was not replicated */

/* The operator doesn't wait for it to catch up. */
static void promote(int which)
{
    hf__mariadb_pair_set_read_only(pair(), HF__MARIADB_PAIR - 1 - which, true);
    hf__mariadb_pair_set_read_only(pair(), which, false);
}

/* What is granted now, the one that is promoted lacks. */
static void expect_it_is_waited_for(hf_client *holder, hf_client *next, int to)
{
    AUTO_LOCK *first = acquire_fixed(holder, "job", longest_ms());
    AUTO_LOCK *second = NULL;
    hf_acquire_opts opts = longest(grant_ms());
    int64_t start = hf__test_now_ms();

    promote(to);
    second = must_acquire(next, "job", &opts);
    EXPECT_SAFE(!hf_held(first));
    EXPECT_SAFE_MORE(since(start), longest_ms() - 1);
    EXPECT_SAFE_MORE(hf_fence(second), hf_fence(first));
    EXPECT_IS(primary_at(to), to + 1);
}

/* The one before can be asked: first it has the new one's epoch and the new one
 * lacks what it has granted, then neither gets anything. */
TEST_WITHIN(60, a_primary_that_has_not_got_all_grants_when_that_is_over)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = client_of(url_of(1));

    EXPECT_IS(attempt_longest(alice, "other", 0), HF_OK);
    hf__mariadb_pair_await_caught_up(pair(), 1);
    hf__mariadb_sql(node(1), "STOP SLAVE");
    expect_it_is_waited_for(alice, bob, 1);
    hf__mariadb_sql(node(1), "START SLAVE");
    expect_both_well();
    hf__mariadb_pair_cut_link(pair());
    expect_it_is_waited_for(bob, alice, 0);
    hf__mariadb_pair_heal_link(pair());
    expect_both_well();
}

/* The server tells whole seconds: until then each who comes begins anew. */
static bool has_run_for_a_while(void)
{
    return strtol(hf__mariadb_status(node(0), "Uptime"), NULL, 10) > 2;
}

/* What the other has granted meanwhile it can't tell, being gone. */
TEST_WITHIN(60, a_primary_that_was_restarted_after_a_rest_waits_if_it_is_alone)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_LOCK *lock = NULL;
    hf_acquire_opts opts = longest(grant_ms());
    int64_t start;
    int64_t epoch;

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    close_client(&alice);
    alice = NULL;
    hf__mariadb_pair_kill(pair(), 1);
    hf__mariadb_pair_kill(pair(), 0);
    hf__test_pause_ms(longest_ms());
    hf__mariadb_pair_restart(pair(), 0, false);
    UNTIL(has_run_for_a_while());
    start = hf__test_now_ms();
    alice = client_of(url_of(0));
    EXPECT_IS(attempt_longest(alice, "job", 0), HF_BUSY);
    epoch = told_by(0, "epoch");
    lock = must_acquire(alice, "job", &opts);
    EXPECT_SAFE_MORE(since(start), longest_ms() - 1);
    EXPECT_IS(told_by(0, "epoch"), epoch); /* to wait is no rest */
}

/* Somebody began with it long ago, and was stopped. */
TEST_WITHIN(60, an_epoch_that_was_left_half_done_is_begun_anew)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    close_client(&alice);
    UNTIL(has_run_for_a_while());
    hf__mariadb_pair_kill(pair(), 1);
    hf__mariadb_sql(node(0),
                    "UPDATE %s.holdfast_server SET is_settled=0,"
                    "shown_at=shown_at-100000000,"
                    "grants_from=grants_from-100000000",
                    database());
    alice = client_of(url_of(0));
    EXPECT_SAFE_IS(attempt_longest(alice, "job", 0), HF_BUSY);
}

/* The first is granted while the link is cut, and not renewed; the second when
 * the other server has been promoted. Was the first one's lease over then? */
static bool is_granted_beside(const char *options, int64_t lease_ms)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_with(0, options));
    AUTO_CLIENT *bob = client_of(url_with(1, options));
    hf_acquire_opts opts = wanting(0, lease_ms);
    AUTO_LOCK *first = NULL;
    AUTO_LOCK *second = NULL;

    EXPECT_IS(attempt_with(bob, "job", &opts), HF_OK);
    hf__mariadb_pair_await_caught_up(pair(), 1);
    hf__mariadb_pair_cut_link(pair());
    first = acquire_fixed(alice, "job", lease_ms);
    lose_the_first();
    opts = wanting(grant_ms(), lease_ms);
    second = must_acquire(bob, "job", &opts);
    EXPECT_MORE(hf_fence(second), 0);
    return hf_held(first) == 1;
}

/* A primary and its copy are not enough: what the copy had not got when it was
 * promoted it grants again, while the first one's lease runs. */
TEST_WITHIN(60, a_promoted_copy_grants_again_but_to_those_who_name_a_pair)
{
    EXPECT(is_granted_beside("allow=hosts", patience(3000)));
    EXPECT_SAFE(!is_granted_beside(usual_options(), longest_ms()));
}
