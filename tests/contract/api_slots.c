/* SPDX-License-Identifier: MIT */
/*
 * Slots: never more holders than there are, all of them used, each holder
 * with a number of its own.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"

enum { N = 3, CREW = 3 * N, ROUNDS = 30 };

TEST_IF(store_can(HF_CAP_SLOTS), each_holder_has_the_lowest_slot_that_is_free)
{
    AUTO_CLIENT *alice = open_store();
    hf_lock *held[N];
    hf_acquire_opts opts;

    for (int i = 0; i < N; i++) {
        opts = slots(0, N);
        held[i] = must_acquire(alice, "job", &opts);
        EXPECT_IS(hf_slot(held[i]), i);
    }
    opts = slots(0, N);
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_BUSY);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(hf_release(held[1], NULL), HF_OK);
    hf_free(held[1]);
    held[1] = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_slot(held[1]), 1);
    AUTO_INFO *info = look_at(alice, "job");
    EXPECT_IS(hf_info_holders(info), N);
    EXPECT_IS(hf_info_slots(info), N);
    for (int i = 0; i < N; i++) {
        EXPECT_IS(hf_info_slot(hf_info_holder_at(info, i)), i);
        EXPECT_IS(hf_info_slots(hf_info_holder_at(info, i)), N);
        EXPECT_IS(hf_info_shared(hf_info_holder_at(info, i)), 0);
        EXPECT_IS(hf_renew(held[i], NULL), HF_OK);
        EXPECT_IS(hf_release(held[i], NULL), HF_OK);
        hf_free(held[i]);
    }
}

/* Nobody leaves before each slot has been used: however slowly the store
 * grants, slots that are never given are found. */
static void await_all_used(const atomic_int *n_used)
{
    for (int tries = 0; tries < 500; tries++) {
        int unused = 0;

        for (int i = 0; i < N; i++) {
            unused += atomic_load(&n_used[i]) == 0;
        }
        if (unused == 0) {
            return;
        }
        hf__test_pause_ms(10);
    }
}

static atomic_int in_slot[N];
static atomic_int n_inside;
static atomic_int n_most;
static atomic_int n_used[N];

static void work_in_slots(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        hf_acquire_opts opts = slots(patience(10000), N);
        AUTO_LOCK *lock = NULL;
        int inside;

        opts.fair = i % 2 == 0 && store_can(HF_CAP_FAIR);
        lock = must_acquire(arg, "job", &opts);
        inside = atomic_fetch_add(&n_inside, 1) + 1;
        EXPECT_SAFE(inside <= N);
        if (inside > atomic_load(&n_most)) {
            atomic_store(&n_most, inside);
        }
        EXPECT(hf_slot(lock) >= 0 && hf_slot(lock) < N);
        EXPECT_SAFE_IS(atomic_exchange(&in_slot[hf_slot(lock)], 1), 0);
        atomic_fetch_add(&n_used[hf_slot(lock)], 1);
        await_all_used(n_used);
        hf__test_pause_ms(1);
        EXPECT_SAFE_IS(atomic_exchange(&in_slot[hf_slot(lock)], 0), 1);
        atomic_fetch_sub(&n_inside, 1);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
}

TEST_WITHIN_IF(60, store_can(HF_CAP_SLOTS),
               no_more_are_inside_than_there_are_slots)
{
    CLIENTS(alice, bob);
    struct hf__test_thread *threads[CREW];

    for (int i = 0; i < CREW; i++) {
        threads[i] = hf__test_start(work_in_slots, i % 2 == 0 ? alice : bob);
    }
    hf__test_join_all(threads, CREW);
    EXPECT_IS(atomic_load(&n_most), N);
    for (int i = 0; i < N; i++) {
        EXPECT_MORE(atomic_load(&n_used[i]), 0);
    }
}

static struct board {
    atomic_int in_slot[N];
    atomic_int n_used[N];
} * board;

static void work_in_slots_of_processes(int number)
{
    AUTO_CLIENT *client = open_store();

    (void)number;
    for (int i = 0; i < ROUNDS; i++) {
        hf_acquire_opts opts = slots(patience(10000), N);
        AUTO_LOCK *lock = must_acquire(client, "job", &opts);

        EXPECT_SAFE_IS(atomic_exchange(&board->in_slot[hf_slot(lock)], 1), 0);
        atomic_fetch_add(&board->n_used[hf_slot(lock)], 1);
        await_all_used(board->n_used);
        hf__test_pause_ms(1);
        EXPECT_SAFE_IS(atomic_exchange(&board->in_slot[hf_slot(lock)], 0), 1);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
}

TEST_WITHIN_IF(60, store_can(HF_CAP_SLOTS) && store_is_shared(),
               processes_share_the_slots_among_them)
{
    pid_t crew[2 * N];

    board = shared_page(sizeof *board);
    for (int i = 0; i < 2 * N; i++) {
        crew[i] = start_crew(work_in_slots_of_processes, i);
    }
    for (int i = 0; i < 2 * N; i++) {
        end_crew(crew[i]);
    }
    for (int i = 0; i < N; i++) {
        EXPECT_MORE(atomic_load(&board->n_used[i]), 0);
    }
}

TEST_IF(store_can(HF_CAP_SLOTS), a_freed_slot_goes_to_who_waits)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = slots(0, 2);
    hf_acquire_opts other = slots(0, 2);
    AUTO_LOCK *first = must_acquire(alice, "job", &opts);
    AUTO_LOCK *second = must_acquire(alice, "job", &other);
    struct waiter w = {0};
    int64_t start;

    opts = slots(HF_FOREVER, 2);
    start_waiter(&w, bob, &opts);
    hf__test_pause_ms(100);
    EXPECT_IS(atomic_load(&w.status), -1);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(second, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w), HF_OK);
    EXPECT_SOON(since(start), patience(800));
    expect_held(first);
}

TEST_IF(store_can(HF_CAP_SLOTS) && store_is_shared(),
        a_slot_whose_holder_is_killed_is_used_again)
{
    struct peer *carol = start_peer();
    hf_acquire_opts opts = slots(0, 2);

    set_lease(&opts, patience(1500));
    EXPECT_IS(peer_acquire_as(carol, "job", &opts), HF_OK);
    AUTO_CLIENT *alice = open_store();
    opts = slots(0, 2);
    AUTO_LOCK *second = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_slot(second), 1);
    kill_peer(carol);
    opts = slots(patience(5000), 2);
    AUTO_LOCK *first = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_slot(first), 0);
    expect_held(second);
}

TEST_IF(store_can(HF_CAP_SLOTS),
        another_number_of_slots_is_an_error_that_names_both)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = slots(0, 7);
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);

    opts = slots(HF_FOREVER, 4);
    expect_no_grant(bob, "job", &opts, HF_EINVAL, "7");
    expect_no_grant(bob, "job", &opts, HF_EINVAL, "4");
    opts.fair = store_can(HF_CAP_FAIR);
    EXPECT_IS(attempt_with(bob, "job", &opts), HF_EINVAL);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(attempt_with(bob, "job", &opts), HF_OK);
}

TEST_IF(store_can(HF_CAP_SLOTS | HF_CAP_DETACH),
        an_adopted_slot_is_the_same_slot)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = slots(0, 3);
    hf_acquire_opts other = slots(0, 3);
    AUTO_LOCK *first = must_acquire(alice, "job", &opts);
    AUTO_LOCK *second = must_acquire(alice, "job", &other);
    AUTO_LOCK *adopted = NULL;

    EXPECT_IS(hf_detach(second, NULL), HF_OK);
    EXPECT_IS(hf_adopt(bob, "job", hf_token(second), NULL, &adopted, NULL),
              HF_OK);
    EXPECT_IS(hf_slot(adopted), 1);
    EXPECT_IS(hf_fence(adopted), hf_fence(second));
    expect_held(first);
    EXPECT_IS(hf_release(adopted, NULL), HF_OK);
    await_holders(alice, "job", 1);
}

TEST(numbers_that_are_no_slots_are_refused)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = slots(0, -1);

    EXPECT_IS(attempt_with(alice, "job", &opts), HF_EINVAL);
    opts.slots = HF_SLOTS_MAX + 1;
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_EINVAL);
    opts.slots = 2;
    opts.shared = 1;
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_EINVAL);
    opts.shared = 0;
    opts.min_hold_ms = 1000;
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_EINVAL);
    opts.slots = 0;
    opts.shared = 1;
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_EINVAL);
}

CASE(slots_are_refused_by_name_where_there_is_one_holder,
     expect_grant_if(HF_CAP_SLOTS, slots(0, HF_SLOTS_MAX), "slots"));
