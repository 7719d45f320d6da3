/* SPDX-License-Identifier: MIT */
/*
 * One part of list() or gc(): tells the engine the names whose rows a store has
 * read. Called by the session's thread.
 */
#include "src/backend/table/scan.h"

#include <string.h>

/* A call deletes for so long at most, as others wait for the session. */
#define SLICE_MS 250

hf__time hf__table_scan_end(const struct hf__table_head *t)
{
    int64_t left_ms = hf__ms_until(t->deadline, hf__now());

    return hf__after_ms(hf__now(),
                        left_ms / 4 < SLICE_MS ? left_ms / 4 : SLICE_MS);
}

static bool is_of(const struct hf__table_row *row, const struct hf__key *key)
{
    return row->key_length == key->length &&
           memcmp(row->key, key->bytes, key->length) == 0;
}

/* Tell the name whose first row is v->row, which is the first row after it
 * then. */
static int tell(struct hf__table_head *t, struct hf__table_scan *v,
                const struct hf__key *key, struct hf__scan *scan)
{
    const struct hf__key plain = {key->bytes + v->tag,
                                  (uint16_t)(key->length - v->tag),
                                  scan->prefix->name_at};
    int r = HF_OK;

    hf__table_name_init(&t->name, key);
    while (r == HF_OK && v->has_row && is_of(&v->row, key)) {
        r = hf__table_name_add(&t->name, &v->row);
        v->has_row = v->next(v->rows, &v->row);
    }
    hf__table_name_end(&t->name);
    if (r == HF_OK && t->name.name.is_there) {
        r = scan->fn(scan->arg, &plain, &t->name.name);
    }
    hf__table_name_fini(&t->name);
    return r == HF_OK ? t->lost : r;
}

int hf__table_scan_tell(struct hf__table_head *t, struct hf__table_scan *v,
                        struct hf__scan *scan)
{
    hf__time end = hf__table_scan_end(t);
    bool is_cut = false;
    int n = 0;
    int r = HF_OK;

    v->has_row = v->next(v->rows, &v->row);
    scan->length = 0;
    while (v->has_row && r == HF_OK && !is_cut) {
        const struct hf__key key = {v->row.key, (uint16_t)v->row.key_length, 0};

        r = tell(t, v, &key, scan);
        /* The next part begins just after this key. */
        scan->length = key.length - v->tag + (size_t)1;
        memcpy(scan->at, key.bytes + v->tag, scan->length - 1);
        scan->at[scan->length - 1] = '\0';
        n++;
        is_cut = scan->is_to_clean && !hf__before(hf__now(), end);
    }
    if (!v->has_row && n < HF__SCAN_CHUNK) {
        scan->length = 0;
    }
    return r;
}
