/* SPDX-License-Identifier: MIT */
/*
 * Members that keep their data and forgot it all the same: emptied, copied from
 * another, or not flushed. Who comes next does not count them.
 */
#include "tests/store_redlock/world.h"

#include <stdlib.h>
#include <string.h>

/* Alice's lock is on three of five when that happens to one of them. */
static void expect_no_second_holder(void (*forget)(struct hf__redis *))
{
    GROUP(5);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = hold_on_three(alice);

    forget(member(2));
    for (int i = 0; i < 2; i++) { /* also not for who comes then */
        AUTO_CLIENT *bob = open_store();

        EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
        expect_held(job);
    }
}

static void empty(struct hf__redis *r)
{
    (void)hf__redis_command(r, "FLUSHALL");
}

static void lose_file(struct hf__redis *r)
{
    empty(r);
    hf__redis_kill(r);
    hf__redis_restart(r, NULL);
}

static void follow_another(struct hf__redis *r)
{
    (void)hf__redis_command(member(4), "CONFIG SET repl-diskless-sync-delay 0");
    (void)hf__redis_command(r, "REPLICAOF 127.0.0.1 %d", port_of(4));
    UNTIL_WITHIN(20000, strcmp(hf__redis_value(r, "master_link_status",
                                               "INFO replication"),
                               "up") == 0);
    (void)hf__redis_command(r, "REPLICAOF NO ONE");
}

CASE_WITHIN(60, one_that_was_emptied_makes_no_second_holder,
            expect_no_second_holder(empty));
CASE_WITHIN(60, one_that_lost_its_file_makes_no_second_holder,
            expect_no_second_holder(lose_file));
CASE_WITHIN(60, one_that_was_a_replica_makes_no_second_holder,
            expect_no_second_holder(follow_another));

/* Its data are in no file for as long as it rewrites that. */
TEST_WITHIN(60, one_that_rewrites_without_flushing_is_not_durable)
{
    static const char *const lax[] = {"no-appendfsync-on-rewrite yes", NULL};
    AUTO_GROUP *g = durable_group(3);
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    for (int i = 0; i < hf__redis_group_size(g) - 1; i++) {
        hf__redis_kill(member(i));
        hf__redis_restart(member(i), lax);
    }
    EXPECT_SAFE_IS(open_status(store_url(NULL), &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "1 of 3 members count, 2 must");
    EXPECT_HAS(err.text, "counted again in");
}

static void open_and_try(void *arg)
{
    AUTO_CLIENT *client = open_store();
    hf_acquire_opts opts = wanting(20000, 1000);
    AUTO_LOCK *job = NULL;

    (void)arg;
    EXPECT_IS(hf_acquire(client, "job", &opts, &job, NULL), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

/* One of them marks the members while the others look. */
TEST_WITHIN(60, the_first_clients_of_a_new_group_may_come_together)
{
    AUTO_GROUP *g = new_group(5);
    struct hf__test_thread *threads[8];

    hf__test_start_all(threads, 8, open_and_try, NULL);
    hf__test_join_all(threads, 8);
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        EXPECT_TEXT(hf__redis_command(member(i), "HGET holdfast;member since"),
                    "0");
    }
}

/* All must be there: one that is away may remember what these forgot. */
TEST_WITHIN(60, a_new_group_that_is_not_whole_is_waited_for)
{
    AUTO_GROUP *g = new_group(3);
    hf_error err = HF_ERROR_INIT;
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf__redis_group_size(g), 3);
    hf__redis_kill(member(2));
    EXPECT_SAFE_IS(open_status(url_of(~0U, "longest_lease=2s&"
                                           "connect_timeout=300ms"),
                               &err),
                   HF_EUNAVAIL);
    EXPECT_HAS(err.text, "it is new, or was emptied, counted in");
    EXPECT_IS(open_status(url_of(~0U, "allow=volatile"), NULL), HF_OK);
    UNTIL(open_status(url_of(~0U, "longest_lease=2s"), NULL) == HF_OK);
    EXPECT_SAFE_MORE(since(start), 1900);
}

/* One that joins counts when it has been there for long enough. */
TEST_WITHIN(60, a_new_group_counts_at_once)
{
    AUTO_GROUP *g = new_group(3);
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        EXPECT_TEXT(hf__redis_command(member(i), "HGET holdfast;member since"),
                    "0");
    }
    (void)hf__redis_command(member(0), "FLUSHALL");
    AUTO_CLIENT *bob = open_store();
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_MORE(
        strtoll(hf__redis_command(member(0), "HGET holdfast;member since"),
                NULL, 10),
        0);
}
