/* SPDX-License-Identifier: MIT */
/*
 * Requests and watches, with a server that does as it should.
 */
#include "tests/store_zookeeper/link/side.h"

TEST(requests_of_one_pipeline_are_applied_in_their_order)
{
    MET(s);
    const char *path = under("a");

    CALLS(calls) = calls_of(&s, 8);
    hf__zk_create(calls, 0, path, "one", 3, ZOO_PERSISTENT);
    hf__zk_get(calls, 1, path, NULL);
    hf__zk_set(calls, 2, path, "three", 5, -1);
    hf__zk_get(calls, 3, path, NULL);
    hf__zk_children(calls, 4, hf__zookeeper_test_chroot(), NULL);
    hf__zk_sync(calls, 5, path);
    hf__zk_delete(calls, 6, path, -1);
    hf__zk_exists(calls, 7, path, NULL);
    EXPECT_IS(rc_of(calls, 0) <= HF__ZK_PENDING, true);
    await(calls);
    for (int i = 0; i < 7; i++) {
        EXPECT_IS(rc_of(calls, i), ZOK);
    }
    EXPECT_TEXT(hf__zk_answer(calls, 0)->text, path);
    EXPECT_MORE(hf__zk_answer(calls, 0)->stat.czxid, 0);
    EXPECT_TEXT(hf__zk_answer(calls, 1)->text, "one");
    EXPECT_IS(hf__zk_answer(calls, 3)->length, 5);
    EXPECT_IS(hf__zk_answer(calls, 3)->stat.version, 1);
    EXPECT_IS(hf__zk_answer(calls, 4)->names.n, 1);
    EXPECT_TEXT(hf__zk_answer(calls, 4)->names.list[0], "a");
    EXPECT_IS(rc_of(calls, 7), ZNONODE);
}

TEST(a_node_of_ours_has_our_session)
{
    MET(s);
    EXPECT_IS(hf__zk_timeout_ms(&s.ref), LIFE_MS);
    CALLS(calls) = calls_of(&s, 1);
    hf__zk_create(calls, 0, under("n-"), NULL, -1, ZOO_EPHEMERAL_SEQUENTIAL);
    await(calls);
    EXPECT_TEXT(hf__zk_answer(calls, 0)->text, under("n-0000000000"));
    EXPECT_IS(hf__zk_answer(calls, 0)->stat.ephemeralOwner,
              hf__zk_session_id(&s.ref));
}

TEST(what_is_refused_is_told_with_server_path_and_remedy)
{
    MET(s);
    hf_error err = HF_ERROR_INIT;

    CALLS(calls) = calls_of(&s, 3);
    hf__zk_delete(calls, 0, "no path", -1);
    hf__zk_delete(calls, 1, "/zookeeper", -1);
    EXPECT_IS(rc_of(calls, 0), ZBADARGUMENTS);
    EXPECT(!hf__zk_answer(calls, 0)->was_sent);
    EXPECT(!hf__zk_answer(calls, 2)->was_sent);
    await(calls);
    EXPECT_NOT(rc_of(calls, 1), ZOK);
    EXPECT_IS(
        hf__zk_fail(&s.ref, hf__zk_answer(calls, 0), "no path", true, &err),
        HF_EINVAL);
    EXPECT_HAS(err.text, hosts_of(hf__zookeeper_shared()));
    EXPECT_HAS(err.text, "no path");
    EXPECT_IS(err.native, ZBADARGUMENTS);
}

TEST(who_may_change_a_node_is_told)
{
    MET(s);
    SIDE(named);
    struct hf__zk_target target = {.hosts = hosts_of(hf__zookeeper_shared()),
                                   .user = "ann",
                                   .password = "s3cret",
                                   .timeout_ms = LIFE_MS};

    EXPECT_IS(meet_at(&named, &target, 2, 10000), HF_OK);
    EXPECT_IS(create(&s, under("open"), ZOO_EPHEMERAL), ZOK);
    EXPECT_IS(create(&named, under("hers"), ZOO_EPHEMERAL), ZOK);
    CALLS(calls) = calls_of(&named, 2);
    hf__zk_acl(calls, 0, under("open"));
    hf__zk_acl(calls, 1, under("hers"));
    await(calls);
    EXPECT_TEXT(hf__zk_answer(calls, 0)->text, "open");
    EXPECT_TEXT(hf__zk_answer(calls, 1)->text, "");
    EXPECT_HAS(hf__zookeeper_acl(hf__zookeeper_shared(), under("hers")),
               "digest:ann:");
    CALLS(foreign) = calls_of(&s, 1);
    hf__zk_get(foreign, 0, under("hers"), NULL);
    await(foreign);
    EXPECT_IS(rc_of(foreign, 0), ZNOAUTH);
    EXPECT_IS(hf__zk_fail(&s.ref, hf__zk_answer(foreign, 0), under("hers"),
                          false, &s.error),
              HF_EAUTH);
    EXPECT_HAS(s.error.text, "/hers");
}

/* ---- watches */

static void wait_for(struct hf__zk_watch *watch)
{
    UNTIL(hf__zk_watch_has_fired(watch));
}

TEST(a_watch_fires_once_and_may_be_set_again)
{
    MET(s);
    const char *path = under("w");

    WATCH(watch) = hf__zk_watch_new(&s.ref);
    CALLS(calls) = calls_of(&s, 3);
    /* On a node that is not there: only exists sets it. */
    hf__zk_get(calls, 0, path, watch);
    await(calls);
    EXPECT_IS(rc_of(calls, 0), ZNONODE);
    EXPECT(!hf__zk_watch_is_set(watch));
    hf__zk_exists(calls, 1, path, watch);
    await(calls);
    EXPECT(hf__zk_watch_is_set(watch));
    EXPECT(!hf__zk_watch_has_fired(watch));
    hf__zookeeper_put(hf__zookeeper_shared(), path, "x");
    wait_for(watch);
    EXPECT(!hf__zk_watch_is_set(watch));
    hf__zk_get(calls, 2, path, watch);
    await(calls);
    EXPECT(!hf__zk_watch_has_fired(watch));
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), path));
    wait_for(watch);
}

struct sleeper {
    struct hf__zk_ref *ref;
    const struct hf__zk_watch *watch;
};

static void sleep_until_fired(void *arg)
{
    const struct sleeper *who = arg;

    for (;;) {
        unsigned seen = hf__parker_seen(&who->ref->parker);

        if (hf__zk_watch_has_fired(who->watch)) {
            break;
        }
        hf__park(&who->ref->parker, seen, HF__NEVER);
    }
}

/* Who sleeps, sleeps for ever unless it is woken. */
TEST(a_watch_on_children_unparks_its_front)
{
    MET(s);
    SIDE(other);
    struct sleeper who = {.ref = &s.ref};
    struct hf__test_thread *thread;

    EXPECT_IS(meet(&other, hf__zookeeper_shared(), 1), HF_OK);
    WATCH(watch) = hf__zk_watch_new(&s.ref);
    CALLS(calls) = calls_of(&s, 1);
    hf__zk_children(calls, 0, hf__zookeeper_test_chroot(), watch);
    await(calls);
    who.watch = watch;
    thread = hf__test_start(sleep_until_fired, &who);
    hf__test_pause_ms(50);
    EXPECT_IS(create(&other, under("child"), ZOO_EPHEMERAL), ZOK);
    hf__test_join(thread);
}

/* Nor is it set again after a lost connection. */
TEST(a_watch_that_is_let_go_of_is_forgotten)
{
    MET(s);
    const char *path = under("w");
    struct hf__zk_watch *watch = NULL;
    size_t spare;

    EXPECT_IS(create(&s, path, ZOO_EPHEMERAL), ZOK);
    spare = hf__zk_watch_spare(&s.ref);
    for (int i = 0; i < 2; i++) {
        CALLS(calls) = calls_of(&s, 2);

        watch = hf__zk_watch_new(&s.ref);
        EXPECT(watch != NULL);
        hf__zk_get(calls, 0, path, watch);
        if (i == 0) {
            await(calls);
            EXPECT(hf__zk_watch_is_on(watch, path, false));
            EXPECT(!hf__zk_watch_is_on(watch, path, true));
            EXPECT_IS(hf__zk_watch_spare(&s.ref),
                      spare - hf__zk_watch_size(path));
        }
        hf__zk_watch_drop(watch);
        await(calls);
        EXPECT_IS(hf__zk_watch_spare(&s.ref), spare);
    }
}

/* Whoever let go of it, the library still calls it: nothing is told, nothing
 * is touched that is gone. */
TEST(a_watch_outlives_who_waited)
{
    MET(s);
    for (int i = 0; i < 50; i++) {
        CALLS(calls) = calls_of(&s, 2);
        struct hf__zk_watch *watch = hf__zk_watch_new(&s.ref);

        EXPECT(watch != NULL);
        EXPECT_IS(create(&s, under("w"), ZOO_EPHEMERAL), ZOK);
        hf__zk_get(calls, 0, under("w"), watch);
        if (i % 3 != 0) {
            await(calls);
        }
        hf__zk_delete(calls, 1, under("w"), -1);
        hf__zk_watch_drop(watch);
        await(calls);
    }
}

/* What its header does not name, and the library has no words for. */
TEST(a_quota_that_is_used_up_is_told_with_what_helps)
{
    MET(s);
    struct hf__zk_answer answer = {.rc = -125, .was_sent = true};

    EXPECT_IS(hf__zk_fail(&s.ref, &answer, "/locks", true, &s.error),
              HF_EUNAVAIL);
    EXPECT_HAS(s.error.text, "quota");
    EXPECT_HAS(s.error.text, "setquota");
}
