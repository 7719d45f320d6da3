/* SPDX-License-Identifier: MIT */
/*
 * Looking at a group of which some are down, stand still, or don't know what
 * the others granted; and breaking what is seen there.
 */
#include "tests/store_redlock/world.h"

static int count(void *names, const hf_info *info)
{
    (void)info;
    (*(int *)names)++;
    return 0;
}

static int names_of(hf_client *client)
{
    int names = 0;

    EXPECT_IS(hf_list(client, "", count, &names, NULL), HF_OK);
    return names;
}

/* Held on 0, 1 and 2, of which 0 is down then; 3 and 4 never heard of it. */
static hf_lock *hold_on_a_bare_majority(hf_client *client)
{
    hf_lock *job = hold_on_three(client);

    hf__redis_kill(member(0));
    return job;
}

TEST_WITHIN(60, what_a_bare_majority_holds_is_shown_while_one_of_it_is_down)
{
    GROUP(5);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = hold_on_a_bare_majority(alice);
    AUTO_CLIENT *bob = open_store();
    AUTO_INFO *info = look_at(bob, "job");

    EXPECT_SAFE_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_IS(hf_info_fence(info), hf_fence(job));
    EXPECT_IS(names_of(bob), 1);
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
}

/* The one that is down may have it still. */
TEST_WITHIN(60, a_break_that_not_all_can_confirm_is_unknown_and_is_done)
{
    GROUP(5);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = hold_on_a_bare_majority(alice);
    AUTO_CLIENT *bob = open_store();
    hf_error err = HF_ERROR_INIT;
    char address[32];

    snprintf(address, sizeof address, ":%d/", port_of(0));
    EXPECT_IS(hf_break(bob, "job", hf_fence(job), &err), HF_EUNKNOWN);
    EXPECT_HAS(err.text, "broken on 2 of 5 members");
    EXPECT_HAS(err.text, address);
    EXPECT_IS(presence(bob, "job"), HF_FREE);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__redis_restart(member(0), NULL);
    AUTO_CLIENT *carol = open_store();
    EXPECT_IS(presence(carol, "job"), HF_FREE);
    EXPECT_IS(try_once(carol, "job"), HF_OK);
}

TEST_WITHIN(60, what_a_minority_has_while_all_answer_is_free)
{
    GROUP(5);
    AUTO_CLIENT *alice = open_store();
    int64_t start = hf__test_now_ms();

    take_at(0, "job");
    take_at(1, "job");
    while (presence(alice, "job") != HF_FREE) { /* one was not there yet */
        EXPECT_LESS(since(start), patience(3000));
    }
    EXPECT_IS(names_of(alice), 0);
    EXPECT_IS(hf_break(alice, "job", 0, NULL), HF_CONFLICT);
}

/* As long as the others are a majority it is not waited for. */
TEST_WITHIN(60, a_list_does_not_wait_for_one_that_stands_still)
{
    AUTO_GROUP *g = durable_group(3);
    HELD(a, alice);
    AUTO_LOCK *b = acquire(alice, "b");

    EXPECT_IS(names_of(alice), 2);
    hf__redis_pause(hf__redis_member(g, 2));
    for (int i = 0; i < 3; i++) {
        int64_t start = hf__test_now_ms();

        EXPECT_IS(names_of(alice), 2);
        EXPECT_SOON(since(start), patience(500));
    }
    hf__redis_resume(member(2));
    expect_held(a);
    expect_held(b);
}
