/* SPDX-License-Identifier: MIT */
/*
 * Who waits lists the line, and then watches who is before it. Between the two,
 * and as the watch is set, and as its event is on the way, the holder goes,
 * while the network keeps back or loses what was said: no wake-up is lost, and
 * nobody enters for whom it is not time.
 */
#include "tests/store_zookeeper/faults/world.h"

/* A client that lost its connection tries again after a sixtieth of it. */
static const char *const recipes[] = {"session_timeout=6s&recipe=fair",
                                      "session_timeout=6s&recipe=simple"};

/* The watch on a claim; listings are of the folder. */
#define WATCH "getChildren2 /holdfast/job/"

struct gap {
    const char *name;
    struct hf__proxy_rule rule;
};

static const struct gap gaps[] = {
    {"the watch is under way",
     {.what = HF__STATEMENT,
      .where = HF__BEFORE,
      .action = HF__SILENCE,
      .text = WATCH}},
    {"its answer is under way",
     {.what = HF__REPLY,
      .where = HF__BEFORE,
      .action = HF__SILENCE,
      .text = WATCH}},
    {"the watch is lost",
     {.what = HF__STATEMENT,
      .where = HF__BEFORE,
      .action = HF__RESET,
      .text = WATCH}},
    {"its answer is lost",
     {.what = HF__REPLY,
      .where = HF__BEFORE,
      .action = HF__RESET,
      .text = WATCH}},
    {"it is lost right after its answer",
     {.what = HF__REPLY,
      .where = HF__AFTER,
      .action = HF__RESET,
      .text = WATCH}},
};
enum { GAPS = sizeof gaps / sizeof gaps[0] };

static void expect_soon_granted(struct waiter *w, const hf_lock *before)
{
    int64_t start = hf__test_now_ms();

    EXPECT_IS(end_waiting(w), HF_OK);
    printf(" granted after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), patience(3000));
    EXPECT_IS(w->released, HF_OK);
    EXPECT_SAFE_MORE(w->fence, hf_fence(before));
}

static void go_meanwhile(const struct hf__zookeeper *s, struct hf__proxy *p,
                         hf_client *alice, const struct gap *gap)
{
    HELD(job, bob);
    int hits = hf__proxy_counts(p).hits;
    struct waiter w;

    printf("%s:", gap->name);
    hf__proxy_rule(p, &gap->rule);
    begin_to_wait(&w, alice, "job", patience(20000));
    EXPECT(hf__proxy_wait_hits(p, hits + 1, patience(5000)));
    EXPECT_SAFE(!atomic_load(&w.is_done));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__proxy_heal(p);
    expect_soon_granted(&w, job);
    await_claims(s, "job", 0);
}

TEST_WITHIN(90, who_goes_between_the_listing_and_the_watch_wakes_the_next)
{
    AUTO_SERVER *s = start_server("");

    for (int i = 0; i < 2; i++) {
        AUTO_PROXY *p = start_proxy(s);

        say_options(recipes[i]);
        AUTO_CLIENT *alice = open_by(p, recipes[i]);

        for (int k = 0; k < GAPS; k++) {
            go_meanwhile(s, p, alice, &gaps[k]);
        }
    }
}

/* It is set again by the library, and the server tells at once. */
TEST_WITHIN(60, an_event_that_is_lost_wakes_all_the_same)
{
    AUTO_SERVER *s = start_server("");

    for (int i = 0; i < 2; i++) {
        AUTO_PROXY *p = start_proxy(s);

        say_options(recipes[i]);
        AUTO_CLIENT *alice = open_by(p, recipes[i]);
        AUTO_CLIENT *bob = open_store();
        AUTO_LOCK *job = acquire(bob, "job");
        struct waiter w;

        hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__REPLY,
                                                   .where = HF__AFTER,
                                                   .action = HF__SILENCE,
                                                   .text = WATCH});
        begin_to_wait(&w, alice, "job", patience(20000));
        EXPECT(hf__proxy_wait_hits(p, 1, patience(5000)));
        hf__proxy_heal(p); /* it watches */
        hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__PUSH,
                                                   .where = HF__BEFORE,
                                                   .action = HF__RESET});
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        EXPECT(hf__proxy_wait_hits(p, 2, patience(5000)));
        expect_soon_granted(&w, job);
        await_claims(s, "job", 0);
    }
}

/* The one between, whom alice is about to watch, gives up; the holder lives. */
TEST_WITHIN(60, who_gives_up_between_the_listing_and_the_watch_lets_nobody_in)
{
    AUTO_SERVER *s = start_server("");
    AUTO_PROXY *p = start_proxy(s);

    say_options(recipes[0]);
    AUTO_CLIENT *alice = open_by(p, recipes[0]);
    HELD(job, bob, carol);
    struct waiter between;
    struct waiter w;

    begin_to_wait(&between, carol, "job", 1000);
    await_claims(s, "job", 2);
    hf__proxy_rule(p, &gaps[0].rule);
    begin_to_wait(&w, alice, "job", patience(20000));
    EXPECT(hf__proxy_wait_hits(p, 1, patience(5000)));
    EXPECT_IS(end_waiting(&between), HF_TIMEDOUT);
    await_claims(s, "job", 2);
    hf__proxy_heal(p);
    hf__test_pause_ms(500);
    EXPECT_SAFE(!atomic_load(&w.is_done));
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_soon_granted(&w, job);
    await_claims(s, "job", 0);
}
