/* SPDX-License-Identifier: MIT */
/*
 * The wish for a name: its token, its attempts, its waiting, and the debt it
 * leaves when its caller goes away before the outcome is known. A claim is
 * refcounted: the caller has one reference, a debt another.
 */
#ifndef HF_CORE_CLAIM_H
#define HF_CORE_CLAIM_H

#include "src/core/place.h"

struct hf__claim {
    atomic_int refs;
    struct hf_client *client;
    struct hf__handle *handle; /* goes to the caller once it is granted */
    struct hf__place *place;
    struct hf__link link; /* line, apart */
    enum hf__standing standing;
    bool is_asking;   /* an attempt of it is under way */
    bool is_forsaken; /* it left while it was being handed the lock */
    hf__time served_sent;
    uint64_t served_fence;

    struct hf__parker own_parker;
    struct hf__parker *parker; /* own, or the cancel object's */
    const atomic_int *stop;    /* the cancel object's flag; NULL: none */
    int64_t wait_ms;
    struct hf__manner manner;
    enum hf__queueing queueing;
    bool is_apart;      /* asks the store beside this client's line */
    bool has_ticket;    /* in the store's line */
    hf__time patience;  /* with a holder */
    hf__time answer_by; /* the call returns by then */

    int64_t lease_ms;
    struct hf__token token;
    struct hf__key key;
    struct hf__owner owner;
    struct hf__request request;
    struct hf__record record; /* of the holder, after BUSY */
    hf_error err;
    bool is_unknown;  /* an attempt got no answer, and none has told since */
    bool is_detached; /* the request went on without the caller */

    struct hf__duty duty;      /* tries the give-back again */
    struct hf__link debt_link; /* in client->debts while the duty waits */
    hf__time moot_at;          /* the store's lease is surely over */
    char key_bytes[HF__KEY_MAX];
};

/* HF_OK and a claim with its handle, not granted yet; HF_ENOMEM. */
HF_MUST_CHECK int hf__claim_new(struct hf_client *, const char *name,
                                const hf_acquire_opts *,
                                struct hf__claim **ret_claim);
void hf__claim_unref(struct hf__claim *);
/*
 * Acquire: HF_OK and the handle is the caller's. Else nothing is, and what the
 * store may think of it is settled behind the caller's back. Thread: user.
 * Blocks: as hf_acquire().
 */
HF_MUST_CHECK int hf__claim_run(struct hf__claim *,
                                struct hf__handle **ret_handle, hf_error *err);

#endif
