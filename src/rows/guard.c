/* SPDX-License-Identifier: MIT */
/*
 * The condition that a resource compares fences by, in SQL. Thread: any.
 */
#include "src/base/error.h"
#include "src/rows/sql.h"

#include <inttypes.h>
#include <string.h>

static int check(const char *column, uint64_t fence,
                 const struct hf__names *names, hf_error *err)
{
    int r = hf__sql_check_name("fence's column", column, names, err);

    if (r == HF_OK && fence == 0) {
        r = hf__fail(err, HF_EINVAL,
                     "the fence is 0, which no grant has: is the lock held?");
    }
    return r;
}

static int copy(const struct hf__sql *sql, char *buf, size_t size,
                hf_error *err)
{
    if (sql->is_broken || sql->bytes == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (sql->length >= size) {
        return hf__fail(err, HF_EINVAL,
                        "the condition needs %zu bytes, and there are %zu",
                        sql->length + 1, size);
    }
    memcpy(buf, sql->bytes, sql->length + 1);
    return HF_OK;
}

int hf__sql_guard(char *buf, size_t size, const char *column, uint64_t fence,
                  const struct hf__names *names, hf_error *err)
{
    struct hf__sql sql = {.bytes = NULL};
    int r;

    if (buf == NULL || size == 0) {
        return hf__fail(err, HF_EINVAL, "there is no room for the condition");
    }
    buf[0] = '\0';
    r = check(column, fence, names, err);
    if (r == HF_OK) {
        hf__sql_quoted(&sql, names->quote, column);
        hf__sql_addf(&sql, "<=%" PRIu64, fence);
        r = copy(&sql, buf, size, err);
    }
    hf__sql_fini(&sql);
    return r;
}
