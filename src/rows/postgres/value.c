/* SPDX-License-Identifier: MIT */
/*
 * Values of a result, which come as text whatever they are. Thread: any.
 */
#include "src/rows/postgres/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hf__rows_pg_value(const PGresult *result, int column, hf_row_value *v,
                      unsigned char **ret_bytes)
{
    const char *text = PQgetvalue(result, 0, column);
    Oid type = PQftype(result, column);
    size_t length = 0;

    *ret_bytes = NULL;
    *v = (hf_row_value){HF_ROW_TEXT, 0, text, strlen(text)};
    if (PQgetisnull(result, 0, column)) {
        *v = (hf_row_value){.type = HF_ROW_NULL};
    } else if (type == HF__PG_BYTEA) {
        *ret_bytes = PQunescapeBytea((const unsigned char *)text, &length);
        *v = (hf_row_value){HF_ROW_BYTES, 0, *ret_bytes, length};
        return *ret_bytes == NULL ? HF_ENOMEM : HF_OK;
    } else if (type == HF__PG_INT2 || type == HF__PG_INT4 ||
               type == HF__PG_INT8) {
        errno = 0;
        v->number = strtoll(text, NULL, 10);
        v->type = errno == 0 ? HF_ROW_INT : HF_ROW_TEXT;
    }
    return HF_OK;
}
