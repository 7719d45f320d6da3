/* SPDX-License-Identifier: MIT */
/*
 * contend --cleaner: locks of other names are left behind while the workers
 * contend, and a cleaner removes and counts their records.
 */
#include "examples/contend.h"

#include <poll.h>
#include <stdio.h>

#define LEFT_LEASE_MS 300
#define IDLE_MS       500  /* records are removed if unused for this long */
#define CLEAN_MS      1000 /* between two cleanings; more than both above */

/* Acquire locks of other names. Two are released; three are left to their
 * leases, as by programs that were killed. Returns how many are left. */
static int leave_behind(hf_client *client)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    char name[32];
    int left = 0;

    opts.wait_ms = 0;
    opts.lease_ms = lease(LEFT_LEASE_MS);
    for (int i = 0; i < 5; i++) {
        hf_lock *lock = NULL;

        snprintf(name, sizeof name, "visit:%d", i);
        if (hf_acquire(client, name, &opts, &lock, &err) != HF_OK) {
            say("%s", err.text);
        }
        left += i < 3 && hf_detach(lock, NULL) == HF_OK;
        hf_free(lock);
    }
    return left;
}

/* Clean in rounds until the workers have ended, and report each round. */
static int clean(hf_client *client, hf_error *err)
{
    unsigned long long expired = 0;
    unsigned long long others = 0;
    int left = 0;

    do {
        hf_gc_info gone = HF_GC_INFO_INIT;
        int r;

        left += leave_behind(client);
        poll(NULL, 0, CLEAN_MS);
        r = hf_gc(client, IDLE_MS, &gone, err);
        if (r != HF_OK) {
            return r;
        }
        expired += gone.expired;
        others += gone.removed - gone.expired;
        say("removed %d records of expired locks, %d others", (int)gone.expired,
            (int)(gone.removed - gone.expired));
    } while (!is_over);
    say("in all %llu records of expired locks, %llu others; %d were left to "
        "expire",
        expired, others, left);
    return HF_OK;
}

void *run_cleaner(void *unused)
{
    hf_error err = HF_ERROR_INIT;
    hf_client *client;
    int r;

    call_me("cleaner");
    client = enter();
    if (caps.flags & HF_CAP_SESSION) {
        say("no lock here outlives its session, which the server ends: none is "
            "left to expire");
    }
    r = client ? clean(client, &err) : HF_EUNAVAIL;
    if (r == HF_ENOTSUP) {
        say("there is nothing to clean: %s", err.text);
    } else if (r != HF_OK) {
        mistake(err.text);
    }
    hf_close(client);
    return unused;
}
