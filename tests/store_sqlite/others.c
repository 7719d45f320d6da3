/* SPDX-License-Identifier: MIT */
/*
 * Other programs in the database: their transactions delay ours, and what they
 * write into a record is judged.
 */
#include "tests/store_sqlite/world.h"

#include <sqlite3.h>

void be_a_shell(struct stage *stage, int index)
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
    shell = start_ready(be_a_shell, stage, 0);
    EXPECT_IS(enter(&me), HF_OK);
    began = now_us();
    EXPECT_IS(acquire(&me, "job", 60000), HF_EUNAVAIL);
    EXPECT_HAS(me.error.text, "another program's transaction");
    EXPECT_MORE(now_us() - began, 390000);
    EXPECT_SOON(now_us() - began, 4000000);
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
    shell = start_ready(be_a_shell, stage, 0);
    {
        PEER(me);

        began = now_us();
        thread = hf__test_start(interrupt_soon, &me);
        EXPECT_IS(acquire(&me, "job", 60000), HF_EUNAVAIL);
        EXPECT_SOON(now_us() - began, 4000000);
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

/* Nobody can say any more who has it. */
TEST(what_makes_no_sense_is_not_cleaned_away)
{
    const struct hf__key prefix = {"test:", 5, 5};
    struct hf__gc gc = {.idle_us = 0};
    PEER(me);

    me.lock_mode.mode = HF__MODE_SHARED;
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    sql(path_of(""), "UPDATE holdfast_beside SET slots=7");
    EXPECT_IS(hf__conn_gc(&me.conn, &prefix, &gc, hf__after_ms(hf__now(), 5000),
                          &me.error),
              HF_OK);
    EXPECT_IS(gc.count, 0);
}
