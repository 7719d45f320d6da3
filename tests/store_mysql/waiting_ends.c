/* SPDX-License-Identifier: MIT */
/*
 * What can happen to those who wait, and to whom they wait for: closed, cut
 * off, a server that is killed. The others go on, soon.
 */
#include "tests/contract/loop.h"
#include "tests/contract/peer.h"
#include "tests/store_mysql/world.h"

#include <stdlib.h>

TEST(closing_while_waiting_takes_no_time)
{
    AUTO_CLIENT *alice = open_store();
    hf_client *bob = open_store();
    AUTO_LOCK *lock = acquire(alice, "job");
    hf_acquire_opts opts = wanting(HF_FOREVER, 30000);
    struct outcome wait = {0};
    int64_t start;

    opts.owner_id = 0;
    begin(bob, "job", &opts, &wait);
    loop_for(bob, 500);
    start = hf__test_now_ms();
    close_loop(bob);
    EXPECT_SOON(since(start), patience(3000));
    EXPECT_IS(wait.status, HF_CANCELLED);
    expect_held(lock);
}

/* Its connection is still owed the server's answer then. */
TEST(closing_after_an_impatient_wait_takes_no_time)
{
    AUTO_CLIENT *alice = open_store();
    hf_client *bob = open_store();
    AUTO_LOCK *lock = acquire(alice, "job");
    int64_t start;

    EXPECT_IS(attempt(bob, "job", 300), HF_TIMEDOUT);
    start = hf__test_now_ms();
    hf_close(bob);
    EXPECT_SOON(since(start), patience(3000));
    expect_held(lock);
}

/* ---- whom they wait for */

/* The connection by which a holder can be woken from. */
static void cut_holder(const char *name)
{
    const char *id =
        row_says(name, "IS_USED_LOCK(CONCAT('hf.',HEX(LEFT(token,8))))");
    long number = strtol(id, NULL, 10);

    EXPECT_MORE(number, 0);
    hf__mariadb_sql(server(), "KILL %ld", number);
}

TEST(a_holder_without_its_connection_is_heard_within_half_a_second)
{
    struct peer *waiter = start_peer();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *lock = acquire_leased(alice, "job", 60000);
    int64_t start;

    peer_begin_acquire(waiter, "job", patience(20000), 60000);
    hf__test_pause_ms(patience(400));
    cut_holder("job");
    hf__test_pause_ms(1500);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), 500 + patience(5000));
    end_peer(waiter);
}

/* ---- the server */

TEST(a_server_that_is_killed_is_waited_for)
{
    AUTO_SERVER *own = own_server_on_disk(NULL);
    struct peer *waiter = start_peer();
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_LOCK *lock = acquire_leased(alice, "job", 60000);

    peer_begin_acquire(waiter, "job", 60000, 60000);
    hf__test_pause_ms(500);
    hf__mariadb_kill(own);
    hf__test_pause_ms(1000);
    hf__mariadb_restart(own, NULL);
    hf__test_pause_ms(2000); /* it waits again */
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    end_peer(waiter);
}

/* ---- many names */

enum { NAMES = 1000 };

static const char *name_of(int i)
{
    static char text[32];

    snprintf(text, sizeof text, "job %d", i);
    return text;
}

/* How many connections of the database there are. */
static int connections(void)
{
    const char *count = hf__mariadb_value(
        server(),
        "SELECT COUNT(*) FROM information_schema.processlist WHERE db='%s'",
        database());

    return (int)strtol(count, NULL, 10);
}

TEST(a_thousand_names_are_waited_for_on_four_connections)
{
    static struct outcome held[NAMES];
    static struct outcome waits[NAMES];
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_with("wait_connections=4");
    hf_acquire_opts opts = wanting(HF_FOREVER, 60000);
    int before;
    int64_t start;

    opts.owner_id = 0;
    for (int i = 0; i < NAMES; i++) {
        begin(alice, name_of(i), &opts, &held[i]);
    }
    await_all(alice, held, NAMES);
    before = connections();
    for (int i = 0; i < NAMES; i++) {
        begin(bob, name_of(i), &opts, &waits[i]);
    }
    loop_for(bob, patience(3000));
    EXPECT_LESS(connections(), before + 4 + 1 + 1); /* and one to renew */
    EXPECT_IS(waits[0].calls + waits[NAMES - 1].calls, 0);
    start = hf__test_now_ms();
    for (int i = 0; i < NAMES; i++) {
        EXPECT_IS(hf_release(held[i].lock, NULL), HF_OK);
    }
    await_all(bob, waits, NAMES);
    printf("all within %lld ms\n", (long long)since(start));
    for (int i = 0; i < NAMES; i++) {
        EXPECT_IS(waits[i].status, HF_OK);
        EXPECT_IS(hf_release(waits[i].lock, NULL), HF_OK);
        free_outcome(&waits[i]);
        free_outcome(&held[i]);
    }
}

/* Two in line on one connection keep their tickets alive all the same. */
TEST(tickets_live_on_a_shared_connection)
{
    struct peer *carol = start_peer();
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_with("wait_connections=1");
    AUTO_LOCK *a = acquire(alice, "a");
    AUTO_LOCK *job = acquire(alice, "job");
    hf_acquire_opts opts = wanting(HF_FOREVER, 60000);
    AUTO_OUTCOME first = {0};
    AUTO_OUTCOME second = {0};

    opts.owner_id = 0;
    opts.fair = 1;
    begin(bob, "a", &opts, &first);
    begin(bob, "job", &opts, &second);
    loop_for(bob, 2000); /* longer than a ticket lives by itself */
    opts.wait_ms = patience(20000);
    peer_begin_acquire_as(carol, "job", &opts);
    loop_for(bob, 500);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    loop_for(bob, patience(1000));
    EXPECT_IS(second.status, HF_OK);
    EXPECT_IS(second.calls, 1);
    EXPECT_IS(hf_release(second.lock, NULL), HF_OK);
    EXPECT_IS(peer_finish(carol), HF_OK);
    EXPECT_IS(hf_release(a, NULL), HF_OK);
    EXPECT_IS(await(bob, &first), HF_OK);
    EXPECT_IS(hf_release(first.lock, NULL), HF_OK);
    end_peer(carol);
}
