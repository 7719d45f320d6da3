/* SPDX-License-Identifier: MIT */
/*
 * Lines that somebody meddled with: damaged, cut off, deleted with their
 * file, left by killed processes, without room on the disk. Whatever becomes
 * of a line, one is inside, all who wait get in, and order is all that is
 * lost.
 */
#include "src/backend/file/record.h"
#include "tests/store_file/files.h"

#include "src/base/rand.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A fair claim that has to wait. */
static void queue_up(struct peer *p)
{
    p->is_fair = true;
    EXPECT_IS(acquire(p, "job", 60000), HF_BUSY);
    EXPECT(p->is_queued);
}

static off_t size_of_job(void)
{
    struct stat st;

    EXPECT_IS(stat(file_of(JOB), &st), 0);
    return st.st_size;
}

static void scribble(off_t at, const void *bytes, size_t length)
{
    int fd = open(file_of(JOB), O_WRONLY | O_CLOEXEC);

    EXPECT(fd >= 0);
    EXPECT_IS(pwrite(fd, bytes, length, at), length);
    (void)close(fd);
}

TEST(no_damage_of_a_line_lets_two_in)
{
    PEER(alice);
    PEER(bob);
    PEER(carol);

    for (int i = 0; i < 200; i++) {
        unsigned char byte = (unsigned char)hf__random_between(0, 255);

        EXPECT_IS(acquire(&alice, "job", 60000), HF_OK);
        queue_up(&bob);
        for (int k = 0; k < 3; k++) {
            scribble(HF__FILE_SIZE + hf__random_between(0, 80), &byte, 1);
        }
        EXPECT_IS(acquire(&carol, "job", 60000), HF_BUSY);
        EXPECT_IS(release(&alice, "job"), HF_OK);
        /* Who has no place any more asks for another. */
        EXPECT_IS(acquire_within(&bob, "job", 5000), HF_OK);
        EXPECT_IS(acquire(&carol, "job", 60000), HF_BUSY);
        EXPECT_IS(release(&bob, "job"), HF_OK);
        begin_anew(&alice);
        begin_anew(&bob);
    }
}

TEST(a_line_of_garbage_keeps_nobody_out)
{
    static unsigned char garbage[3 * 4096 + 17];
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(release(&me, "job"), HF_OK);
    for (int i = 0; i < 20; i++) {
        begin_anew(&me);
        hf__random(garbage, sizeof garbage);
        scribble(HF__FILE_SIZE, garbage,
                 (size_t)hf__random_between(1, sizeof garbage));
        EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
        EXPECT_IS(release(&me, "job"), HF_OK);
    }
}

TEST(a_line_cut_off_costs_its_places_only)
{
    PEER(alice);
    PEER(bob);
    bool has_fired;

    EXPECT_IS(acquire(&alice, "job", 60000), HF_OK);
    for (off_t cut = 0; cut < 200; cut += 21) {
        queue_up(&bob);
        EXPECT_IS(truncate(file_of(JOB), HF__FILE_SIZE + cut), 0);
        EXPECT_IS(wait_for(&bob, "job", cut < 64 ? 2000 : 10, &has_fired),
                  HF_OK);
        EXPECT_IS(has_fired, cut < 64);
    }
    queue_up(&bob);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire_within(&bob, "job", 5000), HF_OK);
}

TEST(a_file_deleted_with_its_line_is_made_anew)
{
    PEER(alice);
    PEER(bob);
    PEER(carol);

    EXPECT_IS(acquire(&alice, "job", 60000), HF_OK);
    queue_up(&bob);
    queue_up(&carol);
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&carol, "job", 60000), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(acquire_within(&bob, "job", 5000), HF_OK);
    queue_up(&carol);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(acquire_within(&carol, "job", 5000), HF_OK);
}

TEST(a_break_takes_the_line_along)
{
    PEER(alice);
    PEER(bob);
    PEER(carol);
    PEER(operator);
    int holders;
    int waiters;

    EXPECT_IS(acquire(&alice, "job", 60000), HF_OK);
    queue_up(&bob);
    queue_up(&carol);
    EXPECT_IS(break_it(&operator, "job", 0), HF_OK);
    count_crowd(&operator, "job", &holders, &waiters);
    EXPECT_IS(holders, 0);
    EXPECT_IS(waiters, 2);
    EXPECT_IS(acquire(&operator, "job", 60000), HF_BUSY);
    EXPECT_IS(acquire(&carol, "job", 60000), HF_BUSY);
    EXPECT_IS(acquire(&bob, "job", 60000), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(acquire(&carol, "job", 60000), HF_OK);
}

enum { LONG = 2 * HF__WAITERS_CHUNK + 3 };

TEST_WITHIN(60, a_long_line_keeps_its_order_and_leaves_no_room)
{
    static struct peer many[LONG];
    PEER(alice);
    int holders;
    int waiters;

    EXPECT_IS(acquire(&alice, "job", 60000), HF_OK);
    for (int i = 0; i < LONG; i++) {
        EXPECT_IS(enter(&many[i]), HF_OK);
        queue_up(&many[i]);
    }
    count_crowd(&alice, "job", &holders, &waiters);
    EXPECT_IS(waiters, LONG);
    /* One in the middle gives up, and its place is another's. */
    EXPECT_IS(release(&many[7], "job"), HF_LOST);
    begin_anew(&many[7]);
    queue_up(&many[7]);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    for (int i = 0; i < LONG; i++) {
        if (i != 7) {
            EXPECT_IS(acquire(&many[7], "job", 60000), HF_BUSY);
            EXPECT_IS(acquire(&many[i], "job", 60000), HF_OK);
            EXPECT_IS(release(&many[i], "job"), HF_OK);
            leave(&many[i]);
        }
    }
    EXPECT_IS(acquire(&many[7], "job", 60000), HF_OK);
    EXPECT_IS(size_of_job(), HF__FILE_SIZE);
    leave(&many[7]);
}

/* Comes and goes in line until it is killed. */
static void come_and_go(struct stage *stage, int index)
{
    for (int i = 0;; i++) {
        PEER(me);

        me.is_fair = true;
        if (acquire(&me, "job", 60000) != HF_OK || i % 3 != 0) {
            (void)acquire_within(&me, "job", i % 2);
        }
        (void)release(&me, "job");
        atomic_fetch_add(&stage->count[index], 1);
    }
}

TEST_WITHIN(60, whoever_is_killed_in_line_holds_up_nobody)
{
    struct stage *stage = stage_new();
    int64_t longest_us = 0;
    PEER(me);

    me.is_fair = true;
    for (int i = 0; i < 40; i++) {
        pid_t pids[3];
        int64_t start_us;

        for (int k = 0; k < 3; k++) {
            pids[k] = start(come_and_go, stage, k);
        }
        hf__test_pause_ms(hf__random_between(5, 40));
        for (int k = 0; k < 3; k++) {
            kill_now(pids[k]);
        }
        start_us = now_us();
        EXPECT_IS(acquire_within(&me, "job", 10000), HF_OK);
        if (now_us() - start_us > longest_us) {
            longest_us = now_us() - start_us;
        }
        EXPECT_IS(release(&me, "job"), HF_OK);
        begin_anew(&me);
    }
    printf("%lld rounds; longest wait behind the killed %lld ms\n",
           (long long)atomic_load(&stage->count[0]),
           (long long)(longest_us / 1000));
    EXPECT_SOON(longest_us / 1000, 1000);
}

static void be_alone(struct stage *stage, int index)
{
    if (atomic_exchange(&stage->inside, index + 1) != 0) {
        atomic_fetch_add(&stage->clashes, 1);
    }
    (void)sched_yield();
    if (atomic_exchange(&stage->inside, 0) != index + 1) {
        atomic_fetch_add(&stage->clashes, 1);
    }
}

/* With three who come and go, and the file deleted meanwhile. Who asks for a
 * renewal is out: its answer may be that the file is gone, and lets go. If it
 * is not, nobody has been let in since. */
static void enter_and_count(struct stage *stage, int index)
{
    PEER(me);

    me.is_fair = true;
    while (!atomic_load(&stage->stop)) {
        if (acquire_within(&me, "job", 5000) == HF_OK) {
            be_alone(stage, index);
            if (renew(&me, "job", 60000) == HF_OK) {
                be_alone(stage, index);
            }
            (void)release(&me, "job");
            atomic_fetch_add(&stage->count[index], 1);
        }
        begin_anew(&me);
    }
}

TEST_WITHIN(60, deleting_the_file_of_a_line_lets_no_two_in)
{
    struct stage *stage = stage_new();
    pid_t pids[4];

    for (int i = 0; i < 4; i++) {
        pids[i] = start(enter_and_count, stage, i);
    }
    for (int i = 0; i < 300; i++) {
        hf__test_pause_ms(hf__random_between(1, 8));
        (void)unlink(file_of(JOB));
    }
    atomic_store(&stage->stop, 1);
    for (int i = 0; i < 4; i++) {
        EXPECT_IS(finish(pids[i]), 0);
        EXPECT_MORE(atomic_load(&stage->count[i]), 0);
    }
    EXPECT_SAFE_IS(atomic_load(&stage->clashes), 0);
}

/* No file of this process may grow beyond a record. */
static void wait_without_room(struct stage *stage, int index)
{
    const struct rlimit limit = {HF__FILE_SIZE, HF__FILE_SIZE};
    PEER(me);

    (void)index;
    EXPECT(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &limit), 0);
    me.is_fair = true;
    EXPECT_IS(acquire(&me, "job", 60000), HF_BUSY);
    EXPECT(!me.is_queued);
    atomic_store(&stage->ready, 1);
    EXPECT_IS(acquire_within(&me, "job", 10000), HF_OK);
    EXPECT_IS(release(&me, "job"), HF_OK);
}

TEST(without_room_for_a_ticket_the_wait_goes_on)
{
    struct stage *stage = stage_new();
    PEER(alice);
    pid_t pid;

    EXPECT_IS(acquire(&alice, "job", 60000), HF_OK);
    pid = start_ready(wait_without_room, stage, 0);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(finish(pid), 0);
    EXPECT_IS(size_of_job(), HF__FILE_SIZE);
}

TEST(no_ticket_is_written_through_a_symbolic_link)
{
    static const char text[] = "not ours";
    char kept[sizeof text] = "";
    PEER(me);
    int fd;

    write_bytes(file_of("elsewhere"), text, sizeof text);
    EXPECT_IS(symlink(file_of("elsewhere"), file_of(JOB)), 0);
    me.is_fair = true;
    EXPECT_IS(acquire(&me, "job", 60000), HF_EUNSAFE);
    fd = open(file_of("elsewhere"), O_RDONLY | O_CLOEXEC);
    EXPECT_IS(read(fd, kept, sizeof kept), sizeof kept);
    EXPECT_TEXT(kept, text);
    (void)close(fd);
}

TEST(cleaning_leaves_a_name_that_somebody_waits_for)
{
    const struct hf__key all = {"test:", 5, 5};
    struct hf__gc gc = {.idle_us = 0};
    PEER(alice);
    PEER(bob);

    EXPECT_IS(acquire(&alice, "job", 60000), HF_OK);
    queue_up(&bob);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(hf__conn_gc(&alice.conn, &all, &gc, HF__NEVER, NULL), HF_OK);
    EXPECT_IS(gc.count, 0);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_IS(hf__conn_gc(&alice.conn, &all, &gc, HF__NEVER, NULL), HF_OK);
    EXPECT_IS(gc.count, 1);
}
