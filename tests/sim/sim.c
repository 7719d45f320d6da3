/* SPDX-License-Identifier: MIT */
/*
 * The core as it is, in a made world: some hundred seeded schedules must keep
 * every promise. A failing seed is printed with what happened, and replays with
 * --seed N; a number after the harness's arguments is how many schedules to
 * run from there, and a word after it has all shown that happens.
 */
#include "tests/lib/test.h"
#include "tests/sim/scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SCHEDULES = 400,
    SLOW_SCHEDULES = 60,
    MET = 150,
    QUORUM_MET = 40,
    REPLAYS = 6
};

static struct hf__tally *tally;

/* A process for each: a host that dies leaves its threads behind. */
static bool keeps_promises(uint64_t seed, bool is_quorum)
{
    int status = 0;
    pid_t pid;

    if (tally == NULL) {
        tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        EXPECT(tally != MAP_FAILED);
    }
    (void)fflush(stdout);
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        hf__scene_run(seed, is_quorum, tally,
                      hf__test_args[0] != NULL && hf__test_args[1] != NULL);
    }
    EXPECT_IS(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        printf("# seed %" PRIu64 ": signal %d\n", seed, WTERMSIG(status));
    }
    return status == 0;
}

/* Of those, where none are given, one in so many. */
static void run_schedules(bool is_quorum, uint64_t part)
{
    uint64_t first = hf__test_seed();
    uint64_t n =
        getenv("HOLDFAST_TEST_SLOW") != NULL ? SLOW_SCHEDULES : SCHEDULES;
    bool is_kept = true;

    n = hf__test_args[0] != NULL ? strtoull(hf__test_args[0], NULL, 10)
                                 : n / part;
    for (uint64_t seed = first; seed < first + n && is_kept; seed++) {
        is_kept = keeps_promises(seed, is_quorum);
    }
    EXPECT_SAFE(is_kept);
    printf("# %" PRIu64 " schedules, %" PRId64 " grants\n", n, tally->grants);
}

TEST_WITHIN(7200, every_schedule_of_the_core_keeps_the_promises)
{
    run_schedules(false, 1);
}

TEST_WITHIN(7200, every_schedule_of_a_quorum_keeps_the_promises)
{
    run_schedules(true, 4);
}

#define SHOW(name)       printf("# " #name " %" PRId64 "\n", tally->name);
#define EXPECT_MET(name) EXPECT_MORE(tally->name, 0);
#define SHOW_MET(map)                                                          \
    HF__MET_MAP(SHOW)                                                          \
    map(SHOW) HF__MET_MAP(EXPECT_MET) map(EXPECT_MET)

/* A simulation in which nothing bad happens proves nothing. */
TEST_WITHIN(300, the_schedules_of_the_core_meet_what_they_are_for)
{
    for (uint64_t i = 0; i < MET; i++) {
        EXPECT(keeps_promises(hf__test_seed() + i, false));
    }
    SHOW_MET(HF__CORE_MET_MAP)
}

TEST_WITHIN(300, the_schedules_of_a_quorum_meet_what_they_are_for)
{
    for (uint64_t i = 0; i < QUORUM_MET; i++) {
        EXPECT(keeps_promises(hf__test_seed() + i, true));
    }
    SHOW_MET(HF__QUORUM_MET_MAP)
}

TEST_WITHIN(60, a_seed_of_the_core_replays)
{
    for (uint64_t i = 0; i < REPLAYS; i++) {
        bool is_quorum = i % 2 == 1;
        uint64_t hash;

        EXPECT(keeps_promises(hf__test_seed() + i, is_quorum));
        hash = tally->hash;
        EXPECT(keeps_promises(hf__test_seed() + i, is_quorum));
        EXPECT(tally->hash == hash);
    }
}
