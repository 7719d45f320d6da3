/* SPDX-License-Identifier: MIT */
/*
 * A session of the store redis://, shared by the files of this folder: redis.c
 * opens and closes; wire tls target dial peer handshake errors are the
 * connection, sentinel sentinel_reply find the primary, ask answer (and lua/)
 * are the operations, scan lists names; redlock/ uses these, too. execute (with
 * confirm) is execute() and cell(), wait (with subscribe) is wait(), list is
 * list() and gc(), check (with acl) is check().
 *
 * Thread: the session's, except interrupt().
 */
#ifndef HF_BACKEND_REDIS_REDIS_H
#define HF_BACKEND_REDIS_REDIS_H

#include "src/backend/redis/ask.h"
#include "src/backend/redis/peer.h"

/* The state of the last WAIT. */
struct hf__confirm {
    bool is_owed; /* its reply is outstanding */
    bool is_done; /* enough replicas have everything that was written */
    int64_t ms;   /* the time that replicas had */
    int status;   /* if is_done is false, with `why` */
    hf_error why;
};

struct hf__redis {
    struct hf__head head;
    struct hf__rest rest;
    struct hf__peer peer;
    uint64_t client; /* head.client, or one of this session alone */
    char prefix[HF__PREFIX_MAX + 1]; /* from the URL; check() uses it */
    int wait_replicas;               /* how many replicas must have a grant */
    struct hf__confirm confirm;      /* of the current batch */
    struct hf__sentinels *sentinels; /* NULL: the URL names servers */
    size_t n_hosts;                  /* in the URL */
    size_t host;                     /* the one in use, from 0 */
    hf__time heard_at;               /* time of the last reply of a batch */
    bool is_apart; /* a command may have the keys of one name only: a proxy
                      sends it where its first key is */

    struct hf__subscriptions
        *subscriptions; /* wait.c's; NULL before the first wait */
};

int hf__redis_execute(void *state, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err);
int hf__redis_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                   hf_error *err);
int hf__redis_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err);
/* Stop listening, before the session is used for anything else. Costs nothing
 * if it has not waited. HF_OK; else the session is dead and err is set. */
HF_MUST_CHECK int hf__redis_wait_leave(struct hf__redis *s, hf__time deadline,
                                       hf_error *err);
/* Call at the end of the session, before the peer is closed. */
void hf__redis_wait_fini(struct hf__redis *s);
int hf__redis_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err);
int hf__redis_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                 hf__time deadline, hf_error *err);
int hf__redis_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                    hf_error *err);
/* ---- confirm.c, for execute.c if wait_replicas is set */

/* Begin a batch. Operations that could not be undone get their result. */
void hf__confirm_begin(struct hf__redis *s, struct hf__op *ops[], int n);
/* Must replicas confirm this operation? */
bool hf__confirm_is_for(const struct hf__op *);
/* Add a WAIT behind all that was written so far. Returns how long it may
 * take. */
HF_MUST_CHECK int64_t hf__confirm_add(struct hf__redis *s, hf__time deadline);
/* The WAIT was queued: forget the state of the one before. */
void hf__confirm_owe(struct hf__redis *s, int64_t ms);
/* Take the reply to WAIT. HF_OK; else the session is dead. */
HF_MUST_CHECK int hf__confirm_hear(struct hf__redis *s, hf__time deadline);
/* Call when the batch has its results; r is the session's status, which is
 * returned unless it changes. Operations that too few replicas confirmed get
 * another result. */
HF_MUST_CHECK int hf__confirm(struct hf__redis *s, struct hf__op *ops[], int n,
                              int r, hf__time deadline);
/* The same for a cell's change, which has its result. */
void hf__confirm_cell(const struct hf__redis *s, struct hf__cell_op *op);

#endif
