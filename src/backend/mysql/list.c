/* SPDX-License-Identifier: MIT */
/*
 * To be written: telling of every grant.
 * Called by the session's thread.
 */
#include "src/backend/mysql/mysql.h"

int hf__mysql_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err)
{
    (void)prefix;
    (void)fn;
    (void)arg;
    hf__mysql_begin(state, deadline, err);
    return HF_OK;
}
