/* SPDX-License-Identifier: MIT */
/*
 * A session of the store redis://, as the files of this folder share it:
 * redis.c opens and closes; wire tls target dial peer handshake errors are the
 * connection, sentinel sentinel_reply who is the primary, ask answer (and lua/)
 * the operations, scan the names; redlock/ uses them too. execute (by confirm)
 * is execute() and cell(), wait (by subscribe) is waiting, list is list() and
 * gc(), check (by acl) is check().
 *
 * Thread: the session's, except interrupt().
 */
#ifndef HF_BACKEND_REDIS_REDIS_H
#define HF_BACKEND_REDIS_REDIS_H

#include "src/backend/redis/ask.h"
#include "src/backend/redis/peer.h"

/* What is known of the last WAIT. */
struct hf__confirm {
    bool is_owed; /* its reply is */
    bool is_done; /* enough replicas have all that was written */
    int64_t ms;   /* they were given */
    int status;   /* if it is not done, with `why` */
    hf_error why;
};

struct hf__redis {
    struct hf__head head;
    struct hf__rest rest;
    struct hf__peer peer;
    uint64_t client;                 /* head.client, or of this session alone */
    char prefix[HF__PREFIX_MAX + 1]; /* the URL's; check() asks by it */
    int wait_replicas;               /* so many must have what is granted */
    struct hf__confirm confirm;      /* … of the batch that runs */
    struct hf__sentinels *sentinels; /* NULL: the URL names servers */
    size_t n_hosts;                  /* of the URL */
    size_t host;                     /* the one that is used, from 0 */
    hf__time heard_at;               /* the last reply of a batch */
    bool is_apart;                   /* no command may have several names: a
                                        proxy sends it where its first key is */

    struct hf__subscriptions
        *subscriptions; /* wait.c's; NULL: it has not waited yet */
};

int hf__redis_execute(void *state, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err);
int hf__redis_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                   hf_error *err);
int hf__redis_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err);
/* Before the session is used for anything else: it listens no more. Costs
 * nothing if it has not waited. HF_OK; else it is dead and err is told. */
HF_MUST_CHECK int hf__redis_wait_leave(struct hf__redis *s, hf__time deadline,
                                       hf_error *err);
/* At the end of the session, while the peer is open. */
void hf__redis_wait_fini(struct hf__redis *s);
int hf__redis_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err);
int hf__redis_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                 hf__time deadline, hf_error *err);
int hf__redis_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                    hf_error *err);
/* ---- confirm.c, for execute.c where replicas are waited for */

/* A batch begins; what could not be taken back has its result. */
void hf__confirm_begin(struct hf__redis *s, struct hf__op *ops[], int n);
/* Is it among what must be confirmed? */
bool hf__confirm_is_for(const struct hf__op *);
/* Ask, behind all that was written so far; gives how long they have. */
HF_MUST_CHECK int64_t hf__confirm_add(struct hf__redis *s, hf__time deadline);
/* That was queued: what was known before counts no more. */
void hf__confirm_owe(struct hf__redis *s, int64_t ms);
/* Take its reply. HF_OK; else the session is dead. */
HF_MUST_CHECK int hf__confirm_hear(struct hf__redis *s, hf__time deadline);
/* The batch has its results, and ended so (the session's status, which is given
 * again): those that too few replicas confirmed become others. */
HF_MUST_CHECK int hf__confirm(struct hf__redis *s, struct hf__op *ops[], int n,
                              int r, hf__time deadline);
/* The same of a cell's change, which has its result. */
void hf__confirm_cell(const struct hf__redis *s, struct hf__cell_op *op);

#endif
