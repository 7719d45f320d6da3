/* SPDX-License-Identifier: MIT */
/*
 * Every store: many operations in one batch, each with an answer of its own,
 * and names that are told apart byte by byte.
 */
#include "tests/contract/vocabulary.h"

#include <string.h>

enum { MANY = 64 };

static const char *numbered(int i)
{
    static _Thread_local char name[16];

    snprintf(name, sizeof name, "job %d", i);
    return name;
}

/* One batch of n operations of one kind on numbered names. */
static void all_of(struct party *p, enum hf__op_kind kind, int n, int expected)
{
    struct request rq[MANY];

    for (int i = 0; i < n; i++) {
        ask(p, &rq[i], kind, numbered(i));
    }
    EXPECT_IS(send_batch(p, rq, n), HF_OK);
    for (int i = 0; i < n; i++) {
        EXPECT_IS(rq[i].op.result, expected);
    }
}

TEST(batches_of_every_size)
{
    PARTIES(alice, bob);

    for (int n = 1; n <= MANY; n = n < 8 ? n + 1 : 2 * n) {
        all_of(&alice, HF__OP_ACQUIRE, n, HF_OK);
        all_of(&bob, HF__OP_ACQUIRE, n, HF_BUSY);
        all_of(&alice, HF__OP_RENEW, n, HF_OK);
        all_of(&bob, HF__OP_RENEW, n, HF_LOST);
        all_of(&bob, HF__OP_RELEASE, n, HF_LOST);
        all_of(&alice, HF__OP_RELEASE, n, HF_OK);
        all_of(&alice, HF__OP_RELEASE, n, HF_LOST);
    }
}

TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_FENCE),
        a_batch_gives_each_name_its_own_fence)
{
    PARTY(alice);
    struct request rq[3];

    EXPECT_IS(acquire(&alice, "b"), HF_OK);
    EXPECT_IS(raise_to(&alice, "b", alice.fence + 1000000000000), HF_OK);
    uint64_t high = alice.fence;
    EXPECT_IS(release(&alice, "b"), HF_OK);
    ask(&alice, &rq[0], HF__OP_ACQUIRE, "a");
    ask(&alice, &rq[1], HF__OP_ACQUIRE, "b");
    ask(&alice, &rq[2], HF__OP_ACQUIRE, "c");
    EXPECT_IS(send_batch(&alice, rq, 3), HF_OK);
    EXPECT_LESS(rq[0].op.fence, high);
    EXPECT_SAFE_MORE(rq[1].op.fence, high);
    EXPECT_LESS(rq[2].op.fence, high);
    EXPECT_IS(inspect(&alice, "c"), HF_OK);
    EXPECT_IS(alice.record.fence, rq[2].op.fence);
}

TEST(every_kind_in_one_batch)
{
    PARTIES(alice, bob);
    struct request rq[7];

    EXPECT_IS(acquire(&alice, "renewed"), HF_OK);
    EXPECT_IS(acquire(&alice, "released"), HF_OK);
    EXPECT_IS(acquire(&alice, "handed"), HF_OK);
    EXPECT_IS(acquire(&alice, "raised"), HF_OK);
    EXPECT_IS(acquire(&bob, "seen"), HF_OK);
    EXPECT_IS(acquire(&bob, "broken"), HF_OK);
    ask(&alice, &rq[0], HF__OP_RENEW, "renewed");
    ask(&alice, &rq[1], HF__OP_RELEASE, "released");
    ask(&alice, &rq[2], HF__OP_HANDOVER, "handed");
    rq[2].op.next_token = claim_of(&bob, "handed")->token;
    rq[2].op.owner = &bob.owner;
    ask(&alice, &rq[3], HF__OP_RAISE, "raised");
    rq[3].op.fence = fence_of(&alice, "raised") + 100;
    ask(&alice, &rq[4], HF__OP_ACQUIRE, "acquired");
    ask(&alice, &rq[5], HF__OP_INSPECT, "seen");
    ask(&alice, &rq[6], HF__OP_BREAK, "broken");
    EXPECT_IS(send_batch(&alice, rq, 7), HF_OK);
    for (int i = 0; i < 7; i++) {
        bool is_missing = (i == 2 && !has(HF_CAP_HANDOVER)) ||
                          (i == 3 && has(HF_CAP_SESSION));
        EXPECT_IS(rq[i].op.result, is_missing ? HF_ENOTSUP : HF_OK);
    }
    EXPECT_TEXT(rq[5].record.owner.label, "bob");
    EXPECT_IS(acquire(&bob, "released"), HF_OK);
    EXPECT_IS(acquire(&bob, "acquired"), HF_BUSY);
    EXPECT_IS(renew(&bob, "broken"), HF_LOST);
}

TEST(one_refusal_does_not_touch_its_neighbours)
{
    PARTIES(alice, bob);
    struct request rq[6];

    EXPECT_IS(acquire(&bob, "b"), HF_OK);
    EXPECT_IS(acquire(&bob, "d"), HF_OK);
    EXPECT_IS(acquire(&alice, "f"), HF_OK);
    ask(&alice, &rq[0], HF__OP_ACQUIRE, "a");
    ask(&alice, &rq[1], HF__OP_ACQUIRE, "b");
    ask(&alice, &rq[2], HF__OP_ACQUIRE, "c");
    ask(&alice, &rq[3], HF__OP_RELEASE, "d");
    ask(&alice, &rq[4], HF__OP_BREAK, "e");
    ask(&alice, &rq[5], HF__OP_RENEW, "f");
    EXPECT_IS(send_batch(&alice, rq, 6), HF_OK);
    EXPECT_IS(rq[0].op.result, HF_OK);
    EXPECT_IS(rq[1].op.result, HF_BUSY);
    EXPECT_IS(rq[2].op.result, HF_OK);
    EXPECT_IS(rq[3].op.result, HF_LOST);
    EXPECT_IS(rq[4].op.result, HF_CONFLICT);
    EXPECT_IS(rq[5].op.result, HF_OK);
    EXPECT_TEXT(rq[1].record.owner.label, "bob");
    EXPECT_TEXT(rq[3].record.owner.label, "bob");
    EXPECT_IS(renew(&bob, "d"), HF_OK);
}

TEST(labels_and_errors_are_optional)
{
    PARTIES(alice, bob);
    struct request rq[2];

    EXPECT_IS(acquire(&bob, "b"), HF_OK);
    ask(&alice, &rq[0], HF__OP_ACQUIRE, "a");
    ask(&alice, &rq[1], HF__OP_ACQUIRE, "b");
    for (int i = 0; i < 2; i++) {
        rq[i].op.ret_record = NULL;
        rq[i].op.err = NULL;
    }
    EXPECT_IS(send_batch(&alice, rq, 2), HF_OK);
    EXPECT_IS(rq[0].op.result, HF_OK);
    EXPECT_IS(rq[1].op.result, HF_BUSY);
    ask(&alice, &rq[0], HF__OP_INSPECT, "b");
    rq[0].op.ret_record = NULL;
    EXPECT_IS(send_batch(&alice, rq, 1), HF_OK);
}

/* Pairs that some store, collation or pattern might take for one another. */
static const char *const lookalikes[] = {
    "job",
    "Job",
    "JOB",
    "job ",
    " job",
    "job\t",
    "job\n",
    /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): b is a digit */
    "j\xc3\xb6"
    "b",
    "jo\xcc\x88"
    "b",
    "jo\xcc\x88",
    "jobs",
    "jo",
    "j",
    "job%",
    "jo_",
    "j%",
    "'job'",
    "\"job\"",
    "job\\",
    "job\\n",
    "job;",
    "job'--",
    "job/a",
    "job/../a",
    "/",
    ".",
    "..",
    "job*",
    "job?",
    "[job]",
    "test:job",
    "NULL",
    "0",
    "00",
    "0.0",
    "1e3",
    "1000",
    "\xf0\x9f\x94\x92",
    "stra\xc3\x9f"
    "e",
    "strasse",
    "\x01",
    "\x7f",
};
enum { N_LOOKALIKES = (int)(sizeof lookalikes / sizeof *lookalikes) };

TEST(names_are_told_apart_byte_by_byte)
{
    PARTIES(alice, bob);
    struct request rq[N_LOOKALIKES];

    for (int i = 0; i < N_LOOKALIKES; i++) {
        EXPECT_IS(acquire(&alice, lookalikes[i]), HF_OK);
    }
    for (int i = 0; i < N_LOOKALIKES; i += 2) {
        EXPECT_IS(release(&alice, lookalikes[i]), HF_OK);
    }
    for (int i = 0; i < N_LOOKALIKES; i++) {
        ask(&bob, &rq[i], HF__OP_ACQUIRE, lookalikes[i]);
    }
    EXPECT_IS(send_batch(&bob, rq, N_LOOKALIKES), HF_OK);
    for (int i = 0; i < N_LOOKALIKES; i++) {
        EXPECT_IS(rq[i].op.result, i % 2 == 0 ? HF_OK : HF_BUSY);
    }
}

TEST(the_longest_names_are_kept_in_full)
{
    PARTIES(alice, bob);
    char name[HF_NAME_MAX + 1];

    memset(name, 'x', HF_NAME_MAX);
    name[HF_NAME_MAX] = '\0';
    EXPECT_IS(acquire(&alice, name), HF_OK);
    EXPECT_IS(acquire(&bob, name), HF_BUSY);
    name[HF_NAME_MAX - 1] = 'y';
    EXPECT_IS(acquire(&bob, name), HF_OK);
    name[HF_NAME_MAX - 1] = '\0';
    EXPECT_IS(acquire(&bob, name), HF_OK);
}

TEST(prefixes_keep_their_names_apart)
{
    JOB_OF(alice);
    struct request rq;

    ask(&alice, &rq, HF__OP_INSPECT, "job");
    memcpy(rq.key, "best", 4);
    EXPECT_IS(send_batch(&alice, &rq, 1), HF_OK);
    EXPECT(!rq.record.is_held);
}

TEST(the_longest_keys_fit)
{
    PARTY(alice);
    struct request rq;

    ask(&alice, &rq, HF__OP_ACQUIRE, "job");
    memset(rq.key, 'k', sizeof rq.key);
    rq.op.key.length = HF__KEY_MAX;
    rq.op.key.name_at = HF__PREFIX_MAX + 1;
    EXPECT_IS(send_batch(&alice, &rq, 1), HF_OK);
    EXPECT_IS(rq.op.result, HF_OK);
    rq.op.kind = HF__OP_INSPECT;
    EXPECT_IS(send_batch(&alice, &rq, 1), HF_OK);
    EXPECT(rq.record.is_held);
    rq.op.kind = HF__OP_RELEASE;
    EXPECT_IS(send_batch(&alice, &rq, 1), HF_OK);
    EXPECT_IS(rq.op.result, HF_OK);
}
