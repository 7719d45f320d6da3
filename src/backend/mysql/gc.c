/* SPDX-License-Identifier: MIT */
/*
 * To be written: deleting what nobody needs any more.
 * Called by the session's thread.
 */
#include "src/backend/mysql/mysql.h"

int hf__mysql_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                 hf__time deadline, hf_error *err)
{
    (void)prefix;
    g->length = 0;
    hf__mysql_begin(state, deadline, err);
    return HF_OK;
}
