/* SPDX-License-Identifier: MIT */
/*
 * Who inherits a lock that its holder lets go of: the next of its client, if
 * there is no doubt of either, and not for ever.
 */
#include "src/core/claim.h"
#include "src/core/grant.h"
#include "src/core/lock.h"
#include "tests/lib/test.h"

enum { LEASE_MS = 30000 };

static struct hf__claim *stand_in_line(hf_client *client)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf__claim *c = NULL;

    EXPECT_IS(hf__claim_new(client, "job", &opts, &c), HF_OK);
    EXPECT_IS(hf__name_queue_enter(c), HF_OK);
    return c;
}

/* Nobody, while that is so. */
#define EXPECT_NO_NEXT_WAITER(h, what, is, was)                                \
    do {                                                                       \
        (what) = (is);                                                         \
        EXPECT(hf__name_queue_next_waiter(h, LEASE_MS) == NULL);               \
        (what) = (was);                                                        \
    } while (0)

TEST(the_next_inherits_if_there_is_no_doubt)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    struct hf__grant *h = NULL;
    struct hf__name_queue *p = NULL;
    struct hf__claim *next = NULL;

    EXPECT_IS(hf_open("memory:heir", NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_acquire(client, "job", NULL, &lock, NULL), HF_OK);
    next = stand_in_line(client);
    h = lock->grant;
    p = h->queue;
    EXPECT_NO_NEXT_WAITER(h, h->is_unanswered, true, false);
    EXPECT_NO_NEXT_WAITER(h, h->is_adopted, true, false);
    EXPECT_NO_NEXT_WAITER(h, h->kept_until, HF__NEVER, (hf__time){0});
    EXPECT_NO_NEXT_WAITER(h, next->store_has, HF__STORE_HAS_UNKNOWN,
                          HF__STORE_HAS_NOTHING);
    p->handed_since = hf__now();
    EXPECT_NO_NEXT_WAITER(h, p->handovers, 8, 7);
    EXPECT_NO_NEXT_WAITER(h, p->handed_since,
                          hf__after_ms(hf__now(), -LEASE_MS), hf__now());
    EXPECT(hf__name_queue_next_waiter(h, LEASE_MS) == next);
    EXPECT(hf__name_queue_abandon(next));
    hf__name_queue_forget(next);
    hf__name_queue_leave(next);
    hf__claim_unref(next);
    hf_free(lock);
    hf_close(client);
}
