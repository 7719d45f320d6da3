/* SPDX-License-Identifier: MIT */
/*
 * Who is woken on Redis and does not want the name any more: others are woken
 * in its place, its own client's too, whatever that does meanwhile. Each
 * sleeper is a client's session.
 */
#include "tests/store_redis/wait/sleeper.h"

#include <string.h>

TEST(who_was_woken_in_vain_has_the_next_woken)
{
    JOB_HELD_BY(holder);
    all_fall_asleep(2);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(crowd, 2, 1, slowly(100));
    rise(&crowd[0]);
    EXPECT_IS(hf__conn_wait(&crowd[0].who.conn, NULL, 0,
                            hf__after_ms(hf__now(), 5000), NULL),
              HF_OK);
    await_woken(crowd, 2, 2, slowly(100));
}

/* It was woken when nobody read it: its claim had just given up. */
TEST(a_wake_that_nobody_wants_any_more_goes_to_the_next)
{
    SCENE(NULL);
    PARTY(holder);
    struct sleeper *first = &crowd[0];
    struct hf__watch other = {.key = {"holdfast:b", 10, 9}};
    struct hf__watch *one = &other;

    enter(&holder, 1, "");
    EXPECT_IS(try_for(&holder, "b", LONG_MS), HF_OK);
    other.fence = holder.record.fence;
    EXPECT_IS(try_for(&holder, "job", LONG_MS), HF_OK);
    all_fall_asleep(2);
    atomic_store(&first->is_called_off, true);
    hf__conn_interrupt(&first->who.conn);
    rise(first);
    EXPECT_IS(atomic_load(&first->state), 0);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    hf__test_pause_ms(50);
    EXPECT_IS(count_woken(crowd, 2), 0); /* the first was told, and sleeps */
    EXPECT_IS(hf__conn_wait(&first->who.conn, &one, 1,
                            hf__after_ms(hf__now(), 100), NULL),
              HF_OK);
    await_woken(crowd, 2, 1, slowly(100));
}

static struct hf__watch watch_for(struct party *p, const char *key,
                                  struct hf__lock_mode lock_mode)
{
    return (struct hf__watch){.key = {key, (uint16_t)strlen(key), 9},
                              .fence = p->record.fence,
                              .token = p->record.token,
                              .lock_mode = lock_mode};
}

static void wait_for(struct party *p, struct hf__watch *w[], int n, int64_t ms)
{
    EXPECT_IS(
        hf__conn_wait(&p->conn, w, n, hf__after_ms(hf__now(), ms), &p->error),
        HF_OK);
}

/* Its claim gives up after it was told, and the session waits for others. */
TEST(a_wake_that_was_told_and_not_used_goes_to_the_next)
{
    SCENE(NULL);
    PARTY(holder);
    PARTY(bob);
    struct hf__watch watch;
    struct hf__watch *one = &watch;

    enter(&holder, 1, "");
    enter(&bob, 2, "");
    EXPECT_IS(try_for(&holder, "b", LONG_MS), HF_OK);
    EXPECT_IS(try_for(&holder, "job", LONG_MS), HF_OK);
    EXPECT_IS(try_for(&bob, "job", LONG_MS), HF_BUSY);
    watch = watch_for(&bob, "holdfast:job", ALONE);
    wait_for(&bob, &one, 1, 50);
    fall_asleep(&crowd[0], 100, "job");
    await_registered("job", 2);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    wait_for(&bob, &one, 1, slowly(100));
    EXPECT(watch.has_fired);
    watch = watch_for(&bob, "holdfast:b", ALONE);
    wait_for(&bob, &one, 1, 60);
    EXPECT_IS(count_woken(crowd, 1), 0); /* it may be trying */
    wait_for(&bob, &one, 1, 140);
    EXPECT_IS(count_woken(crowd, 1), 1); /* before the offer is over */
}

/* It gives up one claim while another of its own waits in another manner. */
TEST(a_wake_in_vain_is_for_the_clients_own_others_too)
{
    JOB_HELD_BY(holder);
    static const struct hf__lock_mode three = {HF__MODE_SLOTS, 3};
    PARTY(bob);
    struct hf__watch watches[2];
    struct hf__watch *w[] = {&watches[0], &watches[1]};
    int64_t start;

    enter(&bob, 2, "");
    EXPECT_IS(try_for(&bob, "job", LONG_MS), HF_BUSY);
    watches[0] = watch_for(&bob, "holdfast:job", ALONE);
    watches[1] = watch_for(&bob, "holdfast:job", three);
    wait_for(&bob, w, 1, 50);
    wait_for(&bob, w, 2, 50);
    EXPECT_IS(registered("job"), 2);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    start = hf__test_now_ms();
    wait_for(&bob, &w[1], 1, slowly(2000));
    EXPECT(watches[1].has_fired);
    EXPECT_SOON(after(start), slowly(100));
}
