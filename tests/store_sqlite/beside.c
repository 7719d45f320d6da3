/* SPDX-License-Identifier: MIT */
/*
 * Processes side by side at one name: what one that is killed leaves behind is
 * in nobody's way, and goes to one other alone.
 */
#include "tests/store_sqlite/world.h"

#include <signal.h>
#include <stdio.h>

#define NAME "beside"

/* Shared holders of several processes, one of whom is killed: the waiting
 * writer needs the others to let go, and no more. */
static void share(struct stage *stage, int index)
{
    PEER(me);

    me.manner.mode = HF__MODE_SHARED;
    EXPECT_IS(acquire(&me, NAME, 20000), HF_OK);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    hf__test_pause_ms(index == 2 ? 300 : 0);
    EXPECT_IS(release(&me, NAME), HF_OK);
}

TEST(a_killed_one_of_several_holders_is_in_nobodys_way)
{
    struct stage *stage = stage_new();
    pid_t pids[3];
    PEER(me);
    int i;

    for (i = 0; i < 3; i++) {
        pids[i] = start(share, stage, i);
        until(&stage->ready, i + 1);
    }
    me.is_fair = true;
    EXPECT_IS(acquire(&me, NAME, 20000), HF_BUSY);
    kill_now(pids[0]);
    atomic_store(&stage->go, 1);
    EXPECT_IS(acquire_within(&me, NAME, 10000), HF_OK);
    EXPECT_IS(finish(pids[1]), 0);
    EXPECT_IS(finish(pids[2]), 0);
    EXPECT_IS(release(&me, NAME), HF_OK);
    expect_nobody(NAME);
}

/* Three of five may; a killed one leaves its slot to the next. */
static void take_a_slot(struct stage *stage, int index)
{
    PEER(me);

    me.manner = (struct hf__manner){HF__MODE_SLOTS, 3};
    me.is_fair = index % 2 == 0;
    atomic_fetch_add(&stage->ready, 1);
    while (!atomic_load(&stage->stop)) {
        if (acquire_within(&me, NAME, 100) != HF_OK) {
            continue;
        }
        if (atomic_fetch_add(&stage->count[me.slot], 1) != 0) {
            atomic_fetch_add(&stage->clashes, 1);
        }
        atomic_fetch_add(&stage->served, 1);
        hf__test_pause_ms(1);
        atomic_fetch_sub(&stage->count[me.slot], 1);
        EXPECT_IS(release(&me, NAME), HF_OK);
        begin_anew(&me);
    }
    (void)release(&me, NAME);
}

static void hold_a_slot(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    me.manner = (struct hf__manner){HF__MODE_SLOTS, 3};
    EXPECT_IS(acquire(&me, NAME, 20000), HF_OK);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->stop, 1);
}

TEST_WITHIN(30, no_slot_is_given_to_two)
{
    struct stage *stage = stage_new();
    pid_t victim = start(hold_a_slot, stage, 0);
    pid_t pids[6];
    int before;
    int i;

    until(&stage->ready, 1);
    for (i = 0; i < 6; i++) {
        pids[i] = start(take_a_slot, stage, i);
    }
    until(&stage->ready, 7);
    hf__test_pause_ms(500);
    kill_now(victim);
    before = atomic_load(&stage->served);
    hf__test_pause_ms(500);
    EXPECT_MORE(atomic_load(&stage->served), before);
    atomic_store(&stage->stop, 1);
    for (i = 0; i < 6; i++) {
        EXPECT_IS(finish(pids[i]), 0);
    }
    printf("%d grants of slots\n", atomic_load(&stage->served));
    EXPECT_SAFE_IS(atomic_load(&stage->clashes), 0);
    expect_nobody(NAME);
}
