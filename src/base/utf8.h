/* SPDX-License-Identifier: MIT */
/*
 * Checks and cuts UTF-8 (well-formed by Unicode 15, table 3-7: no overlong
 * forms, no surrogates, nothing past U+10FFFF). Thread: any.
 */
#ifndef HF_BASE_UTF8_H
#define HF_BASE_UTF8_H

#include "src/base/base.h"

HF_MODULE_API HF_MUST_CHECK bool hf__utf8_is_valid(const char *text,
                                                   size_t length);
/* The number of bytes of text's first character; 0 if it is not well-formed
 * within `length`, or length is 0. */
HF_MODULE_API size_t hf__utf8_length(const char *text, size_t length);
/* The longest prefix of text, at most max bytes, that ends between
 * characters. */
HF_MODULE_API size_t hf__utf8_cut(const char *text, size_t max);

/* Copies as much of text as fits into size bytes with its NUL, cut between
 * characters. */
void hf__utf8_copy(char *to, size_t size, const char *text);

#endif
