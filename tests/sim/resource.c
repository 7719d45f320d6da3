/* SPDX-License-Identifier: MIT */
/*
 * The two copies. This file decides which writes they take; what that says
 * about the lock is left to the oracles.
 */
#include "tests/sim/resource.h"

void hf__resource_write(struct hf__resource *r, struct hf__write *w)
{
    w->is_lost = r->value != w->was;
    r->value = w->was + 1;
    w->is_accepted = w->fence >= r->highest;
    if (w->is_accepted) {
        r->highest = w->fence;
    }
}
