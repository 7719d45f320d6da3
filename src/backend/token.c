/* SPDX-License-Identifier: MIT */
/*
 * Compares, writes and reads tokens, and hides them in texts. Pure. Thread:
 * any.
 */
#include "src/backend/record.h"

#include <string.h>

/* Less than a token has, because a text may be cut within one; times and fences
 * have fewer digits than this. */
#define LEAST_HIDDEN 24

bool hf__token_is_zero(const struct hf__token *t)
{
    static const struct hf__token nobody;

    return hf__token_equal(t, &nobody);
}

bool hf__token_equal(const struct hf__token *a, const struct hf__token *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void hf__token_write(const struct hf__token *token,
                     char digits[HF__TOKEN_DIGITS])
{
    static const char all[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof token->bytes; i++) {
        digits[2 * i] = all[token->bytes[i] >> 4];
        digits[2 * i + 1] = all[token->bytes[i] & 15];
    }
}

void hf__token_format(const struct hf__token *token,
                      char text[HF__TOKEN_TEXT_SIZE])
{
    hf__token_write(token, text);
    text[HF__TOKEN_DIGITS] = '\0';
}

static int value_of(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool hf__token_read(const char *digits, struct hf__token *ret_token)
{
    for (size_t i = 0; i < sizeof ret_token->bytes; i++) {
        int high = value_of(digits[2 * i]);
        int low = high < 0 ? -1 : value_of(digits[2 * i + 1]);

        if (low < 0) {
            return false;
        }
        ret_token->bytes[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

void hf__token_hide(const char *text, size_t length, char *to, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < length && n + 1 < size; i++) {
        size_t digits = strspn(text + i, "0123456789abcdefABCDEF");

        if (digits >= LEAST_HIDDEN) {
            i += digits - 1;
            to[n++] = '*';
        } else {
            to[n++] = text[i];
        }
    }
    to[n] = '\0';
}

bool hf__token_parse(const char *text, struct hf__token *ret_token)
{
    return text != NULL && hf__token_read(text, ret_token) &&
           text[HF__TOKEN_DIGITS] == '\0' && !hf__token_is_zero(ret_token);
}
