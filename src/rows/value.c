/* SPDX-License-Identifier: MIT */
/*
 * Values of a result, which come as text whatever they are. Thread: any.
 */
#include "src/rows/value.h"

#include <errno.h>
#include <stdlib.h>

enum { BINARY = 63 /* the character set of what has none */ };

static bool is_whole(const MYSQL_FIELD *field)
{
    return field->type == MYSQL_TYPE_TINY || field->type == MYSQL_TYPE_SHORT ||
           field->type == MYSQL_TYPE_INT24 || field->type == MYSQL_TYPE_LONG ||
           field->type == MYSQL_TYPE_LONGLONG || field->type == MYSQL_TYPE_YEAR;
}

/* Numbers and times have that character set, too. */
static bool is_binary(const MYSQL_FIELD *field)
{
    return field->charsetnr == BINARY &&
           (field->type == MYSQL_TYPE_BIT ||
            field->type == MYSQL_TYPE_GEOMETRY ||
            (field->type >= MYSQL_TYPE_TINY_BLOB &&
             field->type <= MYSQL_TYPE_STRING));
}

hf_mysql_value hf__value_of(const MYSQL_FIELD *field, const char *text,
                            unsigned long length)
{
    hf_mysql_value v = {HF_MYSQL_TEXT, 0, text, length};

    if (text == NULL) {
        v = (hf_mysql_value){.type = HF_MYSQL_NULL};
    } else if (is_binary(field)) {
        v.type = HF_MYSQL_BYTES;
    } else if (is_whole(field)) {
        errno = 0;
        v.number = strtoll(text, NULL, 10);
        v.type = errno == 0 ? HF_MYSQL_INT : HF_MYSQL_TEXT;
    }
    return v;
}
