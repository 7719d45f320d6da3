/* SPDX-License-Identifier: MIT */
/*
 * THE contract between the core and a store: blocking, batched, narrow.
 *
 * A backend is straight-line code that talks to one server over one session.
 * It never reconnects, retries, starts a thread, waits for a holder outside
 * wait(), or logs above debug: the core does all that, once for every store,
 * and calls it only through the wrappers of conn.h, which assert the contract.
 *
 * Locking. One session is used by one thread at a time (the core sees to it),
 * by different threads over its life. interrupt() alone may be called from
 * any thread while another call runs. Two sessions of one client, and
 * sessions of different clients, run side by side; what they share inside a
 * backend is the backend's to guard.
 *
 * Time. Deadlines are points on CLOCK_BOOTTIME. Expiry is judged by the
 * store's clock alone: the core sends durations, never points in time.
 */
#ifndef HF_BACKEND_BACKEND_H
#define HF_BACKEND_BACKEND_H

#include "src/backend/record.h"
#include "src/base/time.h"
#include "src/base/url.h"

#include <stdatomic.h>

/* All fences are below this: doubles, and so JSON and many a database column,
 * are exact up to 2^53. */
#define HF__FENCE_END (UINT64_C(1) << 53)

/* Certainly not applied, and the session lives: try again soon (SQLITE_BUSY,
 * 1213, LOADING …). Only an operation's result, never a caller's. */
#define HF__AGAIN 100

#define HF__PREFIX_MAX 64
#define HF__KEY_MAX    (HF__PREFIX_MAX + 1 + HF_NAME_MAX)

/* A lock's name as the store keeps it: prefix, ':', name; of a start: ';'. */
struct hf__key {
    const char *bytes;
    uint16_t length;
    uint16_t name_at; /* where the name begins in bytes */
};

struct hf__participant_list;
struct hf__cell_op;

/* Does a claim that is BUSY leave a ticket, its place in the name's queue? */
enum hf__queueing {
    HF__QUEUE_NEVER,         /* it tries once, or without order */
    HF__QUEUE_BEHIND_SHARED, /* if a stream of shared grants or slots could
                                pass it for ever */
    HF__QUEUE_ALWAYS         /* needs HF_CAP_FAIR */
};

/* In the order in which a backend applies the kinds of one batch. */
enum hf__op_kind {
    HF__OP_RENEW,    /* token owns it and the lease runs → new lease.
                        OK · LOST (+ fence, reason, record) */
    HF__OP_RELEASE,  /* token owns it → free, fence kept; what the grant keeps
                        closed stays so unless `reopens`. OK · LOST (+ the
                        same). Also clears an expired grant of the token and
                        ends its ticket (LOST, if that is all) */
    HF__OP_HANDOVER, /* token owns it and the lease runs → next_token, new
                        lease, keeping, owner, fence raised. OK (+ fence) ·
                        LOST (+ the same) · BUSY (somebody else is in the queue,
                        or the grant is not exclusive: release it) */
    HF__OP_RAISE,    /* token owns it → fence = max(fence, given); of several
                        grants no two have the same, so it may be higher.
                        OK (+ fence) · LOST · with HF_CAP_SESSION: ENOTSUP if
                        it is lower, for there it is the server's number */
    HF__OP_ACQUIRE,  /* free or expired and not kept closed, or already this
                        token → token, lease, keeping, owner, fence. One
                        attempt; idempotent by token: a second one renews the
                        lease and gives the same fence (after the lease ran
                        out it may be a higher one).
                        Beside others, and in the queue: see compatibility.h.
                        OK (+ fence, slot) · BUSY (+ record, is_queued; it may
                        set another token to go on with and is_unanswered to
                        false: then the store itself gives back what the first
                        token has or may yet get) · EINVAL
                        (another number of slots; RENEW: too long a lease) */
    HF__OP_INSPECT,  /* OK (+ record; is_held false for an unknown name) */
    HF__OP_BREAK     /* held or kept, and fence is 0 or equal → free and open,
                        fence raised. Of several grants, the one of that fence;
                        with 0, all. Tickets stay.
                        OK (+ fence, + record as it was, of the one that was
                        meant) · CONFLICT (+ record) */
};

/*
 * One operation on one name. Set by the core: all but the results. The core
 * owns it and what it points to until execute() returns.
 */
struct hf__op {
    enum hf__op_kind kind;
    int result; /* see below; HF_EUNAVAIL when execute begins */
    struct hf__key key;
    struct hf__token token;      /* out: ACQUIRE that is BUSY: as above */
    struct hf__token next_token; /* HANDOVER */
    /* In: BREAK, the grant to break, or 0 · RAISE, the number to reach ·
     * RENEW, RELEASE, HANDOVER, our fence (never compared: the token is).
     * Out: what the store now has for the name; 0 if it has no record. */
    uint64_t fence;
    hf_reason ret_reason; /* LOST: why, by hf__reason_for() */
    int64_t lease_us;     /* ACQUIRE, RENEW, HANDOVER; the wrappers set it to
                             server_info.lease_us, where the store has one */
    int64_t keep_us;  /* ACQUIRE, HANDOVER: for so long nobody else may acquire
                         it, whatever happens to the grant; needs HF_CAP_KEEP */
    bool is_detached; /* ACQUIRE, HANDOVER, RENEW: from now on the grant lives
                         by its lease alone; needs HF_CAP_DETACH */
    bool reopens;     /* RELEASE: ends the keeping too */
    bool is_unanswered; /* its ACQUIRE got no answer; RELEASE keeps it out */
    struct hf__lock_mode lock_mode; /* ACQUIRE · RENEW, RELEASE: how it was
                                 asked for, a hint; exclusive may be wrong */
    enum hf__queueing queueing;     /* ACQUIRE */
    bool is_queued; /* out: ACQUIRE that is BUSY: its ticket is in the queue */
    bool took_over; /* out: ACQUIRE: the last grant was not released */
    int slot;       /* out: ACQUIRE, RENEW of HF__MODE_SLOTS; else −1 */
    struct hf__participant_list *ret_participants; /* INSPECT: holders (lease
                                    runs; holder_lives 0: it died) and
                                    waiters; may be NULL */
    const struct hf__owner *owner; /* ACQUIRE, HANDOVER, BREAK (who breaks) */
    struct hf__record *ret_record; /* may be NULL */
    hf_error *err;                 /* text of a negative result; may be NULL */
    hf__time sent; /* just before execute(); a store may move it back */
};

/*
 * The result of an operation. It starts as HF_EUNAVAIL (not sent), becomes
 * HF_EUNKNOWN before the first byte that could apply it leaves, and
 * something better only after the reply or commit. Values: HF_OK HF_BUSY
 * HF_LOST HF_CONFLICT · HF__AGAIN · HF_EUNAVAIL HF_EUNKNOWN HF_EAUTH
 * HF_ENOTSUP HF_EPROTO HF_EUNSAFE HF_ENOMEM HF_EINVAL. One bad operation never
 * fails its neighbours: what fails as a unit is re-run in halves.
 */

/*
 * Why a token no longer owns its name: `mine` is the fence of the lost grant,
 * `stored` what the record has (0: no record), `broken` the fence of the last
 * grant that an operator broke (a store keeps it in the record; 0: none). The
 * store keeps the record of a grant that was held beside others until its lease
 * would have ended, and then until a later grant: while it is there, it tells
 * BROKEN from EXPIRED, whatever the fence of the name is by now.
 */
static inline hf_reason hf__reason_for(uint64_t mine, uint64_t stored,
                                       uint64_t broken)
{
    if (stored == 0 || stored < mine) {
        return HF_REASON_STORE_GONE;
    }
    if (mine != 0 && broken == mine) {
        return HF_REASON_BROKEN;
    }
    return stored == mine ? HF_REASON_EXPIRED : HF_REASON_TAKEN;
}

/* A request to be woken when a name's record differs from what was seen. */
struct hf__watch {
    struct hf__key key;
    uint64_t fence;         /* as seen in BUSY */
    struct hf__token token; /* as seen in BUSY */
    /* The waiter's, if it waits in the queue, else zero. With a ticket it fires
     * once the waiter may enter or its ticket is gone, whatever differs. */
    struct hf__token ticket;
    struct hf__lock_mode lock_mode; /* how the waiter wants the name */
    bool has_fired;                 /* out: look again */
};

/* First member of every backend's session state; zeroed by the core. */
struct hf__head {
    atomic_uint interrupted; /* generation that was asked to stop */
    unsigned generation;     /* of the running call; set by the wrappers */
    bool only_listens; /* no call but listen() will come; set before open() */
    uint64_t client;   /* random, one for all sessions of a client; 0: none; set
                          before open() */
    struct hf__server_info server_info; /* filled by open() */
    /* At open(), of earlier sessions; after close(), also of this one. */
    struct hf__stale_session stale_session;
};

/* True once the running call was asked to stop. For the session's thread. */
static inline bool hf__is_interrupted(struct hf__head *head)
{
    return atomic_load(&head->interrupted) == head->generation;
}

/* Called for each record; nonzero stops. name is the key without prefix. */
typedef int (*hf__list_fn)(void *arg, const char *name, size_t length,
                           const struct hf__record *);
typedef int (*hf__check_fn)(void *arg, const hf_check_item *);
/* Called for each grant, of this client or not, that is reported broken. */
typedef void (*hf__broken_fn)(void *arg, uint64_t tag);

/* A garbage collection, and how far it has come. */
struct hf__gc {
    bool of_cells; /* tombstones (cell.h) instead of records */
    int64_t idle_us;
    uint64_t count;   /* deleted so far */
    uint64_t expired; /* of these, those whose grant was not released */
    size_t length; /* of `at`; 0: at the start, or (after a call) at the end */
    char at[HF__KEY_MAX + 1]; /* the store's own bookmark */
};

struct hf__backend {
    const char *scheme;         /* "sqlite" */
    unsigned caps;              /* HF_CAP_… of a URL without options */
    size_t size;                /* of a session's state, hf__head first */
    const char *const *options; /* own URL options, NULL-ended */
    bool has_no_sigpipe;  /* it works on memory and files, or its sockets raise
                             none: it saves four system calls a call */
    bool has_kinds_apart; /* each kind of a batch is a commit of its own */

    /* Optional, for a URL whose options are still unchecked: which of several
     * stores it means, which serves all calls of the session; and its caps. */
    const struct hf__backend *(*of)(const struct hf__url *);
    unsigned (*caps_of)(const struct hf__url *);
    /* Required. open() is given a zeroed state with its head set; on failure
     * the core calls close(), too. Gives HF_OK, HF_EUNAVAIL, HF_EAUTH,
     * HF_EPROTO, HF_EUNSAFE, HF_EINVAL (an option), HF_ENOMEM. `allow` is the
     * comma-separated list of overrides, "" if none; it and the URL are lent
     * for the call. */
    int (*open)(void *s, const struct hf__url *, const char *allow,
                hf__time deadline, hf_error *);
    /* Safe after a failed open; cannot fail; sends nothing that must arrive. */
    void (*close)(void *s);
    /* Apply ops[0..n): mixed kinds, at most one for each key, sorted by key
     * bytes (memcmp, shorter first). Gives HF_OK, or a negative status when
     * the session is dead; the truth is each operation's own result. */
    int (*execute)(void *s, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *);

    /*
     * Optional, as all that say so; without it the core polls. Arm, re-read,
     * return at once if a record differs from what the watch saw (or the waiter
     * may enter), else sleep until one may differ or the deadline. Sets
     * has_fired. A ticket lives on while its watch is waited for. A spurious
     * return is fine; a lost notification may cost time, never correctness.
     * Gives HF_OK (also at the deadline and when interrupted), negative: dead.
     * With HF__CAP_WAIT_ONE a session may keep its place in a queue of the
     * store between two waits for the same key, ticket and lock mode, and while
     * the waiter tries. n == 0 says that no waiter is left: give up the place.
     * It comes before a wait for another key, and may sleep for an outstanding
     * reply, up to the deadline; if it fails, it gives a negative status, which
     * no caller sees. If interrupted it may do either. With HF__CAP_WAIT_LEAVES
     * a session keeps a place for each watch until a list comes without it; a
     * waiter whose watch has fired tries.
     */
    int (*wait)(void *s, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *);
    /*
     * HF_CAP_PUSH: report breaks that this session has not reported yet, at
     * first all that are remembered; sleep until there is one or the deadline.
     * A report is a hint: the grant's next renewal, by its token, finds the
     * truth. Costs nothing while nothing is broken; with HF_CAP_SESSION, where
     * it runs from hf_open() on, what the session needs.
     */
    int (*listen)(void *s, hf__broken_fn, void *arg, hf__time deadline,
                  hf_error *err);
    /*
     * Optional: every grant of a key that starts with the bytes of `prefix`,
     * sorted by key, those of one key by slot or age. prefix->name_at says
     * where names begin. Gives HF_OK or negative: session dead.
     */
    int (*list)(void *s, const struct hf__key *prefix, hf__list_fn, void *arg,
                hf__time deadline, hf_error *);
    /*
     * Optional: delete records whose key starts with the bytes of `prefix`: not
     * held for g->idle_us (0: now), not kept closed, without waiters, the fence
     * below the wall clock, so that the next is above it. Looks at some
     * thousand records, adds to *g, and notes in g->at where to go on. As
     * list().
     */
    int (*gc)(void *s, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *);
    /* HF_CAP_CELLS: see cell.h. Gives HF_OK, or negative: session dead. */
    int (*cell)(void *s, struct hf__cell_op *, hf__time deadline, hf_error *);
    /* Required. Reports item by item if the server is fit. As list(). */
    int (*check)(void *s, hf__check_fn, void *arg, hf__time deadline,
                 hf_error *);
    /* Required. Wakes the call that runs, open() included. Thread: any. The
     * wrapper has stored head.interrupted. */
    void (*interrupt)(void *s);
    /* Optional: SQL that makes its tables, if open() may not; never freed. */
    const char *(*ddl)(const struct hf__url *);
    /* Optional: as hf_lock_fds(). */
    int (*lock_fds)(void *s, int *fds, int max);
};

/* memcmp order, shorter first; for sorting a batch. */
HF_MODULE_API int hf__key_compare(const struct hf__key *a,
                                  const struct hf__key *b);

/* The next fence: above `stored`, and not below the wall clock, so that it goes
 * on rising after a record was lost. */
HF_MODULE_API uint64_t hf__fence_after(uint64_t stored, int64_t wall_us);

#endif
