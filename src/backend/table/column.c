/* SPDX-License-Identifier: MIT */
/*
 * Judging columns. What is done about one that is not ours is the callers'.
 * Called by any thread.
 */
#include "src/backend/table/column.h"

#include "src/base/utf8.h"

#include <string.h>

bool hf__column_token(const void *cell, size_t length,
                      struct hf__token *ret_token)
{
    memset(ret_token, 0, sizeof *ret_token);
    if (cell == NULL || length != sizeof ret_token->bytes) {
        return cell != NULL && length == 0;
    }
    memcpy(ret_token->bytes, cell, sizeof ret_token->bytes);
    return true;
}

bool hf__column_is_fence_of(uint64_t fence, const struct hf__token *token)
{
    return fence == 0 ? hf__token_is_zero(token) : fence < HF__FENCE_END;
}

void hf__column_text(const char *cell, size_t length, char *to, size_t size)
{
    size_t n = length < size ? length : size - 1;

    to[0] = '\0';
    if (cell == NULL || !hf__utf8_is_valid(cell, length)) {
        return;
    }
    memcpy(to, cell, n);
    to[n] = '\0';
    to[hf__utf8_cut(to, n)] = '\0';
}
