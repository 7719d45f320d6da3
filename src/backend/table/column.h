/* SPDX-License-Identifier: MIT */
/*
 * What is in a column, judged: anybody may have written there. Thread: any.
 */
#ifndef HF_BACKEND_TABLE_COLUMN_H
#define HF_BACKEND_TABLE_COLUMN_H

#include "src/backend/backend.h"

/* None for no bytes: it was let go. False: not what we wrote. */
bool hf__column_token(const void *cell, size_t length,
                      struct hf__token *ret_token);
/* May it be that of a grant of the token, or (zero) of one that was let go? Of
 * a record of fence 0 nobody has had the name yet. */
bool hf__column_is_fence_of(uint64_t fence, const struct hf__token *token);
/* Cut where a letter ends. Bytes that are no text are left out. */
void hf__column_text(const char *cell, size_t length, char *to, size_t size);

#endif
