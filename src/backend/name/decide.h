/* SPDX-License-Identifier: MIT */
/*
 * What an operation makes of a name: the contract of backend.h as a program,
 * the same for every store of records. Pure: it changes the name in memory and
 * marks what it changed; writing that, and telling the core once it is written,
 * is the caller's. Thread: the session's.
 */
#ifndef HF_BACKEND_NAME_DECIDE_H
#define HF_BACKEND_NAME_DECIDE_H

#include "src/backend/name/name.h"

/* What differs from store to store. */
struct hf__rules {
    uint64_t life;       /* to which the session's grants are bound */
    bool ends_with_life; /* HF_CAP_SESSION: leases are none */
    const char *damaged; /* HF_EPROTO: what to do about a record that makes
                            no sense */
    const char *foreign; /* HF_EUNSAFE: the holder's clock is not to be had */
};

/* To be told once what is marked is written. */
struct hf__outcome {
    int result;
    uint64_t fence; /* 0: the operation's stays as it is, unless it is LOST */
    hf_reason reason;
    int slot;
    bool is_queued;
    bool took_over;
    bool is_changed; /* something is marked */
    bool is_taken;   /* it has another holder now */
    bool wakes;      /* another claim may enter now */
    /* Of the claim, if that is all: whoever waits is seen to. */
    struct hf__participant *seen;
};

/* The operation's record and participants are told at once, and its text. */
void hf__decide(struct hf__name *, const struct hf__rules *, struct hf__op *,
                struct hf__outcome *);
HF_MODULE_API void hf__outcome_tell(const struct hf__outcome *,
                                    struct hf__op *);

enum hf__firing {
    HF__FIRES_NOT,
    HF__FIRES_FOR_NEWS, /* it has to ask, and may be told to wait */
    HF__FIRES_TO_ENTER
};

/* May the waiter ask again? If not, *next_us is the point, by the clock of
 * leases, at which it has to look again without being told; INT64_MAX: none.
 * with_news: also if another holds it than the watch saw. */
HF_MODULE_API enum hf__firing hf__watch_fires(const struct hf__name *,
                                              const struct hf__watch *,
                                              bool with_news, int64_t *next_us);

#endif
