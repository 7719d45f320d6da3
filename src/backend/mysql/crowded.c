/* SPDX-License-Identifier: MIT */
/*
 * To be written: names that several hold or wait for.
 * Called by the session's thread.
 */
#include "src/backend/mysql/mysql.h"

int hf__mysql_crowded(struct hf__mysql *s, struct hf__op *op)
{
    (void)s;
    op->result = HF_EPROTO;
    return HF_OK;
}
