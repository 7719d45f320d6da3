/* SPDX-License-Identifier: MIT */
/*
 * A side file that somebody cuts off, or writes over in place, while others
 * hold and wait: all live on and are told, nobody else comes in, and when they
 * have gone all begins anew.
 */
#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *side_path(void)
{
    return path_of(store_side);
}

static void cut_off(void)
{
    EXPECT_IS(truncate(side_path(), 0), 0);
}

/* As cp does it. */
static void write_over(void)
{
    static const char text[] = "a shorter file of somebody else\n";
    int fd = open(side_path(), O_WRONLY | O_TRUNC | O_CLOEXEC);

    EXPECT(fd >= 0);
    EXPECT_IS(write(fd, text, sizeof text), sizeof text);
    EXPECT_IS(close(fd), 0);
}

static void expect_told(const struct peer *me)
{
    EXPECT_HAS(me->error.text, "while in use; stop all programs");
    EXPECT_HAS(me->error.text, strrchr(side_path(), '/') + 1);
}

static void hold(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    atomic_store(&stage->count[0], (long long)me.fence);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    EXPECT_IS(renew(&me, "job", 60000), HF_EUNSAFE);
    expect_told(&me);
    {
        struct peer beside = {0};

        EXPECT_IS(enter(&beside), HF_EUNSAFE);
        expect_told(&beside);
    }
}

/* Fair as well: shows itself by a stamp at each look. */
static void wait_in_vain(struct stage *stage, int is_fair)
{
    bool has_fired = false;
    int r = HF_OK;
    PEER(me);

    me.is_fair = is_fair != 0;
    EXPECT_IS(acquire(&me, "job", 60000), HF_BUSY);
    atomic_fetch_add(&stage->ready, 1);
    while (r == HF_OK && !has_fired) {
        r = wait_for(&me, "job", 10000, &has_fired);
    }
    EXPECT_IS(r, HF_EUNSAFE);
    expect_told(&me);
}

static void try_to_enter(struct stage *stage, int index)
{
    struct peer me = {0};
    int r = enter(&me);

    (void)stage;
    (void)index;
    EXPECT_SAFE(r != HF_OK);
    EXPECT_IS(r, HF_EPROTO);
    EXPECT_HAS(me.error.text, "remove ");
    EXPECT_HAS(me.error.text, side_path());
}

static void begin_again(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    EXPECT_IS(acquire_within(&me, "job", 5000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->count[0]));
}

static void go_through(struct stage *stage, void (*harm)(void))
{
    pid_t holder = start_ready(hold, stage, 0);
    pid_t waiter;
    pid_t in_line;

    waiter = start(wait_in_vain, stage, false);
    in_line = start(wait_in_vain, stage, true);
    until(&stage->ready, 3);
    hf__test_pause_ms(20); /* until they sleep, or not */
    harm();
    EXPECT_IS(finish(waiter), 0);
    EXPECT_IS(finish(in_line), 0);
    EXPECT_IS(finish(start(try_to_enter, stage, 0)), 0);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(holder), 0);
}

TEST(a_side_file_that_is_cut_off_kills_nobody)
{
    struct stage *stage = stage_new();

    go_through(stage, cut_off);
    EXPECT_IS(finish(start(begin_again, stage, 0)), 0);
}

TEST(a_side_file_that_is_written_over_kills_nobody)
{
    struct stage *stage = stage_new();

    go_through(stage, write_over);
    EXPECT_IS(finish(start(try_to_enter, stage, 0)), 0);
    EXPECT_IS(unlink(side_path()), 0);
    {
        PEER(me);

        EXPECT_IS(acquire(&me, "other", 1000), HF_OK);
    }
}

/* One turn after the other, until told that the side file is no more, or to
 * stop. */
static void take_turns(struct stage *stage, int index)
{
    bool has_fired = false;
    int r = HF_OK;
    PEER(me);

    atomic_fetch_add(&stage->ready, 1);
    while (r != HF_EUNSAFE && !atomic_load(&stage->stop)) {
        begin_anew(&me);
        r = acquire(&me, "job", 60000);
        if (r == HF_OK) {
            EXPECT_SAFE_IS(atomic_exchange(&stage->inside, index + 1), 0);
            r = renew(&me, "job", 60000);
            EXPECT_SAFE_IS(atomic_exchange(&stage->inside, 0), index + 1);
            atomic_fetch_add(&stage->served, 1);
        }
        r = r == HF_OK ? release(&me, "job") : r;
        r = r == HF_BUSY ? wait_for(&me, "job", 1000, &has_fired) : r;
    }
    if (!atomic_load(&stage->stop)) {
        expect_told(&me);
    }
}

#define CROWD 4

TEST(a_side_file_may_be_cut_off_at_any_moment)
{
    struct stage *stage = stage_new();
    pid_t crowd[CROWD];

    for (int round = 1; round <= 8; round++) {
        for (int i = 0; i < CROWD; i++) {
            crowd[i] = start(take_turns, stage, i);
        }
        until(&stage->ready, round * CROWD);
        until(&stage->served, round * 20);
        cut_off();
        for (int i = 0; i < CROWD; i++) {
            EXPECT_IS(finish(crowd[i]), 0);
        }
        atomic_store(&stage->inside, 0);
    }
    EXPECT_IS(finish(start(begin_again, stage, 0)), 0);
}

/* What it begins with is whole: nobody is told, and they get on without. */
TEST(a_side_file_cut_off_behind_its_head_costs_no_lock)
{
    struct stage *stage = stage_new();
    pid_t crowd[CROWD];

    for (int i = 0; i < CROWD; i++) {
        crowd[i] = start(take_turns, stage, i);
    }
    until(&stage->ready, CROWD);
    for (int round = 1; round <= 8; round++) {
        until(&stage->served, round * 20);
        EXPECT_IS(truncate(side_path(), 64), 0);
    }
    until(&stage->served, 9 * 20);
    atomic_store(&stage->stop, 1);
    for (int i = 0; i < CROWD; i++) {
        EXPECT_IS(finish(crowd[i]), 0);
    }
}
