/* SPDX-License-Identifier: MIT */
/*
 * Somebody changes our tables while locks are held: drops, empties, deletes,
 * writes nonsense. The holder hears of it at its renewal at the latest; no
 * fence falls; nobody is granted what another holds.
 */
#include "tests/store_server/damage.h"
#include "tests/store_postgres/world.h"

#include <stdlib.h>

#define FENCE_END (UINT64_C(1) << 53)

static void change(const char *sql)
{
    hf__postgres_sql(server(), database(), "%s", sql);
}

/* ---- what was held is gone */

static void drop_table(void)
{
    change("DROP TABLE holdfast_lock");
}

static void empty_table(void)
{
    change("TRUNCATE TABLE holdfast_lock");
}

static void delete_row(void)
{
    change("DELETE FROM holdfast_lock");
}

static void drop_all_tables(void)
{
    change("DROP TABLE holdfast_lock, holdfast_beside, holdfast_ticket");
}

CASE(a_row_that_is_deleted_is_a_lock_that_is_lost, lose_by(delete_row));
CASE(a_table_that_is_emptied_is_all_locks_lost, lose_by(empty_table));
CASE(a_table_that_is_dropped_is_made_anew, lose_by(drop_table));
CASE(all_tables_that_are_dropped_are_made_anew, lose_by(drop_all_tables));

CASE(who_was_deleted_and_replaced_is_told_so, replace_after(delete_row));

/* ---- nonsense in a row that nobody holds */

static int status_after(const char *assignments, hf_error *err)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, 30000);
    AUTO_LOCK *lock = NULL;
    int r;

    EXPECT_IS(try_once(alice, "new"), HF_OK); /* there are tables */
    delete_row();
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    set_row("job", assignments);
    *err = (hf_error)HF_ERROR_INIT;
    r = hf_acquire(alice, "job", &opts, &lock, err);
    printf("%s: %s: %s\n", assignments, hf_strstatus(r), err->text);
    EXPECT_IS(try_once(alice, "other"), HF_OK);
    if (r == HF_OK) {
        EXPECT_LESS(hf_fence(lock), FENCE_END);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
    return r;
}

TEST(a_fence_that_has_no_next_is_refused)
{
    hf_error err;

    EXPECT_IS(status_after("fence=-1", &err), HF_EPROTO);
    EXPECT_IS(status_after("fence=9007199254740991", &err), HF_EPROTO);
    EXPECT_TEXT(row_says("job", "expires"), "0"); /* given back */
    EXPECT_IS(status_after("fence=9007199254740000", &err), HF_OK);
}

TEST(a_fence_that_fell_is_not_believed)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 30000);
    uint64_t fence = hf_fence(job);
    AUTO_LOCK *again = NULL;

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    set_row("job", "fence=5");
    again = acquire_leased(alice, "job", 30000);
    EXPECT_SAFE_MORE(hf_fence(again), fence);
}

TEST(a_token_that_is_none_of_ours_keeps_the_name)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    hf_info *info = NULL;

    EXPECT_IS(status_after("token='mine',expires=4102444800000000", &err),
              HF_EPROTO);
    EXPECT_HAS(err.text, "make no sense");
    EXPECT_IS(hf_inspect(alice, "job", &info, &err), HF_EPROTO);
    hf_info_free(info);
}

TEST(times_before_all_time_are_the_past)
{
    hf_error err;

    EXPECT_IS(status_after("expires=-9223372036854775808", &err), HF_OK);
    EXPECT_IS(status_after("keep_until=-5,changed_at=-5,acquired_at=-5", &err),
              HF_OK);
}

/* ---- another clock: a server that was promoted, or somebody has set it */

#define HOUR "3600000000"

TEST(a_clock_that_is_an_hour_behind_shortens_no_lease)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 30000);
    AUTO_LOCK *next = NULL;
    int64_t before;

    set_row("job", "expires=expires+" HOUR ",changed_at=changed_at+" HOUR);
    before = strtoll(row_says("job", "expires"), NULL, 10);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_SAFE_MORE(strtoll(row_says("job", "expires"), NULL, 10), before - 1);
    EXPECT_SAFE_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    set_row("job", "fence=fence+" HOUR);
    next = acquire_leased(alice, "job", 30000);
    EXPECT_TEXT(row_says("job", "fence>acquired_at+3500000000"), "t");
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
}

TEST(a_clock_that_is_an_hour_ahead_is_told_at_the_next_renewal)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    AUTO_LOCK *next = NULL;

    set_row("job", "expires=expires-" HOUR ",changed_at=changed_at-" HOUR);
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    expect_lost(job, HF_REASON_EXPIRED);
    next = acquire_leased(bob, "job", 30000);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
}
