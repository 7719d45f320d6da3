/* SPDX-License-Identifier: MIT */
/*
 * A full disk, and other programs in the database: what was not written is
 * said not to be, and the locks of others stand.
 */
#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void fill(const char *path)
{
    static char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    EXPECT(fd >= 0);
    while (write(fd, block, sizeof block) > 0) {
        /* Until there is no room for another one. */
    }
    while (write(fd, block, 1) > 0) {
        /* Nor for a byte. */
    }
    (void)close(fd);
}

/* Locks until nothing more goes in; then what is there must still work. */
static void crowd_out(struct peer *me, struct peer *holder)
{
    char name[32];
    int r = HF_OK;
    int i;

    for (i = 0; i < 5000 && r == HF_OK; i++) {
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
    char path[600];

    if (geteuid() != 0 || mount("tmpfs", hf__test_folder(), "tmpfs", 0,
                                "size=4m,mode=700") != 0) {
        SKIP("needs root, to mount a small file system");
    }
    {
        PEER(holder);
        PEER(me);

        EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
        EXPECT_IS(acquire(&me, "mine", 60000), HF_OK);
        (void)snprintf(path, sizeof path, "%s/filler", hf__test_folder());
        fill(path);
        crowd_out(&me, &holder);
        renew_and_acquire(&holder);
        EXPECT_IS(renew(&holder, "held", 60000), HF_OK);
        EXPECT_IS(release(&me, "mine"), HF_OK);
        EXPECT_IS(renew(&holder, "held", 60000), HF_OK);
        EXPECT_IS(unlink(path), 0);
        EXPECT_IS(acquire(&me, "room-again", 60000), HF_OK);
    }
    EXPECT_IS(umount2(hf__test_folder(), MNT_DETACH), 0);
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
    EXPECT_IS(acquire_within(me, "shared", 2000), HF_OK);
    EXPECT_IS(release(me, "shared"), HF_OK);
}

TEST(a_full_disk_takes_no_share_from_anybody)
{
    char path[600];

    if (geteuid() != 0 || mount("tmpfs", hf__test_folder(), "tmpfs", 0,
                                "size=4m,mode=700") != 0) {
        SKIP("needs root, to mount a small file system");
    }
    {
        PEER(holder);
        PEER(held);
        PEER(me);

        EXPECT_IS(acquire(&held, "held", 60000), HF_OK);
        holder.manner.mode = HF__MODE_SHARED;
        EXPECT_IS(acquire(&holder, "shared", 60000), HF_OK);
        (void)snprintf(path, sizeof path, "%s/filler", hf__test_folder());
        fill(path);
        crowd_out(&me, &held);
        begin_anew(&me);
        EXPECT_IS(renew(&holder, "shared", 60000), HF_OK);
        share_a_full_disk(&holder, &me);
    }
    EXPECT_IS(umount2(hf__test_folder(), MNT_DETACH), 0);
}

/* Takes each block that becomes free. */
static void eat(struct stage *stage, int index)
{
    char path[600];

    (void)index;
    (void)snprintf(path, sizeof path, "%s/filler", hf__test_folder());
    until(&stage->go, 1);
    while (!atomic_load(&stage->stop)) {
        fill(path);
        atomic_store(&stage->ready, 1);
        (void)sched_yield();
    }
}

static void take_more(struct stage *stage, int index)
{
    char name[32];
    int i;
    PEER(me);

    until(&stage->go, 1);
    for (i = 0; !atomic_load(&stage->stop); i++) {
        int r;

        (void)snprintf(name, sizeof name, "more-%d-%d", index, i);
        begin_anew(&me);
        r = acquire(&me, name, 60000);
        EXPECT(r == HF_OK || r == HF_EUNAVAIL);
        atomic_fetch_add(r == HF_OK ? &stage->served : &stage->tries, 1);
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
    EXPECT_SAFE_IS(r, HF_OK);
}

TEST(a_full_disk_whose_free_blocks_others_take_costs_no_lock)
{
    struct stage *stage;
    pid_t others[3];

    if (geteuid() != 0 || mount("tmpfs", hf__test_folder(), "tmpfs", 0,
                                "size=4m,mode=700") != 0) {
        SKIP("needs root, to mount a small file system");
    }
    stage = stage_new();
    others[0] = start(take_more, stage, 0);
    others[1] = start(take_more, stage, 1);
    others[2] = start(eat, stage, 2);
    {
        PEER(holder);

        EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
        atomic_store(&stage->go, 1);
        until(&stage->ready, 1);
        until(&stage->tries, 1);
        for (int i = 0; i < 1000; i++) {
            keep(&holder, "held");
        }
        EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
        EXPECT_IS(release(&holder, "held"), HF_OK);
    }
    atomic_store(&stage->stop, 1);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(finish(others[i]), 0);
    }
    printf("%d more were granted, %d refused\n", atomic_load(&stage->served),
           atomic_load(&stage->tries));
    EXPECT_IS(umount2(hf__test_folder(), MNT_DETACH), 0);
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

/* Holds SQLite's write lock, as a shell does after BEGIN IMMEDIATE. */
static void be_a_shell(struct stage *stage, int index)
{
    sqlite3 *db = NULL;

    (void)index;
    EXPECT_IS(sqlite3_open(path_of(""), &db), SQLITE_OK);
    EXPECT_IS(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    EXPECT_IS(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    EXPECT_IS(sqlite3_close(db), SQLITE_OK);
}

TEST(another_programs_transaction_delays_and_breaks_nothing)
{
    struct stage *stage = stage_new();
    struct peer me = {.patience_ms = 400};
    pid_t shell;
    int64_t began;

    {
        PEER(first);
    }
    shell = start(be_a_shell, stage, 0);
    until(&stage->ready, 1);
    EXPECT_IS(enter(&me), HF_OK);
    began = now_us();
    EXPECT_IS(acquire(&me, "job", 60000), HF_EUNAVAIL);
    EXPECT_HAS(me.error.text, "another program's transaction");
    EXPECT_MORE(now_us() - began, 390000);
    EXPECT_SOON(now_us() - began, 900000);
    EXPECT(!me.conn.is_dead);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(!me.record.is_held);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(shell), 0);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    leave(&me);
}

static void interrupt_soon(void *arg)
{
    struct peer *me = arg;

    hf__test_pause_ms(200);
    hf__conn_interrupt(&me->conn);
}

TEST(an_interrupt_ends_the_waiting_for_another_program)
{
    struct stage *stage = stage_new();
    struct hf__test_thread *thread;
    pid_t shell;
    int64_t began;

    {
        PEER(first);
    }
    shell = start(be_a_shell, stage, 0);
    until(&stage->ready, 1);
    {
        PEER(me);

        began = now_us();
        thread = hf__test_start(interrupt_soon, &me);
        EXPECT_IS(acquire(&me, "job", 60000), HF_EUNAVAIL);
        EXPECT_SOON(now_us() - began, 1000000);
        hf__test_join(thread);
    }
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(shell), 0);
}

TEST(a_record_that_was_edited_by_hand_is_refused)
{
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
        EXPECT_IS(release(&me, "job"), HF_OK);
    }
    sql(path_of(""), "UPDATE holdfast_lock SET token='me'");
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_EPROTO);
    EXPECT_HAS(me.error.text, "makes no sense");
    EXPECT_IS(inspect(&me, "job"), HF_EPROTO);
    EXPECT_IS(acquire(&me, "other", 1000), HF_OK);
}
