/* SPDX-License-Identifier: MIT */
/*
 * One attempt for every set of members that are down, taken, or stand still:
 * its verdict, that it comes in time, and that it leaves nothing behind.
 */
#include "tests/store_redlock/world.h"

#include <string.h>
#include <strings.h>

enum { LEASE_MS = 4000 }; /* a member costs a twentieth at most */

static bool has_majority(unsigned members, int n)
{
    return 2 * __builtin_popcount(members) > n;
}

/* ---- taken by somebody else */

static void try_taken(hf_client *alice, unsigned taken, int n)
{
    unsigned all = (1u << n) - 1;
    hf_acquire_opts opts = wanting(0, LEASE_MS);
    hf_lock *job = NULL;
    int r;

    for (int i = 0; i < n; i++) {
        clear_at(i, "job");
        if ((taken >> i & 1) != 0) {
            take_at(i, "job");
        }
    }
    r = hf_acquire(alice, "job", &opts, &job, NULL);
    EXPECT_IS(r, has_majority(all & ~taken, n) ? HF_OK : HF_BUSY);
    if (r == HF_OK) {
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        hf_free(job);
    }
    expect_nothing_left(all, "job");
    for (int i = 0; i < n; i++) {
        EXPECT_TEXT(token_at(i, "job"), (taken >> i & 1) != 0 ? STRANGER : "");
    }
}

static void try_all_taken(int n)
{
    GROUP(n);
    AUTO_CLIENT *alice = open_store();

    for (unsigned taken = 0; taken < 1u << n; taken++) {
        try_taken(alice, taken, n);
    }
}

CASE_WITHIN(60, of_five_any_that_are_taken, try_all_taken(5));

/* Half of them is no majority. */
CASE_WITHIN(60, of_four_any_that_are_taken, try_all_taken(4));
CASE_WITHIN(60, of_six_any_that_are_taken, try_all_taken(6));

/* ---- down */

static void try_down(unsigned down, int n)
{
    unsigned up = ((1u << n) - 1) & ~down;
    int64_t start = hf__test_now_ms();
    hf_error err = HF_ERROR_INIT;

    if (!has_majority(up, n)) {
        EXPECT_IS(open_status(store_url(NULL), &err), HF_EUNAVAIL);
        EXPECT_SOON(since(start), patience(1000));
        for (int i = 0; i < n; i++) {
            char address[32];

            snprintf(address, sizeof address, ":%d/", port_of(i));
            EXPECT_IS(strstr(err.text, address) != NULL, (down >> i & 1) != 0);
        }
        return;
    }
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_fixed(alice, "job", LEASE_MS);

    EXPECT_SOON(since(start), patience(1000));
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_nothing_left(up, "job");
}

/* In the order of Gray's code: one is stopped or started at a time. */
TEST_WITHIN(100, of_five_any_that_are_down)
{
    AUTO_GROUP *g = durable_group(5);
    unsigned down = 0;

    for (unsigned i = 0; i < 1u << 5; i++) {
        unsigned next = i ^ (i >> 1);
        int changed = ffs((int)(next ^ down)) - 1; /* -1: none is, at first */

        if (next != down && (next & ~down) != 0) {
            hf__redis_kill(hf__redis_member(g, changed));
        } else if (next != down) {
            hf__redis_restart(hf__redis_member(g, changed), NULL);
        }
        down = next;
        try_down(down, 5);
    }
}

/* ---- standing still */

static void pause_all(struct hf__redis_group *g, unsigned members)
{
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        if ((members >> i & 1) != 0) {
            hf__redis_pause(hf__redis_member(g, i));
        }
    }
}

static void resume_all(struct hf__redis_group *g, unsigned members)
{
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        if ((members >> i & 1) != 0) {
            hf__redis_resume(hf__redis_member(g, i));
        }
    }
}

static void try_still(struct hf__redis_group *g, hf_client *alice,
                      unsigned still)
{
    int n = hf__redis_group_size(g);
    unsigned all = (1u << n) - 1;
    bool is_granted = has_majority(all & ~still, n);
    hf_acquire_opts opts = wanting(0, LEASE_MS);
    hf_lock *job = NULL;
    hf_error err = HF_ERROR_INIT;
    int64_t start;
    int r;

    pause_all(g, still);
    start = hf__test_now_ms();
    r = hf_acquire(alice, "job", &opts, &job, &err);
    if (r != (is_granted ? HF_OK : HF_EUNKNOWN)) {
        printf("# %#x: %s\n", still, err.text);
    }
    EXPECT_IS(r, is_granted ? HF_OK : HF_EUNKNOWN);
    /* Who is alone to decide waits for nobody; else one who stands still costs
     * its part of the lease, for the attempt and for giving it back. */
    EXPECT_SOON(since(start), patience(is_granted ? 150 : 1200));
    if (is_granted) {
        expect_held(job);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        EXPECT_SOON(since(start), patience(200));
        hf_free(job);
    }
    resume_all(g, still);
    expect_nothing_left(all, "job");
}

TEST_WITHIN(100, of_five_any_that_stand_still)
{
    AUTO_GROUP *g = durable_group(5);

    for (unsigned still = 0; still < 1u << 5; still++) {
        AUTO_CLIENT *alice = open_with("io_timeout=1s");

        EXPECT_IS(try_once(alice, "warm"), HF_OK); /* renewals', too */
        try_still(g, alice, still);
    }
}

/* They come back one after another, and what was asked of them before they
 * stood still comes with them. */
TEST_WITHIN(60, a_member_that_stood_still_has_nothing_of_what_was_over)
{
    AUTO_GROUP *g = durable_group(5);
    AUTO_CLIENT *alice = open_store();

    pause_all(g, 3);
    for (int i = 0; i < 20; i++) {
        AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);

        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
    resume_all(g, 3);
    expect_nothing_left(~0U, "job");
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}
