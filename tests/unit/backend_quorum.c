/* SPDX-License-Identifier: MIT */
/*
 * The majority rule, for one to six members and every sequence of answers:
 * the verdict against a reading of quorum.h written here once more, and that
 * a decision comes as soon as, and no sooner than, it cannot change.
 */
#include "src/backend/quorum.h"
#include "tests/lib/test.h"

enum { MOST = 6, ANSWERS = 4 };

static const int answers[ANSWERS] = {HF_OK, HF_BUSY, HF_EUNKNOWN, HF_EUNAVAIL};

TEST(a_majority_is_more_than_half)
{
    static const int expected[] = {0, 1, 2, 2, 3, 3, 4, 4, 5};

    for (int n = 1; n <= 8; n++) {
        EXPECT_IS(hf__quorum_majority(n), expected[n]);
    }
}

/* quorum.h in other words; all have answered. */
static int expected_verdict(const int results[], int n, bool mends)
{
    int granted = 0;
    int refused = 0;
    int unknown = 0;

    for (int i = 0; i < n; i++) {
        granted += results[i] == HF_OK;
        refused += results[i] == HF_BUSY;
        unknown += results[i] == HF_EUNKNOWN;
    }
    if (2 * granted > n) {
        return HF_OK;
    }
    if (2 * (granted + refused) > n) {
        return mends && 2 * refused <= n ? (int)HF_EUNKNOWN : (int)HF_BUSY;
    }
    return unknown > 0 ? HF_EUNKNOWN : HF_EUNAVAIL;
}

static void note_more(struct hf__quorum *q, const int results[], int count)
{
    for (int i = 0; i < count; i++) {
        hf__quorum_note(q, results[i], 0);
    }
}

static void note_all(struct hf__quorum *q, const int results[], int count,
                     int n)
{
    hf__quorum_init(q, n);
    note_more(q, results, count);
}

static void note_mending(struct hf__quorum *q, const int results[], int count,
                         int n)
{
    hf__quorum_init(q, n);
    hf__quorum_mends(q);
    note_more(q, results, count);
}

/* Which verdicts can come of the first `count` answers; a set of bits. */
static unsigned outcomes(int results[], int count, int n, bool mends)
{
    unsigned found = 0;

    if (count == n) {
        return 1u << (expected_verdict(results, n, mends) + 8);
    }
    for (int i = 0; i < ANSWERS; i++) {
        results[count] = answers[i];
        found |= outcomes(results, count + 1, n, mends);
    }
    return found;
}

static void check_sequence(int results[], int count, int n, bool mends)
{
    struct hf__quorum q;
    int copy[MOST];
    unsigned possible = 0;
    bool is_fixed = false;

    for (int i = 0; i < count && i < MOST; i++) {
        copy[i] = results[i];
    }
    possible = outcomes(copy, count, n, mends);
    is_fixed = (possible & (possible - 1)) == 0;
    if (mends) {
        note_mending(&q, results, count, n);
    } else {
        note_all(&q, results, count, n);
    }
    EXPECT_IS(hf__quorum_is_decided(&q), is_fixed);
    if (is_fixed) {
        EXPECT_IS(1u << (hf__quorum_verdict(&q) + 8), possible);
    }
    for (int i = 0; count < n && i < ANSWERS; i++) {
        results[count] = answers[i];
        check_sequence(results, count + 1, n, mends);
    }
}

/* So a member that is down costs its time limit only if it matters. */
TEST(it_is_decided_once_no_answer_can_change_the_verdict)
{
    int results[MOST];

    for (int n = 1; n <= MOST; n++) {
        check_sequence(results, 0, n, false);
        check_sequence(results, 0, n, true);
    }
}

TEST(one_member_speaks_for_itself)
{
    static const int all[] = {HF_OK,     HF_BUSY,  HF_LOST,     HF_CONFLICT,
                              HF_ENOMEM, HF_EAUTH, HF_EUNKNOWN, HF_EPROTO};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct hf__quorum q;

        note_all(&q, &all[i], 1, 1);
        EXPECT(hf__quorum_is_decided(&q));
        EXPECT_IS(hf__quorum_verdict(&q), all[i]);
    }
}

TEST(the_first_refusal_and_the_first_failure_name_the_verdict)
{
    struct hf__quorum q;

    note_all(&q, (int[]){HF_EAUTH, HF_LOST, HF_BUSY}, 3, 3);
    EXPECT_IS(hf__quorum_verdict(&q), HF_LOST);
    note_all(&q, (int[]){HF_OK, HF_EAUTH, HF_EPROTO}, 3, 3);
    EXPECT_IS(hf__quorum_verdict(&q), HF_EAUTH);
}

TEST(the_highest_fence_is_kept)
{
    struct hf__quorum q;

    hf__quorum_init(&q, 3);
    hf__quorum_note(&q, HF_OK, 7);
    hf__quorum_note(&q, HF_BUSY, 12);
    hf__quorum_note(&q, HF_OK, 9);
    EXPECT_IS(q.fence, 12);
}

/* A late answer is still counted, but changes nothing. */
TEST(late_answers_leave_the_verdict_alone)
{
    struct hf__quorum q;

    note_all(&q, (int[]){HF_OK, HF_OK}, 2, 3);
    EXPECT_IS(hf__quorum_verdict(&q), HF_OK);
    hf__quorum_note(&q, HF_BUSY, 3);
    EXPECT_IS(hf__quorum_verdict(&q), HF_OK);
}

/* Somebody's claim, which will be given back, stands in a renewal's way at
 * one member while another is down: nothing is lost yet. */
TEST(a_renewal_is_refused_by_a_majority_only)
{
    static const int held_up[] = {HF_OK, HF_OK, HF_LOST, HF_EUNAVAIL,
                                  HF_EUNAVAIL};
    static const int taken[] = {HF_LOST, HF_OK, HF_LOST, HF_LOST};
    static const int halves[] = {HF_LOST, HF_OK, HF_LOST, HF_OK};
    struct hf__quorum q;

    note_all(&q, held_up, 5, 5);
    EXPECT_IS(hf__quorum_verdict(&q), HF_LOST);
    note_mending(&q, held_up, 5, 5);
    EXPECT_IS(hf__quorum_verdict(&q), HF_EUNKNOWN);
    note_mending(&q, taken, 4, 5);
    EXPECT(hf__quorum_is_decided(&q));
    EXPECT_IS(hf__quorum_verdict(&q), HF_LOST);
    note_mending(&q, halves, 4, 4);
    EXPECT_IS(hf__quorum_verdict(&q), HF_EUNKNOWN);
}

MUST_FAIL(an_answer_too_many_is_a_bug)
{
    struct hf__quorum q;

    note_all(&q, (int[]){HF_OK, HF_OK}, 2, 1);
}

MUST_FAIL(a_verdict_before_the_decision_is_a_bug)
{
    struct hf__quorum q;

    note_all(&q, (int[]){HF_OK}, 1, 3);
    (void)hf__quorum_verdict(&q);
}
