/* SPDX-License-Identifier: MIT */
/*
 * Nodes that are killed or cut off. With the most of the cluster locks live on;
 * whoever is with the fewer has nothing, and is told so in time.
 */
#include "tests/store_mysql_galera/site.h"

enum { RETURN_MS = 60000 };

TEST_WITHIN(90, who_holds_at_a_node_that_is_killed_holds_on_at_the_next)
{
    OWN_CLUSTER;
    AUTO_CLIENT *alice = client_of(0, 3, NULL);
    AUTO_CLIENT *bob = client_of(2, 1, NULL);
    hf_acquire_opts opts = wanting(10000, patience(6000));
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);
    AUTO_LOCK *next = NULL;
    uint64_t fence = hf_fence(lock);
    int64_t start = hf__test_now_ms();

    hf__galera_kill(cluster(), 0);
    while (since(start) < patience(6000) * 3 / 2) {
        EXPECT_SAFE(hf_held(lock));
        EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
        hf__test_pause_ms(50);
    }
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    next = acquire(bob, "job");
    EXPECT_SAFE_MORE(hf_fence(next), fence);
}

/* Node 1 answers those who look, whatever it has missed: its administrator
 * wants it so. Sessions of ours don't. */
static hf_client *open_at_dirty_node(void)
{
    hf_client *client;

    hf__mariadb_sql(node(1), "SET GLOBAL wsrep_dirty_reads=ON");
    client = client_of(1, 1, "io_timeout=1s");
    EXPECT_IS(presence(client, "job"), HF_FREE);
    return client;
}

TEST_WITHIN(90,
            who_holds_at_a_node_that_is_cut_off_is_told_before_another_has_it)
{
    OWN_CLUSTER;
    AUTO_CLIENT *carol = open_at_dirty_node();
    AUTO_CLIENT *alice = client_of(1, 1, "io_timeout=1s");
    AUTO_CLIENT *bob = client_of(2, 3, NULL);
    hf_acquire_opts opts = wanting(10000, patience(4000));
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);
    AUTO_LOCK *next = NULL;
    AUTO_INFO *info = NULL;
    uint64_t fence = hf_fence(lock);

    hf__galera_cut_off(cluster(), 1);
    opts = wanting(RETURN_MS, patience(9000));
    next = must_acquire(bob, "job", &opts);
    EXPECT_SAFE(!hf_held(lock));
    EXPECT_SAFE_MORE(hf_fence(next), fence);
    hf__galera_await_alone(cluster(), 1);
    EXPECT_IS(hf_inspect(carol, "job", &info, NULL), HF_EUNAVAIL);
    expect_refused(url_of(1, 1, NULL), HF_EUNAVAIL,
                   "in the primary component of");
    opts = wanting(0, patience(9000));
    EXPECT_IS(attempt_with(alice, "other", &opts), HF_EUNAVAIL);
    hf__galera_let_back(cluster(), 1);
    hf__galera_await(cluster(), 1, 3);
    EXPECT_SAFE_IS(try_once(alice, "job"), HF_BUSY);
}

TEST_WITHIN(120, of_two_that_are_killed_nobody_is_granted_anything)
{
    OWN_CLUSTER;
    AUTO_CLIENT *alice = client_of(0, 3, "io_timeout=1s");
    AUTO_CLIENT *bob = client_of(2, 3, "io_timeout=1s");
    hf_acquire_opts opts = wanting(10000, patience(3000));
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);
    AUTO_LOCK *next = NULL;
    uint64_t fence = hf_fence(lock);

    hf__galera_kill(cluster(), 0);
    hf__galera_kill(cluster(), 1);
    hf__galera_await_alone(cluster(), 2);
    EXPECT_IS(try_once(bob, "other"), HF_EUNAVAIL);
    UNTIL(!hf_held(lock));
    EXPECT_IS(try_once(bob, "job"), HF_EUNAVAIL);
    hf__galera_relaunch(cluster(), 0);
    hf__galera_relaunch(cluster(), 1);
    for (int i = 0; i < HF__GALERA_NODES; i++) {
        hf__galera_await(cluster(), i, HF__GALERA_NODES);
    }
    opts = wanting(RETURN_MS, patience(9000));
    next = must_acquire(bob, "job", &opts);
    EXPECT_SAFE_MORE(hf_fence(next), fence);
}
