/* SPDX-License-Identifier: MIT */
/*
 * A full disk: what was not written is said not to be, and the locks of others
 * stand.
 */
#include "tests/store_sqlite/disk.h"
#include "tests/store_sqlite/world.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Locks until nothing more goes in; then what is there must still work. */
static void crowd_out(struct peer *me, struct peer *holder)
{
    char name[32];
    int r = HF_OK;

    for (int i = 0; i < 5000 && r == HF_OK; i++) {
        (void)snprintf(name, sizeof name, "name-%d", i);
        r = acquire(me, name, 60000);
    }
    EXPECT_IS(r, HF_EUNAVAIL);
    EXPECT_HAS(me->error.text, "disk full");
    EXPECT(!me->conn.is_dead);
    EXPECT_IS(inspect(me, name), HF_OK);
    EXPECT(!me->record.is_held);
    EXPECT_IS(acquire(me, "held", 1000), HF_BUSY);
    EXPECT_IS(inspect(holder, "held"), HF_OK);
    EXPECT(holder->record.is_held);
}

/* In one batch: what is held goes on, whatever becomes of the new name. */
static void renew_and_acquire(struct peer *holder)
{
    struct hf__owner owner = {.label = "holder"};
    struct hf__op renewal = {.kind = HF__OP_RENEW,
                             .key = {"test:held", 9, 5},
                             .token = holder->token,
                             .lease_us = 60000000};
    struct hf__op claim = {.kind = HF__OP_ACQUIRE,
                           .key = {"test:new", 8, 5},
                           .token = {{1, 2, 3}},
                           .lease_us = 60000000,
                           .owner = &owner};
    struct hf__op *ops[] = {&renewal, &claim};

    EXPECT_IS(hf__conn_execute(&holder->conn, ops, 2,
                               hf__after_ms(hf__now(), 5000), &holder->error),
              HF_OK);
    EXPECT_IS(renewal.result, HF_OK);
    EXPECT(claim.result == HF_OK || claim.result == HF_EUNAVAIL);
}

TEST(a_full_disk_takes_no_lock_from_anybody)
{
    mount_small();
    {
        PEER(holder);
        PEER(me);

        EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
        EXPECT_IS(acquire(&me, "mine", 60000), HF_OK);
        fill();
        crowd_out(&me, &holder);
        renew_and_acquire(&holder);
        EXPECT_IS(renew(&holder, "held", 60000), HF_OK);
        EXPECT_IS(release(&me, "mine"), HF_OK);
        EXPECT_IS(renew(&holder, "held", 60000), HF_OK);
        remove_filler();
        EXPECT_IS(acquire(&me, "room-again", 60000), HF_OK);
    }
}

/* A share can be renewed and given back; a ticket that does not fit is none. */
static void share_a_full_disk(struct peer *holder, struct peer *me)
{
    int holders = 0;
    int waiters = 0;

    me->is_fair = true;
    if (acquire(me, "shared", 60000) == HF_EUNAVAIL) {
        EXPECT_HAS(me->error.text, "disk full");
        EXPECT(!me->is_queued);
    }
    EXPECT(!me->conn.is_dead);
    EXPECT_IS(renew(holder, "shared", 60000), HF_OK);
    count_crowd(holder, "shared", &holders, &waiters);
    EXPECT_IS(holders, 1);
    EXPECT_IS(waiters, me->is_queued);
    EXPECT_IS(release(holder, "shared"), HF_OK);
}

/* Whether a row that grows still fits its page depends on what it tells of its
 * holder, the length of a pid for one: so that is granted or refused. */
static void take_what_was_shared(struct peer *me)
{
    int r = acquire_within(me, "shared", 2000);

    if (r == HF_EUNAVAIL) {
        EXPECT_HAS(me->error.text, "disk full");
        remove_filler();
        r = acquire_within(me, "shared", 2000);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT_IS(release(me, "shared"), HF_OK);
}

TEST(a_full_disk_takes_no_share_from_anybody)
{
    mount_small();
    {
        PEER(holder);
        PEER(held);
        PEER(me);

        EXPECT_IS(acquire(&held, "held", 60000), HF_OK);
        holder.lock_mode.mode = HF__MODE_SHARED;
        EXPECT_IS(acquire(&holder, "shared", 60000), HF_OK);
        fill();
        crowd_out(&me, &held);
        begin_anew(&me);
        EXPECT_IS(renew(&holder, "shared", 60000), HF_OK);
        share_a_full_disk(&holder, &me);
        take_what_was_shared(&me);
    }
}

/* Takes each block that becomes free. */
static void eat(struct stage *stage, int index)
{
    (void)index;
    until(&stage->go, 1);
    while (!atomic_load(&stage->stop)) {
        fill();
        atomic_store(&stage->ready, 1);
        (void)sched_yield();
    }
}

static void take_more(struct stage *stage, int index)
{
    char name[32];
    PEER(me);

    until(&stage->go, 1);
    for (int i = 0; !atomic_load(&stage->stop); i++) {
        int r;

        (void)snprintf(name, sizeof name, "more-%d-%d", index, i);
        begin_anew(&me);
        r = acquire(&me, name, 60000);
        EXPECT(r == HF_OK || r == HF_EUNAVAIL);
        atomic_fetch_add(r == HF_OK ? &stage->served : &stage->tries, 1);
    }
}

/* Looks at the name again and again, so that the log is read while it is to
 * be begun anew. */
static void look_on(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    until(&stage->go, 1);
    while (!atomic_load(&stage->stop)) {
        EXPECT_IS(inspect(&me, "held"), HF_OK);
        EXPECT_SAFE(me.record.is_held);
    }
}

/* As the keeper does: again, as long as the lease runs. */
static void keep(struct peer *me, const char *name)
{
    int64_t end = now_us() + stretched(3000000);
    int r = renew(me, name, 60000);

    while (r == HF_EUNAVAIL && now_us() < end) {
        hf__test_pause_ms(5);
        r = renew(me, name, 60000);
    }
    EXPECT_SAFE(r == HF_OK || r == HF_EUNAVAIL);
    EXPECT_IS(r, HF_OK);
}

TEST_WITHIN(40, a_full_disk_whose_free_blocks_others_take_costs_no_lock)
{
    struct stage *stage;
    pid_t others[4];

    mount_small();
    stage = stage_new();
    others[0] = start(take_more, stage, 0);
    others[1] = start(take_more, stage, 1);
    others[2] = start(look_on, stage, 2);
    others[3] = start(eat, stage, 3);
    {
        PEER(holder);

        EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
        atomic_store(&stage->go, 1);
        until(&stage->ready, 1);
        until(&stage->tries, 1);
        for (int i = 0; i < 1000; i++) {
            keep(&holder, "held");
        }
        atomic_store(&stage->stop, 1);
        for (int i = 0; i < 4; i++) {
            EXPECT_IS(finish(others[i]), 0);
        }
        EXPECT_IS(release(&holder, "held"), HF_OK);
    }
    printf("%d more were granted, %d refused\n", atomic_load(&stage->served),
           atomic_load(&stage->tries));
}

/* By another process, so that the database has blocks for its pages, an odd
 * number, and for no more. */
static void grow_by_pages(struct stage *stage, int index)
{
    char name[32];
    int64_t first;
    PEER(me);

    (void)stage;
    (void)index;
    sql(path_of(""), "PRAGMA wal_checkpoint");
    first = blocks_of("");
    for (int i = 0; blocks_of("") < first + 24; i++) {
        (void)snprintf(name, sizeof name, "name-%d", i);
        begin_anew(&me);
        EXPECT_IS(acquire(&me, name, 60000), HF_OK);
        sql(path_of(""), "PRAGMA wal_checkpoint");
    }
}

TEST(a_renewal_on_a_full_disk_needs_no_block)
{
    int64_t ballast;

    mount_small();
    PEER(holder);
    EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
    EXPECT_IS(finish(start(grow_by_pages, stage_new(), 0)), 0);
    fill();
    ballast = blocks_of("-holdfast");
    for (int i = 0; i < 200; i++) {
        EXPECT_IS(renew(&holder, "held", 60000), HF_OK);
    }
    EXPECT_IS(release(&holder, "held"), HF_OK);
    EXPECT_IS(blocks_of("-holdfast"), ballast);
}

TEST(a_log_has_blocks_before_it_needs_them)
{
    {
        PEER(me);
        EXPECT_MORE(blocks_of("-wal"), 500);
    }
    /* What cuts it off, or takes it away as the last one out. */
    sql(path_of(""), "PRAGMA wal_checkpoint(TRUNCATE)");
    PEER(me);
    EXPECT_MORE(blocks_of("-wal"), 500);
}

/* A limit of the process is the same to SQLite as a disk error. */
TEST(a_limit_on_file_sizes_is_a_full_disk)
{
    PEER(holder);
    PEER(me);
    struct stat st;
    struct rlimit limit;

    EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
    EXPECT_IS(stat(path_of("-wal"), &st), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    EXPECT_IS(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = (rlim_t)st.st_size + 20000;
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &limit), 0);
    crowd_out(&me, &holder);
    limit.rlim_cur = limit.rlim_max;
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
