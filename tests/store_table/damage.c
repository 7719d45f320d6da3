/* SPDX-License-Identifier: MIT */
/*
 * Somebody changes our tables while locks are held: drops, empties, deletes,
 * writes nonsense. The holder hears of it at its renewal at the latest; no
 * fence falls; nobody is granted what another holds.
 */
#include "tests/store_server/damage.h"
#include "tests/store_table/tables.h"

#include <stdlib.h>

#define FENCE_END (UINT64_C(1) << 53)

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
CASE(a_database_that_is_made_anew_is_a_new_store, lose_by(make_database_anew));

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

    EXPECT_IS(status_after(is_mysql ? "fence=18446744073709551615" : "fence=-1",
                           &err),
              HF_EPROTO);
    EXPECT_IS(status_after("fence=9007199254740991", &err), HF_EPROTO);
    EXPECT_IS(status_after("fence=9007199254740992", &err), HF_EPROTO);
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
    EXPECT_HAS(err.text, "no sense");
    EXPECT_IS(hf_inspect(alice, "job", &info, &err), HF_EPROTO);
    hf_info_free(info);
    if (is_mysql) { /* its lease over, it is in nobody's way */
        EXPECT_IS(status_after("token='mine',expires=1", &err), HF_OK);
    }
}

TEST(times_before_all_time_are_the_past)
{
    hf_error err;

    EXPECT_IS(status_after("expires=-9223372036854775808", &err), HF_OK);
    EXPECT_IS(status_after("keep_until=-5,changed_at=-5,acquired_at=-5", &err),
              HF_OK);
    if (is_mysql) {
        EXPECT_IS(status_after("revision=18446744073709551615", &err),
                  HF_EPROTO);
    }
}

/* A clock that was far ahead once: the row would be closed for ever. */
TEST(times_after_all_time_are_told)
{
    hf_error err;

    EXPECT_IS(status_after("changed_at=9223372036854775807", &err), HF_OK);
    EXPECT_IS(status_after("keep_until=9223372036854775807", &err), HF_BUSY);
}

/* ---- nonsense in a row that is held */

static void hold_through(const char *assignments, int expected, hf_reason why)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 30000);
    hf_error err = HF_ERROR_INIT;

    set_row("job", assignments);
    EXPECT_IS(hf_renew(job, &err), expected);
    if (expected == HF_LOST) {
        expect_lost(job, why);
    } else {
        EXPECT_IS(hf_held(job), 1); /* until its deadline */
    }
    delete_row();
}

TEST(a_holder_whose_row_is_edited_is_told)
{
    char taken[80];

    hold_through("token='garbage'", HF_EPROTO, HF_REASON_NONE);
    hold_through("token=''", HF_LOST, HF_REASON_EXPIRED);
    hold_through("expires=1", HF_LOST, HF_REASON_EXPIRED);
    hold_through("fence=1,token=''", HF_LOST, HF_REASON_STORE_GONE);
    snprintf(taken, sizeof taken, "fence=fence+1,token=%s", sixteen_x);
    hold_through(taken, HF_LOST, HF_REASON_TAKEN);
    if (is_mysql) {
        hold_through("revision=18446744073709551615", HF_EPROTO,
                     HF_REASON_NONE);
    }
    hold_through(is_mysql ? "label='\\0\\'x',note='\\t'"
                          : "label=E'\\x01''x',note=E'\\t'",
                 HF_OK, HF_REASON_NONE);
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
    EXPECT_SAFE_MORE(strtoll(row_says("job", "fence-acquired_at"), NULL, 10),
                     3500000000);
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
