/* SPDX-License-Identifier: MIT */
/*
 * A token as text: what hf_token() gives and hf_adopt() takes. Thread: any.
 */
#ifndef HF_CORE_TOKEN_H
#define HF_CORE_TOKEN_H

#include "src/backend/backend.h"

/* 32 lower-case hex digits and NUL. */
#define HF__TOKEN_TEXT_SIZE 33

void hf__token_format(const struct hf__token *, char text[HF__TOKEN_TEXT_SIZE]);
/* False unless it is such a text, and not all zero; NULL is none. */
HF_MUST_CHECK bool hf__token_parse(const char *text,
                                   struct hf__token *ret_token);

#endif
