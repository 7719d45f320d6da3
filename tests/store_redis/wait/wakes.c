/* SPDX-License-Identifier: MIT */
/*
 * Who is woken on Redis, and when: one for each release, whoever else sleeps;
 * the next in its place when it is gone or stopped; and one when a lease just
 * ends. Each sleeper is a client's session.
 */
#include "tests/store_redis/wait/sleeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sleeper *woken_one(int n)
{
    for (int i = 0; i < n; i++) {
        if (atomic_load(&crowd[i].state) == 1) {
            return &crowd[i];
        }
    }
    return NULL;
}

TEST(a_release_wakes_exactly_one_of_eight_clients)
{
    JOB_HELD_BY(holder);
    all_fall_asleep(CROWD);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(crowd, CROWD, 1, slowly(100));
    hf__test_pause_ms(200);
    EXPECT_IS(count_woken(crowd, CROWD), 1);
    EXPECT_IS(registered("job"), CROWD - 1);
    /* The one who came first; and nobody goes before it. */
    EXPECT_IS(atomic_load(&crowd[0].state), 1);
}

TEST(only_who_was_woken_may_enter_for_a_moment)
{
    JOB_HELD_BY(holder);
    PARTY(barger);

    enter(&barger, 2, "");
    all_fall_asleep(1);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    EXPECT_IS(try_for(&barger, "job", LONG_MS), HF_BUSY);
    EXPECT(barger.record.is_promised);
    EXPECT_MORE(barger.record.remaining_us, 0);
    EXPECT_LESS(barger.record.remaining_us, OFFER_MS * 1000 + 1);
    await_woken(crowd, 1, 1, slowly(100));
    rise(&crowd[0]);
    EXPECT_IS(try_for(&crowd[0].who, "job", LONG_MS), HF_OK);
    EXPECT_IS(registered("job"), 0);
}

TEST(the_next_is_woken_when_the_first_does_nothing)
{
    JOB_HELD_BY(holder);
    int64_t took;

    all_fall_asleep(2);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    took = await_woken(crowd, 2, 2, slowly(OFFER_MS + LOOK_MS + 100));
    EXPECT_MORE(took, OFFER_MS - 50);
}

TEST(what_is_no_longer_waited_for_is_called_off)
{
    JOB_HELD_BY(holder);
    struct sleeper *s = &crowd[0];

    EXPECT_IS(try_for(&holder, "other", LONG_MS), HF_OK);
    all_fall_asleep(1);
    atomic_store(&s->is_called_off, true);
    hf__conn_interrupt(&s->who.conn);
    rise(s);
    EXPECT_IS(registered("job"), 1);
    EXPECT_IS(try_for(&s->who, "other", LONG_MS), HF_BUSY);
    EXPECT_IS(registered("job"), 0); /* it does something else */
    EXPECT_IS(channels(), 0);
    sleep_on(s, "other", ALONE);
    await_registered("other", 1);
    call_off(s);
}

TEST(closing_calls_it_off)
{
    JOB_HELD_BY(holder);
    struct sleeper *s = &crowd[0];

    all_fall_asleep(1);
    EXPECT_IS(channels(), 1);
    call_off(s);
    await_count(channels, 0);
    EXPECT_IS(registered("job"), 0);
}

/* ---- silence */

TEST(one_is_woken_when_a_lease_just_ends)
{
    SCENE(NULL);
    PARTY(holder);
    int64_t start;

    enter(&holder, 1, "");
    EXPECT_IS(try_for(&holder, "job", slowly(600)), HF_OK);
    start = hf__test_now_ms();
    all_fall_asleep(CROWD);
    await_woken(crowd, CROWD, 1, slowly(2000));
    EXPECT_SOON(after(start), slowly(600) + slowly(100));
    EXPECT_MORE(after(start), slowly(600) - 20);
    hf__test_pause_ms(150);
    EXPECT_IS(count_woken(crowd, CROWD), 1);
    rise(woken_one(CROWD));
    EXPECT_IS(try_for(&woken_one(CROWD)->who, "job", LONG_MS), HF_OK);
    hf__test_pause_ms(400); /* the offer would be over */
    EXPECT_IS(count_woken(crowd, CROWD), 1);
    EXPECT_IS(registered("job"), CROWD - 1);
}

/* A message that no connection is there for is lost. */
TEST(a_killed_connection_is_passed_over)
{
    JOB_HELD_BY(holder);
    const char *id;

    all_fall_asleep(1);
    id = hf__redis_command(server(), "CLIENT LIST TYPE pubsub");
    EXPECT_HAS(id, "id=");
    hf__redis_command(server(), "CLIENT KILL ID %lld",
                      strtoll(id + 3, NULL, 10));
    rise(&crowd[0]);
    EXPECT_LESS(atomic_load(&crowd[0].state), 0);
    EXPECT_HAS(crowd[0].who.error.text, "");
    EXPECT_IS(registered("job"), 1);
    fall_asleep(&crowd[1], 101, "job");
    await_registered("job", 2);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(&crowd[1], 1, 1, slowly(100));
    EXPECT_IS(registered("job"), 0);
}

TEST(a_server_that_forgot_the_scripts_is_told_them)
{
    JOB_HELD_BY(holder);
    enter(&crowd[0].who, 100, "");
    EXPECT_IS(try_for(&crowd[0].who, "job", LONG_MS), HF_BUSY);
    hf__redis_command(server(), "SCRIPT FLUSH");
    sleep_on(&crowd[0], "job", ALONE);
    await_registered("job", 1);
    hf__redis_command(server(), "SCRIPT FLUSH");
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(crowd, 1, 1, slowly(100));
    hf__redis_command(server(), "SCRIPT FLUSH");
}

TEST(they_are_told_once)
{
    JOB_HELD_BY(holder);
    int64_t before;

    fall_asleep_as(&crowd[0], 100, "job", ALONE, HF__QUEUE_ALWAYS);
    await_count(channels, 1);
    hf__redis_command(server(), "SCRIPT FLUSH");
    before = strtoll(
        hf__redis_value(server(), "total_net_input_bytes", "INFO stats"), NULL,
        10);
    hf__test_pause_ms(2200);
    before = strtoll(hf__redis_value(server(), "total_net_input_bytes",
                                     "INFO stats"),
                     NULL, 10) -
             before;
    printf("%lld bytes\n", (long long)before);
    EXPECT_MORE(before, 5000); /* the script */
    EXPECT_LESS(before, 36000);
}

TEST(a_name_that_is_something_else_is_found_out_by_asking)
{
    JOB_HELD_BY(holder);
    all_fall_asleep(1);
    hf__redis_command(server(), "DEL holdfast:{job}");
    hf__redis_command(server(), "SET holdfast:{job} nonsense");
    await_woken(crowd, 1, 1, slowly(LOOK_MS + 300));
}

/* ---- many */

enum { NAMES = 200 };

TEST(one_session_waits_for_many_names)
{
    SCENE(NULL);
    static struct sleeper all[NAMES];
    struct hf__watch *w[NAMES];
    int n = NAMES;
    PARTY(holder);
    PARTY(bob);

    enter(&holder, 1, "");
    enter(&bob, 2, "");
    for (int i = 0; i < NAMES; i++) {
        const char *name = all[i].key + strlen("holdfast:");

        snprintf(all[i].key, sizeof all[i].key, "holdfast:n%d", i);
        EXPECT_IS(try_for(&holder, name, LONG_MS), HF_OK);
        w[i] = &all[i].watch;
        w[i]->key =
            (struct hf__key){all[i].key, (uint16_t)strlen(all[i].key), 9};
        EXPECT_IS(try_for(&bob, name, LONG_MS), HF_BUSY);
        w[i]->fence = bob.record.fence;
        w[i]->token = bob.record.token;
    }
    EXPECT_IS(hf__conn_wait(&bob.conn, w, NAMES,
                            hf__after_ms(hf__now(), slowly(300)), &bob.error),
              HF_OK);
    EXPECT_IS(registered("n0"), 1);
    EXPECT_IS(registered("n199"), 1);
    while (n > 3) {
        int one = n / 2;
        int64_t start = hf__test_now_ms();

        holder.token = w[one]->token;
        EXPECT_IS(let_go(&holder, w[one]->key.bytes + w[one]->key.name_at),
                  HF_OK);
        EXPECT_IS(hf__conn_wait(&bob.conn, w, n, hf__after_ms(hf__now(), 5000),
                                &bob.error),
                  HF_OK);
        EXPECT(w[one]->has_fired);
        EXPECT_SOON(after(start), slowly(100));
        w[one] = w[--n];
        n -= n / 5; /* others are not waited for any more */
    }
    EXPECT_IS(registered("n199"), 0);
}

/* ---- what it costs */

static int64_t reads(void)
{
    return strtoll(
        hf__redis_value(server(), "total_reads_processed", "INFO stats"), NULL,
        10);
}

static void expect_idle(enum hf__queueing queueing)
{
    JOB_HELD_BY(holder);
    int64_t before;
    int64_t own;
    int64_t start;

    fall_asleep_as(&crowd[0], 100, "job", ALONE, queueing);
    await_count(channels, 1);
    hf__test_pause_ms(300);
    own = reads();
    own = reads() - own; /* what asking costs */
    before = reads();
    start = hf__test_now_ms();
    hf__test_pause_ms(2000);
    before = reads() - before - own;
    printf("%lld packets in 2 s\n", (long long)before);
    EXPECT_LESS(before, 2 * after(start) / 1000 + 2);
    EXPECT_MORE(before, 0);
}

CASE(who_sleeps_sends_at_most_two_packets_a_second,
     expect_idle(HF__QUEUE_NEVER));
CASE(so_does_who_is_in_line, expect_idle(HF__QUEUE_ALWAYS));

/* ---- without channels */

static const struct hf__redis_opts mute = {
    .users = "user mute on >secret ~* +@all resetchannels\n"
             "user plain on >secret ~* &* +@all -multi\n"};

static void expect_looks(const char *user, int registers)
{
    SCENE(&mute);
    PARTY(holder);
    int64_t start;

    enter(&holder, 1, "");
    EXPECT_IS(try_for(&holder, "job", LONG_MS), HF_OK);
    enter(&crowd[0].who, 100, user);
    EXPECT_IS(try_for(&crowd[0].who, "job", LONG_MS), HF_BUSY);
    sleep_on(&crowd[0], "job", ALONE);
    hf__test_pause_ms(400);
    EXPECT_IS(registered("job"), registers);
    EXPECT_IS(channels(), 0);
    start = hf__test_now_ms();
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(crowd, 1, 1, slowly(250));
    EXPECT_SOON(after(start), slowly(250));
    rise(&crowd[0]);
    EXPECT_IS(try_for(&crowd[0].who, "job", LONG_MS), HF_OK);
}

CASE(who_may_not_listen_looks_again_and_again, expect_looks("mute:secret@", 0));

TEST(so_does_who_may_not_take_two_steps_as_one)
{
    expect_looks("plain:secret@", 1); /* before it knew; and is passed over */
}

TEST(whom_nobody_may_tell_looks_by_itself)
{
    SCENE(&mute);
    PARTY(holder);

    enter(&holder, 1, "mute:secret@");
    EXPECT_IS(try_for(&holder, "job", LONG_MS), HF_OK);
    all_fall_asleep(2);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(crowd, 2, 1, slowly(LOOK_MS + 100));
}
