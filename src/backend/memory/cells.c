/* SPDX-License-Identifier: MIT */
/*
 * The cells of a store of memory:, which live as long as it does. Locks the
 * mutex of hf__mem_stores itself.
 */
#include "src/backend/cell.h"
#include "src/backend/memory/store.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

struct cell {
    struct hf__map_link link;
    struct hf__cell_state state;
    unsigned char *value;
    size_t key_length;
    char key[];
};

#define CELL(at) HF__ELEMENT(at, struct cell, link)

static void drop(struct hf__mem_store *store, struct cell *cell)
{
    hf__map_remove(&store->cells, &cell->link);
    hf__free(cell->value);
    hf__free(cell);
}

static struct cell *add(struct hf__mem_store *store, const struct hf__key *key)
{
    struct cell *cell = hf__alloc(sizeof *cell + key->length);

    if (cell != NULL) {
        cell->key_length = key->length;
        memcpy(cell->key, key->bytes, key->length);
        hf__map_add(&store->cells, &cell->link, cell->key, key->length);
    }
    return cell;
}

/* The memory first, so that nothing is half done without it. */
static int write_cell(struct hf__mem_store *store, struct cell *cell,
                      const struct hf__cell_op *op)
{
    unsigned char *value = hf__alloc(op->state.length + 1);

    if (cell == NULL && value != NULL) {
        cell = add(store, &op->key);
    }
    if (cell == NULL || value == NULL) {
        hf__free(value);
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a cell");
    }
    if (op->state.length > 0) {
        memcpy(value, op->value, op->state.length);
    }
    hf__free(cell->value);
    cell->value = value;
    cell->state = op->state;
    return HF_OK;
}

static int change(struct hf__mem_store *store, struct cell *cell,
                  struct hf__cell_op *op)
{
    const struct hf__cell_state none = {0};
    bool writes = false;
    int64_t wall_us = hf__wall_us();
    int64_t floor_us = (int64_t)store->cells_gone + 1;
    int r = hf__cell_decide(op, cell == NULL ? &none : &cell->state,
                            wall_us > floor_us ? wall_us : floor_us, &writes);

    return writes ? write_cell(store, cell, op) : r;
}

int hf__mem_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                 hf_error *err)
{
    struct hf__mem_store *store = ((struct hf__mem_session *)state)->store;
    HF_SCOPED_FAMILY(&hf__mem_stores);
    struct hf__map_link *link =
        hf__map_find(&store->cells, op->key.bytes, op->key.length);
    struct cell *cell = link == NULL ? NULL : CELL(link);

    (void)deadline;
    (void)err;
    if (op->what != HF__CELL_GET) {
        op->result = change(store, cell, op);
        return HF_OK;
    }
    if (cell != NULL) {
        op->state = cell->state;
        memcpy(op->value, cell->value, cell->state.length);
    }
    op->result = HF_OK;
    return HF_OK;
}

/* ---- an end */

struct cleaning {
    struct hf__mem_store *store;
    const struct hf__key *prefix;
    struct hf__gc *gc;
};

static void clean_one(void *arg, struct hf__map_link *link)
{
    const struct cleaning *c = arg;
    struct cell *cell = CELL(link);

    if (cell->key_length >= c->prefix->length &&
        memcmp(cell->key, c->prefix->bytes, c->prefix->length) == 0 &&
        hf__cell_is_idle(&cell->state, hf__wall_us(), c->gc->idle_us)) {
        c->store->cells_gone = cell->state.version > c->store->cells_gone
                                   ? cell->state.version
                                   : c->store->cells_gone;
        drop(c->store, cell);
        c->gc->count++;
    }
}

void hf__mem_clean_cells(struct hf__mem_store *store,
                         const struct hf__key *prefix, struct hf__gc *g)
{
    struct cleaning c = {store, prefix, g};
    HF_SCOPED_FAMILY(&hf__mem_stores);

    hf__map_each(&store->cells, clean_one, &c);
    g->length = 0;
}

void hf__mem_free_cells(struct hf__mem_store *store)
{
    struct hf__map_link *link;

    while ((link = hf__map_any(&store->cells)) != NULL) {
        drop(store, CELL(link));
    }
    hf__map_fini(&store->cells);
}
