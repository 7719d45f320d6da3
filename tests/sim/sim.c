/* SPDX-License-Identifier: MIT */
/*
 * The deterministic simulation: thousands of seeded schedules over the pure
 * core must keep every promise, and the same seed must do the same thing. A
 * failing seed replays with --seed N; a number after the harness's arguments
 * is how many schedules to run from there.
 */
#include "tests/lib/test.h"
#include "tests/sim/run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCHEDULES = 10000, SLOW_SCHEDULES = 1500, REPLAYS = 200, MET = 2000 };

static struct hf__sim sim;

static uint64_t schedules(void)
{
    const char *given = hf__test_args != NULL ? hf__test_args[0] : NULL;

    if (given != NULL) {
        return strtoull(given, NULL, 10);
    }
    return getenv("HOLDFAST_TEST_SLOW") != NULL ? SLOW_SCHEDULES : SCHEDULES;
}

static void expect_kept(uint64_t seed)
{
    bool is_kept = hf__sim_run(&sim, seed, HF__MUTANT_NONE, HF__RULES_ALL);

    if (!is_kept) {
        hf__sim_report(&sim, seed);
    }
    EXPECT(is_kept);
}

TEST_WITHIN(7200, every_schedule_keeps_the_promises)
{
    uint64_t first = hf__test_seed();
    int64_t began_ms = hf__test_now_ms();
    uint64_t n = schedules();
    int64_t took_ms = 0;

    for (uint64_t seed = first; seed < first + n; seed++) {
        expect_kept(seed);
    }
    took_ms = hf__test_now_ms() - began_ms + 1;
    printf("# %" PRIu64 " schedules, %" PRId64 " events in %" PRId64
           " ms: %" PRId64 " schedules/s, %" PRId64 " events/s\n",
           n, sim.steps, took_ms, (int64_t)n * 1000 / took_ms,
           sim.steps * 1000 / took_ms);
}

/* Too rare for the schedules of one run. Who changes what the simulation
 * draws gets other schedules of them, and may drop them. */
static const uint64_t once_failed[] = {
    /* A process wanted several names before its last such wish had ended. */
    UINT64_C(1795590266119890),
    /* A member that had forgotten the last holder confirmed the one before. */
    UINT64_C(812507),
    /* A grant was adopted that was over before most members forgot the next. */
    UINT64_C(1795596251390228),
    /* The same, while its lease might still have run with some of them. */
    UINT64_C(1795600943128153),
    /* A renewal failed several times, and each put off the next try. */
    UINT64_C(1795595219575066),
    /* The renewal of an adoption that was given up counted as a holder's. */
    UINT64_C(1795595319336494),
};

TEST(seeds_that_once_failed_keep_the_promises)
{
    for (size_t i = 0; i < sizeof once_failed / sizeof once_failed[0]; i++) {
        expect_kept(once_failed[i]);
    }
}

/* A simulation in which nothing bad happens proves nothing. */
TEST_WITHIN(60, the_schedules_meet_what_they_are_for)
{
    for (uint64_t i = 0; i < MET; i++) {
        hf__sim_run(&sim, hf__test_seed() + i, HF__MUTANT_NONE, HF__RULES_ALL);
    }
#define HF_X(name) printf("# " #name " %" PRId64 "\n", sim.tally.name);
    HF__TALLY_MAP(HF_X)
#undef HF_X
#define HF_X(name) EXPECT_MORE(sim.tally.name, MET / 100);
    HF__TALLY_MAP(HF_X)
#undef HF_X
    EXPECT_MORE(sim.tally.grants, MET * 5);
}

/* ---- replay ------------------------------------------------------------- */

TEST(a_seed_replays_to_the_byte)
{
    uint64_t last = 0;

    for (uint64_t i = 0; i < REPLAYS; i++) {
        uint64_t seed = hf__test_seed() + i;
        uint64_t hash = 0;
        uint64_t lines = 0;

        hf__sim_run(&sim, seed, HF__MUTANT_NONE, HF__RULES_ALL);
        hash = sim.world.hash;
        lines = sim.world.lines;
        hf__sim_run(&sim, seed + 1, HF__MUTANT_NONE, HF__RULES_ALL);
        hf__sim_run(&sim, seed, HF__MUTANT_NONE, HF__RULES_ALL);
        EXPECT_IS(sim.world.hash, hash);
        EXPECT_IS(sim.world.lines, lines);
        EXPECT_MORE(lines, 50);
        EXPECT_NOT(hash, last);
        last = hash;
    }
}

/* The hash of many schedules, from the seed on. */
static uint64_t hash_of_many(void)
{
    uint64_t hash = 0;

    for (uint64_t i = 0; i < REPLAYS; i++) {
        hf__sim_run(&sim, hf__test_seed() + i, HF__MUTANT_NONE, HF__RULES_ALL);
        hash = hash * 31 + sim.world.hash;
    }
    return hash;
}

/* Run by the next test in a process of its own; by itself it shows the hash
 * of --seed N. */
TEST(the_hash_can_be_shown)
{
    printf("hash %016" PRIx64 "\n", hash_of_many());
}

/* This program again, at other addresses, with that seed; what it prints. */
static void run_again(const char *seed, char *text, size_t size)
{
    static const char *const filter = "the_hash_can_be_shown";
    int ends[2];
    size_t got = 0;
    ssize_t n = 0;
    pid_t pid = 0;

    EXPECT_IS(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "sim", "--filter", filter, "--seed", seed,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while ((n = read(ends[0], text + got, size - 1 - got)) > 0) {
        got += (size_t)n;
    }
    text[got] = '\0';
    close(ends[0]);
    EXPECT_IS(hf__test_exit_code(pid), 0);
}

TEST_WITHIN(60, another_process_does_the_same)
{
    char seed[32];
    char mine[32];
    char others[4096];

    snprintf(seed, sizeof seed, "%" PRIu64, hf__test_seed());
    snprintf(mine, sizeof mine, "hash %016" PRIx64, hash_of_many());
    run_again(seed, others, sizeof others);
    EXPECT_HAS(others, mine);
    run_again("987654321", others, sizeof others);
    EXPECT(strstr(others, "hash ") != NULL);
    EXPECT(strstr(others, mine) == NULL);
}
