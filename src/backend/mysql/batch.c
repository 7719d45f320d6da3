/* SPDX-License-Identifier: MIT */
/*
 * To be written: execute().
 * Called by the session's thread.
 */
#include "src/backend/mysql/mysql.h"

int hf__mysql_execute(void *state, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err)
{
    int r = HF_OK;

    hf__mysql_begin(state, deadline, err);
    for (int i = 0; i < n && r == HF_OK; i++) {
        r = hf__mysql_crowded(state, ops[i]);
    }
    return r;
}
