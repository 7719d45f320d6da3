/* SPDX-License-Identifier: MIT */
/*
 * Values of a result come as text whatever they are. A value of the caller's is
 * written in hexadecimal, where nothing can end it. Thread: any.
 */
#include "src/rows/mysql/value.h"

#include <errno.h>
#include <inttypes.h>
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

hf_row_value hf__value_of(const MYSQL_FIELD *field, const char *text,
                          unsigned long length)
{
    hf_row_value v = {HF_ROW_TEXT, 0, text, length};

    if (text == NULL) {
        v = (hf_row_value){.type = HF_ROW_NULL};
    } else if (is_binary(field)) {
        v.type = HF_ROW_BYTES;
    } else if (is_whole(field)) {
        errno = 0;
        v.number = strtoll(text, NULL, 10);
        v.type = errno == 0 ? HF_ROW_INT : HF_ROW_TEXT;
    }
    return v;
}

static void add_hex(struct hf__sql *t, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *to = hf__sql_room(t, 2 * length + 3);

    if (to == NULL) {
        return;
    }
    *to++ = 'x';
    *to++ = '\'';
    for (size_t i = 0; i < length; i++) {
        *to++ = digits[from[i] >> 4];
        *to++ = digits[from[i] & 15];
    }
    *to++ = '\'';
    *to = '\0';
    t->length += 2 * length + 3;
}

void hf__value_add(struct hf__sql *t, const hf_row_value *value,
                   const char *charset)
{
    if (value->type == HF_ROW_NULL) {
        hf__sql_addf(t, "NULL");
    } else if (value->type == HF_ROW_INT) {
        hf__sql_addf(t, "%" PRId64, value->number);
    } else {
        if (value->type == HF_ROW_TEXT) {
            hf__sql_addf(t, "_%s ", charset);
        }
        add_hex(t, value->bytes, value->length);
    }
}
