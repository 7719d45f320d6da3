/* SPDX-License-Identifier: MIT */
/*
 * What the core calls: the registry of stores, and one open session of a store.
 * The wrappers are the only callers of a backend's functions; they assert the
 * contract on both sides, block SIGPIPE for the thread, and number the calls so
 * that an interrupt reaches the call that it was meant for.
 */
#ifndef HF_BACKEND_CONN_H
#define HF_BACKEND_CONN_H

#include "src/backend/backend.h"
#include "src/base/thread.h"

/* The name of the i-th store, also of one that is still to be loaded; NULL past
 * the last. Decorators are not listed. */
const char *hf__store_name(int i);
/*
 * Finds a store by URL scheme, "fault+X" and other names of a store included,
 * and loads its module if it is one. HF_OK; HF_EINVAL: this build has no store
 * of that name; HF_ENOTSUP: its module is missing or of another build;
 * HF_EAUTH, HF_EUNAVAIL, HF_ENOMEM: the system can't open it.
 */
HF_MUST_CHECK int hf__backend_load(const char *scheme,
                                   const struct hf__backend **ret_backend,
                                   hf_error *err);
/* The same for a caller that needs no reason: NULL if it can't be loaded. */
const struct hf__backend *hf__backend_find(const char *scheme);

/* Parses a store's URL, or several that mean one: "redis://a/0 redis://b/0"
 * means redlock://a,b/0. As hf__url_parse(). */
HF_MUST_CHECK int hf__backend_url(const char *text, struct hf__url **ret_url,
                                  hf_error *err);

/* HF_CAP_… of the store at that URL. */
unsigned hf__caps_of(const struct hf__backend *, const struct hf__url *);

/* One open session, as the core sees it. */
struct hf__conn {
    const struct hf__backend *backend;
    unsigned caps;     /* of its URL */
    void *state;       /* NULL when not open */
    bool is_dead;      /* a call failed for good: only close it */
    bool only_listens; /* set before it is opened */
    uint64_t client;   /* set before it is opened, too; see hf__head */
    struct hf__stale_session stale_session; /* of sessions that were closed */
    struct hf__mutex mutex; /* guards the rest; all zero is ready for use */
    bool is_running;        /* a call runs */
    bool is_interrupted;    /* between two calls: kept for the next wait() or
                               listen() */
    unsigned generation;    /* of the running or last call */
};

/* conn must be zeroed or closed. It may be opened again for the same store
 * only, as it keeps the stale session. On failure it is closed again. */
HF_MUST_CHECK int hf__conn_open(struct hf__conn *, const struct hf__backend *,
                                const struct hf__url *, const char *allow,
                                hf__time deadline, hf_error *);
/* Harmless if it is not open. */
void hf__conn_close(struct hf__conn *);
bool hf__conn_is_open(const struct hf__conn *);
/* Sets every result to HF_EUNAVAIL first, reads the clock into sent. */
HF_MUST_CHECK int hf__conn_execute(struct hf__conn *, struct hf__op *ops[],
                                   int n, hf__time deadline, hf_error *);
/* HF_ENOTSUP if the backend has no wait. n == 0: no waiter is left. */
HF_MUST_CHECK int hf__conn_wait(struct hf__conn *, struct hf__watch *w[], int n,
                                hf__time deadline, hf_error *);
/* HF_ENOTSUP if the backend has no listen. */
HF_MUST_CHECK int hf__conn_listen(struct hf__conn *, hf__broken_fn, void *arg,
                                  hf__time deadline, hf_error *);
/* HF_ENOTSUP if the backend has no list. */
HF_MUST_CHECK int hf__conn_list(struct hf__conn *, const struct hf__key *prefix,
                                hf__list_fn, void *arg, hf__time deadline,
                                hf_error *);
/* HF_ENOTSUP if the backend has no gc. */
HF_MUST_CHECK int hf__conn_gc(struct hf__conn *, const struct hf__key *prefix,
                              struct hf__gc *, hf__time deadline, hf_error *);
/* HF_ENOTSUP if the backend has no cells. */
HF_MUST_CHECK int hf__conn_cell(struct hf__conn *, struct hf__cell_op *,
                                hf__time deadline, hf_error *);
HF_MUST_CHECK int hf__conn_check(struct hf__conn *, hf__check_fn, void *arg,
                                 hf__time deadline, hf_error *);
/* Thread: any. Interrupts the call that runs now. If none does, the next
 * hf__conn_wait() or hf__conn_listen() returns at once: a thread that was about
 * to wait is not missed. */
void hf__conn_interrupt(struct hf__conn *);
/* Forget an interrupt that came between two calls: it was meant for the last
 * one, and the next must not return at once. */
void hf__conn_forget_interrupt(struct hf__conn *);
int hf__conn_lock_fds(struct hf__conn *, int *fds, int max);
/* Grade and reach found at open. */
struct hf__server_info hf__conn_server_info(const struct hf__conn *);

#endif
