/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a link, and of what was asked on it, when the server dies,
 * stands still, ends the session or refuses who we are; and when we have no
 * more time. Each request is answered once, or never, and nobody waits longer
 * than they wanted to.
 */
#include "tests/store_zookeeper/link/side.h"

#include <stdio.h>
#include <string.h>

/* A wait that should take so long may take so much longer. */
enum { MARGIN_MS = 3000 };

static int ready(struct side *s, int64_t within_ms)
{
    s->error = (hf_error)HF_ERROR_INIT;
    return hf__zk_ready(&s->ref, hf__after_ms(hf__now(), within_ms), &s->error);
}

static int await_within(struct side *s, struct hf__zk_calls *calls,
                        int64_t within_ms)
{
    s->error = (hf_error)HF_ERROR_INIT;
    return hf__zk_await(calls, hf__after_ms(hf__now(), within_ms), &s->error);
}

/* That its server died is news that takes a moment. */
static void await_away(struct side *s)
{
    UNTIL(ready(s, 0) != HF_OK);
}

/* ---- the server */

TEST_WITHIN(60, a_session_outlives_its_server)
{
    AUTO_SERVER *server = hf__zookeeper_start(NULL);
    SIDE(s);
    struct hf__zk_target target = {.hosts = hosts_of(server),
                                   .timeout_ms = 20000};

    EXPECT_IS(meet_at(&s, &target, 1, 10000), HF_OK);
    int64_t session = hf__zk_session_id(&s.ref);
    EXPECT_IS(create(&s, "/mine", ZOO_EPHEMERAL), ZOK);
    hf__zookeeper_kill(server);
    await_away(&s);
    hf__zookeeper_restart(server, NULL);
    EXPECT_IS(ready(&s, 20000), HF_OK);
    EXPECT_IS(hf__zk_session_id(&s.ref), session);
    EXPECT_IS(look(&s, "/mine"), ZOK);
}

enum { ASKERS = 8, ASKED = 50 };

struct asking {
    struct side sides[ASKERS];
    const struct hf__zookeeper *server;
    atomic_int next;
    atomic_bool is_over;
    atomic_int answered;
    atomic_int lost;
};

static void count(struct asking *asking, struct hf__zk_calls *calls)
{
    for (int i = 0; i < ASKED; i++) {
        int rc = rc_of(calls, i);

        /* Not sent any more, if the server was away for too long. */
        EXPECT_NOT(rc, HF__ZK_PENDING);
        EXPECT(rc == ZOK || rc == ZINVALIDSTATE || hf__zk_is_unknown(rc));
        atomic_fetch_add(rc == ZOK ? &asking->answered : &asking->lost, 1);
    }
}

/* False: the session did not outlive it. */
static bool ask_all(struct asking *asking, struct side *s)
{
    CALLS(calls) = calls_of(s, ASKED);

    for (int i = 0; i < ASKED; i++) {
        hf__zk_create(calls, i, "/a-", "", 0, ZOO_EPHEMERAL_SEQUENTIAL);
    }
    if (await_within(s, calls, 15000) != HF_OK) {
        return false;
    }
    count(asking, calls);
    return true;
}

static void ask_on(void *arg)
{
    struct asking *asking = arg;
    struct side *s = &asking->sides[atomic_fetch_add(&asking->next, 1)];

    for (bool is_met = false; !atomic_load(&asking->is_over);
         hf__test_pause_ms(10)) {
        is_met = (is_met || meet(s, asking->server, 1) == HF_OK) &&
                 ask_all(asking, s);
    }
}

/* The server dies again and again with hundreds of requests under way. */
TEST_WITHIN(120, each_request_is_answered_when_the_connection_is_lost)
{
    static struct asking asking;
    struct hf__test_thread *threads[ASKERS];
    AUTO_SERVER *server = hf__zookeeper_start(NULL);

    asking.server = server;
    hf__test_start_all(threads, ASKERS, ask_on, &asking);
    for (int i = 0; i < 3; i++) {
        int before = atomic_load(&asking.answered);

        UNTIL(atomic_load(&asking.answered) >= before + ASKED);
        hf__zookeeper_kill(server);
        hf__zookeeper_restart(server, NULL);
    }
    atomic_store(&asking.is_over, true);
    for (int i = 0; i < ASKERS; i++) {
        hf__test_join(threads[i]);
    }
    for (int i = 0; i < ASKERS; i++) {
        part(&asking.sides[i]); /* not that of the thread of this number */
    }
    EXPECT_MORE(asking.lost, 0);
    printf("# %d answered, %d lost\n", asking.answered, asking.lost);
}

/* What is still unanswered when its owner leaves is answered to nobody. */
TEST_WITHIN(60, a_late_answer_finds_nobody)
{
    AUTO_SERVER *server = hf__zookeeper_start(NULL);
    SIDE(s);
    struct hf__zk_target target = {.hosts = hosts_of(server),
                                   .timeout_ms = 20000};

    EXPECT_IS(meet_at(&s, &target, 1, 10000), HF_OK);
    hf__zookeeper_pause(server);
    for (int i = 0; i < 20; i++) {
        CALLS(calls) = calls_of(&s, 3);
        WATCH(watch) = hf__zk_watch_new(&s.ref);
        int64_t from = hf__test_now_ms();

        hf__zk_create(calls, 0, "/late-", "x", 1, ZOO_EPHEMERAL_SEQUENTIAL);
        hf__zk_children(calls, 1, "/", watch);
        EXPECT_IS(await_within(&s, calls, 20), HF_BUSY);
        EXPECT_SOON(hf__test_now_ms() - from, 20 + MARGIN_MS);
        EXPECT_IS(rc_of(calls, 0), HF__ZK_PENDING);
        EXPECT(hf__zk_answer(calls, 0)->was_sent);
        EXPECT_IS(hf__zk_fail(&s.ref, hf__zk_answer(calls, 0), "/late", true,
                              &s.error),
                  HF_EUNKNOWN);
        EXPECT_IS(
            hf__zk_fail(&s.ref, hf__zk_answer(calls, 1), "/", false, &s.error),
            HF_EUNAVAIL);
    }
    hf__zookeeper_resume(server);
    CALLS(calls) = calls_of(&s, 1);
    hf__zk_children(calls, 0, "/", NULL);
    await(calls);
    EXPECT_IS(hf__zk_answer(calls, 0)->names.n, 21); /* and /zookeeper */
}

TEST_WITHIN(60, leaving_with_requests_under_way)
{
    AUTO_SERVER *server = hf__zookeeper_start(NULL);

    for (int i = 0; i < 5; i++) {
        SIDE(s);
        CALLS(calls) = NULL;
        struct hf__zk_target target = {.hosts = hosts_of(server),
                                       .timeout_ms = LIFE_MS,
                                       .io_timeout_ms = 600};

        EXPECT_IS(meet_at(&s, &target, 1, 10000), HF_OK);
        WATCH(watch) = hf__zk_watch_new(&s.ref);
        CALLS(first) = calls_of(&s, 1);
        hf__zk_children(first, 0, "/", watch);
        await(first);
        hf__zookeeper_pause(server);
        calls = calls_of(&s, 30);
        for (int k = 0; k < 30; k++) {
            hf__zk_create(calls, k, "/a-", "", 0, ZOO_EPHEMERAL_SEQUENTIAL);
        }
        if (i % 2 == 0) {
            EXPECT_IS(await_within(&s, calls, 10), HF_BUSY);
        }
        hf__zk_calls_drop(HF_MOVE(calls));
        hf__zk_calls_drop(HF_MOVE(first));
        hf__zk_watch_drop(HF_MOVE(watch));
        int64_t from = hf__test_now_ms();
        part(&s);
        EXPECT_SOON(hf__test_now_ms() - from, 600 + MARGIN_MS);
        hf__zookeeper_resume(server);
    }
}

/* ---- the session */

/* The server ends it, and the link has heard of that. */
static void expire(struct side *s)
{
    EXPECT(hf__zookeeper_expire(hf__zookeeper_shared(),
                                hf__zk_session_id(&s->ref)));
    UNTIL(hf__zk_is_over(&s->ref, &s->error) != HF_OK);
}

TEST(a_session_that_expired_is_over_and_the_next_front_has_a_new_one)
{
    MET(s);
    SIDE(waiting);
    SIDE(next);

    EXPECT_IS(meet(&waiting, hf__zookeeper_shared(), 1), HF_OK);
    EXPECT_IS(create(&s, under("mine"), ZOO_EPHEMERAL), ZOK);
    int64_t session = hf__zk_session_id(&s.ref);
    expire(&s);
    EXPECT_IS(ready(&s, 1000), HF_EUNAVAIL);
    EXPECT_HAS(s.error.text, "ended the session");
    EXPECT_IS(ready(&waiting, 1000), HF_EUNAVAIL);
    CALLS(calls) = calls_of(&s, 1);
    hf__zk_exists(calls, 0, "/", NULL);
    EXPECT_IS(rc_of(calls, 0), ZINVALIDSTATE);
    EXPECT_IS(meet(&next, hf__zookeeper_shared(), 1), HF_OK);
    EXPECT_NOT(hf__zk_session_id(&next.ref), session);
    EXPECT_IS(look(&next, under("mine")), ZNONODE);
}

/* The library would free the paths of several changes together. */
TEST(several_changes_are_not_sent_when_the_session_is_over)
{
    MET(s);
    expire(&s);
    CALLS(calls) = calls_of(&s, 5);
    const char *pair[] = {under("one"), under("two")};
    hf__zk_create_pair(calls, 0, pair, "x", 1);
    hf__zk_delete_pair(calls, 1, pair);
    EXPECT(hf__zk_join_delete(calls, 2, under("three")));
    EXPECT(hf__zk_join_delete(calls, 3, under("four")));
    EXPECT(hf__zk_join_delete(calls, 4, under("five")));
    hf__zk_join_send(calls);
    for (int i = 0; i < 5; i++) {
        EXPECT_IS(rc_of(calls, i), ZINVALIDSTATE);
    }
}

static void end_session(void *arg)
{
    struct side *s = arg;

    hf__test_pause_ms(100);
    EXPECT(hf__zookeeper_expire(hf__zookeeper_shared(),
                                hf__zk_session_id(&s->ref)));
}

/* Whoever waits for what a watch tells is woken by the end of all. */
TEST(the_end_of_a_session_wakes_who_waits)
{
    MET(s);
    struct hf__test_thread *thread = hf__test_start(end_session, &s);
    while (hf__zk_is_over(&s.ref, &s.error) == HF_OK) {
        unsigned seen = hf__parker_seen(&s.ref.parker);

        if (hf__zk_is_over(&s.ref, &s.error) == HF_OK) {
            hf__park(&s.ref.parker, seen, HF__NEVER);
        }
    }
    hf__test_join(thread);
}

TEST_WITHIN(60, who_is_refused_is_told_so)
{
    static const char *const java[] = {
        "-Dzookeeper.DigestAuthenticationProvider.enabled=false", NULL};
    struct hf__zookeeper_opts opts = {.java = java, .is_fresh = true};
    AUTO_SERVER *server = hf__zookeeper_start(&opts);
    SIDE(s);
    struct hf__zk_target target = {.hosts = hosts_of(server),
                                   .user = "ann",
                                   .password = "s3cret",
                                   .timeout_ms = LIFE_MS};

    int64_t from = hf__test_now_ms();
    int r = meet_at(&s, &target, 1, 10000);
    /* The refusal may be lost with the connection, which the server closes:
     * then it comes with the next, before any answer. */
    while (r == HF_OK) {
        EXPECT_SOON(hf__test_now_ms() - from, 5000);
        hf__test_pause_ms(1);
        r = hf__zk_is_over(&s.ref, &s.error);
    }
    EXPECT_IS(r, HF_EAUTH);
    EXPECT_SOON(hf__test_now_ms() - from, 5000);
    EXPECT_HAS(s.error.text, "user and password");
    EXPECT(strstr(s.error.text, "s3cret") == NULL);
    part(&s);
    EXPECT_IS(meet(&s, server, 1), HF_OK);
}

/* ---- our time */

static void stop_soon(void *arg)
{
    hf__test_pause_ms(100);
    stop(arg);
}

TEST_WITHIN(60, an_interrupt_ends_any_wait)
{
    AUTO_SERVER *server = hf__zookeeper_start(NULL);
    SIDE(s);
    struct hf__zk_target target = {.hosts = hosts_of(server),
                                   .timeout_ms = 20000};

    EXPECT_IS(meet_at(&s, &target, 1, 10000), HF_OK);
    hf__zookeeper_pause(server);
    CALLS(calls) = calls_of(&s, 1);
    hf__zk_exists(calls, 0, "/", NULL);
    struct hf__test_thread *thread = hf__test_start(stop_soon, &s);
    int64_t from = hf__test_now_ms();
    EXPECT_IS(await_within(&s, calls, 10000), HF_BUSY);
    EXPECT_SOON(hf__test_now_ms() - from, 100 + MARGIN_MS);
    hf__test_join(thread);
    hf__zookeeper_resume(server);
}

/* A port where nobody is, a name that nobody has. */
TEST(nobody_is_waited_for_longer_than_wanted)
{
    SIDE(s);
    char nobody[64];
    struct hf__zk_target target = {.hosts = nobody, .timeout_ms = LIFE_MS};

    snprintf(nobody, sizeof nobody, "127.0.0.1:%d", hf__servers_take_port());
    int64_t from = hf__test_now_ms();
    EXPECT_IS(meet_at(&s, &target, 1, 300), HF_EUNAVAIL);
    EXPECT_SOON(hf__test_now_ms() - from, 300 + MARGIN_MS);
    EXPECT_HAS(s.error.text, nobody);
    part(&s);
    target.hosts = "no.such.host.invalid:2181";
    EXPECT_IS(meet_at(&s, &target, 1, 300), HF_EUNAVAIL);
    EXPECT_HAS(s.error.text, "no.such.host.invalid");
}

/* One of several that is unknown, or dead, leaves the others. */
TEST(one_host_of_several_is_enough)
{
    SIDE(s);
    char hosts[160];
    struct hf__zk_target target = {.hosts = hosts, .timeout_ms = LIFE_MS};

    snprintf(hosts, sizeof hosts,
             "no.such.host.invalid:2181,127.0.0.1:%d,localhost:%d",
             hf__servers_take_port(),
             hf__zookeeper_port(hf__zookeeper_shared()));
    EXPECT_IS(meet_at(&s, &target, 1, 10000), HF_OK);
    EXPECT_IS(look(&s, "/"), ZOK);
}

/* What a name stands for may have moved: it is not held on to for ever, nor are
 * numbers, for the session is over by then. */
TEST_WITHIN(60, who_stays_away_for_a_session_s_time_is_over)
{
    AUTO_SERVER *server = hf__zookeeper_start(NULL);
    SIDE(s);
    char hosts[64];
    struct hf__zk_target target = {.hosts = hosts, .timeout_ms = LIFE_MS};

    snprintf(hosts, sizeof hosts, "localhost:%d", hf__zookeeper_port(server));
    EXPECT_IS(meet_at(&s, &target, 1, 10000), HF_OK);
    hf__zookeeper_kill(server);
    await_away(&s);
    EXPECT_IS(ready(&s, LIFE_MS / 2), HF_BUSY);
    hf__test_pause_ms(LIFE_MS);
    EXPECT_IS(ready(&s, LIFE_MS), HF_EUNAVAIL);
    EXPECT_HAS(s.error.text, "a new session");
}
