/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: grants that are renewed, released and
 * taken up by their token.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/detached.h"
#include "tests/contract/peer.h"

#include <string.h>

static hf_lock *adopt(hf_client *client, const char *name, const char *token)
{
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    int r = hf_adopt(client, name, token, NULL, &lock, &err);

    if (r != HF_OK) {
        printf("adopting %s: %s: %s\n", name, hf_strstatus(r), err.text);
    }
    EXPECT_IS(r, HF_OK);
    return lock;
}

TEST_IF(store_can(HF_CAP_DETACH), a_grant_is_adopted_by_its_token)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = NULL;
    char token[33];

    leave_behind(alice, "job", 20000, token);
    job = adopt(bob, "job", token);
    expect_held(job);
    EXPECT_TEXT(hf_token(job), token);
    EXPECT_TEXT(hf_name(job), "job");
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

TEST_IF(store_is_shared() && store_can(HF_CAP_DETACH),
        a_grant_is_adopted_by_another_process)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = NULL;
    hf_acquire_opts opts = detached(20000);

    EXPECT_IS(peer_acquire_as(bob, "job", &opts), HF_OK);
    EXPECT_IS(peer_detach(bob), HF_OK);
    job = adopt(alice, "job", peer_token(bob));
    EXPECT_IS(hf_fence(job), peer_fence(bob));
    EXPECT_IS(peer_acquire(bob, "job", 0, 20000), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_acquire(bob, "job", 0, 20000), HF_OK);
    end_peer(bob);
}

TEST_IF(store_can(HF_CAP_DETACH), the_client_that_acquired_it_may_adopt_it)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = NULL;
    uint64_t fence;
    char token[33];

    leave_behind(alice, "job", 20000, token);
    job = adopt(alice, "job", token);
    fence = hf_fence(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    AUTO_LOCK *next = acquire(alice, "job");
    EXPECT_SAFE(fence == 0 || hf_fence(next) > fence);
}

TEST_IF(store_can(HF_CAP_DETACH), adopting_renews_and_goes_on_renewing)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = NULL;
    hf_acquire_opts opts = wanting(0, patience(1200));
    char token[33];

    leave_behind(alice, "job", patience(1200), token);
    EXPECT_IS(hf_adopt(bob, "job", token, &opts, &job, NULL), HF_OK);
    hf__test_pause_ms(patience(1800));
    expect_held(job);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
}

TEST_IF(store_can(HF_CAP_DETACH), renewing_by_token_leaves_it_detached)
{
    CLIENTS(alice, bob);
    char token[33];
    int64_t start;

    leave_behind(alice, "job", patience(1000), token);
    start = hf__test_now_ms();
    for (int i = 0; i < 2; i++) {
        hf_acquire_opts opts = wanting(0, patience(1000) * (i + 1));
        AUTO_LOCK *job = NULL;

        EXPECT_IS(hf_adopt(bob, "job", token, &opts, &job, NULL), HF_OK);
        EXPECT_IS(hf_detach(job, NULL), HF_OK);
    }
    await_free(alice, "job", patience(5000));
    EXPECT_MORE(since(start), safe(patience(2000)));
}

/* A renewal may make anew what most of a quorum have forgotten. */
TEST_IF(store_can(HF_CAP_DETACH),
        a_grant_that_ended_during_the_look_is_not_renewed)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = NULL;
    char options[64];
    char token[33];

    snprintf(options, sizeof options, "fault=late_reply:inspect:1:%dms",
             (int)patience(600));
    AUTO_CLIENT *bob = open_faulty(options);
    leave_behind(alice, "job", patience(400), token);
    EXPECT_IS(hf_adopt(bob, "job", token, NULL, &job, NULL), HF_LOST);
}

static char renewed_token[33];

static void renew_for_long(void *arg)
{
    hf_acquire_opts opts = wanting(0, patience(20000));
    AUTO_LOCK *job = NULL;

    hf__test_pause_ms(patience(100)); /* so that the other has looked */
    EXPECT_IS(hf_adopt(arg, "job", renewed_token, &opts, &job, NULL), HF_OK);
    EXPECT_IS(hf_detach(job, NULL), HF_OK);
}

/* Its first look is answered when the lease of then is over. */
TEST_IF(store_can(HF_CAP_DETACH),
        a_grant_that_was_renewed_during_the_look_is_adopted)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = NULL;
    char options[80];
    hf_error err = HF_ERROR_INIT;

    snprintf(options, sizeof options,
             "io_timeout=%dms&fault=late_reply:inspect:1:%dms",
             (int)patience(5000), (int)patience(1300));
    AUTO_CLIENT *bob = open_faulty(options);
    leave_behind(alice, "job", patience(1000), renewed_token);
    struct hf__test_thread *thread = hf__test_start(renew_for_long, alice);
    EXPECT_IS(hf_adopt(bob, "job", renewed_token, NULL, &job, &err), HF_OK);
    hf__test_join(thread);
    expect_held(job);
    EXPECT_IS(err.status, 0); /* a call that succeeds leaves it alone */
}

TEST_IF(store_leases(), a_wrong_token_adopts_nothing)
{
    HELD(job, alice, bob);
    AUTO_LOCK *none = NULL;
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_adopt(bob, "job", "0123456789abcdef0123456789abcdef", NULL,
                       &none, &err),
              HF_LOST);
    EXPECT(!none);
    EXPECT(strstr(err.text, "\"job\""));
    EXPECT(!strstr(err.text, "0123456789abcdef"));
    EXPECT_IS(hf_adopt(bob, "other", hf_token(job), NULL, &none, NULL),
              HF_LOST);
    expect_held(job);
}

TEST_IF(store_leases(), a_token_that_was_released_adopts_nothing)
{
    HELD(job, alice);
    AUTO_LOCK *none = NULL;

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_adopt(alice, "job", hf_token(job), NULL, &none, NULL),
              HF_LOST);
    EXPECT(!none);
}

TEST_IF(store_can(HF_CAP_DETACH), a_token_whose_lease_ran_out_adopts_nothing)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *none = NULL;
    char token[33];

    leave_behind(alice, "job", 100, token);
    hf__test_pause_ms(150);
    EXPECT_IS(hf_adopt(alice, "job", token, NULL, &none, NULL), HF_LOST);
}

TEST(what_is_no_token_is_refused_without_io)
{
    static const char *const wrong[] = {
        NULL,
        "",
        "0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdef0",
        "0123456789ABCDEF0123456789abcdef",
        "0123456789abcdeg0123456789abcdef",
        "00000000000000000000000000000000",
        " 123456789abcdef0123456789abcdef",
    };
    AUTO_CLIENT *alice = open_faulty("fault=die:op:1-");
    AUTO_LOCK *none = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hf_error err = HF_ERROR_INIT;

        EXPECT_IS(hf_adopt(alice, "job", wrong[i], NULL, &none, &err),
                  HF_EINVAL);
        EXPECT(!none);
        EXPECT(strstr(err.text, "hex"));
    }
}

/* Who adopts it knows nothing of the least hold; the store does. */
TEST_IF(store_can(HF_CAP_DETACH | HF_CAP_KEEP),
        the_least_hold_outlives_an_adoption)
{
    AUTO_CLIENT *alice = open_store();
    struct waiter w = {.opts = wanting(patience(400), HF_LEASE_DEFAULT_MS)};
    AUTO_LOCK *adopted = NULL;
    hf_acquire_opts opts = detached(20000);

    opts.min_hold_ms = 20000;
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_detach(job, NULL), HF_OK);
    adopted = adopt(alice, "job", hf_token(job));
    start_claim(&w, alice, "job");
    hf__test_pause_ms(patience(150));
    EXPECT_IS(hf_release(adopted, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w), HF_TIMEDOUT);
}

/* It may be granted to somebody else at any moment. */
TEST_IF(store_is_shared() && store_can(HF_CAP_DEATH),
        a_grant_whose_process_died_is_not_adopted)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *none = NULL;
    char token[33];

    EXPECT_IS(peer_acquire(bob, "job", 0, 20000), HF_OK);
    snprintf(token, sizeof token, "%s", peer_token(bob));
    kill_peer(bob);
    hf__test_pause_ms(100);
    EXPECT_IS(hf_adopt(alice, "job", token, NULL, &none, NULL), HF_LOST);
    EXPECT(!none);
}
