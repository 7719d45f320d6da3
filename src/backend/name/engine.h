/* SPDX-License-Identifier: MIT */
/*
 * The calls of backend.h for a store of records: the store brings a few
 * primitives, and the engine decides. Thread: the session's.
 */
#ifndef HF_BACKEND_NAME_ENGINE_H
#define HF_BACKEND_NAME_ENGINE_H

#include "src/backend/name/decide.h"

/* A commit's result: the name is not as it was loaded, or can't be locked just
 * now. */
#define HF__RACED 101
/* A result of load or commit in hf__engine_apply(): the batch must be
 * undone. */
#define HF__ABORTED 102

/* Gets a name of a scan, as load() would give it: HF_OK to go on. It may
 * forget() that name before it returns. */
typedef int (*hf__scan_fn)(void *arg, const struct hf__key *,
                           struct hf__name *);

/* One part of the names whose keys begin with the bytes of `prefix`: as many as
 * the store chooses, from `at` on. */
struct hf__scan {
    const struct hf__key *prefix;
    bool is_to_clean; /* free names count too: some are forgotten */
    size_t length;    /* of `at`; 0: at the beginning, or (after) over */
    char at[HF__KEY_MAX + 1]; /* the store's own bookmark */
    hf__scan_fn fn;
    void *arg;
};

struct hf__primitives {
    struct hf__rules (*rules)(void *s);
    /* Called around a batch, a look of a waiter, or a scan. NULL, or all in
     * between is one step, after which end() wakes sleepers. */
    void (*begin)(void *s);
    void (*end)(void *s);
    /* The name as it is now, lent until it is put down; a name that was never
     * granted has no record. Fills what name.h says is "set whenever it is
     * read", and each state: that of a grant by its lease, though BROKEN stays;
     * that of a ticket by when it was last seen (HF__TICKET_… of
     * compatibility.h), unless the store knows better. It is for the operation,
     * or (NULL) for a waiter. to_change: a commit may follow. It may be called
     * again for the name in hand, to change it; if that was partial, it then
     * loads all of it. HF_OK, HF__RACED, or why not. */
    int (*load)(void *s, const struct hf__key *, const struct hf__op *,
                bool to_change, struct hf__name **ret_name, hf_error *);
    /* NULL, or called after each load, even one that failed. */
    void (*put_down)(void *s);
    /* Write what is marked and settle the marks (hf__name_settle), if the name
     * is as it was loaded, then wake waiters. HF_OK, HF__RACED, or why not,
     * with a text; HF_EUNKNOWN: it may be written or not. The first grant makes
     * the record. After a failure, what was lent must be loaded again. */
    int (*commit)(void *s, const struct hf__op *, struct hf__name *,
                  struct hf__outcome *);
    /* NULL, or called once the operation has its result. */
    void (*settled)(void *s, const struct hf__op *);
    /* NULL, or called before the commit: the claim of that ticket, whose
     * seen_us is set, asks for the name or waits. */
    void (*show)(void *s, const struct hf__participant *);
    bool looks_first; /* acquire and inspect load without to_change first, and
                         again only if they change something */

    /* Call scan->fn for each name with a record in this part, and move `at`
     * on. */
    int (*scan)(void *s, struct hf__scan *, hf_error *);
    bool is_sorted; /* scan() gives names in the order of keys */
    /* Delete that name, which was just scanned, if it is still idle: HF_OK. */
    int (*forget)(void *s, const struct hf__key *, struct hf__name *,
                  int64_t idle_us);

    /* NULL, or called before each look of a waiter: HF_OK, or the session is
     * dead. */
    int (*look_around)(void *s, hf_error *);
    /* NULL, or called if that waiter, without a ticket, finds that it may
     * enter. */
    void (*let_in)(void *s, const struct hf__watch *);
    /* Called before a look and park(): a wake-up after it ends that park(), and
     * so does the store's interrupt(). */
    unsigned (*seen)(void *s, struct hf__watch *w[], int n);
    void (*park)(void *s, struct hf__watch *w[], int n, unsigned seen,
                 hf__time until);
    int64_t news_ns; /* news of another holder is told only so long after the
                        first look, unless that look sees it */
    int64_t look_ns; /* the longest sleep; 0: until the deadline */
};

/* Apply one operation, without telling it the result: HF_OK and the outcome, or
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

/* The first member of a session whose calls are the engine's as they are. */
struct hf__engine_session {
    struct hf__head head;
    const struct hf__primitives *primitives; /* set by open() */
    hf__time deadline;                       /* of the running call */
};

/* The calls of backend.h; list() and gc() call look_around() first. */
int hf__engine_session_execute(void *s, struct hf__op *ops[], int n,
                               hf__time deadline, hf_error *);
int hf__engine_session_wait(void *s, struct hf__watch *w[], int n,
                            hf__time deadline, hf_error *);
int hf__engine_session_list(void *s, const struct hf__key *prefix, hf__list_fn,
                            void *arg, hf__time deadline, hf_error *);
int hf__engine_session_gc(void *s, const struct hf__key *prefix,
                          struct hf__gc *, hf__time deadline, hf_error *);

#endif
