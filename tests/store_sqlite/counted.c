/* SPDX-License-Identifier: MIT */
/*
 * Processes that count in one cell, and are killed at any moment: each change
 * that was answered is there, once, and one without an answer once or not at
 * all; no value is met half written.
 */
#include "src/base/rand.h"
#include "tests/store_sqlite/cell.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { SIDE_BY_SIDE = 4, LIVES = 40, FILL = 9000, MADE = 200 };

/* Who changed it how often; and bytes that all have to be of one change. */
struct tally {
    uint64_t total;
    uint32_t of[LIVES];
    unsigned char fill[FILL];
};

static struct tally read_tally(struct peer *me)
{
    struct tally tally = {0};

    EXPECT_IS(get_cell(me, "tally"), HF_OK);
    EXPECT_SAFE_IS(told.has_value ? told.length : 0,
                   told.has_value ? sizeof tally : 0);
    memcpy(&tally, told_bytes, told.length);
    for (size_t i = 0; i < FILL; i++) {
        EXPECT_SAFE_IS(tally.fill[i], (unsigned char)tally.total);
    }
    return tally;
}

/* Its number says whose change it is: count[] has those that were answered. */
static void count_on(struct stage *stage, int index)
{
    PEER(me);
    uint64_t version = 0;
    uint64_t total = 0;

    atomic_fetch_add(&stage->ready, 1);
    while (!atomic_load(&stage->stop)) {
        struct tally tally = read_tally(&me);
        int r;

        EXPECT_SAFE_IS(tally.of[index], atomic_load(&stage->count[index]));
        EXPECT_SAFE(tally.total >= total && told.version >= version);
        EXPECT_SAFE_IS(told.version > version, tally.total > total);
        version = told.version;
        total = tally.total++;
        tally.of[index]++;
        memset(tally.fill, (unsigned char)tally.total, sizeof tally.fill);
        r = put_cell(&me, "tally", version, &tally, sizeof tally);
        EXPECT(r == HF_OK || r == HF_CONFLICT);
        if (r == HF_OK) {
            atomic_fetch_add(&stage->count[index], 1);
        }
    }
}

static void expect_counted(struct stage *stage, const struct tally *tally)
{
    uint64_t sum = 0;

    for (int i = 0; i < LIVES; i++) {
        int64_t answered = atomic_load(&stage->count[i]);

        EXPECT_SAFE(tally->of[i] == answered || tally->of[i] == answered + 1);
        sum += tally->of[i];
    }
    EXPECT_SAFE_IS(sum, tally->total);
}

/* At a moment of any kind, when its victim is at work. */
static void kill_at_work(struct stage *stage, int index, pid_t pid)
{
    long long before = atomic_load(&stage->count[index]);

    UNTIL(atomic_load(&stage->count[index]) != before);
    for (int64_t end = now_us() + hf__random_between(0, 2000);
         now_us() < end;) {
        (void)sched_yield();
    }
    kill_now(pid);
}

TEST_WITHIN(60, no_change_of_a_cell_is_lost_or_made_twice_whoever_is_killed)
{
    struct stage *stage = stage_new();
    pid_t pids[LIVES];
    struct tally tally;

    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        pids[i] = start(count_on, stage, i);
    }
    for (int i = SIDE_BY_SIDE; i < LIVES; i++) {
        kill_at_work(stage, i - SIDE_BY_SIDE, pids[i - SIDE_BY_SIDE]);
        pids[i] = start(count_on, stage, i);
    }
    for (int i = LIVES - SIDE_BY_SIDE; i < LIVES; i++) {
        UNTIL(atomic_load(&stage->count[i]) > 0);
    }
    atomic_store(&stage->stop, 1);
    for (int i = LIVES - SIDE_BY_SIDE; i < LIVES; i++) {
        EXPECT_IS(finish(pids[i]), 0);
    }
    PEER(me);
    tally = read_tally(&me);
    expect_counted(stage, &tally);
    printf("%llu changes in %d lives\n", (unsigned long long)tally.total,
           LIVES);
}

static void make_all(struct stage *stage, int index)
{
    PEER(me);
    char name[16];

    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    for (int i = 0; i < MADE; i++) {
        int r;

        (void)snprintf(name, sizeof name, "c%d", i);
        r = put_cell(&me, name, 0, &index, sizeof index);
        EXPECT(r == HF_OK || r == HF_CONFLICT);
        if (r == HF_OK) {
            atomic_fetch_add(&stage->count[i], 1);
        }
        /* Nobody is far ahead of the others. */
        atomic_fetch_add(&stage->arrived, 1);
        until(&stage->arrived, SIDE_BY_SIDE * (i + 1));
    }
}

TEST_WITHIN(30, of_all_who_make_a_cell_one_does)
{
    struct stage *stage = stage_new();
    pid_t pids[SIDE_BY_SIDE];

    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        pids[i] = start(make_all, stage, i);
    }
    until(&stage->ready, SIDE_BY_SIDE);
    atomic_store(&stage->go, 1);
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        EXPECT_IS(finish(pids[i]), 0);
    }
    for (int i = 0; i < MADE; i++) {
        EXPECT_SAFE_IS(atomic_load(&stage->count[i]), 1);
    }
}

static void clean_on(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    atomic_fetch_add(&stage->ready, 1);
    while (!atomic_load(&stage->stop)) {
        atomic_fetch_add(&stage->served, (int)clean_cells(&me, 0));
    }
}

/* Whether the tombstone is still there or not, the next version is higher. */
TEST_WITHIN(30, cleaning_all_the_time_takes_no_cell_that_is_there)
{
    struct stage *stage = stage_new();
    pid_t cleaner = start_ready(clean_on, stage, 0);
    PEER(me);
    uint64_t highest = 0;

    for (int i = 0; i < 200 || atomic_load(&stage->served) < 20; i++) {
        EXPECT_IS(get_cell(&me, "stock"), HF_OK);
        EXPECT_SAFE(!told.has_value);
        if (put_cell(&me, "stock", told.version, "ten", 3) == HF_CONFLICT) {
            continue; /* the tombstone went meanwhile */
        }
        EXPECT_SAFE_MORE(told.version, highest);
        expect_cell(&me, "stock", "ten");
        EXPECT_SAFE_IS(delete_cell(&me, "stock", told.version), HF_OK);
        highest = told.version;
    }
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(cleaner), 0);
    printf("%d tombstones went\n", atomic_load(&stage->served));
}
