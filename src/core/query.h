/* SPDX-License-Identifier: MIT */
/*
 * A question to the store that needs no claim: a request of its own on the
 * name's session, kept alive by a count, since it may go on after its
 * caller's time is up. What the store reports is collected on the executing
 * thread and shown on the caller's.
 */
#ifndef HF_CORE_QUERY_H
#define HF_CORE_QUERY_H

#include "src/backend/cell.h"
#include "src/core/client.h"
#include "src/core/info.h"

/* More than any store has for one session. */
#define HF__LOCK_FDS_MAX 8

struct hf__query {
    atomic_int refs;             /* the caller's and the request's */
    struct hf__session *session; /* that is asked; NULL: the name's */
    struct hf__request request;
    struct hf__parker parker;
    struct hf__record record;
    struct hf__participant_list participants; /* asked for by op.ret_crowd */
    struct hf__owner owner;
    struct hf__link found;           /* what a call collected */
    void (*drop)(struct hf__link *); /* frees one of it */
    int result;                      /* of a call's collecting */
    int fds[HF__LOCK_FDS_MAX];
    struct hf__gc gc;
    struct hf__cell_op *cell; /* with its value; NULL: not asked for */
    hf_error err;
    struct hf__key key;
    char key_bytes[HF__KEY_MAX];
};

/* A question about `name` ("" is allowed, for prefixes). HF_OK or
 * HF_ENOMEM, said in err. */
HF_MUST_CHECK int hf__query_new(hf_client *, const char *name,
                                struct hf__query **ret_query, hf_error *err);
void hf__query_unref(struct hf__query *);
HF_CLEANUP_FN(struct hf__query, hf__query_unref);
/* Ask and wait. Gives the result; HF_EUNKNOWN, or HF_EUNAVAIL if it was not
 * sent, at the limit. Thread: user. Blocks: up to the limit, which is that of
 * the whole call: io_timeout after it began, see hf__client_limit(). */
HF_MUST_CHECK int hf__query_run(hf_client *, struct hf__query *, hf__time limit,
                                hf_error *err);
/* The same in steps: begin() sends it, step() gives true once it has its
 * result, or the limit has come; else the parker says when to step again, at
 * the limit at the latest, as in hf__session_begin(). Thread: one at a
 * time. */
void hf__query_begin(hf_client *, struct hf__query *, struct hf__parker *,
                     hf__time limit);
HF_MUST_CHECK bool hf__query_step(hf_client *, struct hf__query *,
                                  hf__time limit, int *ret_result,
                                  hf_error *err);

#endif
