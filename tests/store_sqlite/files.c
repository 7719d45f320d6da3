/* SPDX-License-Identifier: MIT */
/*
 * Files that are deleted or replaced while locks are held. Whoever holds
 * learns it at the next renewal, newcomers are refused as long as somebody
 * of before is there, and afterwards all begins anew with higher fences. So
 * two never hold one name.
 */
#include "src/backend/registry.h"
#include "tests/store_sqlite/world.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Holds "job" until told; then finds the store changed, and is refused when
 * it tries to come back, its lease still running. */
static void hold_through_it(struct stage *stage, int index)
{
    struct peer me = {0};

    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    atomic_store(&stage->count[0], (long long)me.fence);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    EXPECT_IS(renew(&me, "job", 60000), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "deleted, cut off or replaced while in use");
    EXPECT(me.conn.is_dead);
    leave(&me);
    EXPECT_IS(enter(&me), index);
    if (index == HF_OK) {
        leave(&me);
    }
    stay(stage);
}

/* A newcomer, while the holder lives. */
static void try_to_enter(struct stage *stage, int expected)
{
    struct peer me = {0};

    (void)stage;
    EXPECT_IS(enter(&me), expected);
    if (expected == HF_OK) {
        EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
        leave(&me);
    } else {
        EXPECT_HAS(me.error.text, "stop all programs that use");
    }
}

static void after_the_end(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    EXPECT_IS(acquire_within(&me, "job", 5000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->count[0]));
    EXPECT_IS(release(&me, "job"), HF_OK);
}

/* `harm` is done to the files while the name is held. */
static void go_through(void (*harm)(void))
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_through_it, stage, HF_EUNSAFE);

    harm();
    EXPECT_IS(finish(start(try_to_enter, stage, HF_EUNSAFE)), 0);
    /* Who looked at the files does not look again for a millisecond. */
    hf__test_pause_ms(2);
    atomic_store(&stage->go, 1);
    until(&stage->ready, 2);
    /* It is out of the store, but its lease runs. */
    EXPECT_IS(finish(start(try_to_enter, stage, HF_EUNSAFE)), 0);
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(holder), 0);
    EXPECT_IS(finish(start(after_the_end, stage, 0)), 0);
}

static void delete_db(void)
{
    EXPECT_IS(unlink(path_of("")), 0);
}

static void delete_wal(void)
{
    EXPECT_IS(unlink(path_of("-wal")), 0);
}

static void delete_shm(void)
{
    EXPECT_IS(unlink(path_of("-shm")), 0);
}

static void delete_both(void)
{
    delete_wal();
    delete_shm();
}

/* By a copy: the same contents in another file. */
static void replace_db(void)
{
    copy_file(path_of(""), path_of(".copy"));
    EXPECT_IS(rename(path_of(".copy"), path_of("")), 0);
}

static void move_folder(void)
{
    char other[600];

    (void)snprintf(other, sizeof other, "%s.moved", hf__test_folder());
    EXPECT_IS(rename(hf__test_folder(), other), 0);
    EXPECT_IS(mkdir(hf__test_folder(), 0700), 0);
}

CASE(the_database_is_deleted_while_in_use, go_through(delete_db));
CASE(the_database_is_replaced_while_in_use, go_through(replace_db));
CASE(the_log_is_deleted_while_in_use, go_through(delete_wal));
CASE(the_index_is_deleted_while_in_use, go_through(delete_shm));
CASE(log_and_index_are_deleted_while_in_use, go_through(delete_both));

/* The database itself is there, so all go on with a new side file; of the old
 * holder only the lease counts. */
TEST(the_side_file_is_deleted_while_in_use)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_through_it, stage, HF_OK);

    EXPECT_IS(unlink(path_of("-holdfast")), 0);
    EXPECT_IS(finish(start(try_to_enter, stage, HF_OK)), 0);
    atomic_store(&stage->go, 1);
    until(&stage->ready, 2);
    EXPECT_IS(finish(start(try_to_enter, stage, HF_OK)), 0);
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(holder), 0);
    EXPECT_IS(finish(start(try_to_enter, stage, HF_OK)), 0);
}

TEST(a_waiter_notices_too)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_through_it, stage, HF_EUNSAFE);
    bool fired;

    {
        PEER(me);

        EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
        delete_db();
        EXPECT_IS(wait_for(&me, "job", 5000, &fired), HF_EUNSAFE);
        EXPECT_HAS(me.error.text, "locks.db");
    }
    atomic_store(&stage->go, 1);
    until(&stage->ready, 2);
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(holder), 0);
}

/* Another store may be put in the place of the folder: that is a new one. The
 * old holder learns it before it renews. */
TEST(the_folder_is_moved_while_in_use)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_through_it, stage, HF_OK);

    move_folder();
    hf__test_pause_ms(5); /* a look at the folder is good for one */
    atomic_store(&stage->go, 1);
    until(&stage->ready, 2);
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(holder), 0);
    char other[620];
    (void)snprintf(other, sizeof other, "rm -rf '%s.moved'", hf__test_folder());
    EXPECT_IS(system(other), 0);
}

/* Other files in the folder come and go without harm. */
TEST(other_files_in_the_folder_do_not_matter)
{
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    for (int i = 0; i < 20; i++) {
        copy_file(path_of("-holdfast"), path_of(".other"));
        EXPECT_IS(renew(&me, "job", 60000), HF_OK);
        EXPECT_IS(unlink(path_of(".other")), 0);
        hf__test_pause_ms(3);
        EXPECT_IS(renew(&me, "job", 60000), HF_OK);
    }
}

/* The last program goes, somebody tidies up, the next one comes. */
TEST(files_may_be_deleted_when_nobody_uses_them)
{
    struct stage *stage = stage_new();

    EXPECT_IS(finish(start(after_the_end, stage, 0)), 0);
    delete_both();
    EXPECT_IS(finish(start(after_the_end, stage, 0)), 0);
    EXPECT_IS(unlink(path_of("-holdfast")), 0);
    EXPECT_IS(finish(start(after_the_end, stage, 0)), 0);
    delete_both();
    delete_db();
    EXPECT_IS(finish(start(after_the_end, stage, 0)), 0);
}

/* An opener that fails is inside for a moment, with nothing to compare. */
TEST(a_failed_opener_leaves_no_store_unguarded)
{
    _Alignas(max_align_t) static unsigned char state[1 << 16];
    hf_error error = HF_ERROR_INIT;
    struct stage *stage = stage_new();
    struct hf__url *url = NULL;
    char text[600];

    EXPECT(hf__sqlite_backend.size <= sizeof state);
    (void)snprintf(text, sizeof text, "sqlite:%s", path_of(""));
    EXPECT_IS(hf__url_parse(text, &url, &error), HF_OK);
    copy_file("/proc/self/cmdline", path_of(""));
    EXPECT_IS(hf__sqlite_backend.open(state, url, "",
                                      hf__after_ms(hf__now(), 1000), &error),
              HF_EPROTO);
    delete_db();
    pid_t holder = start_ready(hold_job, stage, 60000);
    hf__sqlite_backend.close(state);
    hf__url_free(url);
    replace_db();
    EXPECT_IS(finish(start(try_to_enter, stage, HF_EUNSAFE)), 0);
    kill_now(holder);
}
