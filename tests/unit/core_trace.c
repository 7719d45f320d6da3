/* SPDX-License-Identifier: MIT */
/*
 * What the store may have of a claim, by what it may have had before and what
 * it answered: all transitions.
 */
#include "src/core/debt.h"
#include "tests/lib/test.h"

struct answer {
    enum hf__op_kind kind;
    int result;
    bool is_sent;
    bool is_queued;
    enum hf__trace after[HF__TRACE_GRANT + 1]; /* by what it was before */
};

#define ALL(x)                                                                 \
    {                                                                          \
        HF__TRACE_##x, HF__TRACE_##x, HF__TRACE_##x, HF__TRACE_##x             \
    }
#define AS_BEFORE                                                              \
    {                                                                          \
        HF__TRACE_NONE, HF__TRACE_TICKET, HF__TRACE_DOUBT, HF__TRACE_GRANT     \
    }

static const struct answer answers[] = {
    {HF__OP_ACQUIRE, HF_OK, true, false, ALL(GRANT)},
    {HF__OP_ACQUIRE, HF_BUSY, true, false, ALL(NONE)},
    {HF__OP_ACQUIRE, HF_BUSY, true, true, ALL(TICKET)},
    {HF__OP_ACQUIRE, HF_EUNKNOWN, true, false, ALL(DOUBT)},
    {HF__OP_ACQUIRE, HF_EPROTO, true, false, ALL(DOUBT)},
    {HF__OP_ACQUIRE, HF_EAUTH, true, false, ALL(DOUBT)},
    {HF__OP_ACQUIRE, HF_EAUTH, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_ENOMEM, true, false, ALL(DOUBT)},
    {HF__OP_ACQUIRE, HF_ENOMEM, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_EUNAVAIL, true, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_EUNAVAIL, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_CANCELLED, false, false, AS_BEFORE},
    {HF__OP_ACQUIRE, HF_EINVAL, true, false, AS_BEFORE},
    {HF__OP_HANDOVER, HF_OK, true, false, ALL(GRANT)},
    {HF__OP_HANDOVER, HF_LOST, true, false, AS_BEFORE},
    {HF__OP_HANDOVER, HF_BUSY, true, false, AS_BEFORE},
    {HF__OP_HANDOVER, HF_EUNKNOWN, true, false, ALL(DOUBT)},
    {HF__OP_HANDOVER, HF_EUNAVAIL, true, false, AS_BEFORE},
};

TEST(each_answer_says_what_the_store_may_have)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const struct answer *a = &answers[i];
        struct hf__op op = {.kind = a->kind,
                            .result = a->result,
                            .is_queued = a->is_queued,
                            .sent = {a->is_sent ? 1 : 0}};

        for (int before = 0; before <= (int)HF__TRACE_GRANT; before++) {
            EXPECT_IS(hf__trace_after((enum hf__trace)before, &op),
                      a->after[before]);
        }
    }
}
