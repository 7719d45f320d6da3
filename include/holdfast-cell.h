/* SPDX-License-Identifier: MIT */
/*
 * Holdfast's cells: small values with versions, beside the locks of a client,
 * for data that many clients change at once. A change names the version that it
 * replaces; if the cell has another one by now it is HF_CONFLICT, and nothing
 * is overwritten unseen.
 *
 *     static int take_one(void *arg, char *value, size_t *length)
 *     {
 *         long left = *length == HF_CELL_NONE ? 0 : strtol(value, NULL, 10);
 *
 *         if (left == 0) {
 *             return SOLD_OUT;
 *         }
 *         *length = (size_t)snprintf(value, HF_CELL_MAX, "%ld", left - 1);
 *         return HF_OK;
 *     }
 *     …
 *     r = hf_cell_update(client, "stock:pen", take_one, NULL, NULL, NULL,
 * &err);
 *
 * Keys are like the names of locks (1–255 bytes of UTF-8, kept byte-exact,
 * under the client's prefix), in a space of their own: a cell and a lock of the
 * same name have nothing to do with each other. A cell lasts as long as the
 * store does; the store's grade (docs/guarantees.md) holds for its cells, too.
 * Cells of memory: are gone once no client has the store open.
 *
 * Versions are numbers below 2^53 that only rise, cell by cell, also when a
 * cell is deleted and created again: one version never has two values. (After
 * hf_gc() has removed a deleted cell they rise by the wall clock, as fences
 * do.) Compare them, and nothing else. Needs HF_CAP_CELLS; else each call is
 * HF_ENOTSUP.
 *
 * Lost answers: a get, put or delete without an answer is sent again, until
 * io_timeout is over, and never applied twice. HF_EUNKNOWN after that: it was
 * applied once or not at all, perhaps a moment later; read, to know.
 *
 * Statuses, errors and threads are as in holdfast.h.
 */
#ifndef HOLDFAST_CELL_H
#define HOLDFAST_CELL_H

#include "holdfast.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a value, at most. */
#define HF_CELL_MAX 65536
/* Instead of a length: the cell has no value. */
#define HF_CELL_NONE ((size_t)-1)

typedef struct hf_cell hf_cell;

/*
 * Read a cell. Gives: HF_OK, also if there is no value, and a snapshot for
 * hf_cell_free(); HF_EINVAL (the key), HF_ENOMEM, HF_ENOTSUP, HF_EUNAVAIL,
 * HF_EUNKNOWN, HF_EAUTH, HF_EPROTO (also a record that is damaged), HF_EUNSAFE,
 * HF_EFORK. Blocks: up to io_timeout.
 */
HF_API HF_MUST_CHECK int hf_cell_get(hf_client *client, const char *key,
                                     hf_cell **ret_cell, hf_error *err);
/* Takes NULL. */
HF_API void hf_cell_free(hf_cell *cell);

/* What the snapshot shows, owned by it. None of these takes NULL. */

/* The bytes, and a NUL after them that is not counted; NULL: no value. */
HF_API const char *hf_cell_value(const hf_cell *cell);
/* HF_CELL_NONE if there is no value. */
HF_API size_t hf_cell_length(const hf_cell *cell);
/* The version to name in a change; 0: the store has no record of the cell. A
 * deleted cell has a version, until hf_gc() has removed it. */
HF_API uint64_t hf_cell_version(const hf_cell *cell);

/*
 * Replace *version of the cell, 0 if it had none, by these `length` bytes.
 * Gives: HF_OK, and *version is the new one; HF_CONFLICT, the cell has another
 * version, and nothing was done; HF_EINVAL (the key, the length, a version of
 * 2^53 or more); and as hf_cell_get(). Blocks: up to io_timeout.
 */
HF_API HF_MUST_CHECK int hf_cell_put(hf_client *client, const char *key,
                                     const void *value, size_t length,
                                     uint64_t *version, hf_error *err);

/* Delete that version's value. The cell gets a new version, so that a client
 * that read it before gets HF_CONFLICT. As hf_cell_put(). */
HF_API HF_MUST_CHECK int hf_cell_delete(hf_client *client, const char *key,
                                        uint64_t *version, hf_error *err);

/* ---- update ------------------------------------------------------------- */

/*
 * Compute the next value from the present one, in place: `value` has room for
 * HF_CELL_MAX bytes, *length of which are used; behind them is a NUL.
 * HF_CELL_NONE: the cell has no value or, when the callback returns, shall have
 * none. Runs on the caller's thread, once for each try, so without lasting
 * effects; it may call the library, but not change the same cell. An update
 * within another's callback takes no lock. Return HF_OK to have it written,
 * anything else to leave it as it is.
 */
typedef int (*hf_cell_fn)(void *arg, char *value, size_t *length);

typedef struct hf_cell_opts {
    size_t size;           /* sizeof(hf_cell_opts) */
    int64_t wait_ms;       /* how long to wait and retry, HF_FOREVER */
    hf_cancel *cancel;     /* ends the wait; NULL: none */
    uint64_t *ret_version; /* with HF_OK the new version; NULL: nowhere */
} hf_cell_opts;
#define HF_CELL_OPTS_INIT                                                      \
    {                                                                          \
        sizeof(hf_cell_opts), HF_FOREVER, NULL, NULL                           \
    }

/*
 * Read, compute, and replace what was read, until nobody else changes the cell
 * in between. It begins without a lock, which is fastest while conflicts
 * are rare. After four failed tries, or at once while more than a fifth of this
 * client's last tries for that cell failed, it first acquires a lock called
 * "cell:" and the key, so that updates run one after the other. It stops
 * locking once hardly any of them meets another. The lock only orders; should
 * it be lost, the version still keeps each update whole. hf_stats() counts what
 * was done. opts NULL means HF_CELL_OPTS_INIT.
 *
 * Gives: HF_OK, the change was made, once. What the callback returned, if that
 * was not HF_OK, and nothing was changed. HF_TIMEDOUT (HF_BUSY with wait_ms 0),
 * HF_CANCELLED: others were quicker until then, nothing was changed;
 * HF_DEADLOCK, too: the caller holds the cell's lock itself. HF_EUNKNOWN: there
 * was no answer to the change; it was made once or not at all, and the callback
 * is not called again. HF_EINVAL (also a key of more than 250 bytes, or a
 * callback's length), and as hf_cell_get(). Blocks: up to wait_ms, and then for
 * one try (up to io_timeout for each of its two questions), and the callback.
 */
HF_API HF_MUST_CHECK int hf_cell_update(hf_client *client, const char *key,
                                        hf_cell_fn fn, void *arg,
                                        const hf_cell_opts *opts,
                                        hf_error *err);

#ifdef __cplusplus
}
#endif

#endif
