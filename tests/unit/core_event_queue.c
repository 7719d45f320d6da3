/* SPDX-License-Identifier: MIT */
/*
 * Taking an event back while callbacks run: who does waits for its own, on
 * whichever thread that is, and for nobody else's.
 */
#include "src/core/event_queue.h"
#include "tests/lib/test.h"

#include <stdatomic.h>

static struct hf__event_queue events;
static struct hf__event event;
static atomic_bool is_in;
static atomic_bool may_end;
static atomic_bool is_over;

/* What was there is freed, and another is made of the same memory. */
static void make(void (*tell)(struct hf__event *))
{
    event = (struct hf__event){.tell = tell};
    hf__list_init(&event.link);
}

static void await(atomic_bool *flag)
{
    UNTIL(atomic_load(flag));
}

static void tell_long(struct hf__event *n)
{
    (void)n;
    atomic_store(&is_in, true);
    await(&may_end);
    atomic_store(&is_over, true);
}

static void tell_shortly(struct hf__event *n)
{
    (void)n;
}

static void tell_long_and_again(struct hf__event *n)
{
    n->tell = tell_shortly;
    hf__event_queue_post(&events, n);
    tell_long(n);
}

static void tell_and_retract(struct hf__event *n)
{
    EXPECT(!hf__event_queue_retract(&events, n));
    atomic_store(&is_over, true);
}

static void dispatch(void *arg)
{
    (void)arg;
    EXPECT_IS(hf__event_queue_dispatch(&events), 1);
}

/* Give the thread in whose callback it is now. */
static struct hf__test_thread *begin(void (*tell)(struct hf__event *))
{
    struct hf__test_thread *teller = NULL;

    hf__event_queue_init(&events);
    make(tell);
    hf__event_queue_post(&events, &event);
    teller = hf__test_start(dispatch, NULL);
    await(&is_in);
    return teller;
}

static void end(struct hf__test_thread *teller)
{
    atomic_store(&may_end, true);
    hf__test_join(teller);
    hf__event_queue_fini(&events);
}

TEST(a_notice_where_another_was_waits_for_nobody)
{
    struct hf__test_thread *teller = begin(tell_long);

    make(tell_shortly);
    EXPECT(!hf__event_queue_retract(&events, &event));
    hf__event_queue_post(&events, &event);
    EXPECT(hf__event_queue_retract(&events, &event));
    EXPECT(!hf__event_queue_retract(&events, &event));
    hf__event_queue_post(&events, &event);
    EXPECT_IS(hf__event_queue_dispatch(&events), 1);
    EXPECT(!hf__event_queue_retract(&events, &event));
    EXPECT(!atomic_load(&is_over));
    end(teller);
}

static void retract(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    EXPECT(!hf__event_queue_retract(&events, &event));
    EXPECT(atomic_load(&is_over));
}

static void expect_wait(void (*tell)(struct hf__event *), int more)
{
    struct hf__test_thread *teller = begin(tell);
    struct hf__test_thread *waiter = NULL;
    atomic_bool begins = false;

    EXPECT_IS(hf__event_queue_dispatch(&events), more);
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
    hf__event_queue_init(&events);
    make(tell_and_retract);
    hf__event_queue_post(&events, &event);
    dispatch(NULL);
    EXPECT(atomic_load(&is_over));
    hf__event_queue_fini(&events);
}
