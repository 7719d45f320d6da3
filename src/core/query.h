/* SPDX-License-Identifier: MIT */
/*
 * A question to the store that needs no claim: a request of its own on the
 * name's session. It is refcounted, since it may go on after its caller's time
 * is up. What the store reports is collected on the executing thread and passed
 * on by the caller's.
 */
#ifndef HF_CORE_QUERY_H
#define HF_CORE_QUERY_H

#include "src/backend/cell.h"
#include "src/core/client.h"
#include "src/core/info.h"

/* More descriptors than any store has in a session. */
#define HF__LOCK_FDS_MAX 8

struct hf__query {
    atomic_int refs;             /* one for the caller, one for the request */
    struct hf__session *session; /* to ask on; NULL: the name's */
    struct hf__request request;
    struct hf__parker parker;
    struct hf__record record;
    /* requested by op.ret_participants */
    struct hf__participant_list participants;
    struct hf__owner owner;
    struct hf__link found;           /* what a call has collected */
    void (*drop)(struct hf__link *); /* frees one collected item */
    int result;                      /* of collecting, for a call */
    int fds[HF__LOCK_FDS_MAX];
    struct hf__gc gc;
    struct hf__cell_op *cell; /* with its value; NULL: not a cell's query */
    hf_error err;
    struct hf__key key;
    char key_bytes[HF__KEY_MAX];
};

/* Make a query about `name` ("" is allowed, for prefixes). HF_OK or HF_ENOMEM,
 * also in err. */
HF_MUST_CHECK int hf__query_new(hf_client *, const char *name,
                                struct hf__query **ret_query, hf_error *err);
void hf__query_unref(struct hf__query *);
HF_CLEANUP_FN(struct hf__query, hf__query_unref);
/* Send it and wait. Returns the result; at the limit HF_EUNKNOWN, or
 * HF_EUNAVAIL if it was not sent. Thread: user. Blocks: up to the limit, which
 * is that of the whole call: io_timeout after the call began, see
 * hf__client_limit(). */
HF_MUST_CHECK int hf__query_run(hf_client *, struct hf__query *, hf__time limit,
                                hf_error *err);
/* The same in steps: begin() sends it, and step() returns true once it has its
 * result or the limit has come. Otherwise step again when the parker is
 * unparked, at the limit at the latest, as for hf__session_begin(). Thread: one
 * at a time. */
void hf__query_begin(hf_client *, struct hf__query *, struct hf__parker *,
                     hf__time limit);
HF_MUST_CHECK bool hf__query_step(hf_client *, struct hf__query *,
                                  hf__time limit, int *ret_result,
                                  hf_error *err);

#endif
