/* SPDX-License-Identifier: MIT */
/*
 * Mutexes of the process and the families they guard: a child that is forked
 * while threads use them finds them free and whole.
 */
#include "src/base/fork_list.h"
#include "tests/lib/test.h"

#include <stdatomic.h>
#include <unistd.h>

static atomic_bool is_over;
static atomic_bool is_half_done;
static struct hf__process_mutex halves_mutex;

static void hold_in_halves(void *arg)
{
    (void)arg;
    hf__mutex_lock(hf__process_mutex(&halves_mutex));
    atomic_store(&is_half_done, true);
    hf__test_pause_ms(200);
    atomic_store(&is_half_done, false);
    hf__mutex_unlock(hf__process_mutex(&halves_mutex));
    UNTIL(atomic_load(&is_over));
}

TEST(a_fork_waits_for_a_mutex_of_the_process)
{
    static struct hf__test_thread *thread;

    thread = hf__test_start(hold_in_halves, NULL);
    UNTIL(atomic_load(&is_half_done));
    pid_t child = fork();
    if (child == 0) {
        HF_SCOPED_LOCK(hf__process_mutex(&halves_mutex));
        _exit(atomic_load(&is_half_done));
    }
    EXPECT_IS(hf__test_exit_code(child), 0);
    atomic_store(&is_over, true);
    hf__test_join(thread);
}

enum { KINDS = 20, MEMBERS = 3 };
static struct hf__fork_list families[KINDS];

static int count(struct hf__link *list)
{
    int n = 0;

    HF__LIST_EACH (it, list) {
        n++;
    }
    return n;
}

/* Each family is used for the first time in the midst of the forks. */
static void join_and_leave(void *arg)
{
    struct hf__link links[MEMBERS];

    (void)arg;
    for (int n = 0; !atomic_load(&is_over); n++) {
        struct hf__fork_list *f = &families[n < 1000 * KINDS ? n / 1000 : 0];
        for (int i = 0; i < MEMBERS; i++) {
            HF_SCOPED_FORK_LIST(f);
            hf__list_push(&f->members, &links[i]);
        }
        HF_SCOPED_FORK_LIST(f);
        for (int i = 0; i < MEMBERS; i++) {
            hf__list_remove(&links[i]);
        }
    }
}

/* Of what a thread of the parent was doing, a child finds nothing half done. */
static void expect_whole_families(void)
{
    for (int i = 0; i < KINDS; i++) {
        struct hf__link link;

        HF_SCOPED_FORK_LIST(&families[i]);
        EXPECT_IS(count(&families[i].members), 0);
        EXPECT_LESS(count(&families[i].inherited), 3 * MEMBERS + 1);
        hf__list_push(&families[i].members, &link);
        EXPECT_IS(count(&families[i].members), 1);
        hf__list_remove(&link);
    }
}

TEST_WITHIN(60, a_child_finds_the_families_of_busy_threads_whole)
{
    struct hf__test_thread *threads[3];

    hf__test_start_all(threads, 3, join_and_leave, NULL);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            expect_whole_families();
            _exit(0);
        }
        EXPECT_IS(hf__test_exit_code(child), 0);
    }
    atomic_store(&is_over, true);
    hf__test_join_all(threads, 3);
}
