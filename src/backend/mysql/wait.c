/* SPDX-License-Identifier: MIT */
/*
 * To be written: waiting for names to change.
 * Called by the session's thread.
 */
#include "src/backend/mysql/mysql.h"

int hf__mysql_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err)
{
    (void)w;
    (void)n;
    hf__mysql_begin(state, deadline, err);
    hf__wire_sleep(state, hf__earlier(deadline, hf__after_ms(hf__now(), 100)));
    for (int i = 0; i < n; i++) {
        w[i]->has_fired = true;
    }
    return HF_OK;
}

void hf__mysql_wait_fini(struct hf__mysql *s)
{
    (void)s;
}
