/* SPDX-License-Identifier: MIT */
/*
 * Holdfast: distributed locks over the servers you already run.
 *
 *     hf_client *client = NULL;
 *     hf_lock *lock = NULL;
 *     hf_error err = HF_ERROR_INIT;
 *
 *     if (hf_open("sqlite:/var/lib/app/locks.db", NULL, &client, &err) ||
 *         hf_acquire(client, "order:1001", NULL, &lock, &err)) {
 *         fprintf(stderr, "%s\n", err.text);
 *     } else {
 *         work(hf_fence(lock));
 *         if (hf_release(lock, &err) == HF_LOST) undo();
 *     }
 *     hf_free(lock);
 *     hf_close(client);
 *
 * Statuses. 0 is success; above 0 is an outcome that the caller must handle
 * (somebody holds the lock, it was lost); below 0 is a failure to forward. Any
 * call on a client or lock that was opened before a fork() gives HF_EFORK in
 * the child; those without a status do nothing there. A NULL client or lock,
 * and NULL where a result is to go, is HF_EINVAL.
 *
 * Threads. Every function may be called from any thread, also two at once on
 * one object, except that hf_free() and hf_close() must be the last call on
 * theirs. "Blocks" says how long a call may take; functions that do not say so
 * return at once and touch no store.
 *
 * Strings that a getter returns live as long as its object; strings given to a
 * callback, as long as that call. All strings are UTF-8.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_API        __attribute__((visibility("default")))
#define HF_MUST_CHECK __attribute__((warn_unused_result))

#define HF_VERSION "0.1.0"

/* Wait until the lock is granted, however long that takes. */
#define HF_FOREVER INT64_C(-1)

/* Limits; hf_acquire() answers HF_EINVAL beyond them. */
#define HF_NAME_MAX         255 /* bytes of a lock's name */
#define HF_NOTE_MAX         255 /* bytes of a note or an owner label */
#define HF_LEASE_MIN_MS     100
#define HF_LEASE_MAX_MS     86400000 /* 24 hours */
#define HF_LEASE_DEFAULT_MS 30000
#define HF_KEEP_MAX_MS      INT64_C(3155760000000) /* a century */
#define HF_SLOTS_MAX        1024 /* grants of one name at once */
#define HF_MANY_MAX         256  /* names of one hf_acquire_many() */

/* One list for the enum, hf_strstatus() and the reference. */
#define HF_STATUS_MAP(X)                                                       \
    X(HF_OK, 0, "success")                                                     \
    X(HF_BUSY, 1, "somebody else holds the lock")                              \
    X(HF_TIMEDOUT, 2, "the lock was still held when the wait ended")           \
    X(HF_CANCELLED, 3, "the wait was cancelled")                               \
    X(HF_LOST, 4, "the lock is no longer ours")                                \
    X(HF_CONFLICT, 5, "the record is not in the state that was expected")      \
    X(HF_DEADLOCK, 6, "the caller waits for itself")                           \
    X(HF_EINVAL, -1, "an argument is not valid")                               \
    X(HF_ENOMEM, -2, "out of memory")                                          \
    X(HF_EUNAVAIL, -3, "the store cannot be reached; nothing was done")        \
    X(HF_EUNKNOWN, -4, "no answer from the store; it may have been done")      \
    X(HF_EAUTH, -5, "the store denied access")                                 \
    X(HF_ENOTSUP, -6, "the store cannot do this")                              \
    X(HF_EPROTO, -7, "the store holds or sent something unexpected")           \
    X(HF_EUNSAFE, -8, "the store cannot keep the promises of a lock")          \
    X(HF_EFORK, -9, "the handle belongs to the parent process")

typedef enum hf_status {
#define HF_X(name, value, text) name = value,
    HF_STATUS_MAP(HF_X)
#undef HF_X
} hf_status;

typedef struct hf_client hf_client;
typedef struct hf_lock hf_lock;
typedef struct hf_cancel hf_cancel;
typedef struct hf_info hf_info;

/*
 * What went wrong, in the caller's memory. Optional everywhere: pass NULL.
 * A failing call fills it; a call that succeeds leaves it alone.
 */
typedef struct hf_error {
    size_t size;      /* sizeof(hf_error); HF_ERROR_INIT sets it */
    int status;       /* the hf_status that was returned */
    int native;       /* the store's own number, or errno; 0 if none */
    char sqlstate[6]; /* five characters and NUL; empty outside SQL stores */
    char text[512];   /* one sentence for people; never holds a secret */
} hf_error;
#define HF_ERROR_INIT                                                          \
    {                                                                          \
        sizeof(hf_error), 0, 0, "", ""                                         \
    }

/* How far apart two programs may be and still exclude each other. */
typedef enum hf_reach {
    HF_REACH_PROCESS = 0, /* this process */
    HF_REACH_USER = 1,    /* this user on this host */
    HF_REACH_HOST = 2,    /* this host */
    HF_REACH_HOSTS = 3    /* every host that reaches the server */
} hf_reach;

typedef enum hf_level {
    HF_LOG_ERROR = 0,
    HF_LOG_WARN = 1,
    HF_LOG_INFO = 2,
    HF_LOG_DEBUG = 3
} hf_level;

/* One line, no newline: "event=lost lock=job reason=expired". Called from
 * any thread, under no lock of the library; must not call it back. */
typedef void (*hf_log_fn)(void *arg, hf_level level, const char *line);

typedef struct hf_open_opts {
    size_t size;   /* sizeof(hf_open_opts) */
    hf_log_fn log; /* NULL: silent */
    void *log_arg;
    hf_level log_level; /* lines above it are not made; default HF_LOG_WARN */
    hf_reach reach;     /* a store that reaches less is HF_EUNSAFE */
    const char *allow;  /* comma-separated overrides, as allow= in the URL */
} hf_open_opts;
#define HF_OPEN_OPTS_INIT                                                      \
    {                                                                          \
        sizeof(hf_open_opts), NULL, NULL, HF_LOG_WARN, HF_REACH_PROCESS, NULL  \
    }

/*
 * Open a store. `url` is one of those in docs/reference.md, for example
 * "sqlite:/var/lib/app/locks.db" or "memory:". opts may be NULL.
 * Gives: HF_OK and a client for hf_close(); HF_EINVAL (the URL or an option),
 * HF_ENOTSUP (the store's module is missing or does not fit), HF_EUNAVAIL,
 * HF_EAUTH, HF_EPROTO, HF_EUNSAFE, HF_ENOMEM and no client.
 * Blocks: up to connect_timeout (10 s).
 */
HF_API HF_MUST_CHECK int hf_open(const char *url, const hf_open_opts *opts,
                                 hf_client **ret_client, hf_error *err);

/*
 * Release what is still held, stop the client's threads, forget the client.
 * Locks that were not freed stay valid and answer lost. Asynchronous calls end
 * before: acquires as HF_CANCELLED, releases with their answer, and their
 * callbacks run here. Takes NULL.
 * Blocks: up to io_timeout (5 s), and as long as callbacks take.
 */
HF_API void hf_close(hf_client *client);

/* What the opened store can do; bits of hf_caps.flags. */
#define HF_CAP_FENCE    0x001u /* each grant carries a rising number */
#define HF_CAP_WAIT     0x002u /* waiters are woken, not only polling */
#define HF_CAP_HANDOVER 0x004u /* release and next grant in one step */
#define HF_CAP_LIST     0x008u /* hf_list() */
#define HF_CAP_DEATH    0x010u /* a dead holder is seen before its lease ends */
#define HF_CAP_SESSION  0x020u /* a grant lives with its session: lease_ms */
#define HF_CAP_KEEP     0x040u /* a grant can keep the name closed a while */
#define HF_CAP_DETACH   0x080u /* a grant can live by its lease alone */
#define HF_CAP_FAIR     0x100u /* waiters can be served in order of arrival */
#define HF_CAP_SHARED   0x200u /* shared grants, beside one another */
#define HF_CAP_SLOTS    0x400u /* up to N grants of one name at once */
#define HF_CAP_PUSH     0x800u /* a holder is told at once of a break */
#define HF_CAP_CELLS    0x1000u /* values with versions: holdfast-cell.h */

typedef struct hf_caps_info {
    size_t size;    /* sizeof(hf_caps_info) */
    unsigned flags; /* HF_CAP_… */
    hf_reach reach;
    char grade; /* A quorum, B durable, C replicated, S session, D volatile */
    const char
        *store;       /* the URL without secrets; lives as long as the client */
    int64_t lease_ms; /* HF_CAP_SESSION: that of each grant; else 0 */
    const char *rests_on; /* the grade does: "one durable server"; static */
} hf_caps_info;
#define HF_CAPS_INFO_INIT                                                      \
    {                                                                          \
        sizeof(hf_caps_info), 0, HF_REACH_PROCESS, '?', NULL, 0, NULL          \
    }

/* Gives: HF_OK, HF_EINVAL (size), HF_EFORK. */
HF_API HF_MUST_CHECK int hf_caps(hf_client *client, hf_caps_info *ret_caps);

/* Does the store answer? Gives: HF_OK, HF_ENOMEM, HF_EUNAVAIL, HF_EUNKNOWN,
 * HF_EAUTH, HF_EPROTO, HF_EUNSAFE, HF_EFORK. Blocks: up to io_timeout. */
HF_API HF_MUST_CHECK int hf_ping(hf_client *client, hf_error *err);

typedef enum hf_verdict {
    HF_FINE = 0,
    HF_WARN = 1, /* works, with a limit worth knowing */
    HF_UNFIT = 2 /* refused unless allowed by name */
} hf_verdict;

typedef struct hf_check_item {
    size_t size;
    const char *name;  /* "journal_mode" */
    const char *value; /* "wal" */
    hf_verdict verdict;
    const char *remedy; /* NULL when fine */
} hf_check_item;

/* Return 0 to go on, anything else to stop. Runs on the caller's thread. */
typedef int (*hf_check_fn)(void *arg, const hf_check_item *item);

/* Is this server fit for locks? Reports each thing looked at. Gives: HF_OK
 * (also when an item is unfit), HF_ENOMEM, HF_EUNAVAIL, HF_EUNKNOWN, HF_EAUTH,
 * HF_EPROTO, HF_EUNSAFE, HF_EFORK. Blocks: up to io_timeout. */
HF_API HF_MUST_CHECK int hf_check(hf_client *client, hf_check_fn fn, void *arg,
                                  hf_error *err);

/* ---- cancelling a wait ------------------------------------------------ */

/* Gives: HF_OK, HF_EINVAL, HF_ENOMEM. The caller frees it after the last call
 * that uses it has returned. Not for use in a forked child. */
HF_API HF_MUST_CHECK int hf_cancel_new(hf_cancel **ret_cancel);
/* Ends every wait that was given this object, now and later.
 * Async-signal-safe. Takes NULL. */
HF_API void hf_cancel_fire(hf_cancel *cancel);
/* Takes NULL. */
HF_API void hf_cancel_free(hf_cancel *cancel);

/* ---- acquiring and letting go ----------------------------------------- */

typedef struct hf_acquire_opts {
    size_t size;         /* sizeof(hf_acquire_opts) */
    int64_t wait_ms;     /* how long to wait: 0 tries once, HF_FOREVER */
    int64_t lease_ms;    /* how long the grant lives without renewal; with
                            HF_CAP_SESSION leave it at the default */
    int auto_renew;      /* 1: the library renews it at a third of the lease */
    const char *owner;   /* label for people, ≤ 255 bytes, with fields as in
                            hf_owner_format(); NULL: program name */
    const char *note;    /* for people, ≤ 255 bytes; NULL: none */
    hf_cancel *cancel;   /* NULL: none */
    int reentrant;       /* 1: its owner gets it again at once, counted */
    int detached;        /* 1: lives by its lease, not with this process */
    uint64_t owner_id;   /* who asks, for reentrant and HF_DEADLOCK; 0: the
                            calling thread */
    int64_t min_hold_ms; /* nobody else gets it for so long after the grant,
                            whatever happens to the holder; 0: none */
    int64_t max_hold_ms; /* lost after that, also if renewed; 0: no limit */
    int64_t once_ms; /* HF_CONFLICT while the last start under this option is
                        younger; HF_FOREVER; 0: no such rule */
    const char *once_key; /* once_ms counts for each key; NULL: for the name */
    int fair;             /* 1: waits in the order of arrival at the store */
    int shared;           /* 1: beside other shared grants, of the same name */
    int slots;            /* > 0: one of so many grants at once; 0: alone */
} hf_acquire_opts;
#define HF_ACQUIRE_OPTS_INIT                                                   \
    {                                                                          \
        sizeof(hf_acquire_opts), HF_FOREVER, HF_LEASE_DEFAULT_MS, 1, NULL,     \
            NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0                        \
    }

/*
 * Writes a label of the caller by `format` (NULL: HF_OWNER_CLASSIC): %h host,
 * %i its address, %n node, %p process id, %t thread id, %T thread name, %e ms
 * since 1970, %% a percent sign; docs/reference.md. hf_acquire_opts.owner is
 * filled in likewise, at each acquire. Gives: HF_OK and UTF-8 with NUL in buf;
 * HF_EINVAL (another letter, more than size - 1 bytes, no UTF-8) and "".
 */
#define HF_OWNER_CLASSIC "%i-%n-%t-%T-%e"
HF_API HF_MUST_CHECK int hf_owner_format(char *buf, size_t size,
                                         const char *format, hf_error *err);

/*
 * Acquire the lock called `name` (1–255 bytes of UTF-8, kept byte-exact). opts
 * NULL means HF_ACQUIRE_OPTS_INIT: wait for ever, 30 s lease, renewed; with
 * HF_CAP_SESSION the lease is hf_caps_info.lease_ms, and another, or auto_renew
 * 0, is HF_ENOTSUP. It counts from before the request left; docs/guarantees.md.
 *
 * A second acquire of a lock that its owner (thread, or owner_id) holds through
 * this client is HF_DEADLOCK at once. With `reentrant` it gives one more lock
 * object for the same grant instead, without asking the store; the grant ends
 * with the release of the last of them. Another client is always another owner:
 * HF_BUSY, or it waits; err->text tells if the thread seems the same.
 *
 * fair: the waiter has a place in the name's queue, in the order in which the
 * requests reached the store, also across processes. No request, fair or not,
 * goes before those in the queue; a waiter that gave up, died or was stopped
 * for a second (HF_CAP_SESSION: once its session is over) is passed over.
 * shared: excludes only exclusive grants and slots; a waiting exclusive claim
 * comes before later shared ones. slots: up to that many grants at once,
 * HF_EINVAL while others hold it with another number; a waiting exclusive claim
 * comes before later ones; each holder has the lowest free slot, hf_slot().
 * Stores without these give HF_ENOTSUP: see HF_CAP_FAIR, HF_CAP_SHARED,
 * HF_CAP_SLOTS; HF_CAP_KEEP for min_hold_ms, once_ms.
 *
 * once_ms: the grant counts as a start. The store marks it, by its clock; the
 * mark outlives release, crash, takeover and break; hf_once_undo() deletes it.
 *
 * Gives: HF_OK and a lock for hf_free(); HF_BUSY (wait_ms 0), HF_TIMEDOUT,
 * HF_CANCELLED, HF_DEADLOCK, HF_CONFLICT (once_ms), HF_LOST (reentrant, and the
 * grant is no longer held); HF_EINVAL, HF_ENOMEM, HF_EUNAVAIL, HF_EUNKNOWN (a
 * grant that may have happened is given back by token, as after HF_TIMEDOUT and
 * HF_CANCELLED), HF_EAUTH, HF_ENOTSUP, HF_EPROTO, HF_EUNSAFE, HF_EFORK; and no
 * lock. Blocks: up to max(wait_ms, io_timeout); with once_ms up to io_timeout
 * more for the look at the mark before and for setting it after, and twice that
 * more if it cannot be set.
 */
HF_API HF_MUST_CHECK int hf_acquire(hf_client *client, const char *name,
                                    const hf_acquire_opts *opts,
                                    hf_lock **ret_lock, hf_error *err);

/*
 * Acquire all of `names` (1 to HF_MANY_MAX, none twice), or none: an error
 * leaves nothing behind in the store. Sets that overlap never wait for each
 * other in a circle, in whatever order each names them. Free names are acquired
 * in one batch; while the call waits for a name, no name that sorts after it is
 * kept. wait_ms is one patience for all. On failure err->text names the name
 * that was in the way, with its holder.
 *
 * The lock is held while all are: hf_state() is the worst of them,
 * hf_remaining_ms() the least, hf_lost_reason() that of the first in the
 * caller's order that is lost; then the others stay until they are released,
 * but hf_held() is 0. hf_name(), hf_fence() and hf_token() are those of the
 * first name as given. hf_renew() and hf_release() work on all, in one batch;
 * hf_release() is HF_LOST if any was lost. hf_detach() is HF_ENOTSUP.
 *
 * opts as for hf_acquire(), but `detached` and `reentrant` are HF_ENOTSUP.
 * once_ms counts a start of the first name as given. min_hold_ms counts from
 * each name's own grant, max_hold_ms from when all are held. HF_DEADLOCK if the
 * owner holds any of them.
 *
 * Gives: as hf_acquire(), and HF_EINVAL (n, or a name given twice); after
 * HF_EUNKNOWN nothing is kept, and what may have been granted is given back by
 * token. Blocks: as hf_acquire(), and up to io_timeout more to give back what
 * it had if the store hangs.
 */
HF_API HF_MUST_CHECK int hf_acquire_many(hf_client *client,
                                         const char *const *names, int n,
                                         const hf_acquire_opts *opts,
                                         hf_lock **ret_lock, hf_error *err);

/*
 * End the grant. The lock object stays valid; a second call answers the same
 * and sends nothing. Gives: HF_OK; HF_LOST (it was gone before:
 * hf_lost_reason()); HF_EUNKNOWN (no confirmation; the lease ends it);
 * HF_EINVAL (detached: adopt it to release it); HF_EFORK. Blocks: up to
 * min(remaining lease, io_timeout).
 */
HF_API HF_MUST_CHECK int hf_release(hf_lock *lock, hf_error *err);

/* Free the lock object; releases first if still held, and then blocks like
 * hf_release(). Takes NULL. */
HF_API void hf_free(hf_lock *lock);

/* Renew now, besides what auto_renew does. Gives: HF_OK; HF_LOST (also after a
 * release); HF_EUNAVAIL, HF_EUNKNOWN, HF_EAUTH, HF_EPROTO, HF_EUNSAFE,
 * HF_ENOMEM (still held until the old deadline); HF_EFORK. Blocks: up to
 * min(remaining lease, io_timeout). */
HF_API HF_MUST_CHECK int hf_renew(hf_lock *lock, hf_error *err);

/*
 * Let the grant live on without this process, by its lease alone: whoever has
 * hf_token() may renew, adopt or release it. The lock object gives it up: not
 * held, not renewed, and hf_free() does not release it. A grant that was
 * adopted stays bound to the process that it was bound to before. Gives: HF_OK;
 * HF_LOST; HF_ENOTSUP (no HF_CAP_DETACH, or several names); HF_EINVAL (acquired
 * more than once, or released); HF_EUNAVAIL, HF_EUNKNOWN, HF_EAUTH, HF_EPROTO,
 * HF_EUNSAFE, HF_ENOMEM (still held); HF_EFORK. Blocks: up to min(remaining
 * lease, io_timeout).
 */
HF_API HF_MUST_CHECK int hf_detach(hf_lock *lock, hf_error *err);

/*
 * Take up a grant by its token, from this process or another, and renew it at
 * once for opts->lease_ms. Of opts only lease_ms, auto_renew, max_hold_ms and
 * owner_id count; NULL is HF_ACQUIRE_OPTS_INIT. Two lock objects for one grant
 * do not know of each other: if one releases it, the other has lost it. Gives:
 * HF_OK and a lock for hf_free(); HF_LOST (the token owns the name no longer);
 * HF_EINVAL, HF_ENOMEM, HF_EUNAVAIL, HF_EUNKNOWN, HF_EAUTH, HF_EPROTO,
 * HF_EUNSAFE, HF_EFORK; and no lock. Blocks: up to io_timeout.
 */
HF_API HF_MUST_CHECK int hf_adopt(hf_client *client, const char *name,
                                  const char *token,
                                  const hf_acquire_opts *opts,
                                  hf_lock **ret_lock, hf_error *err);

/*
 * Take back the start that this grant counts as (once_ms): the work failed,
 * and the next acquire may start it again. Before or after the release.
 * Gives: HF_OK (also if there is none any more); HF_EINVAL (without once_ms);
 * HF_ENOMEM, HF_EUNAVAIL, HF_EUNKNOWN, HF_EAUTH, HF_EPROTO, HF_EUNSAFE,
 * HF_EFORK. Blocks: up to io_timeout.
 */
HF_API HF_MUST_CHECK int hf_once_undo(hf_lock *lock, hf_error *err);

typedef enum hf_lock_state {
    HF_STATE_HELD = 0,
    HF_STATE_AT_RISK = 1,  /* a renewal failed or hangs; held to the deadline */
    HF_STATE_LOST = 2,     /* final */
    HF_STATE_RELEASED = 3, /* final */
    HF_STATE_DETACHED = 4  /* final: it lives on by its lease */
} hf_lock_state;

typedef enum hf_reason {
    HF_REASON_NONE = 0,      /* not lost */
    HF_REASON_EXPIRED = 1,   /* no renewal was confirmed in time */
    HF_REASON_TAKEN = 2,     /* the store shows another holder */
    HF_REASON_BROKEN = 3,    /* somebody broke the lock */
    HF_REASON_SESSION = 4,   /* the session or the client ended */
    HF_REASON_STORE_GONE = 5 /* the store no longer has the record */
} hf_reason;

/* 1 while nobody else can have been granted the lock, else 0. Local,
 * lock-free, reads the clock at each call; async-signal-safe. 0 for NULL and
 * in a forked child. */
HF_API int hf_held(const hf_lock *lock);
HF_API hf_lock_state hf_state(const hf_lock *lock);
/* Milliseconds for which hf_held() stays 1 without another renewal; 0 when
 * not held. Already lessened by the margin for clock drift. */
HF_API int64_t hf_remaining_ms(const hf_lock *lock);
/* The fencing number of this grant; above that of every earlier grant of the
 * name, below 2^53; 0 if the store has no HF_CAP_FENCE. */
HF_API uint64_t hf_fence(const hf_lock *lock);
/* The grant's secret, 32 lower-case hex digits. Keep it out of logs. */
HF_API const char *hf_token(const hf_lock *lock);
HF_API const char *hf_name(const hf_lock *lock);
/* Which of the slots it is, 0 to slots - 1; -1 for a lock without slots. */
HF_API int hf_slot(const hf_lock *lock);
/* How many names the lock has: 1, or those of hf_acquire_many(). */
HF_API int hf_count(const hf_lock *lock);
/* The i-th name as given, from 0, and its fence; "" and 0 if there is none. */
HF_API const char *hf_name_at(const hf_lock *lock, int i);
HF_API uint64_t hf_fence_at(const hf_lock *lock, int i);
HF_API hf_reason hf_lost_reason(const hf_lock *lock);

/* Wait until the lock is lost or released, or `wait_ms` have passed
 * (HF_FOREVER: no limit). Gives: HF_LOST; HF_TIMEDOUT (still held); HF_OK
 * (released or detached by us); HF_EINVAL, HF_EFORK. Blocks: up to wait_ms. */
HF_API HF_MUST_CHECK int hf_wait_lost(hf_lock *lock, int64_t wait_ms);

/*
 * The descriptors whose closing tells the store that the holder died. A
 * process that gets them (SCM_RIGHTS) keeps the grant bound to its own life
 * too. Stores them in fds[0..max) and returns how many there are, 0 where
 * the store has none; a negative status on failure. They stay the library's.
 */
HF_API HF_MUST_CHECK int hf_lock_fds(const hf_lock *lock, int *fds, int max);

/* ---- without waiting --------------------------------------------------- */

/*
 * For programs with a loop of their own: calls that return at once, and answer
 * by a callback. Callbacks run inside hf_dispatch() and hf_close(), on the
 * thread that calls these, and nowhere else; under no lock of the library. They
 * may call any function of it, also one that blocks, but not hf_close() on
 * their own client. A lock is the same however it was acquired.
 */

/* How an acquire ended, as hf_acquire() would give it. With HF_OK the lock is
 * the callee's, for hf_free(); else it is NULL. err says why; it is there for
 * the call, and empty with HF_OK. */
typedef void (*hf_acquire_fn)(void *arg, int status, hf_lock *lock,
                              const hf_error *err);
/* How a release ended, as hf_release() gives it. */
typedef void (*hf_done_fn)(void *arg, int status, const hf_error *err);
/* The lock was lost; it stays the caller's, for hf_free(). */
typedef void (*hf_lost_fn)(void *arg, hf_lock *lock, hf_reason reason);

/*
 * As hf_acquire(), with the same options, but does not wait: fn(arg, …) is
 * called once, whatever happens, if this gives HF_OK; else it is never called.
 * Without an owner_id each acquire has an owner of its own.
 *
 * opts->cancel ends it in any state. A fire that returned before its callback
 * is called makes it HF_CANCELLED, even if the lock had been granted: then it
 * is given back (and a start that counted by once_ms taken back) behind the
 * caller's back. The cancel object is used until the callback is called.
 *
 * Gives: HF_OK; HF_EINVAL (also `reentrant` without an owner_id), HF_ENOTSUP,
 * HF_ENOMEM, HF_EUNAVAIL (the system gives no thread; the client is being
 * closed), HF_EFORK. The callback: what else hf_acquire() gives, at the same
 * time.
 */
HF_API HF_MUST_CHECK int hf_acquire_async(hf_client *client, const char *name,
                                          const hf_acquire_opts *opts,
                                          hf_acquire_fn fn, void *arg,
                                          hf_error *err);

/*
 * As hf_release(), but does not wait for the store. The lock is not held any
 * more when this returns; it may be freed at once, also before the callback,
 * and hf_free() does not block then. fn may be NULL: no callback. Gives: HF_OK
 * (fn will be called once); HF_EINVAL, HF_ENOMEM, HF_EUNAVAIL (the system gives
 * no thread; the client is closed): the lock is as it was, fn is never called;
 * HF_EFORK. The callback: what hf_release() gives, within its time.
 */
HF_API HF_MUST_CHECK int hf_release_async(hf_lock *lock, hf_done_fn fn,
                                          void *arg, hf_error *err);

/*
 * Have fn called once when the lock is lost, or because it has been; of several
 * names, when the first of them is. A later call replaces it; NULL takes it
 * back. It is not called after hf_release(), hf_release_async(), hf_detach() or
 * hf_free() has returned; if it is running on another thread just then, they
 * wait for its end. Gives: HF_OK; HF_EINVAL (released or detached), HF_EUNAVAIL
 * (the client is closed), HF_EFORK.
 */
HF_API HF_MUST_CHECK int hf_on_lost(hf_lock *lock, hf_lost_fn fn, void *arg);

/*
 * A descriptor for poll() and its like: readable exactly while a callback is
 * ready. It is the client's: only poll it; it is closed by hf_close(), and in a
 * forked child. The same at each call. Gives: the descriptor; HF_EINVAL,
 * HF_EUNAVAIL (the system gives none), HF_ENOMEM, HF_EFORK.
 */
HF_API HF_MUST_CHECK int hf_fd(hf_client *client);

/*
 * Call what is ready now, in the order in which it became so; what becomes
 * ready meanwhile may wait for the next call. Any thread, several at once too:
 * each callback runs on one of them. From within a callback it calls what else
 * is ready. Gives: how many callbacks ran, or HF_EINVAL, HF_EFORK.
 */
HF_API HF_MUST_CHECK int hf_dispatch(hf_client *client, hf_error *err);

/* ---- looking ---------------------------------------------------------- */

typedef enum hf_presence {
    HF_FREE = 0,
    HF_HELD_BY = 1,
    HF_UNKNOWN = 2
} hf_presence;

/*
 * Who holds the lock? Advisory: the answer is old when it arrives.
 * Gives: HF_OK and a snapshot for hf_info_free(); HF_EINVAL, HF_ENOMEM,
 * HF_EUNAVAIL, HF_EUNKNOWN, HF_EAUTH, HF_EPROTO, HF_EUNSAFE, HF_EFORK.
 * Blocks: up to io_timeout. Writes nothing, takes no lock.
 */
HF_API HF_MUST_CHECK int hf_inspect(hf_client *client, const char *name,
                                    hf_info **ret_info, hf_error *err);
HF_API void hf_info_free(hf_info *info);

/* What the snapshot shows, owned by it. None of these takes NULL. */
HF_API const char *hf_info_name(const hf_info *info);
HF_API hf_presence hf_info_presence(const hf_info *info);
HF_API const char *hf_info_label(const hf_info *info);  /* NULL: unknown */
HF_API const char *hf_info_host(const hf_info *info);   /* NULL: unknown */
HF_API const char *hf_info_thread(const hf_info *info); /* NULL: no name */
HF_API const char *hf_info_note(const hf_info *info);   /* NULL: none */
HF_API int64_t hf_info_pid(const hf_info *info);        /* 0: unknown */
HF_API int64_t hf_info_tid(const hf_info *info);    /* thread's; 0: unknown */
HF_API uint64_t hf_info_fence(const hf_info *info); /* 0: none yet */
/* Microseconds since 1970-01-01 UTC, by a server's clock where there is one,
 * else (and on ZooKeeper) the holder's; 0: unknown. */
HF_API int64_t hf_info_acquired_us(const hf_info *info);
/* By the store's clock; -1: unknown. */
HF_API int64_t hf_info_remaining_ms(const hf_info *info);
/* 1: the holder's process lives; 0: it is gone; -1: the store can't tell. */
HF_API int hf_info_holder_lives(const hf_info *info);
HF_API int hf_info_shared(const hf_info *info); /* 1: held as shared */
HF_API int hf_info_slots(const hf_info *info);  /* how many; 0: no slots */
HF_API int hf_info_slot(const hf_info *info);   /* -1: none */

/*
 * All holders of the lock, and all waiters in its queue in their order (`fair`
 * ones, and those that wait for another mode behind shared grants or slots;
 * others are not known). From hf_inspect() only: hf_list() shows one grant at a
 * time. The getters above tell of the holder whose lease ends first.
 */
HF_API int hf_info_holders(const hf_info *info); /* how many; -1: unknown */
HF_API int hf_info_waiters(const hf_info *info); /* how many; -1: unknown */
/* The i-th of them as a snapshot of its own, owned by `info`; NULL past the
 * last. hf_info_acquired_us() of a waiter: since when it waits. */
HF_API const hf_info *hf_info_holder_at(const hf_info *info, int i);
HF_API const hf_info *hf_info_waiter_at(const hf_info *info, int i);

/* Return 0 to go on, anything else to stop. Runs on the caller's thread;
 * must not call the library with the same client. */
typedef int (*hf_list_fn)(void *arg, const hf_info *info);

/*
 * Every lock now held whose name starts with `prefix` ("" or NULL: all), in
 * the order of their names. Gives: HF_OK, HF_ENOTSUP and as hf_inspect().
 * Blocks: up to io_timeout.
 */
HF_API HF_MUST_CHECK int hf_list(hf_client *client, const char *prefix,
                                 hf_list_fn fn, void *arg, hf_error *err);

/*
 * End somebody else's grant. With fence > 0 only that grant; with 0 whatever
 * is held. The fence rises, the old holder is told at once (HF_CAP_PUSH), else
 * at its next renewal. Each break is logged at HF_LOG_WARN with both owners.
 * Gives: HF_OK; HF_CONFLICT (free, or another fence); and as hf_inspect().
 * Blocks: up to io_timeout.
 */
HF_API HF_MUST_CHECK int hf_break(hf_client *client, const char *name,
                                  uint64_t fence, hf_error *err);

typedef struct hf_gc_info {
    size_t size;      /* sizeof(hf_gc_info) */
    uint64_t removed; /* records, all of them */
    uint64_t expired; /* nobody gave back the last grant: it ran out, or its
                         holder died. Never known on ZooKeeper */
    uint64_t marks;   /* of starts (once_ms); the rest: released, or broken */
    uint64_t cells;   /* deleted ones, of which the version was kept */
} hf_gc_info;
#define HF_GC_INFO_INIT                                                        \
    {                                                                          \
        sizeof(hf_gc_info), 0, 0, 0, 0                                         \
    }

/*
 * Delete the records of names under this client's prefix that nobody has held
 * for idle_ms (0: at all) and that nothing keeps closed. A fence goes on
 * rising without its record. ret_info: what went, also on failure; may be
 * NULL. Gives: HF_OK; HF_EINVAL (idle_ms, size), HF_ENOTSUP and as
 * hf_inspect(). Blocks: up to io_timeout for every two thousand records or so.
 */
HF_API HF_MUST_CHECK int hf_gc(hf_client *client, int64_t idle_ms,
                               hf_gc_info *ret_info, hf_error *err);

/* What a client has done since it was opened. */
typedef struct hf_stats_info {
    size_t size;           /* sizeof(hf_stats_info) */
    uint64_t acquired;     /* grants, those handed over included */
    uint64_t handed_over;  /* of these: from another lock of this client */
    uint64_t reentered;    /* acquires that shared a grant; not in acquired */
    uint64_t busy;         /* acquires that ended as HF_BUSY, HF_TIMEDOUT,
                              HF_CONFLICT, HF_DEADLOCK or HF_LOST */
    uint64_t cancelled;    /* … as HF_CANCELLED */
    uint64_t failed;       /* … with a status below 0, bad arguments apart */
    uint64_t released;     /* grants whose release was confirmed */
    uint64_t lost;         /* grants lost, for whatever reason */
    uint64_t renewed;      /* renewals that were confirmed */
    uint64_t renew_failed; /* renewals that got no answer, or a bad one */
    uint64_t batches;      /* round trips to the store */
    uint64_t operations;   /* sent in them */
    uint64_t connects;     /* connections opened */
    uint64_t held;         /* now: held or at risk */
    uint64_t waiting;      /* now: acquires under way */
    uint64_t owing;        /* now: outcomes that are still to be settled */
    uint64_t collected;    /* idle records deleted: hf_gc(), gc= in the URL */
    uint64_t taken_over;   /* acquired where nobody gave back the last grant;
                              never known on ZooKeeper and Redlock */
    uint64_t cell_writes;  /* cells put, updated and deleted */
    uint64_t cell_conflicts; /* tries of these that met another change */
    uint64_t cell_locked;    /* updates that took the cell's lock */
} hf_stats_info;
#define HF_STATS_INFO_INIT                                                     \
    {                                                                          \
        sizeof(hf_stats_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0                                                      \
    }

/* Each figure is right by itself; together they are of about one moment.
 * Gives: HF_OK, HF_EINVAL (size), HF_EFORK. */
HF_API HF_MUST_CHECK int hf_stats(hf_client *client, hf_stats_info *ret_stats);

/* ---- the library ------------------------------------------------------- */

HF_API const char *hf_strstatus(int status);       /* "HF_BUSY"; never NULL */
HF_API const char *hf_strreason(hf_reason reason); /* "expired" */
HF_API const char *hf_version(void);               /* "0.1.0" */
/* The i-th store that this build knows ("sqlite"), NULL past the last. Some are
 * modules, which are loaded when the first URL names them. */
HF_API const char *hf_backends(int i);
/*
 * What an administrator has to run once, on the URL's server, for users who
 * may not make tables: SQL statements. The text is never freed. Gives: HF_OK;
 * HF_ENOTSUP (the store has no tables); HF_EINVAL (the URL, or NULL),
 * HF_ENOMEM; and what hf_backend_load() gives, for it loads the module. No
 * server is asked. Blocks: as hf_backend_load(). Not in a constructor.
 */
HF_API HF_MUST_CHECK int hf_ddl(const char *url, const char **ret_ddl,
                                hf_error *err);
/*
 * Load the store's module now, if it is one: before a chroot or a sandbox, or
 * to learn if it can be used. Gives: HF_OK (also for what is built in);
 * HF_EINVAL (no such store); HF_ENOTSUP (the module or a library it needs is
 * not installed, or it is of another version; the text says what to do);
 * HF_EAUTH, HF_EUNAVAIL, HF_ENOMEM. hf_open() gives the same. Blocks: while
 * files are read; other loads and any fork() wait for it. From any thread, but
 * not in a constructor of a shared object, where the loader is busy.
 */
HF_API HF_MUST_CHECK int hf_backend_load(const char *scheme, hf_error *err);

/*
 * Replace malloc and free. Before the first other call of the library, from
 * one thread. Gives: HF_OK; HF_EINVAL (a NULL function); HF_CONFLICT (too
 * late). `resize` has realloc()'s contract.
 */
HF_API HF_MUST_CHECK int hf_set_allocator(void *(*resize)(void *, size_t),
                                          void (*release)(void *));

#ifdef __cplusplus
}
#endif

#endif
