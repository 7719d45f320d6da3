/* SPDX-License-Identifier: MIT */
/*
 * Files that are deleted by hand while their locks are held or waited for,
 * and breaks: the holder learns of it, and nobody else comes in before.
 */
#include "tests/store_file/files.h"

#include "src/base/rand.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void hold(struct stage *stage, int lease_ms)
{
    PEER(me);

    EXPECT_IS(acquire(&me, "job", lease_ms), HF_OK);
    atomic_store(&stage->last_fence, (long long)me.fence);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    EXPECT_IS(renew(&me, "job", lease_ms), HF_LOST);
    stay(stage);
}

TEST(a_file_deleted_while_held_lets_nobody_in)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold, stage, 60000);
    PEER(me);

    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    EXPECT_IS(me.record.holder_lives, 1);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(me.record.is_held);
    EXPECT_IS(me.record.fence, 0);
    /* The holder finds out, and then it is free. */
    atomic_store(&stage->go, 1);
    EXPECT_IS(acquire_within(&me, "job", 5000), HF_OK);
    until(&stage->ready, 2);
    EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->last_fence));
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(holder), 0);
}

/* Less than the side file is long. */
static void limit_files(void)
{
    struct rlimit limit;

    EXPECT(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    EXPECT_IS(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 40960;
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void open_within_limit(struct stage *stage, int number)
{
    struct peer me = {0};

    (void)stage;
    (void)number;
    limit_files();
    EXPECT_IS(enter_path(&me, path_of("")), HF_EUNAVAIL);
    EXPECT_HAS(me.error.text, ".holdfast");
}

static void hold_within_limit(struct stage *stage, int lease_ms)
{
    PEER(me);

    limit_files();
    EXPECT_IS(acquire(&me, "job", lease_ms), HF_OK);
    stay(stage);
}

TEST(a_limit_on_file_sizes_lets_nobody_in)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_within_limit, stage, 60000);
    PEER(me);

    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_SAFE_IS(acquire(&me, "job", 1000), HF_BUSY);
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(holder), 0);
    EXPECT_IS(finish(start(open_within_limit, stage, 0)), 0);
}

TEST(a_file_deleted_while_its_holder_dies_is_free)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold, stage, 60000);
    PEER(me);

    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    kill_now(holder);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->last_fence));
}

TEST(a_file_deleted_beside_a_side_file_that_was_cut_lets_nobody_in)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_job, stage, 60000);
    PEER(me);

    cut_side_file();
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    kill_now(holder);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

TEST(a_file_deleted_while_its_holder_is_stopped_is_free_after_the_lease)
{
    struct stage *stage = stage_new();
    int64_t began = now_us();
    pid_t holder = start_ready(hold, stage, 1500);
    PEER(me);

    EXPECT_IS(kill(holder, SIGSTOP), 0);
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire_within(&me, "job", 10000), HF_OK);
    EXPECT_MORE(now_us() - began, 1400000);
    kill_now(holder);
}

TEST(a_file_deleted_while_this_process_holds_it_lets_nobody_in)
{
    PEER(me);
    PEER(other);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&other, "job", 1000), HF_BUSY);
    EXPECT_IS(release(&me, "job"), HF_LOST);
    EXPECT_IS(acquire(&other, "job", 1000), HF_OK);
    /* Whoever lost it can have it again at once. */
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&other, "job", 1000), HF_OK);
}

TEST(a_break_opens_what_was_deleted)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold, stage, 60000);
    PEER(me);

    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    EXPECT_IS(break_it(&me, "job", 0), HF_OK);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    kill_now(holder);
}

/* Enter, and be alone inside until the lock is let go or known to be lost. */
static void contend(struct stage *stage, int index)
{
    PEER(me);

    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    while (!atomic_load(&stage->stop)) {
        if (acquire_within(&me, "job", 50) == HF_OK) {
            long long before =
                atomic_exchange(&stage->last_fence, (long long)me.fence);
            int nobody = 0;

            if (before >= (long long)me.fence ||
                !atomic_compare_exchange_strong(&stage->inside, &nobody,
                                                index + 1)) {
                atomic_fetch_add(&stage->clashes, 1);
            }
            (void)sched_yield();
            atomic_store(&stage->inside, 0);
            atomic_fetch_add(&stage->count[index], 1);
            (void)release(&me, "job");
            begin_anew(&me);
        }
    }
}

static int unlink_it(struct peer *me)
{
    (void)me;
    return unlink(file_of(JOB)) == 0;
}

static int clean(struct peer *me)
{
    struct hf__gc gc = {.idle_us = 0};

    EXPECT_IS(hf__conn_gc(&me->conn, &(struct hf__key){"test:", 5, 5}, &gc,
                          hf__after_ms(hf__now(), 5000), &me->error),
              HF_OK);
    return (int)gc.count;
}

static void contend_while(int (*delete)(struct peer *))
{
    struct stage *stage = stage_new();
    pid_t pids[6];
    long long rounds = 0;
    int deleted = 0;
    PEER(me);

    for (int i = 0; i < 6; i++) {
        pids[i] = start(contend, stage, i);
    }
    until(&stage->ready, 6);
    atomic_store(&stage->go, 1);
    for (int64_t end = now_us() + 4000000; now_us() < end;) {
        deleted += delete (&me);
        if (hf__random_between(0, 3) == 0) {
            hf__test_pause_ms(hf__random_between(0, 3));
        }
    }
    atomic_store(&stage->stop, 1);
    for (int i = 0; i < 6; i++) {
        EXPECT_IS(finish(pids[i]), 0);
        rounds += atomic_load(&stage->count[i]);
    }
    printf("%lld rounds, deleted %d times\n", rounds, deleted);
    EXPECT_SAFE_IS(atomic_load(&stage->clashes), 0);
    EXPECT_MORE(rounds, 200);
    EXPECT_MORE(deleted, 200);
}

CASE(deleting_the_file_all_the_time_lets_no_two_in, contend_while(unlink_it));
CASE(cleaning_all_the_time_lets_no_two_in, contend_while(clean));

/* Nobody is freed by it; what the kernel can't tell any more, the lease does.
 */
TEST(without_the_side_file_leases_alone_count)
{
    struct stage *stage = stage_new();
    int64_t began = now_us();
    pid_t holder = start_ready(hold, stage, 1500);

    EXPECT_IS(unlink(file_of(".holdfast")), 0);
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    EXPECT_IS(me.record.holder_lives, -1);
    kill_now(holder);
    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    EXPECT_IS(acquire_within(&me, "job", 10000), HF_OK);
    EXPECT_MORE(now_us() - began, 1400000);
}

TEST(a_break_leaves_a_new_file_and_the_fence)
{
    PEER(me);
    PEER(operator);
    struct stat before;
    struct stat after;
    uint64_t fence;

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    fence = me.fence;
    EXPECT_IS(stat(file_of(JOB), &before), 0);
    EXPECT_IS(break_it(&operator, "job", fence), HF_OK);
    EXPECT_SAFE_MORE(operator.fence, fence);
    EXPECT_IS(stat(file_of(JOB), &after), 0);
    EXPECT_NOT(before.st_ino, after.st_ino);
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
    EXPECT_IS(me.record.fence, operator.fence);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, operator.fence);
}

static void stop_in_the_middle(struct stage *stage, int index)
{
    int fd = open(file_of(JOB), O_RDWR | O_CLOEXEC);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    (void)index;
    EXPECT(fd >= 0);
    EXPECT_IS(fcntl(fd, F_OFD_SETLK, &lock), 0);
    stay(stage);
}

TEST(a_break_frees_what_a_stopped_process_has_locked)
{
    struct stage *stage = stage_new();
    pid_t stopped;
    PEER(me);
    PEER(other);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    stopped = start_ready(stop_in_the_middle, stage, 0);
    /* Nothing that changes the record goes on; all that looks does. */
    EXPECT_IS(renew(&me, "job", 60000), HF__AGAIN);
    EXPECT_IS(acquire(&other, "job", 60000), HF_BUSY);
    EXPECT_IS(acquire(&other, "another", 60000), HF_OK);
    EXPECT_IS(break_it(&other, "job", 0), HF_OK);
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
    EXPECT_IS(acquire(&other, "job", 60000), HF_OK);
    kill_now(stopped);
    EXPECT_IS(release(&other, "job"), HF_OK);
}

/* Of the one who has it nothing is known but that he is there. */
TEST(who_waits_for_a_lock_whose_file_is_deleted_sleeps)
{
    PEER(me);
    PEER(other);
    bool fired = true;

    EXPECT_IS(acquire(&other, "job", 60000), HF_OK);
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&me, "job", 60000), HF_BUSY);
    EXPECT_IS(wait_for(&me, "job", 300, &fired), HF_OK);
    EXPECT(!fired);
}
