/* SPDX-License-Identifier: MIT */
/*
 * What a holder does with its lock: it reads, checks that it still holds,
 * and writes. This file decides how much time it wants for that before its
 * deadline; between the check and the write a machine may stop it, and then
 * only the fence helps.
 */
#include "tests/sim/sim_driver.h"

/* Of the time that a step takes, in case the clocks disagree. */
enum { ROOM = 2 };

void hf__work_begin(struct hf__sim_client *c)
{
    c->write = (struct hf__write){.client = c->index,
                                  .token = c->token,
                                  .fence = c->grant.fence,
                                  .was = c->resource->value};
    c->work = HF__WORK_HAS_READ;
    c->work_at = hf__driver_soon(c, c->plan->work_ns);
}

void hf__work_stop(struct hf__sim_client *c)
{
    if (c->work == HF__WORK_HAS_READ) {
        c->work = HF__WORK_NONE;
        c->work_at = HF__NEVER;
    }
}

static void check(struct hf__sim_client *c)
{
    hf__time end =
        hf__after_ns(hf__driver_now(c), ROOM * c->plan->work_ns / 4 + 1);

    if (c->token != c->write.token || !hf__grant_is_held(&c->grant, end)) {
        hf__work_stop(c);
        return;
    }
    c->work = HF__WORK_HAS_CHECKED;
    c->work_at = hf__driver_soon(c, c->plan->work_ns / 4 + 1);
}

static void write_back(struct hf__sim_client *c)
{
    hf__resource_write(c->resource, &c->write);
    hf__driver_note(c, HF__DEED_WRITES, -1, (int64_t)c->write.fence);
    c->tally->writes++;
    c->tally->fenced_off += !c->write.is_accepted;
    c->tally->lost_updates += c->write.is_lost;
    hf__oracle_wrote(c->oracle, &c->write);
    c->work = HF__WORK_NONE;
    c->work_at = HF__NEVER;
    if (c->app == HF__APP_HOLDS && hf__driver_is_ours(c)) {
        hf__work_begin(c);
    }
}

void hf__work_tick(struct hf__sim_client *c)
{
    if (c->work == HF__WORK_NONE || !hf__driver_is_past(c, c->work_at)) {
        return;
    }
    if (c->work == HF__WORK_HAS_READ) {
        check(c);
    } else {
        write_back(c);
    }
}
