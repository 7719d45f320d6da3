/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous calls on what is more than one name for one holder: waiters in
 * line, slots, grants that are shared, and locks of several names, which are
 * lost once and released as one.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/loop.h"

enum { QUEUE = 6, N = 2 };

/* Each with an owner of its own. */
static hf_acquire_opts unowned(hf_acquire_opts opts)
{
    opts.owner_id = 0;
    return opts;
}

TEST_IF(store_can(HF_CAP_FAIR), fair_flights_enter_in_the_order_of_arrival)
{
    CLIENTS(alice, bob);
    hf_lock *job = acquire(bob, "job");
    hf_acquire_opts opts = unowned(fair(HF_FOREVER));
    struct outcome o[QUEUE] = {{0}};
    uint64_t last = 0;

    for (int i = 0; i < QUEUE; i++) {
        begin(i % 3 == 0 ? bob : alice, "job", &opts, &o[i]);
        await_waiters(alice, "job", i + 1);
    }
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    hf_free(job);
    for (int i = 0; i < QUEUE; i++) {
        hf_client *client = i % 3 == 0 ? bob : alice;

        EXPECT_IS(await(client, &o[i]), HF_OK);
        EXPECT_SAFE(hf_fence(o[i].lock) > last);
        last = hf_fence(o[i].lock);
        for (int k = i + 1; k < QUEUE; k++) {
            EXPECT_IS(o[k].calls, 0);
        }
        free_outcome(&o[i]);
    }
    await_waiters(alice, "job", 0);
}

TEST_IF(store_can(HF_CAP_FAIR), a_cancelled_flight_leaves_no_place_in_line)
{
    CLIENTS(alice, bob);
    hf_lock *job = acquire(bob, "job");
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = unowned(fair(HF_FOREVER));
    struct outcome o = {0};

    opts.cancel = cancel;
    begin(alice, "job", &opts, &o);
    await_waiters(bob, "job", 1);
    hf_cancel_fire(cancel);
    EXPECT_IS(await(alice, &o), HF_CANCELLED);
    await_waiters(bob, "job", 0);
    hf_free(job);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST_IF(store_can(HF_CAP_SLOTS), flights_have_slots_of_their_own)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = unowned(slots(HF_FOREVER, N));
    hf_acquire_opts once = slots(0, N);
    struct outcome o[N + 1] = {{0}};
    AUTO_OUTCOME vain = {0};
    struct outcome done = {0};

    for (int i = 0; i < N; i++) {
        begin(alice, "job", &opts, &o[i]);
    }
    await_all(alice, o, N);
    EXPECT_IS(hf_slot(o[0].lock) + hf_slot(o[1].lock), 1);
    begin(alice, "job", &once, &vain);
    EXPECT_IS(await(alice, &vain), HF_BUSY);
    begin(alice, "job", &opts, &o[N]);
    loop_for(alice, 50);
    EXPECT_IS(o[N].calls, 0);
    begin_release(&o[1], &done);
    EXPECT_IS(await(alice, &done), HF_OK);
    EXPECT_IS(await(alice, &o[N]), HF_OK);
    EXPECT(hf_slot(o[N].lock) != hf_slot(o[0].lock));
    for (int i = 0; i <= N; i++) {
        free_outcome(&o[i]);
    }
}

TEST_IF(store_can(HF_CAP_SHARED), flights_that_share_are_granted_side_by_side)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = unowned(shared(HF_FOREVER));
    struct outcome o[QUEUE] = {{0}};

    for (int i = 0; i < QUEUE; i++) {
        begin(alice, "job", &opts, &o[i]);
    }
    await_all(alice, o, QUEUE);
    await_holders(alice, "job", QUEUE);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    for (int i = 0; i < QUEUE; i++) {
        expect_held(o[i].lock);
        free_outcome(&o[i]);
    }
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* ---- several names */

static const char *const three[] = {"b", "c", "a"};

static hf_lock *acquire_three(hf_client *client, int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(0, lease_ms);
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire_many(client, three, 3, &opts, &lock, NULL), HF_OK);
    return lock;
}

TEST_IF(store_breaks_one(), the_first_loss_of_several_names_is_told_once)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *lock = acquire_three(alice, patience(1500));
    struct outcome loss = {0};

    EXPECT_IS(hf_on_lost(lock, note_loss, &loss), HF_OK);
    EXPECT(!is_ready(alice, 20));
    EXPECT_IS(hf_break(bob, "a", 0, NULL), HF_OK);
    (void)await(alice, &loss);
    EXPECT_IS(loss.reason, HF_REASON_BROKEN);
    EXPECT_IS(hf_held(lock), 0);
    EXPECT_IS(hf_break(bob, "c", 0, NULL), HF_OK);
    loop_for(alice, patience(400));
    EXPECT_IS(loss.calls, 1);
    EXPECT_IS(hf_release(lock, NULL), HF_LOST);
}

TEST_IF(store_breaks_one(), a_loss_of_several_names_is_told_to_who_asks_late)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *lock = acquire_three(alice, patience(1500));
    struct outcome first = {0};
    struct outcome later = {0};

    EXPECT_IS(hf_on_lost(lock, note_loss, &first), HF_OK);
    EXPECT_IS(hf_break(bob, "c", 0, NULL), HF_OK);
    EXPECT(is_ready(alice, patience(5000))); /* it is about to be told */
    EXPECT_IS(hf_on_lost(lock, note_loss, &later), HF_OK);
    (void)await(alice, &later);
    EXPECT_IS(later.reason, HF_REASON_BROKEN);
    EXPECT_IS(first.calls, 0);
}

TEST(several_names_that_are_let_go_are_never_told_to_be_lost)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *lock = acquire_three(alice, patience(1500));
    struct outcome loss = {0};

    EXPECT_IS(hf_on_lost(lock, note_loss, &loss), HF_OK);
    EXPECT_IS(hf_break(bob, "b", 0, NULL), HF_OK);
    EXPECT(is_ready(alice, patience(5000)));
    EXPECT_IS(hf_release(lock, NULL), HF_LOST);
    EXPECT(!is_ready(alice, 20));
    EXPECT_IS(dispatch(alice), 0);
    EXPECT_IS(loss.calls, 0);
    EXPECT_IS(hf_on_lost(lock, note_loss, &loss), HF_EINVAL);
}

TEST(an_asynchronous_release_of_several_names_frees_all)
{
    CLIENTS(alice, bob);
    hf_lock *lock = acquire_three(alice, HF_LEASE_MAX_MS);
    struct outcome done = {0};

    EXPECT_IS(hf_release_async(lock, note_done, &done, NULL), HF_OK);
    EXPECT_IS(hf_held(lock), 0);
    hf_free(lock);
    EXPECT_IS(await(alice, &done), HF_OK);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(try_once(bob, three[i]), HF_OK);
    }
}

TEST_IF(store_breaks_one(),
        an_asynchronous_release_names_which_of_several_was_lost)
{
    CLIENTS(alice, bob);
    hf_lock *lock = acquire_three(alice, HF_LEASE_DEFAULT_MS);
    struct outcome done = {0};

    EXPECT_IS(hf_break(bob, "c", 0, NULL), HF_OK);
    EXPECT_IS(hf_release_async(lock, note_done, &done, NULL), HF_OK);
    hf_free(lock);
    EXPECT_IS(await(alice, &done), HF_LOST);
    EXPECT_HAS(done.err.text, "\"c\" was lost");
    EXPECT_IS(try_once(bob, "a"), HF_OK);
}
