/* SPDX-License-Identifier: MIT */
/*
 * What happens to hosts and to the store, when, and for how long. What happens
 * to requests is way.c's.
 */
#include "tests/sim/made.h"
#include "tests/sim/oracles.h"
#include "tests/sim/way.h"

static int any_host(void)
{
    return (int)hf__between(1, hf__scene.n_hosts);
}

/* For a part of the lease, or for several. */
static int64_t some_time(void)
{
    int64_t lease = hf__scene.plan.lease_ms * HF__MS_NS;

    int64_t left = hf__scene.plan.heal_ns - hf__true_now();
    int64_t most = hf__chance(500) ? lease : 3 * lease;

    return hf__between(1, most < left ? most : left);
}

void hf__disturb(int host, int64_t until)
{
    if (hf__scene.disturbed[host] < until) {
        hf__scene.disturbed[host] = until;
    }
}

static void stop(int host, enum hf__virtual_stop how, const char *word)
{
    int64_t until = hf__true_now() + some_time();

    if (hf__virtual_stop(host, how, until)) {
        hf__note("%s of host %d until %lld", word, host,
                 (long long)(until / HF__MS_NS));
        hf__scene.tally->stops++;
        hf__scene.resumed[host] = until;
        hf__disturb(host, until);
        if (how == HF__VIRTUAL_FREEZE) {
            hf__scene.frozen_until[host] = until;
            hf__oracle_excuse(host, -1, UINT64_MAX);
        }
    }
}

static void kill_host(int host)
{
    if (hf__scene.is_dead[host] || hf__scene.n_hosts + 1 >= HF__VIRTUAL_HOSTS ||
        !hf__virtual_stop(host, HF__VIRTUAL_PAUSE, HF__VIRTUAL_NEVER)) {
        return;
    }
    hf__note("death of host %d", host);
    hf__scene.tally->kills++;
    hf__scene.is_dead[host] = true;
    hf__oracle_dead(host);
    hf__store_bury(host);
    hf__scene.n_alive--;
    hf__host_begin();
}

static void cut_off(int host)
{
    int64_t until = hf__true_now() + some_time();

    hf__disturb(host, until);
    if (hf__scene.plan.quorum != 0) {
        hf__made_cut(host, until);
    } else {
        hf__scene.cut_until[host] = until;
        hf__note("host %d is cut off", host);
    }
}

/* What it has granted ends earlier or later than it has said. */
static void step_store(int64_t ns, int64_t wall_ns)
{
    HF_SCOPED_LOCK(&hf__way_mutex);
    int64_t lease = hf__scene.plan.lease_ms * HF__MS_NS;

    hf__note("the store's clocks step by %lld and %lld ms",
             (long long)(ns / HF__MS_NS), (long long)(wall_ns / HF__MS_NS));
    hf__scene.tally->steps++;
    hf__oracle_excuse(-1, -1, UINT64_MAX);
    hf__account_step(ns);
    hf__virtual_step(0, HF__VIRTUAL_WALL, wall_ns);
    hf__virtual_step(0, HF__VIRTUAL_BOOTTIME, ns);
    for (int i = 0; i < HF__VIRTUAL_HOSTS; i++) {
        hf__disturb(i, hf__true_now() + 3 * lease);
    }
}

static void strike(enum hf__fault fault)
{
    int host = any_host();
    int64_t lease = hf__scene.plan.lease_ms * HF__MS_NS;

    switch ((int)fault) {
    case HF__FAULT_CUT:
        cut_off(host);
        break;
    case HF__FAULT_RESTART:
    case HF__FAULT_FORGET:
        hf__store_restart(fault == HF__FAULT_FORGET);
        break;
    case HF__FAULT_PAUSE:
        stop(host, HF__VIRTUAL_PAUSE, "stop");
        break;
    case HF__FAULT_SUSPEND:
        stop(host, HF__VIRTUAL_SUSPEND, "suspension");
        break;
    case HF__FAULT_FREEZE:
        stop(host, HF__VIRTUAL_FREEZE, "freeze");
        break;
    case HF__FAULT_KILL:
        kill_host(host);
        break;
    case HF__FAULT_WALL_STEP:
        hf__virtual_step(host, HF__VIRTUAL_WALL,
                         hf__between(-3 * lease, lease));
        break;
    case HF__FAULT_STEP:
        step_store(hf__between(-lease, 2 * lease),
                   hf__between(-3 * lease, lease));
        break;
    default:
        break;
    }
}

/* One about every third of a lease, until the healing. */
void *hf__faults_run(void *arg)
{
    const struct hf__lot *p = &hf__scene.plan;
    int64_t at = 0;

    for (;;) {
        at += hf__between(1, p->lease_ms * HF__MS_NS * 2 / 3);
        if (at >= p->heal_ns) {
            break;
        }
        hf__virtual_sleep(NULL, at);
        if (hf__true_now() >= p->heal_ns) {
            break; /* what was done took its time */
        }
        enum hf__fault fault =
            (enum hf__fault)hf__between(HF__FAULT_CUT, HF__FAULTS - 1);
        if (hf__has(fault)) {
            strike(fault);
        }
    }
    for (int i = 0; i < HF__VIRTUAL_HOSTS; i++) {
        hf__scene.cut_until[i] = 0;
    }
    hf__wires_heal();
    return arg;
}
