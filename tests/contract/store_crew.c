/* SPDX-License-Identifier: MIT */
/*
 * Every store: a crew of threads, each with a session of its own, want one
 * name in every manner at once, and note who is inside. The notes are taken
 * between the grant and the release, so that two who must not meet and whose
 * notes overlap have met.
 */
#include "tests/contract/vocabulary_crowd.h"

#include <stdlib.h>

enum { CREW = 8, TURNS = 12, SLOTS = 3 };

static struct hf__test_thread *threads[CREW];
static uint64_t fences[CREW * TURNS];

/* Who is inside: by manner. */
static atomic_int alone;
static atomic_int sharing;
static atomic_int in_slots;
static atomic_int in_slot[SLOTS];

/* The most that were inside together. */
static atomic_int most;

static struct hf__lock_mode manner_of(int member, int turn)
{
    switch ((member + turn) % 4) {
    case 0:
        return ALONE;
    case 1:
        return has(HF_CAP_SLOTS) ? SLOT_OF(SLOTS) : ALONE;
    default:
        return SHARED;
    }
}

static atomic_int *notes_of(struct hf__lock_mode lock_mode)
{
    return lock_mode.mode == HF__MODE_EXCLUSIVE ? &alone
           : lock_mode.mode == HF__MODE_SHARED  ? &sharing
                                                : &in_slots;
}

static void note_most(int n)
{
    int seen = atomic_load(&most);

    while (n > seen && !atomic_compare_exchange_weak(&most, &seen, n)) {
    }
}

/* Who may have company waits for it a little. */
static void linger(struct hf__lock_mode lock_mode)
{
    int64_t start = hf__test_now_ms();

    hf__test_pause_ms(1);
    while (lock_mode.mode != HF__MODE_EXCLUSIVE &&
           atomic_load(notes_of(lock_mode)) == 1 &&
           hf__test_now_ms() - start < 30) {
        hf__test_pause_ms(1);
    }
}

static void stay(const struct party *p, struct hf__lock_mode lock_mode)
{
    int n = atomic_fetch_add(notes_of(lock_mode), 1) + 1;

    note_most(n);
    if (lock_mode.mode == HF__MODE_EXCLUSIVE) {
        EXPECT_SAFE_IS(n, 1);
    }
    if (lock_mode.mode == HF__MODE_SLOTS) {
        EXPECT(p->slot >= 0 && p->slot < SLOTS);
        EXPECT_SAFE_IS(atomic_fetch_add(&in_slot[p->slot], 1), 0);
    }
    linger(lock_mode);
    EXPECT_SAFE(lock_mode.mode == HF__MODE_EXCLUSIVE ||
                atomic_load(&alone) == 0);
    EXPECT_SAFE(lock_mode.mode == HF__MODE_SHARED ||
                atomic_load(&sharing) == 0);
    EXPECT_SAFE(lock_mode.mode == HF__MODE_SLOTS ||
                atomic_load(&in_slots) == 0);
    if (lock_mode.mode == HF__MODE_SLOTS) {
        EXPECT_SAFE_IS(atomic_fetch_sub(&in_slot[p->slot], 1), 1);
    }
    atomic_fetch_sub(notes_of(lock_mode), 1);
}

/* Every other member stands in line, where the store has one. */
static void enter(struct party *p, int member, struct hf__lock_mode lock_mode)
{
    bool is_fair = has(HF_CAP_FAIR) && member % 2 == 0;

    UNTIL((is_fair ? queue_up(p, "crew", lock_mode)
                   : want(p, "crew", lock_mode)) == HF_OK);
}

static void work(void *arg)
{
    int member = (int)((struct hf__test_thread **)arg - threads);
    PARTY(worker);

    for (int turn = 0; turn < TURNS; turn++) {
        struct hf__lock_mode lock_mode = manner_of(member, turn);

        enter(&worker, member, lock_mode);
        fences[member * TURNS + turn] = worker.fence;
        stay(&worker, lock_mode);
        if (turn % 3 == 0) {
            EXPECT_IS(renew(&worker, "crew"), HF_OK);
        }
        EXPECT_IS(release(&worker, "crew"), HF_OK);
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

TEST_WITHIN_IF(120, has(HF_CAP_SHARED),
               a_crew_of_every_manner_meets_only_its_like)
{
    PARTY(alice);

    for (int i = 0; i < CREW; i++) {
        threads[i] = hf__test_start(work, &threads[i]);
    }
    hf__test_join_all(threads, CREW);
    EXPECT_MORE(atomic_load(&most), 1);
    expect_around(&alice, "crew", 0, 0);
    if (!has(HF_CAP_FENCE)) {
        return;
    }
    qsort(fences, CREW * TURNS, sizeof fences[0], by_number);
    for (int i = 1; i < CREW * TURNS; i++) {
        EXPECT_SAFE_MORE(fences[i], fences[i - 1]);
    }
}
