/* SPDX-License-Identifier: MIT */
/*
 * A disk that is full where log or index must be made or grow: what is held is
 * renewed all the same, by the room that the side file keeps.
 */
#include "tests/store_sqlite/disk.h"
#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* From one process of the test to another. */
static void pass_token(struct stage *stage, const struct hf__token *token)
{
    for (size_t i = 0; i < sizeof token->bytes; i++) {
        atomic_store(&stage->count[i], token->bytes[i]);
    }
}

static struct hf__token passed_token(struct stage *stage)
{
    struct hf__token token;

    for (size_t i = 0; i < sizeof token.bytes; i++) {
        token.bytes[i] = (unsigned char)atomic_load(&stage->count[i]);
    }
    return token;
}

/* Lives by its lease, once the process has left. */
static void hold_for_later(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    EXPECT_IS(acquire(&me, "held", 60000), HF_OK);
    pass_token(stage, &me.token);
}

/* As the last one out, a shell takes log and index away. */
TEST(a_log_that_was_taken_away_is_made_again_on_a_full_disk)
{
    struct stage *stage = stage_new();
    struct stat st;

    mount_small();
    EXPECT_IS(finish(start(hold_for_later, stage, 0)), 0);
    sql(path_of(""), "SELECT count(*) FROM holdfast_held");
    EXPECT(stat(path_of("-wal"), &st) != 0);
    fill();
    PEER(me);
    me.token = passed_token(stage);
    EXPECT_IS(renew(&me, "held", 60000), HF_OK);
    EXPECT_IS(release(&me, "held"), HF_OK);
}

/* The log has room for more frames than a part of its index can name, and
 * can't be begun anew. */
static void read_on(struct stage *stage, int index)
{
    sqlite3 *db = NULL;
    int fd = open(path_of("-wal"), O_RDWR | O_CLOEXEC);

    (void)index;
    EXPECT_IS(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 20000000), 0);
    EXPECT_IS(close(fd), 0);
    EXPECT_IS(sqlite3_open(path_of(""), &db), SQLITE_OK);
    EXPECT_IS(sqlite3_exec(db, "BEGIN;SELECT count(*) FROM holdfast_lock", NULL,
                           NULL, NULL),
              SQLITE_OK);
    stay(stage);
    EXPECT_IS(sqlite3_close(db), SQLITE_OK);
}

static void renew_until_unknown(struct peer *holder)
{
    int r = HF_OK;

    for (int i = 0; i < 6000 && r == HF_OK; i++) {
        r = renew(holder, "held", 60000);
    }
    EXPECT_IS(r, HF_EUNKNOWN);
}

TEST(an_index_that_cannot_grow_costs_no_lock)
{
    struct stage *stage = stage_new();
    struct hf__token token;
    pid_t reader;

    mount_of("size=24m,mode=700");
    {
        PEER(holder);

        EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
        token = holder.token;
        reader = start(read_on, stage, 0);
        until(&stage->ready, 1);
        fill();
        renew_until_unknown(&holder);
    }
    PEER(again);
    again.token = token;
    EXPECT_IS(renew(&again, "held", 60000), HF_OK);
    atomic_store(&stage->stop, 1);
    EXPECT_IS(finish(reader), 0);
}

/* So much of a schema that the view has no place on its pages. */
static void make_another_view(void)
{
    char text[2400];

    (void)snprintf(text, sizeof text,
                   "DROP VIEW holdfast_held;VACUUM;"
                   "CREATE VIEW holdfast_held AS SELECT 1;"
                   "CREATE TABLE another(number DEFAULT '%0*d');"
                   "PRAGMA wal_checkpoint",
                   2000, 0);
    sql(path_of(""), text);
}

/* The view is for people: another one is as good where there is no room. */
TEST(a_store_with_anothers_view_can_be_opened_on_a_full_disk)
{
    mount_small();
    PEER(holder);
    EXPECT_IS(acquire(&holder, "held", 60000), HF_OK);
    make_another_view();
    fill();
    PEER(me);
    EXPECT_IS(acquire(&me, "held", 60000), HF_BUSY);
    EXPECT_IS(renew(&holder, "held", 60000), HF_OK);
}
