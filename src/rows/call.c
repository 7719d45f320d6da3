/* SPDX-License-Identifier: MIT */
/*
 * Arguments of a call. A struct of the caller's may be that of an older header,
 * or of a newer one if it says nothing that is new.
 */
#include "src/rows/call.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <string.h>

int hf__call_options(void *ours, size_t size, const void *theirs, hf_error *err)
{
    const unsigned char *bytes = theirs;
    size_t given = 0;

    if (theirs == NULL) {
        return HF_OK;
    }
    memcpy(&given, theirs, sizeof given);
    if (given < sizeof given) {
        return hf__fail(err, HF_EINVAL,
                        "a struct's size is %zu: begin with its INIT macro",
                        given);
    }
    for (size_t i = size; i < given; i++) {
        if (bytes[i] != 0) {
            return hf__fail(err, HF_EINVAL,
                            "a struct is of a newer version than this library "
                            "(" HF_VERSION ")");
        }
    }
    memcpy(ours, theirs, given < size ? given : size);
    memcpy(ours, &size, sizeof size);
    return HF_OK;
}

int hf__call_lock_opts(hf_row_lock_opts *o, const hf_row_lock_opts *theirs,
                       hf_error *err)
{
    int r = hf__call_options(o, sizeof *o, theirs, err);

    if (r != HF_OK) {
        return r;
    }
    if (o->wait_ms != HF_FOREVER &&
        (o->wait_ms < 0 || o->wait_ms > HF_ROW_WAIT_MAX_MS)) {
        return hf__fail(err, HF_EINVAL,
                        "wait_ms is %" PRId64 ": 0 to %d, or HF_FOREVER",
                        o->wait_ms, HF_ROW_WAIT_MAX_MS);
    }
    if (o->skip_locked != 0 && o->wait_ms != 0) {
        return hf__fail(err, HF_EINVAL,
                        "skip_locked does not wait: set wait_ms to 0");
    }
    return HF_OK;
}

void hf__call_begin(struct hf__call *c, hf_row_info *ret_info,
                    hf_error *ret_err)
{
    *c = (struct hf__call){.own_err = HF_ERROR_INIT,
                           .ret_err = ret_err,
                           .ret_info = ret_info,
                           .row = HF_ROW_INIT,
                           .info = HF_ROW_INFO_INIT};
    c->err = &c->own_err;
}

static size_t size_of(const hf_row_info *info)
{
    size_t size;

    memcpy(&size, info, sizeof size);
    return size;
}

int hf__call_open(struct hf__call *c, const void *db, const hf_row *row)
{
    if (c->ret_info != NULL && (size_of(c->ret_info) < sizeof(size_t) ||
                                size_of(c->ret_info) > sizeof c->info)) {
        c->ret_info = NULL;
        return hf__fail(
            c->err, HF_EINVAL,
            "the info's size is not one of this library (" HF_VERSION
            "): begin with its INIT macro");
    }
    if (db == NULL || row == NULL) {
        return hf__fail(c->err, HF_EINVAL, "the %s is NULL",
                        db == NULL ? "connection" : "row");
    }
    return hf__call_options(&c->row, sizeof c->row, row, c->err);
}

int hf__call_check_row(struct hf__call *c, const struct hf__names *names)
{
    const hf_row *row = &c->row;

    if (hf__sql_check_name("table", row->table, names, c->err) != HF_OK ||
        (row->database != NULL && hf__sql_check_name("database", row->database,
                                                     names, c->err) != HF_OK)) {
        return HF_EINVAL;
    }
    if (row->key == NULL || row->n_key < 1 || row->n_key > HF_ROW_KEY_MAX) {
        return hf__fail(c->err, HF_EINVAL, "the key has %d columns: 1 to %d",
                        row->key == NULL ? 0 : row->n_key, HF_ROW_KEY_MAX);
    }
    for (int i = 0; i < row->n_key; i++) {
        const hf_row_column *k = &row->key[i];

        if (hf__sql_check_name("key's column", k->name, names, c->err) !=
                HF_OK ||
            hf__sql_check_value(k->name, &k->value, c->err) != HF_OK) {
            return HF_EINVAL;
        }
        if (k->value.type == HF_ROW_NULL) {
            return hf__fail(c->err, HF_EINVAL,
                            "the key's column %s is NULL, which is equal to "
                            "nothing: a unique index may have it many times",
                            k->name);
        }
    }
    return HF_OK;
}

int hf__call_end(struct hf__call *c, int r)
{
    size_t size;

    if (r != HF_OK) {
        hf__error_copy(c->ret_err, &c->own_err);
    }
    if (c->ret_info != NULL) {
        size = size_of(c->ret_info);
        memcpy(c->ret_info, &c->info, size);
        memcpy(c->ret_info, &size, sizeof size);
    }
    return r;
}

int hf__call_gone(struct hf__call *c, const char *how)
{
    return hf__fail(c->err, HF_ROW_GONE, "%s has no such row%s", c->row.table,
                    how);
}

int hf__call_outside(struct hf__call *c)
{
    return hf__fail(c->err, HF_EUNSAFE,
                    "there is no transaction, so the row would be unlocked at "
                    "once: BEGIN first");
}
