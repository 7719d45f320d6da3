/* SPDX-License-Identifier: MIT */
/*
 * Writing and reading tokens. This file decides which texts are tokens; whose
 * they are is the store's to know. Any thread; keeps no state.
 */
#include "src/core/token.h"

#include <string.h>

void hf__token_format(const struct hf__token *token,
                      char text[HF__TOKEN_TEXT_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof token->bytes; i++) {
        text[2 * i] = digits[token->bytes[i] >> 4];
        text[2 * i + 1] = digits[token->bytes[i] & 15];
    }
    text[HF__TOKEN_TEXT_SIZE - 1] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hf__token_parse(const char *text, struct hf__token *ret_token)
{
    size_t size = sizeof ret_token->bytes;

    if (text == NULL || strnlen(text, 2 * size + 1) != 2 * size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        int high = digit_of(text[2 * i]);
        int low = digit_of(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        ret_token->bytes[i] = (unsigned char)(high * 16 + low);
    }
    return !hf__token_is_zero(ret_token);
}
