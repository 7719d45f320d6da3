/* SPDX-License-Identifier: MIT */
/*
 * Decides what an operation does to a name: the contract of backend.h as a
 * program, the same for every store of records. Pure: it changes the name in
 * memory and marks what it changed. The caller writes that, and then tells the
 * core. Thread: the session's.
 */
#ifndef HF_BACKEND_NAME_DECIDE_H
#define HF_BACKEND_NAME_DECIDE_H

#include "src/backend/name/name.h"

/* Rules that differ between stores. */
struct hf__rules {
    uint64_t life;       /* the session's grants are bound to it */
    bool ends_with_life; /* HF_CAP_SESSION: grants have no lease */
    const char *damaged; /* HF_EPROTO: what to do about a damaged record */
    const char *foreign; /* HF_EUNSAFE: the holder's clock can't be read */
};

/* The result, for the core once what is marked is written. */
struct hf__outcome {
    int result;
    uint64_t fence; /* 0: the operation's own stays, except for HF_LOST */
    hf_reason reason;
    int slot;
    bool is_queued;
    bool took_over;
    bool is_changed; /* something is marked */
    bool is_taken;   /* the name has another holder now */
    bool wakes;      /* another claim may enter now */
    /* The ticket of the claim, whose last-seen time is to be refreshed; or
     * NULL. */
    struct hf__participant *seen;
};

/* Decide. The operation's record, participants and error text are filled at
 * once, the rest by hf__outcome_tell(). */
void hf__decide(struct hf__name *, const struct hf__rules *, struct hf__op *,
                struct hf__outcome *);
HF_MODULE_API void hf__outcome_tell(const struct hf__outcome *,
                                    struct hf__op *);

enum hf__firing {
    HF__FIRES_NOT,
    HF__FIRES_FOR_NEWS, /* it has to ask, and may be told to wait */
    HF__FIRES_TO_ENTER
};

/* May the waiter ask again? If not, *next_us is the time, by the clock of
 * leases, at which it has to look again even if nobody wakes it; INT64_MAX:
 * none. with_news: it also may if the holder is not the one that the watch
 * saw. */
HF_MODULE_API enum hf__firing hf__watch_fires(const struct hf__name *,
                                              const struct hf__watch *,
                                              bool with_news, int64_t *next_us);

#endif
