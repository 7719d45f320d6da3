/* SPDX-License-Identifier: MIT */
/*
 * What is in the database beside the names' records: nobody is inside together
 * with a program that knows another form of the side file, rows that were
 * edited by hand never make two holders, nothing is left behind, and a restart
 * of the machine ends it all.
 */
#include "src/backend/local/side.h"
#include "src/base/ofd.h"
#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Ends the test unless the condition holds: an overflow is an error of SQL. */
static void expect_sql(const char *condition)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "SELECT iif(%s,0,abs(-9223372036854775807-1))", condition);
    sql(path_of(""), text);
}

/* Restored by hand, say, with another encoding. */
TEST(a_database_in_another_encoding_is_refused)
{
    struct peer me = {0};

    sql(path_of(""), "PRAGMA encoding='UTF-16';PRAGMA journal_mode=WAL;"
                     "CREATE TABLE holdfast_lock(key TEXT);"
                     "PRAGMA application_id=1212574827;PRAGMA user_version=3");
    EXPECT_IS(enter(&me), HF_EPROTO);
    EXPECT_HAS(me.error.text, "UTF-16");
}

static void take_two(struct peer *me, const char *lasts, const char *ends)
{
    EXPECT_IS(acquire(me, lasts, 600000), HF_OK);
    begin_anew(me);
    EXPECT_IS(acquire(me, ends, 20), HF_OK);
    begin_anew(me);
}

/* Also in a database that was made with another view. */
TEST(the_view_shows_who_holds_and_nobody_else)
{
    {
        PEER(me);
    }
    sql(path_of(""), "DROP VIEW holdfast_held;"
                     "CREATE VIEW holdfast_held AS SELECT 1 AS key");
    PEER(me);
    take_two(&me, "job", "over");
    take_two(&me, "mark", "over2");
    me.lock_mode.mode = HF__MODE_SHARED;
    take_two(&me, "read", "read over");
    EXPECT_IS(acquire(&me, "let go", 600000), HF_OK);
    EXPECT_IS(release(&me, "let go"), HF_OK);
    sql(path_of(""), "UPDATE holdfast_lock SET key='test;3:job:' "
                     "WHERE key='test:mark'");
    hf__test_pause_ms(100);
    expect_sql("(SELECT count(*)=2 FROM holdfast_held)");
    expect_sql("(SELECT mode='alone' FROM holdfast_held WHERE key='test:job')");
    expect_sql("(SELECT mode='shared' FROM holdfast_held "
               "WHERE key='test:read')");
}

/* A process of an earlier version: its board, and its presence there. */
static void be_older(struct stage *stage, int index)
{
    char head[16] = "HFlkside";
    uint32_t numbers[2] = {1, 74000};
    int fd = open(path_of("-holdfast"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)index;
    EXPECT(fd >= 0);
    memcpy(head + 8, numbers, sizeof numbers);
    EXPECT_IS(ftruncate(fd, 74000), 0);
    EXPECT_IS(pwrite(fd, head, sizeof head, 0), sizeof head);
    EXPECT_IS(hf__ofd_lock(fd, F_RDLCK, HF__BYTE_PRESENCE), 0);
    stay(stage);
}

TEST(nobody_enters_while_an_older_program_is_inside)
{
    struct stage *stage = stage_new();
    struct peer me = {0};
    pid_t older;

    older = start_ready(be_older, stage, 0);
    EXPECT_IS(enter(&me), HF_EPROTO);
    EXPECT_HAS(me.error.text, "older version");
    EXPECT_HAS(me.error.text, "stop all programs");
    EXPECT_IS(access(path_of(""), F_OK), -1); /* nothing was made */
    kill_now(older);
    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(acquire(&me, "job", 20000), HF_OK);
    leave(&me);
}

/* ---- rows that make no sense */

/* Two who share "job", and one who waits for it alone. */
struct trio {
    struct peer a;
    struct peer b;
    struct peer waiter;
};

static void leave_trio(struct trio *t)
{
    leave(&t->a);
    leave(&t->b);
    leave(&t->waiter);
}

static void enter_trio(struct trio *t)
{
    EXPECT_IS(enter(&t->a), HF_OK);
    EXPECT_IS(enter(&t->b), HF_OK);
    EXPECT_IS(enter(&t->waiter), HF_OK);
    t->a.lock_mode.mode = HF__MODE_SHARED;
    t->b.lock_mode.mode = HF__MODE_SHARED;
    t->waiter.is_fair = true;
    EXPECT_IS(acquire(&t->a, "job", 20000), HF_OK);
    EXPECT_IS(acquire(&t->b, "job", 20000), HF_OK);
    EXPECT_IS(acquire(&t->waiter, "job", 20000), HF_BUSY);
    EXPECT(t->waiter.is_queued);
}

TEST(a_damaged_grant_beside_others_is_refused)
{
    static const char *const damages[] = {
        "mode=7", "fence=-1", "fence='x'", "boot=X'00'", "mode=2,slots=0",
    };

    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        HF_AUTO(leave_trio) struct trio t = {0};
        char text[160];

        sql(path_of(""), i == 0 ? "SELECT 1"
                                : "DELETE FROM holdfast_beside;"
                                  "DELETE FROM holdfast_ticket");
        enter_trio(&t);
        (void)snprintf(text, sizeof text,
                       "UPDATE holdfast_beside SET %s WHERE token="
                       "(SELECT token FROM holdfast_beside ORDER BY fence "
                       "LIMIT 1)",
                       damages[i]);
        sql(path_of(""), text);
        EXPECT_IS(acquire(&t.waiter, "job", 20000), HF_EPROTO);
        EXPECT_HAS(t.waiter.error.text, "holdfast_beside");
        EXPECT_IS(renew(&t.b, "job", 20000), HF_OK);
        EXPECT_IS(release(&t.b, "job"), HF_OK);
        (void)release(&t.a, "job");
        (void)release(&t.waiter, "job");
    }
}

TEST(a_row_deleted_by_hand_frees_its_place)
{
    HF_AUTO(leave_trio) struct trio t = {0};
    int holders = 0;
    int waiters = 0;

    enter_trio(&t);
    sql(path_of(""), "DELETE FROM holdfast_beside WHERE fence="
                     "(SELECT min(fence) FROM holdfast_beside)");
    EXPECT_IS(renew(&t.a, "job", 20000), HF_LOST);
    count_crowd(&t.b, "job", &holders, &waiters);
    EXPECT_IS(holders, 1);
    EXPECT_IS(waiters, 1);
    sql(path_of(""), "DELETE FROM holdfast_ticket");
    EXPECT_IS(release(&t.b, "job"), HF_OK);
    EXPECT_IS(release(&t.waiter, "job"), HF_LOST);
    EXPECT_IS(acquire(&t.a, "job", 20000), HF_OK);
    expect_sql("(SELECT beside=1 AND line=0 FROM holdfast_lock)");
    EXPECT_IS(release(&t.a, "job"), HF_OK);
    expect_sql("(SELECT beside=0 AND line=0 FROM holdfast_lock)");
}

TEST(damaged_tickets_are_in_nobodys_way)
{
    HF_AUTO(leave_trio) struct trio t = {0};

    enter_trio(&t);
    sql(path_of(""), "UPDATE holdfast_ticket SET token='nobody',mode=9,seq=-5");
    EXPECT_IS(release(&t.a, "job"), HF_OK);
    EXPECT_IS(release(&t.b, "job"), HF_OK);
    begin_anew(&t.a);
    t.a.lock_mode.mode = HF__MODE_EXCLUSIVE;
    EXPECT_IS(acquire(&t.a, "job", 20000), HF_OK);
    EXPECT_IS(acquire(&t.waiter, "job", 20000), HF_BUSY);
    EXPECT(t.waiter.is_queued);
    EXPECT_IS(release(&t.a, "job"), HF_OK);
    EXPECT_IS(acquire(&t.waiter, "job", 20000), HF_OK);
    EXPECT_IS(release(&t.waiter, "job"), HF_OK);
}

/* ---- what is left */

static void die_in_line(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    me.is_fair = true;
    EXPECT_IS(acquire(&me, "job", 20000), HF_BUSY);
    EXPECT(me.is_queued);
    stay(stage);
}

TEST(tickets_of_the_killed_are_cleaned_away)
{
    struct stage *stage = stage_new();
    pid_t pids[40];
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 20000), HF_OK);
    for (int i = 0; i < 40; i++) {
        pids[i] = start(die_in_line, stage, i);
    }
    until(&stage->ready, 40);
    for (int i = 0; i < 40; i++) {
        kill_now(pids[i]);
    }
    expect_sql("(SELECT count(*)=40 FROM holdfast_ticket)");
    EXPECT_IS(release(&me, "job"), HF_OK);
    for (int i = 0; i < 3; i++) {
        begin_anew(&me);
        EXPECT_IS(acquire(&me, "job", 20000), HF_OK);
        EXPECT_IS(release(&me, "job"), HF_OK);
    }
    expect_sql("(SELECT count(*)=0 FROM holdfast_ticket)");
    expect_sql("(SELECT line=0 FROM holdfast_lock)");
}

/* Its stamp is by a clock that can't be compared: its life byte decides. */
TEST(a_waiter_of_another_clock_counts_while_it_lives)
{
    struct stage *stage = stage_new();
    pid_t waiter;
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 20000), HF_OK);
    waiter = start_ready(die_in_line, stage, 0);
    sql(path_of(""), "UPDATE holdfast_ticket SET boot=substr(boot,1,36)||':1'");
    EXPECT_IS(release(&me, "job"), HF_OK);
    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 200);
    begin_anew(&me);
    EXPECT_IS(acquire(&me, "job", 20000), HF_BUSY);
    EXPECT(me.record.is_promised);
    kill_now(waiter);
    EXPECT_IS(acquire(&me, "job", 20000), HF_OK);
}

static void crowd_and_die(struct stage *stage, int index)
{
    HF_AUTO(leave_trio) struct trio t = {0};

    (void)index;
    enter_trio(&t);
    atomic_store(&stage->count[0], (long long)t.b.fence);
    _exit(0);
}

/* All that was there is of a boot that is over. */
TEST(a_restart_ends_lines_and_grants_beside_others)
{
    static const char boot[] = "boot='00000000-0000-0000-0000-000000000000:1'";
    struct stage *stage = stage_new();
    char text[400];

    EXPECT_IS(finish(start(crowd_and_die, stage, 0)), 0);
    (void)snprintf(text, sizeof text,
                   "UPDATE holdfast_beside SET %s;"
                   "UPDATE holdfast_ticket SET %s;"
                   "UPDATE holdfast_lock SET %s;UPDATE holdfast_meta SET %s",
                   boot, boot, boot, boot);
    sql(path_of(""), text);
    PEER(me);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(!me.record.is_held && !me.record.is_promised);
    EXPECT_IS(acquire(&me, "job", 20000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->count[0]));
    expect_sql("(SELECT count(*)=0 FROM holdfast_ticket)");
    expect_sql("(SELECT count(*)=0 FROM holdfast_beside)");
}

/* It lives by its lease alone and runs on by the wall clock; whose clock began
 * anew can't lengthen it, for the two would be mixed. */
TEST(a_grant_beside_others_of_another_boot_is_not_renewed)
{
    PEER(me);
    PEER(other);

    me.lock_mode.mode = HF__MODE_SHARED;
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    sql(path_of(""), "UPDATE holdfast_beside SET side=NULL,"
                     "boot='00000000-0000-0000-0000-000000000000:1'");
    EXPECT_IS(acquire(&other, "job", 1000), HF_BUSY);
    EXPECT_IS(renew(&me, "job", 3600000), HF_LOST);
    EXPECT_IS(acquire(&other, "job", 1000), HF_BUSY);
    EXPECT_LESS(other.record.remaining_us, 61000000);
}
