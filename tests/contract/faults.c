/* SPDX-License-Identifier: MIT */
/*
 * fault+X: does what its rules say and nothing else, over every store X. The
 * program's argument is such a scheme. That it passes everything through
 * without rules is shown by the contract suite, which runs over it too.
 */
#include "src/backend/fault/plan.h"
#include "tests/contract/vocabulary.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A party whose sessions meet the faults of these rules; the same rules are
 * the same plan. */
#define VICTIM(who, rules)                                                     \
    HF_AUTO(give_back_and_leave) struct party who = {0};                       \
    EXPECT_IS(join_with(&who, #who, rules), HF_OK)

static int join_with(struct party *p, const char *label, const char *options)
{
    char url[2000];

    snprintf(url, sizeof url, "%s%c%s", store_url(),
             strchr(store_url(), '?') ? '&' : '?', options);
    return join_url(p, label, url);
}

/* The next session after one that died. */
static void join_again(struct party *p, const char *label, const char *options)
{
    EXPECT(p->conn.is_dead);
    leave(p);
    EXPECT_IS(join_with(p, label, options), HF_OK);
}

TEST(a_lost_request_is_unknown_and_not_applied)
{
    VICTIM(alice, "fault=lose_request:acquire:1");
    PARTY(bob);

    EXPECT_IS(acquire(&alice, "job"), HF_EUNKNOWN);
    EXPECT(alice.conn.is_dead);
    EXPECT_HAS(alice.error.text, "fault");
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT(!bob.record.is_held);
    EXPECT_IS(bob.record.fence, 0);
}

TEST(a_lost_reply_is_unknown_and_applied)
{
    VICTIM(alice, "fault=lose_reply:acquire:1");
    PARTY(bob);

    EXPECT_IS(acquire(&alice, "job"), HF_EUNKNOWN);
    EXPECT_IS(alice.fence, 0);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_TEXT(bob.record.owner.label, "alice");
    if (has(HF_CAP_SESSION)) {
        return; /* with the next one it is another owner */
    }
    join_again(&alice, "alice", "fault=lose_reply:acquire:1");
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_SAFE(alice.fence >= bob.record.fence);
    /* Who polls a quorum may hear of more: of a member that had not answered.
     */
    EXPECT(alice.fence == bob.record.fence || !has(HF_CAP_WAIT));
}

TEST(a_release_whose_reply_is_lost_has_released)
{
    VICTIM(alice, "fault=lose_reply:release:1");
    PARTY(bob);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_EUNKNOWN);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

/* Three acquires in one batch; the second one of the process is hit. */
static int acquire_three(struct party *p, struct request *rq)
{
    ask(p, &rq[0], HF__OP_ACQUIRE, "a");
    ask(p, &rq[1], HF__OP_ACQUIRE, "b");
    ask(p, &rq[2], HF__OP_ACQUIRE, "c");
    return send_batch(p, rq, 3);
}

TEST(a_fault_leaves_its_neighbours_alone)
{
    VICTIM(alice, "fault=lose_request:acquire:2");
    PARTY(bob);
    struct request rq[3];

    EXPECT_IS(acquire_three(&alice, rq), HF_EUNKNOWN);
    EXPECT_IS(rq[0].op.result, HF_OK);
    EXPECT_IS(rq[1].op.result, HF_EUNKNOWN);
    EXPECT_IS(rq[2].op.result, HF_OK);
    EXPECT_IS(acquire(&bob, "a"), HF_BUSY);
    EXPECT_IS(acquire(&bob, "b"), HF_OK);
    EXPECT_IS(acquire(&bob, "c"), HF_BUSY);
}

TEST(a_session_that_died_sends_nothing_more)
{
    VICTIM(alice, "fault=die:acquire:2");
    PARTY(bob);
    struct request rq[3];

    EXPECT_IS(acquire_three(&alice, rq), HF_EUNAVAIL);
    EXPECT_IS(rq[0].op.result, HF_OK);
    EXPECT_IS(rq[1].op.result, HF_EUNAVAIL);
    EXPECT_IS(rq[2].op.result, HF_EUNAVAIL);
    EXPECT(alice.conn.is_dead);
    EXPECT_IS(acquire(&bob, "a"), HF_BUSY);
    EXPECT_IS(acquire(&bob, "b"), HF_OK);
    EXPECT_IS(acquire(&bob, "c"), HF_OK);
}

TEST(a_delay_comes_before_the_operation)
{
    VICTIM(alice, "fault=delay:acquire:1:300ms");
    PARTY(bob);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(acquire_for(&alice, "job", 10000), HF_OK);
    EXPECT_MORE(hf__test_now_ms() - start, 298);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT(has(HF_CAP_SESSION) ||
           bob.record.remaining_us > 10000000 - slowly(250) * 1000);
}

TEST_IF(!has(HF_CAP_SESSION), a_late_reply_may_come_after_the_lease)
{
    VICTIM(alice, "fault=late_reply:acquire:1:400ms");
    PARTY(bob);

    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    if (has(HF_CAP_FENCE)) {
        EXPECT_SAFE_MORE(bob.fence, alice.fence);
    }
}

/* One acquire of "job" with a deadline of its own. */
static int acquire_by(struct party *p, struct request *rq, int64_t limit_ms)
{
    struct hf__op *one = &rq->op;
    hf__time limit = hf__after_ms(hf__now(), limit_ms);

    ask(p, rq, HF__OP_ACQUIRE, "job");
    return hf__conn_execute(&p->conn, &one, 1, limit, &p->error);
}

TEST(a_pause_ends_at_the_deadline)
{
    VICTIM(alice, "fault=delay:acquire:1:60s,late_reply:acquire:2:60s");
    PARTY(bob);
    struct request rq;
    int64_t start = hf__test_now_ms();

    EXPECT_IS(acquire_by(&alice, &rq, 200), HF_EUNKNOWN);
    EXPECT_IS(rq.op.result, HF_EUNKNOWN);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT(!bob.record.is_held);
    join_again(&alice, "alice",
               "fault=delay:acquire:1:60s,late_reply:acquire:2:60s");
    EXPECT_IS(acquire_by(&alice, &rq, slowly(500)), HF_EUNKNOWN);
    EXPECT_IS(rq.op.result, HF_EUNKNOWN);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT(bob.record.is_held);
    EXPECT_SOON(hf__test_now_ms() - start, slowly(3000));
}

static atomic_bool has_ended;

static void acquire_slowly(void *arg)
{
    struct party *p = arg;

    EXPECT_IS(acquire(p, "job"), HF_EUNKNOWN);
    atomic_store(&has_ended, true);
}

TEST(a_pause_ends_when_interrupted)
{
    VICTIM(alice, "fault=delay:acquire:1:60s");
    int64_t start = hf__test_now_ms();
    struct hf__test_thread *t = hf__test_start(acquire_slowly, &alice);

    while (!atomic_load(&has_ended)) { /* before it pauses, none is there */
        hf__test_pause_ms(50);
        hf__conn_interrupt(&alice.conn);
    }
    hf__test_join(t);
    EXPECT_SOON(hf__test_now_ms() - start, slowly(3000));
}

TEST(what_is_duplicated_is_answered_once)
{
    VICTIM(alice, "fault=duplicate:acquire,duplicate:renew,duplicate:release");
    PARTY(bob);

    for (int i = 0; i < 3; i++) {
        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        EXPECT_IS(inspect(&bob, "job"), HF_OK);
        EXPECT_IS(bob.record.fence, alice.fence);
        EXPECT_IS(renew(&alice, "job"), HF_OK);
        EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
        EXPECT_IS(release(&alice, "job"), HF_OK);
        EXPECT_IS(inspect(&bob, "job"), HF_OK);
        EXPECT(!bob.record.is_held);
    }
    EXPECT_IS(hf__fault_count(), 9);
}

TEST(again_is_not_applied_and_the_session_lives)
{
    VICTIM(alice, "fault=again:acquire:1-3");
    PARTY(bob);
    struct request rq;

    EXPECT_IS(acquire_by(&alice, &rq, slowly(5000)), HF_OK);
    EXPECT_IS(rq.op.result, HF__AGAIN);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT(!bob.record.is_held);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(hf__fault_count(), 3);
}

TEST(all_sessions_of_a_url_share_the_count)
{
    VICTIM(alice, "fault=lose_request:acquire:3-4");
    VICTIM(bob, "fault=lose_request:acquire:3-4");

    EXPECT_IS(acquire(&alice, "a"), HF_OK);
    EXPECT_IS(acquire(&bob, "b"), HF_OK);
    EXPECT_IS(acquire(&alice, "c"), HF_EUNKNOWN);
    join_again(&alice, "alice", "fault=lose_request:acquire:3-4");
    EXPECT_IS(acquire(&alice, "c"), HF_EUNKNOWN);
    join_again(&alice, "alice", "fault=lose_request:acquire:3-4");
    EXPECT_IS(acquire(&alice, "c"), HF_OK);
}

TEST(a_rule_can_hit_all_that_follow)
{
    VICTIM(alice, "fault=again:op:2-");
    struct request rq;

    EXPECT_IS(acquire_by(&alice, &rq, slowly(5000)), HF_OK);
    EXPECT_IS(rq.op.result, HF_OK);
    for (int i = 0; i < 5; i++) {
        EXPECT_IS(acquire_by(&alice, &rq, slowly(5000)), HF_OK);
        EXPECT_IS(rq.op.result, HF__AGAIN);
    }
}

/* Which of 60 acquires were hit, as bits. */
static uint64_t hits_of(const char *options)
{
    VICTIM(alice, options);
    uint64_t hits = 0;

    for (int i = 0; i < 60; i++) {
        struct request rq;

        EXPECT_IS(acquire_by(&alice, &rq, slowly(5000)), HF_OK);
        hits = hits << 1 | (rq.op.result == HF__AGAIN);
    }
    return hits;
}

TEST(a_seed_makes_a_run_that_can_be_repeated)
{
    uint64_t first = hits_of("fault=again:op:p0.5&seed=7");

    EXPECT_IS(hits_of("seed=7&fault=again:op:p0.5"), first);
    EXPECT_NOT(hits_of("fault=again:op:p0.5&seed=8"), first);
    EXPECT_MORE(__builtin_popcountll(first), 10);
    EXPECT_LESS(__builtin_popcountll(first), 50);
    EXPECT_IS(hits_of("fault=again:op:p0"), 0);
    EXPECT_IS(hits_of("fault=again:op:p1"), (UINT64_C(1) << 60) - 1);
}

TEST(an_open_can_fail)
{
    HF_AUTO(give_back_and_leave) struct party alice = {0};
    const char *rules = "fault=die:open:1,lose_reply:open:2";

    EXPECT_IS(join_with(&alice, "alice", rules), HF_EUNAVAIL);
    EXPECT(!hf__conn_is_open(&alice.conn));
    EXPECT_IS(join_with(&alice, "alice", rules), HF_EUNAVAIL);
    EXPECT_IS(join_with(&alice, "alice", rules), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_WAIT), a_wait_can_fail)
{
    VICTIM(alice, "fault=die:wait:1");
    struct waiting w;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    watch_name(&w, &alice, "job");
    EXPECT_IS(wait_up_to(&w, 5000), HF_EUNAVAIL);
    EXPECT(alice.conn.is_dead);
}

TEST_IF(has(HF_CAP_LIST), a_list_can_fail)
{
    VICTIM(alice, "fault=lose_reply:list:1");
    struct listing all = {0};

    EXPECT_IS(list(&alice, "", &all), HF_EUNAVAIL);
    EXPECT(alice.conn.is_dead);
}

TEST(any_is_every_call)
{
    HF_AUTO(give_back_and_leave) struct party alice = {0};

    EXPECT_IS(join_with(&alice, "alice", "fault=die:any:2"), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_EUNAVAIL);
    EXPECT_IS(hf__fault_count(), 1);
}

TEST(a_rule_that_makes_no_sense_is_refused)
{
    static const char *const bad[] = {
        "fault=",
        "fault=lose",
        "fault=lose_reply",
        "fault=lose_reply:open:0",
        "fault=lose_reply:acquire:x",
        "fault=lose_reply:acquire:2-1",
        "fault=lose_reply:acquire:2:50ms",
        "fault=lose_reply:acquire:p2",
        "fault=lose_reply:acquire:99999999999999999999",
        "fault=lose_reply:walk",
        "fault=delay:acquire:1",
        "fault=delay:acquire:1:fast",
        "fault=duplicate:break",
        "fault=duplicate:op",
        "fault=again:open",
        "fault=die:op,",
        "fault=die:op:1::",
        "fault=an_endless_word_that_nobody_could_mean",
        "fault=die:op&seed=x",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct party p = {0};

        EXPECT_IS(join_with(&p, "alice", bad[i]), HF_EINVAL);
        EXPECT_HAS(p.error.text, "url: option");
        EXPECT(!hf__conn_is_open(&p.conn));
    }
}

static void decorated(const char *store)
{
    char as[64];

    (void)snprintf(as, sizeof as, "fault+%s", store);
    EXPECT(hf__backend_find(as) != NULL);
    EXPECT_TEXT(hf__backend_find(as)->scheme, as);
}

TEST(only_stores_can_be_decorated)
{
    EXPECT(hf__backend_find("fault+") == NULL);
    EXPECT(hf__backend_find("fault+nothing") == NULL);
    EXPECT(hf__backend_find("fault+fault+memory") == NULL);
    for (int i = 0; hf__store_name(i) != NULL; i++) {
        EXPECT(strchr(hf__store_name(i), '+') == NULL);
        EXPECT(hf__backend_find(hf__store_name(i)) != NULL);
        EXPECT_TEXT(hf__backend_find(hf__store_name(i))->scheme,
                    hf__store_name(i));
        decorated(hf__store_name(i));
    }
    EXPECT(strncmp(scheme(), backend()->scheme, strlen(backend()->scheme)) ==
           0);
}
