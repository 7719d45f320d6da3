/* SPDX-License-Identifier: MIT */
/*
 * The core as it is, in a made world: some hundred seeded schedules must keep
 * every promise. A failing seed is printed with what happened, and replays with
 * --seed N; a number after the harness's arguments is how many schedules to
 * run from there, and a word after it has all shown that happens.
 */
#include "tests/lib/test.h"
#include "tests/simcore/scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SCHEDULES = 400, SLOW_SCHEDULES = 60, MET = 150, REPLAYS = 5 };

static struct hf__tally *tally;

/* A process for each: a host that dies leaves its threads behind. */
static bool keeps_promises(uint64_t seed)
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
        hf__scene_run(seed, tally,
                      hf__test_args[0] != NULL && hf__test_args[1] != NULL);
    }
    EXPECT_IS(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        printf("# seed %" PRIu64 ": signal %d\n", seed, WTERMSIG(status));
    }
    return status == 0;
}

static uint64_t schedules(void)
{
    const char *given = hf__test_args[0];

    if (given != NULL) {
        return strtoull(given, NULL, 10);
    }
    return getenv("HOLDFAST_TEST_SLOW") != NULL ? SLOW_SCHEDULES : SCHEDULES;
}

TEST_WITHIN(7200, every_schedule_of_the_core_keeps_the_promises)
{
    uint64_t first = hf__test_seed();
    uint64_t n = schedules();
    bool is_kept = true;

    for (uint64_t seed = first; seed < first + n && is_kept; seed++) {
        is_kept = keeps_promises(seed);
    }
    EXPECT_SAFE(is_kept);
    printf("# %" PRIu64 " schedules, %" PRId64 " grants\n", n, tally->grants);
}

/* A simulation in which nothing bad happens proves nothing. */
TEST_WITHIN(300, the_schedules_of_the_core_meet_what_they_are_for)
{
    for (uint64_t i = 0; i < MET; i++) {
        EXPECT(keeps_promises(hf__test_seed() + i));
    }
#define HF_X(name) printf("# " #name " %" PRId64 "\n", tally->name);
    HF__TALLY_MAP(HF_X)
#undef HF_X
#define HF_X(name) EXPECT_MORE(tally->name, 0);
    HF__TALLY_MAP(HF_X)
#undef HF_X
}

TEST_WITHIN(60, a_seed_of_the_core_replays)
{
    for (uint64_t i = 0; i < REPLAYS; i++) {
        uint64_t hash;

        EXPECT(keeps_promises(hf__test_seed() + i));
        hash = tally->hash;
        EXPECT(keeps_promises(hf__test_seed() + i));
        EXPECT(tally->hash == hash);
    }
}
