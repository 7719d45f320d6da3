/* SPDX-License-Identifier: MIT */
/*
 * Decides what a change does to a cell. It is pure, and serves all stores that
 * read, decide and write under a lock of their own. Thread: any.
 */
#include "src/backend/cell.h"

#include "src/base/error.h"

int hf__cell_decide(struct hf__cell_op *op, const struct hf__cell_state *now,
                    int64_t wall_us, bool *ret_writes)
{
    uint64_t next = hf__fence_after(now->version, wall_us);

    *ret_writes = false;
    op->state = *now;
    if (now->version >= HF__FENCE_END - 1) {
        return hf__fail(op->err, HF_EPROTO,
                        "the store has the version %llu of this cell, which is "
                        "not below 2^53; its record is damaged",
                        (unsigned long long)now->version);
    }
    if (now->version != 0 && hf__token_equal(&now->writer, &op->writer)) {
        return HF_OK; /* an earlier try was applied */
    }
    if (now->version != op->expected) {
        return HF_CONFLICT;
    }
    if (next >= HF__FENCE_END) {
        return hf__fail(op->err, HF_EPROTO,
                        "the clock of the store says %lld microseconds since "
                        "1970, of which no version can be made: set it",
                        (long long)wall_us);
    }
    op->state = (struct hf__cell_state){
        .version = next,
        .writer = op->writer,
        .has_value = op->what == HF__CELL_PUT,
        .length = op->what == HF__CELL_PUT ? op->length : 0};
    *ret_writes = true;
    return HF_OK;
}

/* A version is not below the wall clock of the time of its change, so it tells
 * its age; one ahead of the clock waits until the clock has passed it. */
bool hf__cell_is_idle(const struct hf__cell_state *state, int64_t wall_us,
                      int64_t idle_us)
{
    return !state->has_value && wall_us > idle_us &&
           state->version < (uint64_t)(wall_us - idle_us);
}
