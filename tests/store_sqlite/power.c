/* SPDX-License-Identifier: MIT */
/*
 * Fences after the power failed: what was written since the last sync is
 * gone, and the wall clock may be behind. Simulated by putting back what the
 * files were at the last sync, with the boot that it was written in changed.
 */
#include "tests/store_sqlite/cell.h"

#include <stdio.h>
#include <unistd.h>

static const char *const names[] = {"", "-wal", "-shm", "-holdfast"};

/* What the disk has for certain. */
static void save(void)
{
    for (size_t i = 0; i < 2; i++) {
        char to[64];

        (void)snprintf(to, sizeof to, ".saved%s", names[i]);
        copy_file(path_of(names[i]), path_of(to));
    }
}

static void lose_power(void)
{
    for (size_t i = 0; i < 4; i++) {
        (void)unlink(path_of(names[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        char from[64];

        (void)snprintf(from, sizeof from, ".saved%s", names[i]);
        EXPECT_IS(rename(path_of(from), path_of(names[i])), 0);
    }
    sql(path_of(""), "UPDATE holdfast_meta SET boot='00000000-0000-0000-0000-"
                     "000000000000';"
                     "UPDATE holdfast_lock SET boot='00000000-0000-0000-0000-"
                     "000000000000:1'");
}

/* The wall clock is an hour behind the fences: as if it had been set back. */
static void live(struct stage *stage, int index)
{
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    if (index == 0) {
        EXPECT_IS(raise_to(&me, "job", me.fence + UINT64_C(3600000000)), HF_OK);
        save();
    }
    for (int i = 0; i < 50; i++) {
        EXPECT_IS(release(&me, "job"), HF_OK);
        begin_anew(&me);
        EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
        EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->count[0]));
        atomic_store(&stage->count[0], (long long)me.fence);
    }
}

TEST(fences_rise_through_a_power_failure)
{
    struct stage *stage = stage_new();

    EXPECT_IS(finish(start(live, stage, 0)), 0);
    lose_power();
    EXPECT_IS(finish(start(live, stage, 1)), 0);
}

/* Of a name that was locked for the first time after the last sync. */
static void lock_new_name(struct stage *stage, int index)
{
    PEER(me);

    if (index == 0) {
        EXPECT_IS(acquire(&me, "first", 60000), HF_OK);
        EXPECT_IS(raise_to(&me, "first", me.fence + UINT64_C(3600000000)),
                  HF_OK);
        save();
        begin_anew(&me);
    }
    EXPECT_IS(acquire(&me, "later", 60000), HF_OK);
    if (index == 0) {
        EXPECT_IS(raise_to(&me, "later", me.fence + UINT64_C(3610000000)),
                  HF_OK);
    }
    EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->count[0]));
    atomic_store(&stage->count[0], (long long)me.fence);
}

TEST(fences_of_forgotten_names_rise_too)
{
    struct stage *stage = stage_new();

    EXPECT_IS(finish(start(lock_new_name, stage, 0)), 0);
    lose_power();
    EXPECT_IS(finish(start(lock_new_name, stage, 1)), 0);
}

/* The clock is an hour behind the versions, too. */
static void change_a_cell(struct stage *stage, int index)
{
    PEER(me);

    EXPECT_IS(get_cell(&me, "stock"), HF_OK);
    EXPECT_IS(put_cell(&me, "stock", told.version, "ten", 3), HF_OK);
    if (index == 0) {
        sql(path_of(""), "UPDATE holdfast_cell SET version=version+3600000000");
        EXPECT_IS(get_cell(&me, "stock"), HF_OK);
        EXPECT_IS(put_cell(&me, "stock", told.version, "ten", 3), HF_OK);
        save();
    }
    for (int i = 0; i < 50; i++) {
        EXPECT_IS(put_cell(&me, "stock", told.version, "nine", 4), HF_OK);
        EXPECT_SAFE_MORE(told.version, atomic_load(&stage->count[0]));
        atomic_store(&stage->count[0], (long long)told.version);
    }
}

TEST(versions_of_cells_rise_through_a_power_failure)
{
    struct stage *stage = stage_new();

    EXPECT_IS(finish(start(change_a_cell, stage, 0)), 0);
    lose_power();
    EXPECT_IS(finish(start(change_a_cell, stage, 1)), 0);
}

static void clean(struct peer *who)
{
    struct hf__key all = {"test:", 5, 5};
    struct hf__gc gc = {0};
    hf__time deadline = hf__after_ms(hf__now(), 5000);

    EXPECT_IS(hf__conn_gc(&who->conn, &all, &gc, deadline, NULL), HF_OK);
    EXPECT_IS(gc.count, 1);
}

/* The fence that was deleted is an hour ahead of the clock, as if that had
 * been set back since. A session that is open already has to know. */
TEST(fences_of_deleted_records_rise_though_the_clock_is_set_back)
{
    PEER(me);
    uint64_t hour_us = UINT64_C(3600000000);
    uint64_t before;
    char text[160];

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    before = me.fence;
    EXPECT_IS(release(&me, "job"), HF_OK);
    hf__test_pause_ms(5);
    clean(&me);
    (void)snprintf(text, sizeof text,
                   "UPDATE holdfast_meta SET fence_base=fence_base+%llu "
                   "WHERE fence_base>%llu",
                   (unsigned long long)hour_us, (unsigned long long)before);
    sql(path_of(""), text);
    begin_anew(&me);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, before + hour_us);
}

/* Records from before the restart: nobody holds them any more. */
static void hold(struct stage *stage, int index)
{
    PEER(me);

    (void)stage;
    (void)index;
    EXPECT_IS(acquire(&me, "job", 3600000), HF_OK);
    _exit(0);
}

TEST(a_restart_frees_everything)
{
    EXPECT_IS(finish(start(hold, NULL, 0)), 0);
    sql(path_of(""), "UPDATE holdfast_lock SET side='1:1'");
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    }
    sql(path_of(""), "UPDATE holdfast_lock SET boot='00000000-0000-0000-0000-"
                     "000000000000:1'");
    PEER(me);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(!me.record.is_held);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

/* As after a restart with the clock set back to before the grant. */
static void keep_closed(const char *keep_us)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "UPDATE holdfast_lock SET token=NULL,side=NULL,keep_us=%s,"
                   "acquired_at=acquired_at+3600000000,"
                   "boot='00000000-0000-0000-0000-000000000000:1'",
                   keep_us);
    sql(path_of(""), text);
}

TEST(what_is_closed_for_ever_stays_so_whatever_the_clock_says)
{
    EXPECT_IS(finish(start(hold, NULL, 0)), 0);
    keep_closed("3155760000000000");
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    }
    keep_closed("60000000");
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

/* A lease that no process backs is all there is: it runs on, by the wall
 * clock, also for those who see another boot id. */
TEST(a_detached_lease_outlives_the_boot_that_gave_it)
{
    EXPECT_IS(finish(start(hold, NULL, 0)), 0);
    sql(path_of(""), "UPDATE holdfast_lock SET side=NULL,"
                     "boot='00000000-0000-0000-0000-000000000000:1',"
                     "expires=expires-keep_until+5000000,keep_until=5000000");
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
        EXPECT(me.record.is_held);
        EXPECT_MORE(me.record.remaining_us, 0);
    }
    sql(path_of(""), "UPDATE holdfast_lock SET "
                     "acquired_at=acquired_at-86400000000");
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

/* The same kernel, another time namespace: its clock can't be compared. */
TEST(a_holder_in_another_time_namespace_is_refused)
{
    EXPECT_IS(finish(start(hold, NULL, 0)), 0);
    sql(path_of(""), "UPDATE holdfast_lock SET boot=substr(boot,1,36)||':1',"
                     "side='1:1'");
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "time namespace");
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(me.record.is_held);
    EXPECT_IS(me.record.remaining_us, -1);
}

/* Unless it is seen to be dead. */
TEST(a_dead_holder_in_another_time_namespace_is_replaced)
{
    EXPECT_IS(finish(start(hold, NULL, 0)), 0);
    sql(path_of(""), "UPDATE holdfast_lock SET boot=substr(boot,1,36)||':1'");
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

/* How many commits were synced, is seen by how often the ceiling rose. */
TEST(the_ceiling_rises_about_once_a_minute)
{
    PEER(me);

    for (int i = 0; i < 300; i++) {
        EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
        EXPECT_IS(release(&me, "job"), HF_OK);
        begin_anew(&me);
    }
    /* 300 grants on one synced commit: the ceiling is one minute ahead. */
    sql(path_of(""), "CREATE TEMP TABLE t(n CHECK(n BETWEEN 0 AND 61000000));"
                     "INSERT INTO t SELECT fence_ceiling-fence FROM "
                     "holdfast_meta,holdfast_lock");
}

/* Some containers are given a boot id of their own: a holder in such a one
 * looks as if from before a restart, but the kernel has its byte. */
TEST(a_living_holder_with_another_boot_id_is_not_replaced)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_job, stage, 60000);
    PEER(me);
    bool has_fired;

    sql(path_of(""), "UPDATE holdfast_lock SET boot='00000000-0000-0000-0000-"
                     "000000000000:1'");
    EXPECT_IS(acquire(&me, "job", 1000), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "boot id");
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(me.record.is_held);
    EXPECT_IS(me.record.holder_lives, 1);
    EXPECT_IS(wait_for(&me, "job", 50, &has_fired), HF_OK);
    EXPECT(!has_fired);
    kill_now(holder);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}
