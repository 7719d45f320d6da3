/* SPDX-License-Identifier: MIT */
/*
 * Remembers the highest timeline of each system that this process has met: a
 * server of a lower one is no longer the primary, whatever it answers. Called
 * by any thread.
 */
#include "src/backend/postgres/target.h"
#include "src/base/error.h"
#include "src/base/fork.h"

/* The most systems that a process remembers. */
#define SYSTEMS_MAX 16

static struct hf__process_mutex seen_mutex;
static struct {
    uint64_t system;
    uint32_t timeline;
} seen[SYSTEMS_MAX];

/* Call this with the mutex locked. NULL: the system is unknown. */
static uint32_t *remembered(uint64_t system)
{
    for (int i = 0; i < SYSTEMS_MAX; i++) {
        if (seen[i].system == system) {
            return &seen[i].timeline;
        }
    }
    return NULL;
}

uint32_t hf__pg_highest_with(uint64_t system, uint32_t timeline)
{
    static int next;
    HF_SCOPED_LOCK(hf__process_mutex(&seen_mutex));
    uint32_t *highest = remembered(system);

    if (highest == NULL) {
        seen[next].system = system;
        seen[next].timeline = 0;
        highest = &seen[next].timeline;
        next = (next + 1) % SYSTEMS_MAX;
    }
    *highest = timeline > *highest ? timeline : *highest;
    return *highest;
}

uint32_t hf__pg_highest_of(uint64_t system)
{
    HF_SCOPED_LOCK(hf__process_mutex(&seen_mutex));
    const uint32_t *highest = remembered(system);

    return highest == NULL ? 0 : *highest;
}

int hf__pg_target_check(struct hf__pg *s)
{
    if (s->server.timeline >= hf__pg_highest_of(s->server.system)) {
        return HF_OK;
    }
    s->wire.is_dead = true;
    return hf__fail(s->t.err, HF_EUNAVAIL,
                    "another server has been promoted meanwhile");
}
