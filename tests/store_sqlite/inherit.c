/* SPDX-License-Identifier: MIT */
/*
 * Forked children that can't use the database: what they inherited of SQLite
 * can neither be ended nor left, so they are told to exec first.
 */
#include "tests/store_sqlite/world.h"

#include <sqlite3.h>
#include <unistd.h>

/* A child that closed everything can't be told from one that reuses the
 * descriptors for something else. */
static void enter_after_closing_all(struct stage *stage, int index)
{
    struct peer me = {0};
    int fd;

    (void)stage;
    (void)index;
    for (fd = 3; fd < 64; fd++) {
        (void)close(fd);
    }
    EXPECT_IS(enter(&me), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "exec");
}

TEST(a_forked_child_without_its_descriptors_is_refused)
{
    struct stage *stage = stage_new();
    PEER(me);

    EXPECT_IS(finish(start(enter_after_closing_all, stage, 0)), 0);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
}

static void enter_late(void *arg)
{
    struct peer *me = arg;

    EXPECT_IS(enter(me), HF_OK);
}

static void find_it_busy(struct stage *stage, int index)
{
    struct peer me = {.patience_ms = 300};

    (void)index;
    if (enter(&me) == HF_EUNSAFE) {
        EXPECT_HAS(me.error.text, "exec");
        atomic_store(&stage->arrived, 1);
    }
}

/* A child that was forked before the opening began waits for the writer. */
static bool is_refused(struct stage *stage)
{
    EXPECT_IS(finish(start(find_it_busy, stage, 0)), 0);
    return atomic_load(&stage->arrived) != 0;
}

static void write_long(struct stage *stage, int index)
{
    sqlite3 *db = NULL;

    (void)index;
    EXPECT_IS(sqlite3_open(path_of(""), &db), SQLITE_OK);
    EXPECT_IS(sqlite3_exec(db,
                           "UPDATE holdfast_meta SET boot='';BEGIN IMMEDIATE",
                           NULL, NULL, NULL),
              SQLITE_OK);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    (void)sqlite3_close(db);
}

/* SQLite's notes of a connection that was half open at the fork are as wrong
 * in the child as those of a busy one. */
TEST(a_child_forked_during_an_opening_is_refused)
{
    struct stage *stage = stage_new();
    struct hf__test_thread *opener;
    struct peer me = {0};
    pid_t writer;

    {
        PEER(first);
    }
    writer = start_ready(write_long, stage, 0);
    opener = hf__test_start(enter_late, &me);
    UNTIL(is_refused(stage));
    atomic_store(&stage->go, 1);
    hf__test_join(opener);
    EXPECT_IS(finish(writer), 0);
    leave(&me);
}
