/* SPDX-License-Identifier: MIT */
/*
 * Taking a notice back while callbacks run: who does waits for its own, on
 * whichever thread that is, and for nobody else's.
 */
#include "src/core/board.h"
#include "tests/lib/test.h"

#include <stdatomic.h>

static struct hf__board board;
static struct hf__notice notice;
static atomic_bool is_in;
static atomic_bool may_end;
static atomic_bool is_over;

/* What was there is freed, and another is made of the same memory. */
static void make(void (*tell)(struct hf__notice *))
{
    notice = (struct hf__notice){.tell = tell};
    hf__list_init(&notice.link);
}

static void await(atomic_bool *flag)
{
    UNTIL(atomic_load(flag));
}

static void tell_long(struct hf__notice *n)
{
    (void)n;
    atomic_store(&is_in, true);
    await(&may_end);
    atomic_store(&is_over, true);
}

static void tell_shortly(struct hf__notice *n)
{
    (void)n;
}

static void tell_long_and_again(struct hf__notice *n)
{
    n->tell = tell_shortly;
    hf__board_post(&board, n);
    tell_long(n);
}

static void tell_and_retract(struct hf__notice *n)
{
    EXPECT(!hf__board_retract(&board, n));
    atomic_store(&is_over, true);
}

static void dispatch(void *arg)
{
    (void)arg;
    EXPECT_IS(hf__board_dispatch(&board), 1);
}

/* Give the thread in whose callback it is now. */
static struct hf__test_thread *begin(void (*tell)(struct hf__notice *))
{
    struct hf__test_thread *teller = NULL;

    hf__board_init(&board);
    make(tell);
    hf__board_post(&board, &notice);
    teller = hf__test_start(dispatch, NULL);
    await(&is_in);
    return teller;
}

static void end(struct hf__test_thread *teller)
{
    atomic_store(&may_end, true);
    hf__test_join(teller);
    hf__board_fini(&board);
}

TEST(a_notice_where_another_was_waits_for_nobody)
{
    struct hf__test_thread *teller = begin(tell_long);

    make(tell_shortly);
    EXPECT(!hf__board_retract(&board, &notice));
    hf__board_post(&board, &notice);
    EXPECT(hf__board_retract(&board, &notice));
    EXPECT(!hf__board_retract(&board, &notice));
    hf__board_post(&board, &notice);
    EXPECT_IS(hf__board_dispatch(&board), 1);
    EXPECT(!hf__board_retract(&board, &notice));
    EXPECT(!atomic_load(&is_over));
    end(teller);
}

static void retract(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    EXPECT(!hf__board_retract(&board, &notice));
    EXPECT(atomic_load(&is_over));
}

static void expect_wait(void (*tell)(struct hf__notice *), int more)
{
    struct hf__test_thread *teller = begin(tell);
    struct hf__test_thread *waiter = NULL;
    atomic_bool begins = false;

    EXPECT_IS(hf__board_dispatch(&board), more);
    waiter = hf__test_start(retract, &begins);
    await(&begins);
    hf__test_pause_ms(50); /* who doesn't wait is through by then */
    atomic_store(&may_end, true);
    hf__test_join(waiter);
    end(teller);
}

CASE(what_is_told_elsewhere_is_waited_for, expect_wait(tell_long, 0));

/* Posted again by its own callback it is still the same. */
CASE(both_who_tell_it_are_waited_for, expect_wait(tell_long_and_again, 1));

TEST(a_callback_takes_its_own_back)
{
    hf__board_init(&board);
    make(tell_and_retract);
    hf__board_post(&board, &notice);
    dispatch(NULL);
    EXPECT(atomic_load(&is_over));
    hf__board_fini(&board);
}
