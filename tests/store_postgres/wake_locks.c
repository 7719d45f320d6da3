/* SPDX-License-Identifier: MIT */
/*
 * Waiting by advisory locks that others can take, and waiters that end or are
 * stopped where the rest waits for them: whoever is next is served all the
 * same, long before any lease is over.
 */
#include "tests/contract/peer.h"
#include "tests/store_postgres/world.h"

#include <stdlib.h>

#define LOCKS                                                                  \
    "FROM pg_locks WHERE locktype='advisory' AND database=(SELECT oid FROM "   \
    "pg_database WHERE datname=current_database())"
#define KEY "classid::bigint<<32|objid::bigint"

static int waiting(void)
{
    return (int)strtol(answer("SELECT count(*) " LOCKS " AND NOT granted"),
                       NULL, 10);
}

/* Each stands in its place before the next one comes. */
static void let_wait(struct peer *who, int n)
{
    peer_begin_acquire(who, "job", 30000, 60000);
    UNTIL(waiting() == n);
}

/* They are served one after another, by whoever has it now. */
static void expect_served(hf_lock *job, struct peer *const waiters[], int n)
{
    uint64_t fence = hf_fence(job);

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < n; i++) {
        EXPECT_IS(peer_finish(waiters[i]), HF_OK);
        EXPECT_SAFE_MORE(peer_fence(waiters[i]), fence);
        fence = peer_fence(waiters[i]);
        EXPECT_IS(peer_release(waiters[i]), HF_OK);
    }
}

/* ---- keys that an application takes */

/* What the one that waits for a bell has is the turn. */
static int64_t turn(void)
{
    return strtoll(answer("SELECT " KEY " " LOCKS " AND granted AND pid IN "
                          "(SELECT pid FROM pg_locks WHERE NOT granted)"),
                   NULL, 10);
}

static int64_t bell(void)
{
    return strtoll(answer("SELECT " KEY " " LOCKS " AND NOT granted"), NULL,
                   10);
}

TEST_WITHIN(60, an_application_that_has_the_turn_keeps_nobody_waiting)
{
    struct peer *bob = start_peer();
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    AUTO_LOCK *again = NULL;
    int64_t key;

    let_wait(bob, 1);
    key = turn();
    EXPECT_NOT(key, 0);
    expect_served(job, &bob, 1);
    tell(db, "SELECT pg_advisory_lock(%lld)", (long long)key);
    again = acquire_leased(alice, "job", 60000);
    let_wait(bob, 1);
    EXPECT_IS(bell(), key); /* it stands in that queue, as it seems */
    expect_served(again, &bob, 1);
    end_peer(bob);
}

TEST_WITHIN(60, an_application_that_has_the_bell_keeps_nobody_waiting)
{
    struct peer *bob = start_peer();
    struct peer *carol = start_peer();
    struct peer *both[] = {bob, carol};
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    int64_t key =
        strtoll(answer("SELECT " KEY " " LOCKS " AND granted"), NULL, 10);
    char sql[64];

    EXPECT_NOT(key, 0);
    snprintf(sql, sizeof sql, "SELECT pg_advisory_lock(%lld)", (long long)key);
    EXPECT_IS(PQsendQuery(db, sql), 1); /* answered when it has it */
    UNTIL(waiting() == 1);
    let_wait(bob, 2);
    let_wait(carol, 3);
    expect_served(job, both, 2);
    end_peer(bob);
    end_peer(carol);
}

/* ---- waiters that are gone */

static void lose(int which, void (*act)(struct peer *))
{
    struct peer *crew[] = {start_peer(), start_peer(), start_peer()};
    struct peer *left[2];
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    int n = 0;

    for (int i = 0; i < 3; i++) {
        let_wait(crew[i], i + 1);
        if (i != which) {
            left[n++] = crew[i];
        }
    }
    act(crew[which]);
    expect_served(job, left, n);
    if (act == stop_peer) {
        continue_peer(crew[which]);
        EXPECT_IS(peer_finish(crew[which]), HF_OK);
        end_peer(crew[which]);
    }
    end_peer(left[0]);
    end_peer(left[1]);
}

CASE_WITHIN(60, one_that_is_killed_at_the_bell_is_passed_by,
            lose(0, kill_peer));
CASE_WITHIN(60, one_that_is_killed_in_the_queue_is_passed_by,
            lose(1, kill_peer));
CASE_WITHIN(60, one_that_is_stopped_at_the_bell_is_passed_by,
            lose(0, stop_peer));
CASE_WITHIN(60, one_that_is_stopped_in_the_queue_is_passed_by,
            lose(1, stop_peer));

/* ---- the holder */

static void end_holder(void)
{
    (void)answer("SELECT pg_terminate_backend(pid) " LOCKS " AND granted AND "
                 "pid NOT IN (SELECT pid FROM pg_locks WHERE NOT granted) "
                 "LIMIT 1");
}

TEST_WITHIN(60, a_holder_without_its_connection_is_heard_of_all_the_same)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);

    let_wait(bob, 1);
    end_holder();
    UNTIL(waiting() == 0); /* there is no bell any more */
    EXPECT_IS(hf_held(job), 1);
    expect_served(job, &bob, 1);
    end_peer(bob);
}

TEST_WITHIN(60, a_server_that_is_killed_is_waited_for)
{
    static const char *const durable[] = {"fsync = on", NULL};
    AUTO_SERVER *own = own_server(durable);
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);

    let_wait(bob, 1);
    hf__postgres_kill(own);
    hf__postgres_restart(own, NULL);
    EXPECT_IS(hf_held(job), 1);
    expect_served(job, &bob, 1);
    end_peer(bob);
}
