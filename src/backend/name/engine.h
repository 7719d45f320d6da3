/* SPDX-License-Identifier: MIT */
/*
 * The calls of backend.h for a store of records, which brings a few primitives
 * and decides nothing. Thread: the session's.
 */
#ifndef HF_BACKEND_NAME_ENGINE_H
#define HF_BACKEND_NAME_ENGINE_H

#include "src/backend/name/decide.h"

/* A commit's result: the name is not as it was loaded, or can't be locked just
 * now. */
#define HF__RACED 101
/* A load's or a commit's, of hf__engine_apply(): the batch is to be undone. */
#define HF__ABORTED 102

/* Gives a name of a scan, as load() would: HF_OK to go on. It may forget()
 * that name before it returns. */
typedef int (*hf__scan_fn)(void *arg, const struct hf__key *,
                           struct hf__name *);

/* Of all names whose keys begin with the bytes of `prefix`, some thousand from
 * `at` on. */
struct hf__scan {
    const struct hf__key *prefix;
    bool is_to_clean; /* of free names too: some are forgotten */
    size_t length;    /* of `at`; 0: at the beginning, or (after) over */
    char at[HF__KEY_MAX + 1]; /* the store's own bookmark */
    hf__scan_fn fn;
    void *arg;
};

struct hf__primitives {
    struct hf__rules (*rules)(void *s);
    /* Around a batch, a look at what is waited for, or a scan: NULL, or all in
     * between is one step, of which end() tells who sleeps. */
    void (*begin)(void *s);
    void (*end)(void *s);
    /* The name as it stands now, lent until it is put down; one that nobody has
     * had has no record. All that name.h has as "set whenever it is read" is,
     * and the standing of each: of a grant by its lease, but BROKEN stays; of a
     * ticket by how long ago it was seen (HF__TICKET_… of compatibility.h),
     * unless the store knows better. For the operation, or (NULL) for a waiter.
     * to_change: a commit may follow. Also once more of the name in hand, to
     * change it; if that was partial, then all of it. HF_OK, HF__RACED, or why
     * not. */
    int (*load)(void *s, const struct hf__key *, const struct hf__op *,
                bool to_change, struct hf__name **ret_name, hf_error *);
    /* NULL, or after each load, whatever came of it. */
    void (*put_down)(void *s);
    /* Write what is marked and settle the marks (hf__name_settle), if the name
     * is as it was loaded, then tell who waits. HF_OK, HF__RACED, or why not,
     * with a text; HF_EUNKNOWN: it may last or not. The first grant is what
     * makes a record. If it fails, what was lent is not to be lent again as it
     * is. */
    int (*commit)(void *s, const struct hf__op *, struct hf__name *,
                  struct hf__outcome *);
    /* NULL, or: the operation has its result. */
    void (*settled)(void *s, const struct hf__op *);
    /* NULL, or: the claim of that ticket, whose seen_us is set, asks for it, or
     * waits; before the commit. */
    void (*show)(void *s, const struct hf__participant *);
    bool looks_first; /* what changes nothing is decided without to_change */

    /* Each name of the part of a scan that has a record; it is moved on. */
    int (*scan)(void *s, struct hf__scan *, hf_error *);
    bool is_sorted; /* its names come in the order of keys */
    /* Forget that name, which was just scanned, if it is idle still: HF_OK. */
    int (*forget)(void *s, const struct hf__key *, struct hf__name *,
                  int64_t idle_us);

    /* NULL, or before each look of a waiter: HF_OK, or the session is dead. */
    int (*look_around)(void *s, hf_error *);
    /* NULL, or: that waiter without a ticket finds that it may enter. */
    void (*let_in)(void *s, const struct hf__watch *);
    /* Who is about to sleep: a wake-up after this ends the next park(), and so
     * does the store's interrupt(). */
    unsigned (*seen)(void *s, struct hf__watch *w[], int n);
    void (*park)(void *s, struct hf__watch *w[], int n, unsigned seen,
                 hf__time until);
    int64_t news_ns; /* that another holds it is not told earlier, but for what
                        was so before the wait */
    int64_t look_ns; /* nobody sleeps longer; 0: as long as there is time */
};

/* One operation, which is not told what became of it: HF_OK and the outcome, or
 * why not. For a store whose batches are transactions. */
HF_MODULE_API int hf__engine_apply(const struct hf__primitives *, void *s,
                                   struct hf__op *op,
                                   struct hf__outcome *ret_outcome);
int hf__engine_execute(const struct hf__primitives *, void *s,
                       struct hf__op *ops[], int n, hf__time deadline);
int hf__engine_wait(const struct hf__primitives *, void *s,
                    struct hf__watch *w[], int n, hf__time deadline,
                    hf_error *);
HF_MODULE_API int hf__engine_list(const struct hf__primitives *, void *s,
                                  const struct hf__key *prefix, hf__list_fn,
                                  void *arg, hf_error *);
HF_MODULE_API int hf__engine_gc(const struct hf__primitives *, void *s,
                                const struct hf__key *prefix, struct hf__gc *,
                                hf_error *);

/* What a session begins with whose calls may be the engine's as they are. */
struct hf__engine_session {
    struct hf__head head;
    const struct hf__primitives *primitives; /* set by open() */
    hf__time deadline;                       /* of the call that runs */
};

/* Those of backend.h; list() and gc() look around first. */
int hf__engine_session_execute(void *s, struct hf__op *ops[], int n,
                               hf__time deadline, hf_error *);
int hf__engine_session_wait(void *s, struct hf__watch *w[], int n,
                            hf__time deadline, hf_error *);
int hf__engine_session_list(void *s, const struct hf__key *prefix, hf__list_fn,
                            void *arg, hf__time deadline, hf_error *);
int hf__engine_session_gc(void *s, const struct hf__key *prefix,
                          struct hf__gc *, hf__time deadline, hf_error *);

#endif
