/* SPDX-License-Identifier: MIT */
/*
 * When memory runs out: the n-th allocation fails, for every n until all of
 * it succeeds. Each time the answer is a clean error or success, every block
 * comes back, and no lock stays behind that nobody was told of.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_int n_blocks;
static atomic_int until_failure; /* counts down; fails at 1; 0: never */
static atomic_bool has_failed;

static void *failing_resize(void *p, size_t size)
{
    void *q;

    if (atomic_load(&until_failure) > 0 &&
        atomic_fetch_sub(&until_failure, 1) == 1) {
        atomic_store(&has_failed, true);
        return NULL;
    }
    q = realloc(p, size);
    if (q && !p) {
        atomic_fetch_add(&n_blocks, 1);
    }
    return q;
}

static void counting_free(void *p)
{
    if (p) {
        atomic_fetch_sub(&n_blocks, 1);
    }
    free(p);
}

static bool is_clean(int r)
{
    return r == HF_OK || r == HF_ENOMEM || r == HF_EUNAVAIL || r == HF_EUNKNOWN;
}

static void look(hf_client *client)
{
    AUTO_INFO *info = NULL;
    AUTO_LOCK *other = NULL;
    AUTO_CANCEL *cancel = NULL;
    hf_acquire_opts opts = wanting(1, HF_LEASE_DEFAULT_MS);

    EXPECT(is_clean(hf_inspect(client, "job", &info, NULL)));
    EXPECT(is_clean(hf_cancel_new(&cancel)));
    opts.cancel = cancel;
    EXPECT_NOT(hf_acquire(client, "job", &opts, &other, NULL), HF_OK);
}

/* Everything once; gives up where a caller would. */
static void use_it(void)
{
    AUTO_CLIENT *client = NULL;
    AUTO_LOCK *job = NULL;
    hf_error err = HF_ERROR_INIT;
    int r = hf_open(store_url(NULL), NULL, &client, &err);

    EXPECT(is_clean(r));
    EXPECT_IS(client != NULL, r == HF_OK);
    if (r == HF_OK) {
        r = hf_acquire(client, "job", NULL, &job, &err);
        EXPECT(is_clean(r));
        EXPECT_IS(job != NULL, r == HF_OK);
    }
    if (r == HF_OK) {
        look(client);
        /* What lets go needs no memory. */
        EXPECT_IS(hf_renew(job, &err), HF_OK);
        EXPECT_IS(hf_release(job, &err), HF_OK);
    }
}

static bool fails_at(int n)
{
    atomic_store(&has_failed, false);
    atomic_store(&until_failure, n);
    use_it();
    atomic_store(&until_failure, 0);
    return atomic_load(&has_failed);
}

TEST_WITHIN(40, an_allocation_that_fails_loses_neither_memory_nor_lock)
{
    int blocks;
    int n = 1;

    EXPECT_IS(hf_set_allocator(failing_resize, counting_free), HF_OK);
    use_it();
    blocks = atomic_load(&n_blocks);
    while (fails_at(n)) {
        AUTO_CLIENT *bob = open_store();

        EXPECT_LESS(await_free(bob, "job", patience(5000)), patience(1000));
        hf_close(bob);
        bob = NULL;
        EXPECT_IS(atomic_load(&n_blocks), blocks);
        n++;
    }
    printf("%d allocations\n", n - 1);
    EXPECT_MORE(n, 5);
}
