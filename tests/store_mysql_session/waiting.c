/* SPDX-License-Identifier: MIT */
/*
 * Those who wait, each with a connection in the server's queue: whatever ends
 * these connections, and whenever, nobody is granted what another has, and
 * nobody waits for what is free.
 */
#include "tests/store_mysql_session/world.h"

#include <stdlib.h>

static atomic_bool is_over;

static void give_up_and_come_back(void *arg)
{
    while (!atomic_load(&is_over)) {
        int r = attempt(arg, "job", 3);

        EXPECT(r == HF_TIMEDOUT || r == HF_BUSY || r == HF_EUNAVAIL);
    }
}

static void end_all_but(int64_t holder)
{
    hf__mariadb_try(server(),
                    "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN "
                    "END; FOR c IN (SELECT ID FROM "
                    "information_schema.PROCESSLIST WHERE DB='%s' AND ID<>%lld)"
                    " DO KILL CONNECTION c.ID; END FOR; END",
                    database(), (long long)holder);
}

/* Just when it comes back, just when it gives up, and in between. */
TEST_WITHIN(60, who_waits_outlives_the_ends_of_its_connections)
{
    enum { WAITERS = 4 };
    HELD(job, alice, bob);
    struct hf__test_thread *threads[WAITERS];
    int64_t holder = holder_of("job");
    int64_t start = hf__test_now_ms();
    int n = 0;

    hf__test_start_all(threads, WAITERS, give_up_and_come_back, bob);
    for (; since(start) < 4000; n++) {
        end_all_but(holder);
    }
    atomic_store(&is_over, true);
    hf__test_join_all(threads, WAITERS);
    printf("%d times\n", n);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(attempt(bob, "job", patience(5000)), HF_OK);
}
