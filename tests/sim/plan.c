/* SPDX-License-Identifier: MIT */
/*
 * Draws what a schedule is like: a random subset of the faults finds more than
 * all of them at once (Groce et al. 2012, "Swarm testing"). All times follow
 * from the lease.
 */
#include "tests/lib/test.h"
#include "tests/sim/made.h"

#include <inttypes.h>
#include <stdio.h>

enum { FAULTY_LEASES = 8, QUIET_LEASES = 5, DRIFT_PPM = 4500, WEAR_MS = 8000 };

/* Apart from what picks the turns. */
static uint64_t draw(void)
{
    return hf__test_random(&hf__scene.chance);
}

int64_t hf__between(int64_t least, int64_t most)
{
    return least + (int64_t)(draw() % (uint64_t)(most - least + 1));
}

bool hf__chance(int permille)
{
    return hf__between(0, 999) < permille;
}

static int part(void)
{
    static const int parts[] = {0, 0, 300, 600, 900};

    return parts[hf__between(0, 4)];
}

/* What excuses a second holder must stay rare. */
static unsigned draw_faults(void)
{
    unsigned all = (1u << HF__FAULT_BREAK) - 1;
    unsigned faults = (unsigned)draw() & all;

    faults &= hf__chance(100) ? 0 : all;
    for (int f = HF__FAULT_BREAK; f < HF__FAULTS; f++) {
        faults |= hf__chance(120) ? 1u << f : 0;
    }
    /* Of both together fences may fall. */
    if ((faults & (1u << HF__FAULT_FORGET)) != 0) {
        faults &= ~(1u << HF__FAULT_STEP);
    }
    return faults;
}

/* Its bytes arrive in order, and none after its end. */
static void draw_session(struct hf__lot *p)
{
    p->session_ms = p->lease_ms * 3 / 2 + 1;
    p->lease_ms = p->session_ms * 2 / 3;
    p->faults &= ~(1u << HF__FAULT_LATE | 1u << HF__FAULT_TWICE);
}

/* It has no sessions, and takes no longest_lease below a second. */
static void draw_members(struct hf__lot *p)
{
    static const int64_t most[] = {800, 1500, 3000};

    p->session_ms = 0;
    p->quorum = (int)hf__between(3, HF__MADE_MOST);
    p->lease_ms = hf__between(300, most[hf__between(0, 2)]);
    p->longest_ms =
        (p->lease_ms > 1000 ? p->lease_ms : 1000) * hf__between(100, 150) / 100;
}

/* Nobody stands beside another there, and it waits for no answer for longer
 * than a twentieth of a lease. The faults have worn off once who is silent was
 * hung up on, and who has forgotten counts. */
static void draw_quorum(struct hf__lot *p)
{
    int64_t wear_ns =
        (p->longest_ms + p->longest_ms / 50 + WEAR_MS) * HF__MS_NS;

    /* Here it excuses nothing. */
    p->faults |= hf__chance(500) ? 1u << HF__FAULT_FORGET : 0;
    p->faults &= ~(1u << HF__FAULT_STEP);
    p->permille = (int)hf__between(20, 200);
    p->delay_ns = p->lease_ms * HF__MS_NS / hf__between(1, 20) / 100;
    p->shared = 0;
    p->slotted = 0;
    p->fair = 0;
    p->calm_ns += wear_ns;
    p->drain_ns += wear_ns;
}

void hf__scene_draw(struct hf__lot *p, uint64_t seed, bool is_quorum)
{
    static const int64_t most[] = {300, 1000, 5000, 30000};
    int64_t lease;

    hf__scene.chance = seed * 2 + 1;
    *p = (struct hf__lot){.seed = seed, .faults = draw_faults()};
    p->permille = (int)hf__between(20, 250);
    p->hosts = (int)hf__between(2, 3);
    p->crew = (int)hf__between(1, 2);
    p->names = (int)hf__between(1, HF__NAMES);
    p->lease_ms = hf__between(HF_LEASE_MIN_MS, most[hf__between(0, 3)]);
    if (hf__chance(200)) {
        draw_session(p);
    }
    if (is_quorum) {
        draw_members(p);
    }
    lease = p->lease_ms * HF__MS_NS;
    p->io_timeout_ms = hf__between(p->lease_ms / 6 + 10, p->lease_ms * 2);
    p->max_hold_ms = hf__chance(250) ? hf__between(1, 3 * p->lease_ms) : 0;
    p->delay_ns = lease / hf__between(1, 20) / 20;
    p->think_ns = hf__between(lease / 10, lease);
    p->hold_ns = hf__between(lease / 10, lease * 2);
    p->wait_ms = hf__between(p->lease_ms / 2, p->lease_ms * 4);
    p->renewed = p->session_ms != 0 ? 1000 : hf__chance(750) ? 900 : 300;
    p->shared = part();
    p->slotted = part();
    p->fair = part();
    p->tried = part() / 2;
    p->many = p->names > 1 ? part() : 0;
    p->detached = p->session_ms != 0 ? 0 : part() / 3;
    p->async = part();
    for (int i = 0; i < HF__NAMES; i++) {
        p->slots[i] = (int)hf__between(1, 3);
    }
    for (int i = 1; i < HF__VIRTUAL_HOSTS; i++) {
        p->ppm[i] = hf__between(-DRIFT_PPM, DRIFT_PPM);
    }
    p->heal_ns = lease * FAULTY_LEASES;
    p->calm_ns = p->heal_ns + 2 * lease;
    p->drain_ns = lease * (FAULTY_LEASES + QUIET_LEASES);
    if (is_quorum) {
        draw_quorum(p);
    }
}

const char *hf__scene_fault(enum hf__fault f)
{
    static const char *const texts[] = {
#define HF_X(name, text) text,
        HF__FAULT_MAP(HF_X)
#undef HF_X
            "fine"};

    return texts[f];
}

void hf__scene_print(const struct hf__lot *p)
{
    printf("# %d hosts of %d threads, %d names; ms: lease %" PRId64
           " io_timeout %" PRId64 " delay %" PRId64 " hold %" PRId64
           " wait %" PRId64 " max_hold %" PRId64 "\n",
           p->hosts, p->crew, p->names, p->lease_ms, p->io_timeout_ms,
           p->delay_ns / HF__MS_NS, p->hold_ns / HF__MS_NS, p->wait_ms,
           p->max_hold_ms);
    printf("# session %" PRId64 " ms, members %d, longest_lease %" PRId64
           " ms\n",
           p->session_ms, p->quorum, p->longest_ms);
    printf("# permille: renewed %d shared %d slots %d fair %d tried %d many %d "
           "detached %d async %d; faults at %d:\n",
           p->renewed, p->shared, p->slotted, p->fair, p->tried, p->many,
           p->detached, p->async, p->permille);
    for (int f = 0; f < HF__FAULTS; f++) {
        if (p->faults & (1u << f)) {
            printf("#   %s\n", hf__scene_fault((enum hf__fault)f));
        }
    }
}
