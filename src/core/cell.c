/* SPDX-License-Identifier: MIT */
/*
 * hf_cell_get(), hf_cell_put(), hf_cell_delete(). A try that got no answer is
 * repeated with the same writer's token, by which the store recognises a change
 * that it has already applied; so a lost answer costs only time. Called by
 * users' threads.
 */
#include "src/core/cell.h"

#include "include/holdfast-cell.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <string.h>

/* Pause between two tries at a store that gives no answer. */
#define RETRY_MS 20

struct hf_cell {
    uint64_t version;
    size_t length; /* HF_CELL_NONE: there is no value */
    char value[];  /* ends with a NUL */
};

void hf__cell_space(struct hf__key *key, char *bytes)
{
    bytes[key->name_at - 1] = '=';
}

/* ---- asking the store */

static int run_cell(struct hf__conn *conn, struct hf__request *q,
                    hf__time deadline)
{
    struct hf__query *k = HF__ELEMENT(q, struct hf__query, request);
    /* Stop a little before the caller leaves, so that it gets the reason. */
    hf__time early = {deadline.ns - RETRY_MS * HF__MS};
    int r =
        hf__conn_cell(conn, k->cell,
                      hf__before(hf__now(), early) ? early : deadline, &k->err);

    q->op.result = k->cell->result;
    return r;
}

static int fill(const struct hf__cell_ask *a, const struct hf__token *writer,
                struct hf__query *k, hf_error *err)
{
    size_t room = a->what == HF__CELL_GET ? HF__CELL_MAX : a->length;
    /* Memory is not zeroed, for a read has room for the longest value. */
    struct hf__cell_op *op = hf__resize(NULL, sizeof *op + room);

    if (op == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a cell");
    }
    hf__cell_space(&k->key, k->key_bytes);
    *op = (struct hf__cell_op){.what = a->what,
                               .key = k->key,
                               .writer = *writer,
                               .expected = a->version,
                               .length = a->length,
                               .value = (unsigned char *)(op + 1),
                               .err = &k->err};
    if (a->length > 0) {
        memcpy(op->value, a->value, a->length);
    }
    k->cell = op;
    k->request.call = run_cell;
    k->request.changes = a->what != HF__CELL_GET;
    return HF_OK;
}

static int try_once(hf_client *client, struct hf__cell_ask *a,
                    const struct hf__token *writer, hf__time limit,
                    hf_error *err)
{
    int r;

    hf__query_unref(HF_MOVE(a->query));
    r = hf__query_new(client, a->key, &a->query, err);
    r = r == HF_OK ? fill(a, writer, a->query, err) : r;
    return r == HF_OK ? hf__query_run(client, a->query, limit, err) : r;
}

/* Pause before the next try. False: there is no time for one. */
static bool rest(hf__time limit)
{
    hf__time until = hf__after_ms(hf__now(), RETRY_MS);

    if (!hf__before(until, limit)) {
        return false;
    }
    hf__sleep_until(until);
    return true;
}

/* Once a try got no answer, a conflict no longer tells whether the change was
 * made: another writer may have replaced it since. */
static int conclude(int r, bool is_unknown, const struct hf__cell_ask *a,
                    hf_error *err)
{
    if (r == HF_CONFLICT && is_unknown) {
        return hf__fail(err, HF_EUNKNOWN,
                        "there was no answer to a change of the cell \"%s\", "
                        "and it has changed since; if the change was made "
                        "before is not known",
                        a->key);
    }
    if (r < 0 && is_unknown) {
        err->status = HF_EUNKNOWN;
    }
    if (r == HF_CONFLICT) {
        return hf__fail(
            err, r, "the cell \"%s\" has the version %llu, not %llu", a->key,
            (unsigned long long)a->query->cell->state.version,
            (unsigned long long)a->version);
    }
    return r < 0 && is_unknown ? (int)HF_EUNKNOWN : r;
}

int hf__cell_run(hf_client *client, struct hf__cell_ask *a, hf_error *ret_err)
{
    hf__time limit = hf__client_limit(client);
    hf_error err = HF_ERROR_INIT; /* a later try may succeed and void it */
    struct hf__token writer;
    bool is_unknown = false;
    int r = hf__client_usable(client, ret_err);

    /* Where the store may move, a client that changes cells must learn of it,
     * so start the break listener. */
    if (r == HF_OK && a->what != HF__CELL_GET &&
        (client->settings.caps & HF__CAP_MOVES) != 0) {
        r = hf__client_prepare(client, ret_err);
    }
    if (r != HF_OK) {
        return r;
    }
    hf__random(writer.bytes, sizeof writer.bytes);
    do {
        r = try_once(client, a, &writer, limit, &err);
        is_unknown |= r == HF_EUNKNOWN && a->what != HF__CELL_GET;
    } while ((r == HF_EUNAVAIL || r == HF_EUNKNOWN) && rest(limit));
    if (a->what != HF__CELL_GET) {
        hf__count(&client->counters.cell_writes, r == HF_OK);
        hf__count(&client->counters.cell_conflicts, r == HF_CONFLICT);
    }
    r = conclude(r, is_unknown, a, &err);
    if (r != HF_OK) {
        hf__error_copy(ret_err, &err);
    }
    return r;
}

/* ---- the calls */

int hf__cell_check(hf_client *client, const struct hf__cell_ask *a,
                   hf_error *err)
{
    int r = hf__client_usable(client, err);

    r = r == HF_OK ? hf__name_check(a->key, err) : r;
    if (r != HF_OK) {
        return r;
    }
    if ((client->settings.caps & HF_CAP_CELLS) == 0) {
        return hf__fail(err, HF_ENOTSUP, "this store has no cells");
    }
    if (a->length > HF__CELL_MAX || (a->length > 0 && a->value == NULL)) {
        return hf__fail(
            err, HF_EINVAL, "a cell's value has 0 to %d bytes, not %zu at %s",
            HF__CELL_MAX, a->length, a->value == NULL ? "NULL" : "that place");
    }
    if (a->version >= HF__FENCE_END) {
        return hf__fail(err, HF_EINVAL,
                        "no cell has the version %llu: take it from "
                        "hf_cell_get(), or 0 for one that has never been",
                        (unsigned long long)a->version);
    }
    return HF_OK;
}

static hf_cell *snapshot(const struct hf__cell_op *op)
{
    size_t length = op->state.has_value ? op->state.length : 0;
    hf_cell *cell = hf__alloc(sizeof *cell + length + 1);

    if (cell != NULL) {
        cell->version = op->state.version;
        cell->length = op->state.has_value ? length : HF_CELL_NONE;
        memcpy(cell->value, op->value, length);
    }
    return cell;
}

int hf_cell_get(hf_client *client, const char *key, hf_cell **ret_cell,
                hf_error *err)
{
    struct hf__cell_ask a = {.what = HF__CELL_GET, .key = key};
    int r = hf__cell_check(client, &a, err);

    if (r == HF_OK && ret_cell == NULL) {
        return hf__fail(
            err, HF_EINVAL,
            "hf_cell_get(): the pointer that receives the value is NULL");
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__cell_run(client, &a, err);
    if (r == HF_OK) {
        *ret_cell = snapshot(a.query->cell);
        r = *ret_cell == NULL ? hf__fail(err, HF_ENOMEM, "out of memory")
                              : (int)HF_OK;
    }
    hf__query_unref(a.query);
    return r;
}

static int change(hf_client *client, struct hf__cell_ask *a, uint64_t *version,
                  hf_error *err)
{
    int r = hf__client_usable(client, err);

    if (r == HF_OK && version == NULL) {
        return hf__fail(
            err, HF_EINVAL,
            "a change of a cell needs the version that it replaces");
    }
    if (r == HF_OK) {
        a->version = *version;
        r = hf__cell_check(client, a, err);
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__cell_run(client, a, err);
    if (r == HF_OK) {
        *version = a->query->cell->state.version;
    }
    hf__query_unref(a->query);
    return r;
}

int hf_cell_put(hf_client *client, const char *key, const void *value,
                size_t length, uint64_t *version, hf_error *err)
{
    struct hf__cell_ask a = {
        .what = HF__CELL_PUT, .key = key, .value = value, .length = length};

    return change(client, &a, version, err);
}

int hf_cell_delete(hf_client *client, const char *key, uint64_t *version,
                   hf_error *err)
{
    struct hf__cell_ask a = {.what = HF__CELL_DELETE, .key = key};

    return change(client, &a, version, err);
}

void hf_cell_free(hf_cell *cell)
{
    hf__free(cell);
}

const char *hf_cell_value(const hf_cell *cell)
{
    return cell->length == HF_CELL_NONE ? NULL : cell->value;
}

size_t hf_cell_length(const hf_cell *cell)
{
    return cell->length;
}

uint64_t hf_cell_version(const hf_cell *cell)
{
    return cell->version;
}
