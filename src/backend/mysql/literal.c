/* SPDX-License-Identifier: MIT */
/*
 * Writing literals. Called by the session's thread.
 */
#include "src/backend/mysql/literal.h"

#include <string.h>

void hf__text_hex(struct hf__text *t, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *to = hf__text_extend(t, 2 * length + 3);

    if (to == NULL) {
        return;
    }
    *to++ = 'x';
    *to++ = '\'';
    for (size_t i = 0; i < length; i++) {
        *to++ = digits[from[i] >> 4];
        *to++ = digits[from[i] & 15];
    }
    *to = '\'';
}

void hf__text_string(struct hf__text *t, const char *string)
{
    hf__text_add(t, "_utf8mb4 ");
    hf__text_hex(t, string, strlen(string));
}

void hf__text_key(struct hf__text *t, const struct hf__key *key)
{
    hf__text_hex(t, key->bytes, key->length);
}

void hf__text_token(struct hf__text *t, const struct hf__token *token)
{
    hf__text_hex(t, token->bytes, sizeof token->bytes);
}
