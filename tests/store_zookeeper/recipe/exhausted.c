/* SPDX-License-Identifier: MIT */
/*
 * A folder that has seen 2^31 claims, at a server of the tests' own. The server
 * stays at 2147483647, and gives -2147483648 to what is made while another is
 * under way: so numbers say no more who was first. Nobody is granted anything
 * by such a one; who comes waits till those who came before are gone, and then
 * counting begins anew.
 */
#include "tests/store_zookeeper/recipe/tree.h"

#include <string.h>

#define FOLDER "/r/test/job"

static void end_server(struct hf__zookeeper **server)
{
    hf__zookeeper_free(*server);
}

#define AUTO_SERVER HF_AUTO(end_server) struct hf__zookeeper
#define GUEST(who, server)                                                     \
    HF_AUTO(leave) struct party who = {0};                                     \
    join_server(&who, #who, server)

static void join_server(struct party *p, const char *label,
                        struct hf__zookeeper *server)
{
    char url[HF__ZOOKEEPER_URL];
    char full[HF__ZOOKEEPER_URL + 64];

    hf__zookeeper_url(server, "/r", url, sizeof url);
    snprintf(full, sizeof full, "%s?session_timeout=10s", url);
    EXPECT_IS(join_url(p, label, full), HF_OK);
}

static struct hf__zookeeper *start_at(int32_t next)
{
    struct hf__zookeeper *server = hf__zookeeper_start(NULL);

    hf__zookeeper_put(server, FOLDER, "");
    hf__zookeeper_set_sequence(server, FOLDER, next);
    return server;
}

struct racer {
    struct party *p;
    int result;
};

static void queue_now(void *arg)
{
    struct racer *racer = arg;

    racer->result = queue_up(racer->p, "job", ALONE);
}

static int race(struct party *a, struct party *b)
{
    struct racer racers[2] = {{a, 0}, {b, 0}};
    struct hf__test_thread *threads[2];

    for (int i = 0; i < 2; i++) {
        threads[i] = hf__test_start(queue_now, &racers[i]);
    }
    hf__test_join_all(threads, 2);
    return (racers[0].result == HF_OK) + (racers[1].result == HF_OK);
}

/* One of the two gets the last number, the other the lowest of all. */
TEST_WITHIN(120, two_who_come_at_once_to_a_worn_name_do_not_both_hold_it)
{
    AUTO_SERVER *server = start_at(INT32_MAX);
    GUEST(alice, server);
    GUEST(bob, server);
    GUEST(carol, server);

    for (int i = 0; i < 100; i++) {
        int n_granted = race(&alice, &bob);

        EXPECT_SAFE(n_granted <= 1);
        if (n_granted == 1) {
            EXPECT_SAFE_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
            EXPECT_SAFE_IS((renew(&alice, "job") == HF_OK) +
                               (renew(&bob, "job") == HF_OK),
                           1);
        }
        (void)release(&alice, "job");
        (void)release(&bob, "job");
        (void)release(&carol, "job");
        if (i % 20 == 0) {
            hf__zookeeper_put(server, FOLDER, "");
        }
    }
    EXPECT(strstr(hf__zookeeper_list(server, FOLDER), "2147483") == NULL);
}

TEST_WITHIN(60, a_worn_name_that_nobody_uses_counts_anew)
{
    AUTO_SERVER *server = start_at(INT32_MAX);
    GUEST(alice, server);
    GUEST(bob, server);
    uint64_t last = 0;

    EXPECT_IS(queue_up(&alice, "job", ALONE), HF_OK);
    EXPECT_HAS(hf__zookeeper_list(server, FOLDER), "-0000000000");
    last = alice.fence;
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_HAS(hf__zookeeper_list(server, FOLDER), "-0000000001");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
    EXPECT_SAFE_MORE(bob.fence, last);
}

TEST_WITHIN(60, whoever_comes_to_a_name_as_it_wears_waits_for_those_before)
{
    AUTO_SERVER *server = start_at(INT32_MAX - 65536);
    GUEST(alice, server);
    GUEST(bob, server);
    struct waiting w;

    EXPECT_IS(queue_up(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_BUSY);
    EXPECT(!bob.is_queued);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_BUSY);
    EXPECT_IS(hf__zookeeper_count(server, FOLDER), 1);
    watch_name(&w, &bob, "job");
    wait_in_vain(&w, 300);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    wait_until_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_OK);
    EXPECT_HAS(hf__zookeeper_list(server, FOLDER), "-0000000000");
}

/* The claim has a good number, and its slot has none. */
TEST_WITHIN(60, a_slot_is_not_held_by_a_worn_number)
{
    AUTO_SERVER *server = start_at(INT32_MAX - 65536);
    GUEST(alice, server);

    EXPECT_IS(queue_up(&alice, "job", SLOT_OF(2)), HF_OK);
    EXPECT_HAS(hf__zookeeper_list(server, FOLDER), "-0000000000");
    EXPECT_IS(hf__zookeeper_count(server, FOLDER), 2);
}

TEST_WITHIN(60, a_worn_name_with_a_stranger_in_it_is_told)
{
    AUTO_SERVER *server = start_at(INT32_MAX);
    GUEST(alice, server);

    hf__zookeeper_put(server, FOLDER "/stranger", "");
    EXPECT_IS(queue_up(&alice, "job", ALONE), HF_EUNSAFE);
    EXPECT_HAS(alice.error.text, FOLDER);
    EXPECT_HAS(alice.error.text, "2^31");
    EXPECT_IS(hf__zookeeper_count(server, FOLDER), 1);
}
