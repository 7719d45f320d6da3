/* SPDX-License-Identifier: MIT */
/*
 * One schedule from beginning to end, and what is told of one that went wrong.
 */
#include "tests/sim/made.h"
#include "tests/sim/oracles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES = 64, NOTE_SIZE = 160 };

struct hf__scene hf__scene;
static char notes[NOTES][NOTE_SIZE];
static unsigned n_notes;
static uint64_t hash = UINT64_C(14695981039346656037);

/* ---- notes */

void hf__note(const char *format, ...)
{
    char *to = notes[n_notes++ % NOTES];
    int64_t now = hf__true_now();
    va_list list;
    int n =
        snprintf(to, NOTE_SIZE, "%6" PRId64 ".%03d host %d: ", now / HF__MS_NS,
                 (int)(now / 1000 % 1000), hf__virtual_host());

    va_start(list, format);
    (void)vsnprintf(to + n, NOTE_SIZE - (size_t)n, format, list);
    va_end(list);
    if (hf__scene.shows) {
        printf("#   %s\n", to);
    }
    for (; *to != '\0'; to++) {
        hash = (hash ^ (unsigned char)*to) * UINT64_C(1099511628211);
    }
}

uint64_t hf__notes_hash(void)
{
    return hash;
}

void hf__flaw(const char *format, ...)
{
    const char *filter = hf__scene.plan.quorum != 0
                             ? "every_schedule_of_a_quorum"
                             : "every_schedule_of_the_core";
    unsigned first = n_notes > NOTES ? n_notes - NOTES : 0;
    va_list list;

    printf("# seed %" PRIu64 ": ", hf__scene.plan.seed);
    va_start(list, format);
    (void)vprintf(format, list);
    va_end(list);
    printf("\n# again: build/tests/sim/sim --filter %s --seed %" PRIu64 " 1\n",
           filter, hf__scene.plan.seed);
    hf__scene_print(&hf__scene.plan);
    for (unsigned i = first; i < n_notes; i++) {
        printf("#   %s\n", notes[i % NOTES]);
    }
    (void)fflush(stdout);
    _exit(1);
}

/* ---- time */

int64_t hf__true_now(void)
{
    return hf__virtual_elapsed();
}

/* Of the thread that brings what is late, there is one. */
static char doze;

void hf__doze_until(int64_t at)
{
    hf__virtual_sleep(&doze, at);
}

void hf__wake_doze(void)
{
    hf__virtual_ring(&doze, 1);
}

bool hf__is_quiet(void)
{
    return hf__true_now() > hf__scene.plan.calm_ns;
}

/* ---- the schedule */

static void begin_thread(void *(*run)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        abort();
    }
}

void hf__scene_run(uint64_t seed, bool is_quorum, struct hf__tally *tally,
                   bool shows)
{
    struct hf__lot *p = &hf__scene.plan;

    hf__scene.tally = tally;
    hf__scene.shows = shows;
    hf__scene_draw(p, seed, is_quorum);
    hf__virtual_start(seed);
    hf__virtual_be_alone();
    hf__members_begin();
    tally->sessions += p->session_ms != 0;
    for (int i = 1; i < HF__VIRTUAL_HOSTS; i++) {
        hf__virtual_drift(i, p->ppm[i]);
    }
    hf__virtual_watch(hf__oracle_look);
    begin_thread(is_quorum ? hf__wires_bring : hf__store_bring);
    begin_thread(hf__faults_run);
    for (int i = 0; i < p->hosts; i++) {
        hf__host_begin();
    }
    while (hf__scene.n_alive > 0) {
        hf__virtual_sleep(NULL, hf__true_now() + p->lease_ms * HF__MS_NS / 4);
        if (hf__true_now() > 100 * p->drain_ns) {
            hf__flaw("a host does not come to its end");
        }
    }
    hf__store_expect_empty(0);
    tally->schedules++;
    tally->hash = hash;
    (void)fflush(stdout);
    _exit(0);
}
