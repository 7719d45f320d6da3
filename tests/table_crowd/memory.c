/* SPDX-License-Identifier: MIT */
/*
 * Short memory: whoever has a lock beside others can keep it, and let it go.
 */
#include "tests/table_crowd/stranger.h"

#include "src/base/alloc.h"

#include <stdlib.h>

static bool is_short;

static void *resize(void *p, size_t size)
{
    return is_short ? NULL : realloc(p, size);
}

static int without_memory(struct party *p, enum hf__op_kind kind)
{
    struct request rq;
    int r;

    ask(p, &rq, kind, "job");
    rq.op.lock_mode = SHARED;
    is_short = true;
    r = send_one_request(p, &rq);
    is_short = false;
    return r;
}

TEST(to_renew_and_to_give_back_takes_no_memory)
{
    EXPECT_IS(hf__alloc_replace(resize, free), 0);

    PARTIES(alice, bob);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(without_memory(&alice, HF__OP_RENEW), HF_OK);
    EXPECT_IS(without_memory(&alice, HF__OP_RELEASE), HF_OK);
}
