/* SPDX-License-Identifier: MIT */
/*
 * What it means that a claim's time is over while the store is asked: somebody
 * has the lock, or nobody knows.
 */
#include "src/core/claim.h"
#include "tests/lib/test.h"

/* What is known of the claim, in the order of the fields it is in. */
struct knowledge {
    bool is_heard;
    int failures;
    bool was_unknown; /* as after a hand-over that got no answer */
    int64_t asked_ago_ms;
    int result;
};

/* An answer is late after a quarter of io_timeout. */
static const struct knowledge all[] = {
    {true, 0, false, 0, HF_TIMEDOUT},  {true, 0, false, 180000, HF_EUNKNOWN},
    {true, 0, true, 0, HF_EUNKNOWN},   {true, 1, false, 0, HF_EUNKNOWN},
    {false, 0, false, 0, HF_EUNKNOWN},
};

TEST(only_a_store_that_answered_each_time_tells_of_a_holder)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_client *client = NULL;
    struct hf__claim *c = NULL;

    EXPECT_IS(hf_open("memory:timeup?io_timeout=10m", NULL, &client, NULL),
              HF_OK);
    EXPECT_IS(hf__claim_new(client, "job", &opts, &c), HF_OK);
    c->answer_by = HF__NEVER;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        c->is_heard = all[i].is_heard;
        c->failures = all[i].failures;
        c->asked_at = hf__after_ms(hf__now(), -all[i].asked_ago_ms);
        EXPECT_IS(hf__claim_time_out(c, all[i].was_unknown, HF_EUNKNOWN),
                  all[i].result);
        EXPECT_IS(c->is_cut_short, all[i].result == HF_TIMEDOUT);
    }
    hf__claim_unref(c);
    hf_close(client);
}
