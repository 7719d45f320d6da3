/* SPDX-License-Identifier: MIT */
/*
 * What the store may have of a claim, by what it may have had before and what
 * it answered: all transitions; and that what it may have is owed until the
 * store has answered.
 */
#include "src/core/claim_cleanup.h"
#include "src/core/client.h"
#include "tests/lib/test.h"

struct answer {
    enum hf__op_kind kind;
    int result;
    bool is_sent;
    bool is_queued;
    enum hf__store_has
        after[HF__STORE_HAS_GRANT + 1]; /* by what it was before */
};

#define ALL(x)                                                                 \
    {                                                                          \
        HF__STORE_HAS_##x, HF__STORE_HAS_##x, HF__STORE_HAS_##x,               \
            HF__STORE_HAS_##x                                                  \
    }
#define AS_BEFORE                                                              \
    {                                                                          \
        HF__STORE_HAS_NOTHING, HF__STORE_HAS_TICKET, HF__STORE_HAS_UNKNOWN,    \
            HF__STORE_HAS_GRANT                                                \
    }

static const struct answer answers[] = {
    {HF__OP_ACQUIRE, HF_OK, true, false, ALL(GRANT)},
    {HF__OP_ACQUIRE, HF_BUSY, true, false, ALL(NOTHING)},
    {HF__OP_ACQUIRE, HF_BUSY, true, true, ALL(TICKET)},
    {HF__OP_ACQUIRE, HF_EUNKNOWN, true, false, ALL(UNKNOWN)},
    {HF__OP_ACQUIRE, HF_EPROTO, true, false, ALL(UNKNOWN)},
    {HF__OP_ACQUIRE, HF_EAUTH, true, false, ALL(UNKNOWN)},
    {HF__OP_ACQUIRE, HF_EAUTH, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_ENOMEM, true, false, ALL(UNKNOWN)},
    {HF__OP_ACQUIRE, HF_ENOMEM, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_EUNAVAIL, true, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_EUNAVAIL, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_CANCELLED, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_EINVAL, true, false, AS_BEFORE},
    {HF__OP_HANDOVER, HF_OK, true, false, ALL(GRANT)},
    {HF__OP_HANDOVER, HF_LOST, true, false, AS_BEFORE},
    {HF__OP_HANDOVER, HF_BUSY, true, false, AS_BEFORE},
    {HF__OP_HANDOVER, HF_EUNKNOWN, true, false, ALL(UNKNOWN)},
    {HF__OP_HANDOVER, HF_EUNAVAIL, true, false, AS_BEFORE},
};

TEST(each_answer_says_what_the_store_may_have)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const struct answer *a = &answers[i];
        struct hf__op op = {.kind = a->kind,
                            .result = a->result,
                            .is_queued = a->is_queued,
                            .sent = {a->is_sent ? 1 : 0}};

        for (int before = 0; before <= (int)HF__STORE_HAS_GRANT; before++) {
            EXPECT_IS(hf__store_has_after((enum hf__store_has)before, &op),
                      a->after[before]);
        }
    }
}

/* So long as something is owed and nothing of it waits for another try. */
static void await_try(hf_client *client, const struct hf__link *waiting)
{
    bool is_under_way = true;

    while (is_under_way) {
        HF_SCOPED_LOCK(&client->mutex);

        is_under_way = client->unsettled > 0 && hf__list_is_empty(waiting);
    }
    EXPECT(!hf__list_is_empty(waiting));
}

static void await_settled(hf_client *client)
{
    bool is_settled = false;

    while (!is_settled) {
        HF_SCOPED_LOCK(&client->mutex);

        is_settled = client->unsettled == 0;
    }
}

static hf_client *open_store(const char *url)
{
    hf_client *client = NULL;

    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    return client;
}

static int try_for(hf_client *client, int64_t lease_ms, hf_lock **ret_lock)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = 0;
    opts.lease_ms = lease_ms;
    return hf_acquire(client, "job", &opts, ret_lock, NULL);
}

#define SILENT "fault+memory:debt?io_timeout=200ms&fault="

TEST(what_a_claim_may_have_left_is_owed_until_the_store_answers)
{
    hf_client *alice = open_store(SILENT "lose_reply:acquire:1,lose_request:"
                                         "acquire:2-99,lose_request:release:*");
    hf_lock *job = NULL;

    EXPECT_IS(try_for(alice, 60000, &job), HF_EUNKNOWN);
    await_try(alice, &alice->cleanups);
    hf_close(alice);
}

/* By then the store has ended it. */
TEST(and_no_longer_than_its_lease)
{
    hf_client *alice = open_store(SILENT "lose_request:acquire:*,"
                                         "lose_request:release:*");
    hf_lock *job = NULL;

    EXPECT_IS(try_for(alice, 200, &job), HF_EUNKNOWN);
    await_settled(alice);
    hf_close(alice);
}

TEST(so_is_a_lock_whose_release_got_no_answer)
{
    hf_client *alice = open_store(SILENT "lose_request:release:*");
    hf_lock *job = NULL;

    EXPECT_IS(try_for(alice, 60000, &job), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_EUNKNOWN);
    await_try(alice, &alice->retrying);
    hf_free(job);
    hf_close(alice);
}
