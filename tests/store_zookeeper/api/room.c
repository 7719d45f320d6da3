/* SPDX-License-Identifier: MIT */
/*
 * News that come while a client looks at what has news: the library's thread
 * tells them at any time. Every block of the heap has a guard behind it, and at
 * each that the waiting thread asks for a name is released, and heard of.
 */
#include "tests/store_zookeeper/api/guest.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { QUIET = 8, HEAD = 16, GUARD = 128, GUARD_BYTE = 0x5a, HEARD_MS = 100 };

static atomic_int blocks_hurt;
static atomic_int wished;   /* releases that the waiting thread stands for */
static atomic_int released; /* and those that were made */

static void check_guard(const unsigned char *block)
{
    size_t size = 0;

    memcpy(&size, block, sizeof size);
    for (int i = 0; i < GUARD; i++) {
        if (block[HEAD + size + (size_t)i] != GUARD_BYTE) {
            atomic_fetch_add(&blocks_hurt, 1);
            return;
        }
    }
}

static void release_block(void *p)
{
    unsigned char *block = (unsigned char *)p - HEAD;

    check_guard(block);
    free(block);
}

static bool is_waiting_thread(void)
{
    char name[16] = "";

    return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "holdfast-watch") == 0;
}

/* It goes on when one more name is free, and its watch has fired. */
static void stand_still(void)
{
    int mine = atomic_fetch_add(&wished, 1) + 1;

    while (mine <= QUIET && atomic_load(&released) < mine) {
        hf__test_pause_ms(1);
    }
}

static atomic_bool is_armed;

static void *resize_block(void *p, size_t size)
{
    unsigned char *block = p == NULL ? NULL : (unsigned char *)p - HEAD;

    if (atomic_load(&is_armed) && is_waiting_thread()) {
        stand_still();
    }
    if (block != NULL) {
        check_guard(block);
    }
    unsigned char *grown = realloc(block, HEAD + size + GUARD);
    if (grown == NULL) {
        return NULL;
    }
    memcpy(grown, &size, sizeof size);
    memset(grown + HEAD + size, GUARD_BYTE, GUARD);
    return grown + HEAD;
}

static void take(void *arg, int status, hf_lock *lock, const hf_error *err)
{
    (void)arg;
    (void)status;
    (void)err;
    hf_free(lock);
}

static const char *name_of(int i)
{
    static const char *const names[] = {"a", "b", "c", "d", "e",
                                        "f", "g", "h", "i"};

    return names[i];
}

static void wait_for(hf_client *client, int i)
{
    hf_acquire_opts opts = wanting(patience(30000), HF_LEASE_DEFAULT_MS);

    EXPECT_IS(hf_acquire_async(client, name_of(i), &opts, take, NULL, NULL),
              HF_OK);
}

static void release_as_wished(hf_lock *locks[])
{
    for (int i = 0; i < QUIET; i++) {
        UNTIL_WITHIN(20000, atomic_load(&wished) > i);
        EXPECT_IS(hf_release(locks[i], NULL), HF_OK);
        hf__test_pause_ms(HEARD_MS);
        atomic_fetch_add(&released, 1);
    }
}

TEST(news_that_come_while_a_client_looks_have_room)
{
    EXPECT_IS(hf_set_allocator(resize_block, release_block), HF_OK);
    hf_client *alice = open_store();
    hf_client *bob = open_store();
    hf_lock *locks[QUIET + 1];

    for (int i = 0; i <= QUIET; i++) {
        locks[i] = acquire(alice, name_of(i));
    }
    for (int i = 0; i < QUIET; i++) {
        wait_for(bob, i);
    }
    hf__test_pause_ms(patience(1000)); /* all have their watches */
    atomic_store(&is_armed, true);
    wait_for(bob, QUIET);
    release_as_wished(locks);
    atomic_store(&is_armed, false);
    for (int i = 0; i <= QUIET; i++) {
        hf_free(locks[i]);
    }
    hf_close(bob);
    hf_close(alice);
    EXPECT_IS(atomic_load(&blocks_hurt), 0);
}
