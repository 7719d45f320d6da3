/* SPDX-License-Identifier: MIT */
/*
 * A cell: a value with a version, in a space of keys of its own, beside the
 * locks: prefix, '=', name. A store needs one atomic step for it: compare the
 * version and replace.
 *
 * Versions only rise, also over a deletion, which leaves a tombstone: the
 * version stays, the value goes. So a client that read a version and writes
 * later never finds the same version with another value. Each change carries
 * the writer's token, which the record keeps: a client that got no answer sends
 * the change again with the same token, and it is not applied twice.
 */
#ifndef HF_BACKEND_CELL_H
#define HF_BACKEND_CELL_H

#include "src/backend/backend.h"

#define HF__CELL_MAX 65536

enum hf__cell_do { HF__CELL_GET, HF__CELL_PUT, HF__CELL_DELETE };

/* The record of a cell but for its value; all zero: there is none, not even a
 * tombstone. */
struct hf__cell_state {
    uint64_t version;
    struct hf__token writer; /* of the last change */
    bool has_value;
    size_t length;
};

/*
 * A read or a change. As with hf__op the core owns it until cell() returns, and
 * its result begins as HF_EUNAVAIL, becomes HF_EUNKNOWN before the first byte
 * that could apply it leaves, and something better only after the reply or
 * commit: HF_OK · HF_CONFLICT (PUT, DELETE; + state) · HF__AGAIN or another
 * failure, and certainly nothing was done. HF_OK of a change: it was applied,
 * by this try or an earlier one with this token; `state` is as after it.
 */
struct hf__cell_op {
    enum hf__cell_do what;
    int result;
    struct hf__key key;
    struct hf__token writer; /* PUT, DELETE */
    uint64_t expected;       /* the version to be replaced; 0: there is none */
    size_t length;           /* PUT: of the value */
    unsigned char *value;    /* PUT: in; GET: out, room for HF__CELL_MAX */
    struct hf__cell_state state; /* out */
    hf_error *err;               /* text of a negative result; may be NULL */
};

/* Decides a change by the present state: HF_OK or HF_CONFLICT, and op->state;
 * *ret_writes: the store must write op->state, with the op's value. For every
 * store that decides here rather than in the server's language. wall_us as in
 * hf__fence_after(). HF_EPROTO: the present state is damaged, or wall_us is out
 * of range. */
HF_MUST_CHECK int hf__cell_decide(struct hf__cell_op *,
                                  const struct hf__cell_state *now,
                                  int64_t wall_us, bool *ret_writes);

/* Is it a tombstone older than idle_us, which no client that read it will still
 * replace? */
bool hf__cell_is_idle(const struct hf__cell_state *, int64_t wall_us,
                      int64_t idle_us);

#endif
