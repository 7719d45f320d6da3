/* SPDX-License-Identifier: MIT */
/*
 * Groups that are none, and what is said of those that fail: each member's own
 * reason.
 */
#include "tests/store_redlock/world.h"

TEST(two_are_too_few)
{
    GROUP(2);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(open_status(store_url(NULL), &err), HF_EUNSAFE);
    EXPECT_HAS(err.text, "2 members: a majority needs three at least");
    EXPECT_IS(open_status(url_of(3, "allow=few-members"), &err), HF_OK);
    EXPECT_IS(open_status(url_of(1, "allow=few-members"), &err), HF_OK);
    EXPECT_IS(open_status(url_of(1, ""), &err), HF_EUNSAFE);
}

TEST(one_server_by_two_names_is_refused)
{
    GROUP(3);
    hf_error err = HF_ERROR_INIT;
    char url[200];
    char name[40];

    snprintf(url, sizeof url,
             "redlock://127.0.0.1:%d,127.0.0.1:%d,localhost:%d", port_of(0),
             port_of(1), port_of(0));
    EXPECT_IS(open_status(url, &err), HF_EUNSAFE);
    snprintf(name, sizeof name, "redis://127.0.0.1:%d/0", port_of(0));
    EXPECT_HAS(err.text, name);
    snprintf(name, sizeof name, "redis://localhost:%d/0", port_of(0));
    EXPECT_HAS(err.text, name);
    EXPECT_HAS(err.text, "are one server");
    snprintf(url, sizeof url,
             "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", port_of(0),
             port_of(1), port_of(0));
    EXPECT_IS(open_status(url, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "twice");
}

TEST_WITHIN(60, each_member_has_its_own_reason)
{
    AUTO_GROUP *g = durable_group(5);
    hf_error err = HF_ERROR_INIT;
    char reason[128];

    hf__redis_kill(hf__redis_member(g, 0));
    (void)hf__redis_command(member(1), "CONFIG SET maxmemory-policy %s",
                            "allkeys-lru");
    (void)hf__redis_command(member(2), "REPLICAOF 127.0.0.1 %s", "1");
    EXPECT_IS(open_status(store_url(NULL), &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "2 of 5 members count, 3 must");
    snprintf(reason, sizeof reason,
             "redis://127.0.0.1:%d/0: it can't be connected to", port_of(0));
    EXPECT_HAS(err.text, reason);
    snprintf(reason, sizeof reason, "redis://127.0.0.1:%d/0: the server throws",
             port_of(1));
    EXPECT_HAS(err.text, reason);
}

/* Nine reasons have no room. */
TEST(all_of_many_members_are_named)
{
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_open("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,"
                      "127.0.0.1:4,127.0.0.1:5,127.0.0.1:6,127.0.0.1:7,"
                      "127.0.0.1:8,127.0.0.1:9/0",
                      NULL, &client, &err),
              HF_EUNAVAIL);
    EXPECT_HAS(err.text, "0 of 9 members count, 5 must: 127.0.0.1:1; ");
    EXPECT_HAS(err.text, "; 127.0.0.1:9: redis://127.0.0.1:1/0: it can't be");
}

/* Those that may come back would be no majority: it is told as what it is. */
TEST_WITHIN(60, a_majority_that_is_unfit_is_told_as_such)
{
    AUTO_GROUP *g = durable_group(3);
    hf_error err = HF_ERROR_INIT;

    for (int i = 0; i < hf__redis_group_size(g) - 1; i++) {
        (void)hf__redis_command(member(i), "CONFIG SET maxmemory-policy %s",
                                "allkeys-lru");
    }
    EXPECT_IS(open_status(store_url(NULL), &err), HF_EUNSAFE);
    EXPECT_IS(open_status(url_of(~0U, "allow=evicting"), &err), HF_OK);
}

/* ---- several URLs */

TEST(urls_with_a_space_between_are_the_members)
{
    GROUP(3);
    HELD(job, alice);
    AUTO_CLIENT *bob = NULL;
    char url[300];

    snprintf(url, sizeof url,
             "redis://127.0.0.1:%d/0 redis://127.0.0.1:%d/0 "
             "redis://127.0.0.1:%d/0",
             port_of(0), port_of(1), port_of(2));
    EXPECT_IS(hf_open(url, NULL, &bob, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* A member that is gone, and one more, while a client lives. */
TEST_WITHIN(60, members_come_and_go_under_a_client)
{
    AUTO_GROUP *g = durable_group(3);
    AUTO_CLIENT *alice = open_store();
    int64_t start;

    for (int i = 0; i < 3; i++) {
        hf__redis_kill(hf__redis_member(g, i));
        start = hf__test_now_ms();
        while (try_once(alice, "job") != HF_OK) { /* another is still late */
            EXPECT_LESS(since(start), patience(3000));
        }
        hf__redis_restart(hf__redis_member(g, i), NULL);
        start = hf__test_now_ms();
        while (hf__redis_try(member(i), "HGET holdfast:{probe} token") !=
                   NULL ||
               token_at(i, "probe")[0] == '\0') {
            AUTO_LOCK *probe = acquire_fixed(alice, "probe", 5000);

            EXPECT_LESS(since(start), patience(8000));
            hf__test_pause_ms(50); /* until it is among those who are asked */
            if (token_at(i, "probe")[0] != '\0') {
                break;
            }
            EXPECT_IS(hf_release(probe, NULL), HF_OK);
        }
    }
}
