/* SPDX-License-Identifier: MIT */
/*
 * The condition that a resource compares fences by, in SQL. Thread: any.
 */
#include "src/base/error.h"
#include "src/rows/sql.h"

#include <inttypes.h>
#include <string.h>

static int build(struct hf__sql *sql, const char *column, uint64_t fence,
                 hf_error *err)
{
    int r = hf__sql_check_name("fence's column", column, true, err);

    if (r != HF_OK) {
        return r;
    }
    if (fence == 0) {
        return hf__fail(err, HF_EINVAL,
                        "the fence is 0, which no grant has: is the lock "
                        "held?");
    }
    hf__sql_name(sql, column);
    hf__sql_addf(sql, "<=%" PRIu64, fence);
    return sql->is_broken ? hf__fail(err, HF_ENOMEM, "out of memory") : HF_OK;
}

int hf_mysql_guard_sql(char *buf, size_t size, const char *column,
                       uint64_t fence, hf_error *err)
{
    struct hf__sql sql = {.bytes = NULL};
    int r;

    if (buf == NULL || size == 0) {
        return hf__fail(err, HF_EINVAL, "there is no room for the condition");
    }
    buf[0] = '\0';
    r = build(&sql, column, fence, err);
    if (r == HF_OK && sql.length >= size) {
        r = hf__fail(err, HF_EINVAL,
                     "the condition has %zu bytes, and the room for it %zu",
                     sql.length + 1, size);
    }
    if (r == HF_OK) {
        memcpy(buf, sql.bytes, sql.length + 1);
    }
    hf__sql_fini(&sql);
    return r;
}
