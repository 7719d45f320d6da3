/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: cells are read, put, deleted and updated,
 * and what is not there, or not valid, says so.
 */
#include "include/holdfast-cell.h"
#include "tests/contract/api.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NEEDS_CELLS store_can(HF_CAP_CELLS)
#define AUTO_CELL   __attribute__((cleanup(free_cell))) hf_cell

static void free_cell(hf_cell **cell)
{
    hf_cell_free(*cell);
}

static hf_cell *read_cell(hf_client *client, const char *key)
{
    hf_cell *cell = NULL;

    EXPECT_IS(hf_cell_get(client, key, &cell, NULL), HF_OK);
    return cell;
}

static uint64_t put(hf_client *client, const char *key, uint64_t version,
                    const char *text)
{
    EXPECT_IS(hf_cell_put(client, key, text, strlen(text), &version, NULL),
              HF_OK);
    return version;
}

TEST_IF(NEEDS_CELLS, what_one_puts_another_reads)
{
    CLIENTS(alice, bob);
    AUTO_CELL *before = read_cell(bob, "stock");
    uint64_t version = put(alice, "stock", 0, "ten");
    AUTO_CELL *after = read_cell(bob, "stock");

    EXPECT_IS(hf_cell_version(before), 0);
    EXPECT(hf_cell_value(before) == NULL);
    EXPECT_IS(hf_cell_length(before), HF_CELL_NONE);
    EXPECT_IS(hf_cell_version(after), version);
    EXPECT_TEXT(hf_cell_value(after), "ten");
    EXPECT_IS(hf_cell_length(after), 3);
    EXPECT_IS(stats_of(alice).cell_writes, 1);
    EXPECT_IS(stats_of(bob).cell_writes, 0);
}

TEST_IF(NEEDS_CELLS, who_is_late_meets_a_conflict_and_is_told_the_version)
{
    CLIENTS(alice, bob);
    uint64_t first = put(alice, "stock", 0, "ten");
    uint64_t second = put(bob, "stock", first, "nine");
    uint64_t version = first;
    hf_error err = HF_ERROR_INIT;
    char word[32];

    EXPECT_MORE(second, first);
    EXPECT_IS(hf_cell_put(alice, "stock", "x", 1, &version, &err), HF_CONFLICT);
    EXPECT_IS(version, first);
    snprintf(word, sizeof word, "%llu", (unsigned long long)second);
    EXPECT_HAS(err.text, "stock");
    EXPECT_HAS(err.text, word);
    EXPECT_IS(hf_cell_delete(alice, "stock", &version, NULL), HF_CONFLICT);
    EXPECT_IS(stats_of(alice).cell_conflicts, 2);
    AUTO_CELL *cell = read_cell(alice, "stock");
    EXPECT_TEXT(hf_cell_value(cell), "nine");
}

TEST_IF(NEEDS_CELLS, what_was_deleted_keeps_a_version)
{
    CLIENTS(alice, bob);
    uint64_t first = put(alice, "stock", 0, "ten");
    uint64_t version = first;

    EXPECT_IS(hf_cell_delete(alice, "stock", &version, NULL), HF_OK);
    EXPECT_MORE(version, first);
    AUTO_CELL *gone = read_cell(bob, "stock");
    EXPECT(hf_cell_value(gone) == NULL);
    EXPECT_IS(hf_cell_version(gone), version);
    EXPECT_IS(hf_cell_put(bob, "stock", "x", 1, &first, NULL), HF_CONFLICT);
    EXPECT_MORE(put(bob, "stock", version, "new"), version);
}

TEST_IF(NEEDS_CELLS, an_empty_value_is_a_value)
{
    AUTO_CLIENT *alice = open_store();
    uint64_t version = 0;

    EXPECT_IS(hf_cell_put(alice, "flag", NULL, 0, &version, NULL), HF_OK);
    AUTO_CELL *cell = read_cell(alice, "flag");
    EXPECT_IS(hf_cell_length(cell), 0);
    EXPECT_TEXT(hf_cell_value(cell), "");
}

TEST_IF(NEEDS_CELLS, the_longest_value_fits_and_no_longer_one)
{
    AUTO_CLIENT *alice = open_store();
    static char value[HF_CELL_MAX + 1];
    uint64_t version = 0;
    hf_error err = HF_ERROR_INIT;

    memset(value, 'x', HF_CELL_MAX);
    EXPECT_IS(hf_cell_put(alice, "big", value, HF_CELL_MAX, &version, NULL),
              HF_OK);
    AUTO_CELL *cell = read_cell(alice, "big");
    EXPECT_IS(hf_cell_length(cell), HF_CELL_MAX);
    EXPECT_TEXT(hf_cell_value(cell), value);
    EXPECT_IS(hf_cell_put(alice, "big", value, HF_CELL_MAX + 1, &version, &err),
              HF_EINVAL);
    EXPECT_HAS(err.text, "65537");
}

TEST_IF(NEEDS_CELLS, bad_arguments_are_refused_by_name)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    hf_cell *cell = NULL;
    uint64_t version = UINT64_C(1) << 53;
    char key[HF_NAME_MAX + 2];

    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    EXPECT_IS(hf_cell_get(NULL, "k", &cell, NULL), HF_EINVAL);
    EXPECT_IS(hf_cell_get(alice, "k", NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_cell_get(alice, NULL, &cell, NULL), HF_EINVAL);
    EXPECT_IS(hf_cell_get(alice, "", &cell, NULL), HF_EINVAL);
    EXPECT_IS(hf_cell_get(alice, key, &cell, NULL), HF_EINVAL);
    EXPECT_IS(hf_cell_put(alice, "k", "x", 1, NULL, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "version");
    EXPECT_IS(hf_cell_put(alice, "k", "x", 1, &version, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "9007199254740992");
    version = 0;
    EXPECT_IS(hf_cell_put(alice, "k", NULL, 1, &version, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "NULL");
    EXPECT_IS(hf_cell_update(alice, "k", NULL, NULL, NULL, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "callback");
}

TEST_IF(!NEEDS_CELLS, a_store_without_cells_says_so)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    hf_cell *cell = NULL;
    uint64_t version = 0;

    EXPECT_IS(hf_cell_get(alice, "k", &cell, &err), HF_ENOTSUP);
    EXPECT_HAS(err.text, "cells");
    EXPECT_IS(hf_cell_put(alice, "k", "x", 1, &version, NULL), HF_ENOTSUP);
}

/* ---- update */

/* How the callback of a test goes on, and what it saw. */
struct change {
    hf_client *other; /* writes in between, so often */
    int disturbs;
    hf_client
        *self; /* whose lock of the cell is broken, too; NULL: it is not */
    int calls;
    int result;
    size_t length; /* 0: as it comes out */
};

/* If it is held; and its holder is to know. */
static void break_lock(const struct change *c)
{
    if (c->self != NULL && hf_break(c->other, "cell:n", 0, NULL) == HF_OK) {
        UNTIL_WITHIN(patience(15000), stats_of(c->self).lost > 0);
    }
}

static int add_one(void *arg, char *value, size_t *length)
{
    struct change *c = arg;
    int n = *length == HF_CELL_NONE ? 0 : (int)strtol(value, NULL, 10);

    c->calls++;
    if (c->disturbs > 0) {
        struct change none = {0};

        c->disturbs--;
        EXPECT_IS(hf_cell_update(c->other, "n", add_one, &none, NULL, NULL),
                  HF_OK);
        break_lock(c);
    }
    *length = (size_t)snprintf(value, 32, "%d", n + 1);
    *length = c->length > 0 ? c->length : *length;
    return c->result;
}

static void expect_number(hf_client *client, int n)
{
    AUTO_CELL *cell = read_cell(client, "n");

    EXPECT_IS(hf_cell_value(cell) == NULL
                  ? 0
                  : (int)strtol(hf_cell_value(cell), NULL, 10),
              n);
}

TEST_IF(NEEDS_CELLS, an_update_begins_with_nothing_and_goes_on)
{
    AUTO_CLIENT *alice = open_store();
    struct change c = {0};

    hf_cell_opts opts = HF_CELL_OPTS_INIT;
    uint64_t version = 0;

    opts.ret_version = &version;
    for (int i = 1; i <= 3; i++) {
        EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, &opts, NULL), HF_OK);
        expect_number(alice, i);
        AUTO_CELL *cell = read_cell(alice, "n");
        EXPECT_IS(hf_cell_version(cell), version);
    }
    EXPECT_IS(c.calls, 3);
    EXPECT_IS(stats_of(alice).cell_writes, 3);
    EXPECT_IS(stats_of(alice).cell_locked, 0);
}

TEST_IF(NEEDS_CELLS, an_update_that_met_another_is_computed_anew)
{
    CLIENTS(alice, bob);
    struct change c = {.other = bob, .disturbs = 2};

    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, NULL), HF_OK);
    EXPECT_IS(c.calls, 3);
    expect_number(alice, 3);
    EXPECT_IS(stats_of(alice).cell_conflicts, 2);
    EXPECT_IS(stats_of(alice).cell_locked, 0);
}

TEST_IF(NEEDS_CELLS, after_four_vain_tries_the_cells_lock_is_taken)
{
    CLIENTS(alice, bob);
    struct change c = {.other = bob, .disturbs = 4};

    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, NULL), HF_OK);
    EXPECT_IS(c.calls, 5);
    expect_number(alice, 5);
    EXPECT_IS(stats_of(alice).cell_locked, 1);
    EXPECT_IS(stats_of(alice).held, 0);
    EXPECT_IS(try_once(bob, "cell:n"), HF_OK);
}

/* Whoever holds it, the version guards the change. */
TEST_IF(NEEDS_CELLS, a_broken_lock_of_the_cell_costs_no_update)
{
    CLIENTS(alice, bob);
    struct change c = {.other = bob, .disturbs = 5, .self = alice};

    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, NULL), HF_OK);
    expect_number(alice, 6);
    EXPECT_IS(stats_of(alice).lost, 1);
    EXPECT_IS(stats_of(alice).cell_locked, 2);
}

TEST_IF(NEEDS_CELLS, an_update_that_came_through_leaves_the_error_alone)
{
    CLIENTS(alice, bob);
    struct change c = {.other = bob, .disturbs = 1};
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, &err), HF_OK);
    EXPECT_IS(c.calls, 2);
    EXPECT_IS(err.status, 0);
    EXPECT_TEXT(err.text, "");
}

TEST_IF(NEEDS_CELLS, who_has_the_cells_lock_already_is_told)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *lock = NULL;
    struct change c = {.other = bob, .disturbs = 4};

    EXPECT_IS(hf_acquire(alice, "cell:n", NULL, &lock, NULL), HF_OK);
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, NULL), HF_DEADLOCK);
    expect_number(alice, 4);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

TEST_IF(NEEDS_CELLS, an_update_waits_for_the_lock_as_long_as_it_may)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *lock = acquire(bob, "cell:n");
    hf_cell_opts opts = HF_CELL_OPTS_INIT;
    struct change c = {.other = bob, .disturbs = 4};

    opts.wait_ms = 300;
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, &opts, NULL),
              HF_TIMEDOUT);
    expect_number(alice, 4);
    EXPECT_IS(c.calls, 4);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

TEST_IF(NEEDS_CELLS, an_update_without_patience_tries_once)
{
    CLIENTS(alice, bob);
    hf_cell_opts opts = HF_CELL_OPTS_INIT;
    struct change c = {.other = bob, .disturbs = 1};

    opts.wait_ms = 0;
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, &opts, NULL), HF_BUSY);
    EXPECT_IS(c.calls, 1);
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, &opts, NULL), HF_OK);
    expect_number(alice, 2);
}

TEST_IF(NEEDS_CELLS, an_update_that_was_cancelled_changes_nothing)
{
    CLIENTS(alice, bob);
    AUTO_CANCEL *cancel = new_cancel();
    hf_cell_opts opts = HF_CELL_OPTS_INIT;
    struct change c = {.other = bob, .disturbs = 1};

    opts.cancel = cancel;
    hf_cancel_fire(cancel);
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, &opts, NULL),
              HF_CANCELLED);
    expect_number(alice, c.calls);
}

TEST_IF(NEEDS_CELLS, what_the_callback_does_not_want_is_not_written)
{
    AUTO_CLIENT *alice = open_store();
    struct change c = {.result = 77};

    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, NULL), 77);
    c.result = HF_CONFLICT;
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, NULL), HF_CONFLICT);
    EXPECT_IS(c.calls, 2);
    expect_number(alice, 0);
    c = (struct change){.length = HF_CELL_MAX + 1};
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, NULL, NULL), HF_EINVAL);
    expect_number(alice, 0);
    EXPECT_IS(stats_of(alice).cell_writes, 0);
}

static int delete_it(void *arg, char *value, size_t *length)
{
    EXPECT_TEXT(value, arg);
    *length = HF_CELL_NONE;
    return HF_OK;
}

TEST_IF(NEEDS_CELLS, an_update_may_delete)
{
    AUTO_CLIENT *alice = open_store();
    char text[] = "ten";

    (void)put(alice, "stock", 0, text);
    EXPECT_IS(hf_cell_update(alice, "stock", delete_it, text, NULL, NULL),
              HF_OK);
    AUTO_CELL *cell = read_cell(alice, "stock");
    EXPECT(hf_cell_value(cell) == NULL);
    EXPECT_MORE(hf_cell_version(cell), 0);
}

TEST_IF(NEEDS_CELLS, an_update_with_bad_options_is_refused)
{
    AUTO_CLIENT *alice = open_store();
    hf_cell_opts opts = HF_CELL_OPTS_INIT;
    struct change c = {0};
    hf_error err = HF_ERROR_INIT;
    char key[HF_NAME_MAX + 1];

    opts.wait_ms = -2;
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, &opts, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "wait_ms");
    opts.size = 0;
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &c, &opts, &err), HF_EINVAL);
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    EXPECT_IS(hf_cell_update(alice, key, add_one, &c, NULL, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "250");
    EXPECT_IS(c.calls, 0);
}
