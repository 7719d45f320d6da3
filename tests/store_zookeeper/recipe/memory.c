/* SPDX-License-Identifier: MIT */
/*
 * Where memory ends in the middle of an operation, nothing is left in the tree:
 * either it says that nothing was made, or that it does not know, and then it
 * is given back as the core does.
 */
#include "tests/store_zookeeper/recipe/cell.h"

#include "src/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_int fail_in;
static atomic_bool has_failed;
static _Thread_local bool is_ours;

static void *resize_or_not(void *old, size_t size)
{
    if (is_ours && atomic_load(&fail_in) > 0 &&
        atomic_fetch_sub(&fail_in, 1) == 1) {
        atomic_store(&has_failed, true);
        return NULL;
    }
    return realloc(old, size);
}

typedef int (*ask_fn)(struct party *, const char *, struct hf__lock_mode);

/* The n-th allocation of the claim fails. False: it has not so many. */
static bool fail_at(int n, struct party *p, ask_fn claim,
                    struct hf__lock_mode lock_mode, int n_others)
{
    int r;

    atomic_store(&has_failed, false);
    atomic_store(&fail_in, n);
    r = claim(p, "job", lock_mode);
    atomic_store(&fail_in, 0);
    if (r == HF_EUNKNOWN || r == HF_OK || p->is_queued) {
        (void)release(p, "job");
    } else {
        EXPECT(r == HF_ENOMEM || r == HF_BUSY);
    }
    EXPECT_IS(children_of("job"), n_others);
    begin_anew(p, "job");
    return atomic_load(&has_failed);
}

static void fail_each(ask_fn claim, struct hf__lock_mode lock_mode,
                      bool is_held)
{
    JOB_OF(alice, bob);
    int n = 1;

    if (!is_held) {
        EXPECT_IS(release(&alice, "job"), HF_OK);
    }
    while (fail_at(n, &bob, claim, lock_mode, is_held ? 1 : 0)) {
        n++;
        EXPECT_LESS(n, 100);
    }
    printf("# %d allocations\n", n - 1);
    EXPECT_MORE(n, 5);
}

TEST_WITHIN(60, out_of_memory_a_claim_leaves_nothing)
{
    EXPECT_IS(hf__alloc_replace(resize_or_not, free), HF_OK);
    is_ours = true;
    fail_each(queue_up, ALONE, false);
    fail_each(queue_up, ALONE, true);
    fail_each(queue_up, SLOT_OF(2), false);
    fail_each(try_as, ALONE, false);
    fail_each(try_as, ALONE, true);
    fail_each(want, SHARED, true);
    is_ours = false;
}

/* The n-th allocation of the change fails. False: it has not so many. */
static bool fail_change_at(int n, struct party *p)
{
    struct hf__zookeeper_node before = see_cell("stock");
    int r;

    atomic_store(&has_failed, false);
    atomic_store(&fail_in, n);
    r = put(p, "stock", (uint64_t)before.mzxid, "nine");
    atomic_store(&fail_in, 0);
    EXPECT(r == HF_OK || r == HF_ENOMEM || r == HF_EUNAVAIL);
    EXPECT_SAFE_IS(see_cell("stock").version,
                   before.version + (r == HF_OK ? 1 : 0));
    return atomic_load(&has_failed);
}

static void change_without_memory(void)
{
    PARTY(alice);
    int n = 1;

    EXPECT_IS(put(&alice, "stock", 0, "ten"), HF_OK);
    while (fail_change_at(n, &alice)) {
        n++;
        EXPECT_LESS(n, 20);
    }
    EXPECT_MORE(n, 3);
}

TEST(out_of_memory_a_cell_is_changed_as_it_is_told)
{
    EXPECT_IS(hf__alloc_replace(resize_or_not, free), HF_OK);
    is_ours = true;
    change_without_memory();
    is_ours = false;
}
