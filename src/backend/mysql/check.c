/* SPDX-License-Identifier: MIT */
/*
 * To be written: is this server fit?
 * Called by the session's thread.
 */
#include "src/backend/mysql/mysql.h"

int hf__mysql_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                    hf_error *err)
{
    (void)fn;
    (void)arg;
    hf__mysql_begin(state, deadline, err);
    return HF_OK;
}
