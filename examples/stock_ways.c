/* SPDX-License-Identifier: MIT */
/*
 * The ways of the example stock to sell one unit: the common mistake, and three
 * without it. All read the stock, have the customer pay, and write the stock;
 * they differ in what they do about others who do the same meanwhile.
 */
#include "examples/stock.h"

#include <holdfast-cell.h>

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#define KEY_SIZE 32
/* How long the customer's bank takes to answer. */
#define PAY_NS 200000

static const char *key_of(char *buf, int product)
{
    snprintf(buf, KEY_SIZE, "stock:%d", product);
    return buf;
}

static void have_it_paid(void)
{
    ppoll(NULL, 0, &(struct timespec){.tv_nsec = PAY_NS}, NULL);
}

/* ---- the mistake: the stock is assumed to be still what was read */

static int sell_by_mistake(struct seller *s, int product, int *ret_unit)
{
    int left = s->shop->read(s->db, product);

    if (left == 0) {
        return SOLD_OUT;
    }
    have_it_paid();
    s->shop->write(s->db, product, left - 1);
    *ret_unit = left;
    return SOLD;
}

const struct way mistake = {
    .name = "no lock, no version", .has_rows = true, .sell = sell_by_mistake};

/* ---- optimistic: if another has sold meanwhile, the sale is repeated */

static int take_one(void *arg, char *value, size_t *length)
{
    int *unit = arg;

    *unit = *length == HF_CELL_NONE ? 0 : (int)strtol(value, NULL, 10);
    if (*unit == 0) {
        return SOLD_OUT;
    }
    have_it_paid();
    *length = (size_t)snprintf(value, HF_CELL_MAX, "%d", *unit - 1);
    return HF_OK;
}

static int sell_by_cell(struct seller *s, int product, int *ret_unit)
{
    hf_error err = HF_ERROR_INIT;
    char key[KEY_SIZE];
    int r = hf_cell_update(s->client, key_of(key, product), take_one, ret_unit,
                           NULL, &err);

    if (r != HF_OK && r != SOLD_OUT) { /* HF_EUNKNOWN: it may be sold */
        fail(key, err.text);
    }
    return r;
}

const struct way by_cell = {
    .name = "cell, by version", .has_client = true, .sell = sell_by_cell};

/* ---- pessimistic: no other seller reads the row until this is done */

static int sell_by_row(struct seller *s, int product, int *ret_unit)
{
    int left;

    while (!s->shop->lock(s->db, product)) {
        continue;
    }
    left = s->shop->read(s->db, product);
    if (left > 0) {
        have_it_paid();
        s->shop->write(s->db, product, left - 1);
    }
    s->shop->commit(s->db);
    *ret_unit = left;
    return left > 0 ? SOLD : SOLD_OUT;
}

const struct way by_row = {
    .name = "row lock", .has_rows = true, .sell = sell_by_row};

/* ---- a named lock, on any store, and its fence in the row */

static int acquire(struct seller *s, const char *name, hf_lock **ret_lock)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    int r;

    opts.wait_ms = 0; /* the first try does not wait, to count those who must */
    r = hf_acquire(s->client, name, &opts, ret_lock, &err);
    if (r == HF_BUSY) {
        s->waits++;
        opts.wait_ms = HF_FOREVER;
        r = hf_acquire(s->client, name, &opts, ret_lock, &err);
    }
    if (r != HF_OK) {
        fail(name, err.text);
    }
    return r;
}

static int sell_by_lease(struct seller *s, int product, int *ret_unit)
{
    bool is_done = false;

    while (!is_done) {
        hf_lock *lock = NULL;
        char name[KEY_SIZE];
        int r = acquire(s, key_of(name, product), &lock);

        if (r != HF_OK) {
            return r;
        }
        *ret_unit = s->shop->read(s->db, product);
        if (*ret_unit > 0) {
            have_it_paid();
        }
        is_done = *ret_unit == 0 ||
                  s->shop->sell_guarded(s->db, product, *ret_unit,
                                        (unsigned long long)hf_fence(lock));
        s->refused +=
            !is_done; /* a seller was away for longer than its lease */
        hf_free(lock);
    }
    return *ret_unit > 0 ? SOLD : SOLD_OUT;
}

const struct way by_lease = {.name = "lease and fence",
                             .has_client = true,
                             .has_rows = true,
                             .sell = sell_by_lease};

/* ---- the stock before and after */

static bool make_cell(hf_client *client, int product, int each)
{
    hf_error err = HF_ERROR_INIT;
    hf_cell *old = NULL;
    uint64_t version;
    char key[KEY_SIZE];
    char value[16];
    int length = snprintf(value, sizeof value, "%d", each);
    int r = hf_cell_get(client, key_of(key, product), &old, &err);

    if (r == HF_OK) {
        version = hf_cell_version(old);
        r = hf_cell_put(client, key, value, (size_t)length, &version, &err);
        hf_cell_free(old);
    }
    if (r != HF_OK) {
        fail(key, err.text);
    }
    return r == HF_OK;
}

bool stock_up(struct seller *s, int products, int each)
{
    bool is_fine = true;

    if (s->db) {
        s->shop->stock_up(s->db, products, each);
        return true;
    }
    for (int i = 1; i <= products && is_fine; i++) {
        is_fine = make_cell(s->client, i, each);
    }
    return is_fine;
}

int read_left(struct seller *s, int product)
{
    hf_error err = HF_ERROR_INIT;
    hf_cell *cell = NULL;
    char key[KEY_SIZE];
    int left = -1;

    if (s->db) {
        return s->shop->read(s->db, product);
    }
    if (hf_cell_get(s->client, key_of(key, product), &cell, &err) != HF_OK) {
        fail(key, err.text);
        return left;
    }
    if (hf_cell_value(cell)) {
        left = (int)strtol(hf_cell_value(cell), NULL, 10);
    }
    hf_cell_free(cell);
    return left;
}

/* hf_gc() deletes what is left of idle cells and locks. */
void clear(struct seller *s, int products)
{
    if (s->db) {
        s->shop->close_down(s->db);
        return;
    }
    for (int i = 1; i <= products; i++) {
        hf_cell *cell = NULL;
        uint64_t version;
        char key[KEY_SIZE];

        if (hf_cell_get(s->client, key_of(key, i), &cell, NULL) == HF_OK) {
            version = hf_cell_version(cell);
            if (hf_cell_delete(s->client, key, &version, NULL) != HF_OK) {
                fail(key, "it could not be deleted");
            }
        }
        hf_cell_free(cell);
    }
}
