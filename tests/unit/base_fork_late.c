/* SPDX-License-Identifier: MIT */
/*
 * An allocator that registers its fork handlers at its first call, as jemalloc
 * and others do: at a fork() its lock must be taken after ours, for who has one
 * of ours may be about to allocate. Here realloc() is one, by the linker's
 * --wrap.
 */
#include "src/base/alloc.h"
#include "src/base/fork.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static struct hf__process_mutex ours = {.mutex = HF__MUTEX_INIT};
static bool is_registered;
static bool was_ours_taken;

static void take_the_allocators_lock(void)
{
    was_ours_taken = pthread_mutex_trylock(&ours.mutex.native) != 0;
    if (!was_ours_taken) {
        hf__mutex_unlock(&ours.mutex);
    }
}

void *__real_realloc(void *, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_realloc(void *block, size_t size)
{
    if (!is_registered) {
        is_registered = true;
        (void)pthread_atfork(take_the_allocators_lock, NULL, NULL);
    }
    return __real_realloc(block, size);
}

TEST(a_fork_takes_the_lock_of_an_allocator_after_ours)
{
    pid_t child;

    hf__mutex_lock(hf__process_mutex(&ours));
    hf__mutex_unlock(hf__process_mutex(&ours));
    hf__free(hf__alloc(1));
    child = fork();
    if (child == 0) {
        _exit(was_ours_taken ? 0 : 1);
    }
    EXPECT_MORE(child, 0);
    EXPECT_IS(hf__test_exit_code(child), 0);
}
