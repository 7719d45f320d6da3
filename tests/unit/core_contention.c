/* SPDX-License-Identifier: MIT */
/*
 * When an update locks first: above a fifth of tries in vain, until hardly any
 * finds another at work; in between it stays as it is.
 */
#include "src/core/contention.h"
#include "tests/lib/test.h"

#define CELL UINT64_C(77)

static struct hf__contention contention;

/* So many tries the way that is chosen now, every nth of which meets another;
 * 0: none. */
static void go(int tries, int nth)
{
    for (int i = 1; i <= tries; i++) {
        hf__contention_note(&contention, CELL,
                            hf__contention_locks(&contention, CELL),
                            nth > 0 && i % nth == 0);
    }
}

static bool locks(void)
{
    return hf__contention_locks(&contention, CELL);
}

TEST(who_seldom_meets_another_never_locks)
{
    go(1000, 0);
    EXPECT(!locks());
    go(1000, 6);
    EXPECT(!locks());
}

TEST(above_a_fifth_it_locks)
{
    go(1000, 0);
    go(32, 4);
    EXPECT(locks());
}

TEST(a_few_tries_tell_nothing)
{
    go(7, 1);
    EXPECT(!locks());
    go(1, 1);
    EXPECT(locks());
}

TEST(it_goes_back_only_once_hardly_any_meets_another)
{
    go(8, 1);
    EXPECT(locks());
    go(1000, 8);
    EXPECT(locks());
    go(32, 0);
    EXPECT(!locks());
    while (!locks()) {
        go(1, 1);
    }
    go(31, 0);
    EXPECT(locks()); /* a whole window is to tell it */
    go(1, 0);
    EXPECT(!locks());
}

/* Neither way is kept by what was seen on the other. */
TEST(each_way_begins_anew)
{
    go(8, 1);
    EXPECT(locks());
    go(32, 0);
    EXPECT(!locks());
    go(7, 1);
    EXPECT(!locks());
}

TEST(what_began_the_other_way_does_not_count)
{
    go(8, 1);
    for (int i = 0; i < 100; i++) {
        hf__contention_note(&contention, CELL, false, false);
    }
    EXPECT(locks());
}

TEST(cells_do_not_know_of_each_other)
{
    go(8, 1);
    EXPECT(!hf__contention_locks(&contention, CELL + 1));
    EXPECT(locks());
    EXPECT(!hf__contention_locks(&contention, CELL + HF__CONTENTION_SLOTS));
    EXPECT(!locks()); /* the other took its place */
}
