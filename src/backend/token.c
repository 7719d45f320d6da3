/* SPDX-License-Identifier: MIT */
/*
 * Tokens compared. This file decides when two are the same; how they are
 * drawn and written is core/token.c's. Pure, so that the rule of crowd.c runs
 * in the simulation as it is. Thread: any.
 */
#include "src/backend/record.h"

#include <string.h>

bool hf__token_is_zero(const struct hf__token *t)
{
    static const struct hf__token nobody;

    return hf__token_equal(t, &nobody);
}

bool hf__token_equal(const struct hf__token *a, const struct hf__token *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}
