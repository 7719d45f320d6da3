/* SPDX-License-Identifier: MIT */
/*
 * Who is woken on Redis when several may enter at once, or stand in line: all
 * of those who agree, as many as there are slots, and in line the first alone,
 * unless it is gone.
 */
#include "tests/store_redis/wait/sleeper.h"

#include <stdio.h>
#include <string.h>

TEST(those_who_may_stand_beside_one_another_are_woken_together)
{
    JOB_HELD_BY(holder);
    for (int i = 0; i < 3; i++) {
        fall_asleep_as(&crowd[i], 100 + (uint64_t)i, "job", SHARED,
                       HF__QUEUE_NEVER);
    }
    await_registered("job", 3);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(crowd, 3, 3, slowly(100));
    for (int i = 0; i < 3; i++) {
        rise(&crowd[i]);
        EXPECT_IS(try_as(&crowd[i].who, "job", SHARED, HF__QUEUE_NEVER, 1000),
                  HF_OK);
    }
}

TEST(as_many_are_woken_as_there_are_slots)
{
    SCENE(NULL);
    static const struct hf__lock_mode two = {HF__MODE_SLOTS, 2};
    PARTY(holder);

    enter(&holder, 1, "");
    EXPECT_IS(try_for(&holder, "job", LONG_MS), HF_OK);
    for (int i = 0; i < 4; i++) {
        fall_asleep_as(&crowd[i], 100 + (uint64_t)i, "job", two,
                       HF__QUEUE_NEVER);
        await_registered("job", i + 1); /* they are woken in that order */
    }
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(crowd, 4, 2, slowly(100));
    for (int i = 0; i < 4; i++) {
        if (atomic_load(&crowd[i].state) == 1) {
            rise(&crowd[i]);
            EXPECT_IS(
                try_as(&crowd[i].who, "job", two, HF__QUEUE_NEVER, LONG_MS),
                HF_OK);
        }
    }
    hf__test_pause_ms(100);
    EXPECT_IS(count_woken(crowd, 4), 2);
    EXPECT_IS(let_go(&crowd[0].who, "job"), HF_OK);
    await_woken(crowd, 4, 3, slowly(100));
    hf__test_pause_ms(100);
    EXPECT_IS(count_woken(crowd, 4), 3);
    EXPECT_IS(registered("job"), 1);
}

/* ---- in line */

static void line_up(int n)
{
    for (int i = 0; i < n; i++) {
        fall_asleep_as(&crowd[i], 100 + (uint64_t)i, "job", ALONE,
                       HF__QUEUE_ALWAYS);
        EXPECT(crowd[i].who.is_queued);
    }
    await_count(channels, n);
}

TEST(the_first_in_line_is_woken_alone)
{
    JOB_HELD_BY(holder);
    line_up(4);
    EXPECT_IS(registered("job"), 0);
    for (int i = 0; i < 4; i++) {
        struct party *before = i == 0 ? &holder : &crowd[i - 1].who;

        EXPECT_IS(let_go(before, "job"), HF_OK);
        await_woken(crowd, 4, i + 1, slowly(100));
        hf__test_pause_ms(100);
        EXPECT_IS(count_woken(crowd, 4), i + 1);
        EXPECT_IS(atomic_load(&crowd[i].state), 1);
        rise(&crowd[i]);
        EXPECT_IS(again(&crowd[i].who, "job", ALONE, HF__QUEUE_ALWAYS, LONG_MS),
                  HF_OK);
    }
}

TEST(who_is_in_line_keeps_its_ticket_fresh)
{
    JOB_HELD_BY(holder);
    PARTY(barger);

    enter(&barger, 2, "");
    line_up(1);
    hf__test_pause_ms(2 * HF__TICKET_PATIENCE_MS + 300);
    EXPECT_IS(atomic_load(&crowd[0].state), 0);
    hf__redis_command(server(), "CONFIG RESETSTAT");
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    EXPECT_IS(try_for(&barger, "job", LONG_MS), HF_BUSY);
    EXPECT(barger.record.is_promised);
    await_woken(crowd, 1, 1, slowly(100));
}

/* How long the server takes nobody in line for dead; between two looks. */
enum { FRESH_MS = 600, TICKET_MS = HF__TICKET_PATIENCE_MS / 2 };

/* When that one was last seen. */
static void read_look(const struct sleeper *s, char *at, size_t size)
{
    char digits[2 * sizeof s->who.token.bytes + 1];

    for (size_t i = 0; i < sizeof s->who.token.bytes; i++) {
        snprintf(&digits[2 * i], 3, "%02x", s->who.token.bytes[i]);
    }
    snprintf(at, size, "%s",
             hf__redis_command(server(), "HGET holdfast:{job}:b s%s", digits));
}

static void await_look(const struct sleeper *s)
{
    char before[24];
    char now[24];
    int64_t start = hf__test_now_ms();

    read_look(s, before, sizeof before);
    do {
        EXPECT_SOON(after(start), slowly(TICKET_MS + 100));
        hf__test_pause_ms(1);
        read_look(s, now, sizeof now);
    } while (strcmp(before, now) == 0);
}

/* It is not reached, for its connection was lost, and is alive. */
TEST(who_is_cut_off_in_line_is_not_passed_over)
{
    JOB_HELD_BY(holder);
    line_up(2);
    hf__test_pause_ms(1100);
    await_look(&crowd[0]);
    call_off(&crowd[0]);
    hf__test_pause_ms(100);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    hf__test_pause_ms(100);
    EXPECT_IS(atomic_load(&crowd[1].state), 0);
    enter(&crowd[0].who, 100, "");
    EXPECT_IS(again(&crowd[0].who, "job", ALONE, HF__QUEUE_ALWAYS, LONG_MS),
              HF_OK);
}

/* Its connection is gone, and it does not come back. */
TEST(a_first_in_line_that_died_is_soon_passed_over)
{
    JOB_HELD_BY(holder);
    line_up(3);
    hf__test_pause_ms(1100);
    for (int i = 0; i < 2; i++) {
        call_off(&crowd[i]); /* the ticket stays, as of one who died */
    }
    hf__test_pause_ms(100);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(&crowd[2], 1, 1, slowly(FRESH_MS + 100));
    rise(&crowd[2]);
    EXPECT_IS(again(&crowd[2].who, "job", ALONE, HF__QUEUE_ALWAYS, LONG_MS),
              HF_OK);
}

TEST(one_that_was_passed_over_has_its_place_again)
{
    JOB_HELD_BY(holder);
    line_up(2);
    hf__test_pause_ms(1100);
    call_off(&crowd[0]);
    hf__test_pause_ms(100);
    EXPECT_IS(let_go(&holder, "job"), HF_OK);
    await_woken(&crowd[1], 1, 1, slowly(FRESH_MS + 100));
    rise(&crowd[1]);
    enter(&crowd[0].who, 100, "");
    EXPECT_IS(again(&crowd[0].who, "job", ALONE, HF__QUEUE_ALWAYS, LONG_MS),
              HF_OK);
    EXPECT_IS(again(&crowd[1].who, "job", ALONE, HF__QUEUE_ALWAYS, LONG_MS),
              HF_BUSY);
}
