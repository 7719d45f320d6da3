/* SPDX-License-Identifier: MIT */
/*
 * Literals. Bytes from outside go into SQL as hexadecimal ones, so that no
 * character set and no sql_mode can change what they mean. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_MYSQL_LITERAL_H
#define HF_BACKEND_MYSQL_LITERAL_H

#include "src/backend/table/text.h"

/* x'0af3'; '' for none. */
void hf__text_hex(struct hf__text *, const void *bytes, size_t length);
/* _utf8mb4 x'…' */
void hf__text_string(struct hf__text *, const char *string);
void hf__text_key(struct hf__text *, const struct hf__key *);
void hf__text_token(struct hf__text *, const struct hf__token *);

#endif
