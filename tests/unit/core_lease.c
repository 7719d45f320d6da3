/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of leases: how much of one is believed, and when it is
 * renewed.
 */
#include "src/core/grant_fsm.h"
#include "tests/lib/test.h"

#include "include/holdfast.h"

static hf__time at_ms(int64_t ms)
{
    return (hf__time){ms * HF__MS};
}

static int64_t believed_ns(int64_t lease_ms)
{
    hf__time sent = at_ms(1000);

    return hf__between_ns(sent, hf__lease_deadline(sent, lease_ms));
}

TEST(a_lease_is_believed_less_one_percent_and_5_ms)
{
    EXPECT_IS(believed_ns(HF_LEASE_MIN_MS), 94 * HF__MS);
    EXPECT_IS(believed_ns(1000), 985 * HF__MS);
    EXPECT_IS(believed_ns(HF_LEASE_DEFAULT_MS), 29695 * HF__MS);
    EXPECT_IS(believed_ns(HF_LEASE_MAX_MS), 85535995 * HF__MS);
}

/* The client's clock 5000 ppm slow and the store's 500 ppm fast are far
 * beyond NTP; the lease must still end here first. */
TEST(the_margin_covers_drift)
{
    for (int64_t ms = HF_LEASE_MIN_MS; ms < HF_LEASE_MAX_MS; ms += ms / 7) {
        int64_t lease_us = ms * 1000;
        int64_t here_us = believed_ns(ms) / 1000 * 1005 / 1000;

        EXPECT_LESS(here_us, lease_us - lease_us * 500 / 1000000);
    }
}

TEST(the_deadline_moves_with_the_request)
{
    for (int64_t ms = 0; ms < 100000; ms += 777) {
        hf__time sent = at_ms(ms);

        EXPECT_IS(hf__lease_deadline(sent, 3000).ns, sent.ns + 2965 * HF__MS);
        EXPECT_IS(hf__lease_renew_at(sent, 3000).ns, sent.ns + 1000 * HF__MS);
        EXPECT_IS(hf__lease_retry_at(sent, 3000).ns, sent.ns + 250 * HF__MS);
    }
}

/* A renewal at a third, a twelfth later again: seven tries or more. */
TEST(several_renewals_fit_before_the_deadline)
{
    for (int64_t ms = HF_LEASE_MIN_MS; ms < HF_LEASE_MAX_MS; ms += ms / 7) {
        hf__time sent = at_ms(5);
        hf__time deadline = hf__lease_deadline(sent, ms);
        hf__time t = hf__lease_renew_at(sent, ms);
        int tries = 0;

        while (hf__before(t, deadline)) {
            tries++;
            t = hf__lease_retry_at(t, ms);
        }
        EXPECT_MORE(tries, 6);
    }
}

TEST(a_time_near_the_end_of_the_scale_does_not_overflow)
{
    hf__time far = {INT64_MAX - 5};

    EXPECT(hf__is_never(hf__lease_deadline(far, HF_LEASE_MAX_MS)));
    EXPECT(hf__is_never(hf__lease_renew_at(far, HF_LEASE_MAX_MS)));
    EXPECT(hf__is_never(hf__lease_retry_at(HF__NEVER, HF_LEASE_MAX_MS)));
}

TEST(a_lease_is_moot_two_percent_and_a_second_after_its_end)
{
    hf__time sent = {7 * HF__SECOND};

    EXPECT_IS(hf__between_ns(sent, hf__lease_moot_at(sent, 30000)),
              (30000 + 600 + 1000) * HF__MS);
    EXPECT_IS(hf__between_ns(sent, hf__lease_moot_at(sent, 100)),
              (100 + 2 + 1000) * HF__MS);
}

TEST(what_is_owed_is_given_back_within_seconds)
{
    hf__time now = {7 * HF__SECOND};

    EXPECT_IS(hf__between_ns(now, hf__lease_give_back_at(now, 1200)),
              100 * HF__MS);
    EXPECT_IS(hf__between_ns(now, hf__lease_give_back_at(now, 30000)),
              2000 * HF__MS);
    EXPECT_IS(hf__between_ns(now, hf__lease_give_back_at(now, HF_LEASE_MAX_MS)),
              2000 * HF__MS);
}
