/* SPDX-License-Identifier: MIT */
/*
 * SQL text under construction. Bytes from outside go in as hexadecimal
 * literals, so that no character set and no sql_mode can change what they
 * mean. Running out of memory is remembered and asked for once, at the end.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_TEXT_H
#define HF_BACKEND_MYSQL_TEXT_H

#include "src/backend/backend.h"

struct hf__text {
    char *bytes; /* ends with a NUL, if there are any */
    size_t length;
    size_t room;
    bool is_broken; /* out of memory: something is missing */
};

void hf__text_clear(struct hf__text *);
void hf__text_fini(struct hf__text *);

void hf__text_add(struct hf__text *, const char *words);
__attribute__((format(printf, 2, 3))) void
hf__text_addf(struct hf__text *, const char *format, ...);
/* x'0af3'; '' for none. */
void hf__text_hex(struct hf__text *, const void *bytes, size_t length);
/* _utf8mb4 x'…' */
void hf__text_string(struct hf__text *, const char *string);
void hf__text_key(struct hf__text *, const struct hf__key *);
void hf__text_token(struct hf__text *, const struct hf__token *);

#endif
