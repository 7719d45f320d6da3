/* SPDX-License-Identifier: MIT */
/*
 * Those who wait, each with a connection in the server's queue: whatever ends
 * these connections, or is not told in time, and whenever, nobody is granted
 * what another has, and nobody waits for what is free.
 */
#include "tests/store_mysql_session/relay.h"
#include "tests/store_mysql_session/world.h"
#include "tests/store_server/door.h"

#include <stdlib.h>

static atomic_bool is_over;

static bool is_outage(int r)
{
    return r == HF_EUNAVAIL || r == HF_EUNKNOWN;
}

static void give_up_and_come_back(void *arg)
{
    while (!atomic_load(&is_over)) {
        int r = attempt(arg, "job", 3);

        EXPECT_SAFE(r != HF_OK);
        EXPECT(r == HF_TIMEDOUT || r == HF_BUSY || is_outage(r));
    }
}

static void end_all(const char *which, int64_t holder)
{
    hf__mariadb_try(
        server(),
        "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN "
        "END; FOR c IN (SELECT ID FROM "
        "information_schema.PROCESSLIST WHERE DB='%s' AND ID<>%lld%s)"
        " DO KILL CONNECTION c.ID; END FOR; END",
        database(), (long long)holder, which);
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
        end_all("", holder);
    }
    atomic_store(&is_over, true);
    hf__test_join_all(threads, WAITERS);
    printf("%d times\n", n);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(attempt(bob, "job", patience(5000)), HF_OK);
}

/* ---- the same below, where a wait is as short as can be */

static void hear(void *arg, uint64_t tag)
{
    (void)arg;
    (void)tag;
}

static void listen_on(void *arg)
{
    struct door *d = arg;

    while (!atomic_load(&is_over)) {
        EXPECT_IS(hf__conn_listen(&d->conn, hear, NULL,
                                  hf__after_ms(hf__now(), 20), &d->error),
                  HF_OK);
    }
}

static void wait_on(void *arg)
{
    struct door *d = arg;
    const char key[] = "holdfast:job";
    struct hf__watch watch = {.key = {key, sizeof key - 1, 9}};
    struct hf__watch *watches[] = {&watch};

    while (!atomic_load(&is_over)) {
        if (hf__conn_wait(&d->conn, watches, 1, hf__after_ms(hf__now(), 1),
                          &d->error) < 0) {
            EXPECT_IS(enter(d, store_url(NULL)), HF_OK);
        }
        EXPECT_SAFE(!watch.has_fired);
        hf__test_pause_ms(1);
    }
}

/* One front of the client sees the end of a connection just when another comes
 * back to it. */
TEST_WITHIN(60, who_listens_and_who_waits_see_the_same_end)
{
    HELD(job, alice);
    DOOR(listener);
    DOOR(waiter);
    struct hf__test_thread *threads[2];
    int64_t holder = holder_of("job");
    int64_t start = hf__test_now_ms();
    int n = 0;

    listener.conn.client = waiter.conn.client = 7;
    EXPECT_IS(enter(&listener, store_url(NULL)), HF_OK);
    EXPECT_IS(enter(&waiter, store_url(NULL)), HF_OK);
    threads[0] = hf__test_start(listen_on, &listener);
    threads[1] = hf__test_start(wait_on, &waiter);
    for (; since(start) < 4000; n++) {
        end_all(" AND STATE='User lock'", holder);
    }
    atomic_store(&is_over, true);
    hf__test_join_all(threads, 2);
    printf("%d times\n", n);
    expect_held(job);
}

/* ---- two of one client, for one name */

static bool wait_for_job(struct door *d, int64_t ms)
{
    const char key[] = "holdfast:job";
    struct hf__watch watch = {.key = {key, sizeof key - 1, 9}};
    struct hf__watch *watches[] = {&watch};

    EXPECT_IS(hf__conn_wait(&d->conn, watches, 1, hf__after_ms(hf__now(), ms),
                            &d->error),
              HF_OK);
    return watch.has_fired;
}

TEST(who_gives_up_leaves_the_turn_of_another)
{
    say_options("session_timeout=60s");
    HELD(job, alice);
    DOOR(first);
    DOOR(second);
    int64_t turn;

    first.conn.client = second.conn.client = 7;
    EXPECT_IS(enter(&first, store_url(NULL)), HF_OK);
    EXPECT_IS(enter(&second, store_url(NULL)), HF_OK);
    EXPECT(!wait_for_job(&first, 50));
    await_queue(1);
    EXPECT(!wait_for_job(&second, 50));
    await_queue(2);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT(wait_for_job(&first, patience(5000)));
    turn = holder_of("job");
    EXPECT_MORE(turn, 0);
    EXPECT_IS(hf__conn_wait(&second.conn, NULL, 0,
                            hf__after_ms(hf__now(), 5000), &second.error),
              HF_OK);
    EXPECT_SAFE_IS(holder_of("job"), turn);
    EXPECT_IS(hf__conn_wait(&first.conn, NULL, 0, hf__after_ms(hf__now(), 5000),
                            &first.error),
              HF_OK);
    /* The server may pass it to one that has just gone. */
    UNTIL(holder_of("job") == 0);
}

/* ---- a turn that is in doubt */

/* Not one who tries, and does not wait. */
static void await_waiter(void)
{
    UNTIL(strtol(hf__mariadb_value(
                     server(),
                     "SELECT COUNT(*) FROM information_schema.PROCESSLIST "
                     "WHERE DB='%s' AND INFO LIKE 'SELECT %%GET_LOCK(%%' AND "
                     "INFO NOT LIKE '%%,0)' AND INFO NOT LIKE '%%NOWAIT'",
                     database()),
                 NULL, 10) == 1);
}

/* The server has given the lock to bob's waiter, and tells his claim too late
 * that he has it: he leaves it, pauses, and comes again. */
static void claim_in_doubt(const char *scheme, const char *doubt)
{
    choose_scheme(scheme);
    say_options("session_timeout=60s");
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *bob = open_by(relay_port(r), "tls=off&io_timeout=400ms");
    HELD(job, alice);
    struct waiter w;

    begin_to_wait(&w, bob, "job", patience(20000));
    await_waiter();
    relay_translate(r, "CONNECTION_ID(),IS_USED_LOCK(", doubt, 1);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiting(&w), HF_OK);
    EXPECT_IS(relay_hits(r), 1);
    expect_held(w.lock);
    EXPECT_SAFE_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(hf_release(w.lock, NULL), HF_OK);
    hf_free(w.lock);
    UNTIL(stats_of(bob).owing == 0);
    EXPECT_MORE(await_free(alice, "job", patience(5000)), -1);
}

/* It is taken while the waiter leaves, or not in time for that either. */
#define LATE_BY(seconds) "CONNECTION_ID(),SLEEP(" seconds ")*0+IS_USED_LOCK("

CASE_WITHIN(60, a_turn_that_is_told_late_is_passed_on,
            claim_in_doubt("session", LATE_BY("0.6")));
CASE_WITHIN(60, a_turn_that_is_told_too_late_is_passed_on,
            claim_in_doubt("session", LATE_BY("1.2")));
CASE_WITHIN(60, a_turn_for_a_row_that_is_told_late_is_passed_on,
            claim_in_doubt("row", LATE_BY("0.6")));
CASE_WITHIN(60, a_turn_for_a_row_that_is_told_too_late_is_passed_on,
            claim_in_doubt("row", LATE_BY("1.2")));
