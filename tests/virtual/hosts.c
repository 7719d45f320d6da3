/* SPDX-License-Identifier: MIT */
/*
 * What the clocks of a host show, and when it stands. Who runs is turns.c's.
 */
#include "tests/virtual/hosts.h"

#include "tests/virtual/turns.h"

#define MILLION INT64_C(1000000)

static struct {
    int64_t ppm;
    int64_t ahead[HF__VIRTUAL_CLOCKS];
    bool stands_still[HF__VIRTUAL_CLOCKS]; /* while it is stopped */
    int64_t stopped;
    int64_t resumes;
    int64_t stood; /* before that */
} hosts[HF__VIRTUAL_HOSTS];

/* In two parts, since nanoseconds of hours times ppm overflow. */
static int64_t drifted(int64_t ns, int64_t ppm)
{
    return ns + ns / MILLION * ppm + ns % MILLION * ppm / MILLION;
}

int64_t hf__virtual_shown(int host, enum hf__virtual_clock clock, int64_t at)
{
    /* Its hand is set back already by what it stands still. */
    if (hosts[host].stands_still[clock] && at < hosts[host].resumes) {
        at = hosts[host].resumes;
    }
    return drifted(at, hosts[host].ppm) + hosts[host].ahead[clock];
}

int64_t hf__virtual_true(int host, enum hf__virtual_clock clock, int64_t shown)
{
    int64_t rate = MILLION + hosts[host].ppm;
    int64_t ns = shown - hosts[host].ahead[clock];
    int64_t at = ns / rate * MILLION + ns % rate * MILLION / rate;

    while (drifted(at, hosts[host].ppm) < ns) {
        at++;
    }
    return at;
}

void hf__virtual_drift(int host, int64_t ppm)
{
    hosts[host].ppm = ppm;
}

void hf__virtual_step(int host, enum hf__virtual_clock clock, int64_t ns)
{
    hosts[host].ahead[clock] += ns;
}

int64_t hf__turns_stands_until(int host)
{
    return hosts[host].resumes;
}

int64_t hf__virtual_stood(int host)
{
    int64_t now = hf__virtual_elapsed();
    int64_t end = now < hosts[host].resumes ? now : hosts[host].resumes;

    return hosts[host].stood + end - hosts[host].stopped;
}

/* Who sleeps there sleeps for so much longer. */
static void put_off(int host, int64_t ns)
{
    struct hf__turns_thread *t;

    for (int i = 0; (t = hf__turns_at(i)) != NULL; i++) {
        if (t->state == ASLEEP && t->host == host &&
            t->deadline != HF__VIRTUAL_NEVER) {
            t->deadline += ns;
        }
    }
}

bool hf__virtual_stop(int host, enum hf__virtual_stop how, int64_t until)
{
    int64_t now = hf__virtual_elapsed();
    bool still[HF__VIRTUAL_CLOCKS] = {
        [HF__VIRTUAL_MONOTONIC] = how != HF__VIRTUAL_PAUSE,
        [HF__VIRTUAL_BOOTTIME] = how == HF__VIRTUAL_FREEZE,
    };

    if (now < hosts[host].resumes) {
        return false;
    }
    hosts[host].stood = hf__virtual_stood(host);
    for (int i = 0; i < HF__VIRTUAL_CLOCKS; i++) {
        hosts[host].stands_still[i] = still[i];
        if (still[i]) {
            hosts[host].ahead[i] -=
                drifted(until, hosts[host].ppm) - drifted(now, hosts[host].ppm);
        }
    }
    hosts[host].stopped = now;
    hosts[host].resumes = until;
    if (how != HF__VIRTUAL_PAUSE) {
        put_off(host, until - now);
    }
    return true;
}

void hf__virtual_be(int host, int clocks)
{
    hf__turns_self()->host = host;
    hf__turns_self()->clocks = clocks;
}

int hf__virtual_host(void)
{
    return hf__turns_self()->host;
}
