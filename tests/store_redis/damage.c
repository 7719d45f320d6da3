/* SPDX-License-Identifier: MIT */
/*
 * Somebody deletes or overwrites our keys while locks are held. The holder
 * hears of it at its renewal at the latest; no fence falls; nobody is granted
 * what another holds; and what is not ours stays as it is.
 */
#include "tests/store_server/damage.h"
#include "tests/store_redis/world.h"

#include <stdlib.h>
#include <string.h>

enum { LEASE_MS = 1500 };

/* ---- what was held is gone */

static void flush_all(void)
{
    hf__redis_command(server(), "FLUSHALL");
}

static void delete_key(void)
{
    EXPECT_TEXT(hf__redis_command(server(), "DEL %s", record("job")), "1");
}

CASE(a_key_that_is_deleted_is_a_lock_that_is_lost, lose_by(delete_key));

TEST_WITHIN(60, a_server_that_is_flushed_is_all_locks_lost)
{
    OWN_SERVER(false);

    lose_by(flush_all);
}

CASE(who_was_deleted_and_replaced_is_told_that_it_was_taken,
     replace_after(delete_key));

/* A shared grant is in another key than the record. */
TEST(a_grant_beside_others_that_is_deleted_is_lost)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = NULL;
    hf_acquire_opts opts = wanting(0, patience(LEASE_MS));

    opts.shared = 1;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &job, NULL), HF_OK);
    forget_all();
    EXPECT_IS(hf_wait_lost(job, patience(LEASE_MS)), HF_LOST);
    expect_lost(job, HF_REASON_STORE_GONE);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

TEST(scripts_that_are_flushed_cost_nobody_an_error)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = NULL;
    AUTO_LOCK *next = NULL;

    for (int i = 0; i < 3; i++) {
        hf__redis_command(server(), "SCRIPT FLUSH");
        hf_free(job);
        job = acquire(alice, "job");
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(try_once(bob, "job"), HF_BUSY);
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(presence(bob, "job"), HF_HELD_BY);
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
    next = acquire(bob, "job");
    expect_held(next);
}

/* ---- something else is at the key */

static void put_string(void)
{
    hf__redis_command(server(), "SET %s precious", record("job"));
}

static void put_list(void)
{
    hf__redis_command(server(), "RPUSH %s precious", record("job"));
}

static void put_hash(void)
{
    hf__redis_command(server(), "HSET %s color precious", record("job"));
}

static void dump(char *bytes, size_t size)
{
    snprintf(bytes, size, "%s",
             hf__redis_command(server(), "DUMP %s", record("job")));
}

/* Named with what helps, by whatever comes; and left as it is. */
static void expect_refused(void (*put)(void))
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_info *info = NULL;
    hf_lock *none = NULL;
    char before[256];
    char after[256];

    put();
    dump(before, sizeof before);
    EXPECT_IS(hf_acquire(alice, "job", &opts, &none, &err), HF_EPROTO);
    printf("%s\n", err.text);
    EXPECT_HAS(err.text, "job");
    EXPECT_HAS(err.text, "another prefix");
    EXPECT(strstr(err.text, "that never expires") || put == put_hash);
    opts.shared = 1;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &none, &err), HF_EPROTO);
    EXPECT_IS(hf_inspect(alice, "job", &info, &err), HF_EPROTO);
    EXPECT_IS(hf_break(alice, "job", 0, &err), HF_EPROTO);
    EXPECT_IS(try_once(alice, "other"), HF_OK);
    dump(after, sizeof after);
    EXPECT_TEXT(after, before);
    EXPECT_TEXT(hf__redis_command(server(), "PTTL %s", record("job")), "-1");
}

CASE(a_string_at_the_key_is_named_and_left_alone, expect_refused(put_string));
CASE(a_list_at_the_key_is_named_and_left_alone, expect_refused(put_list));
CASE(a_hash_of_something_else_is_named_and_left_alone,
     expect_refused(put_hash));

/* As many programs lock: it is said what was found, and for how long yet. */
TEST(a_lock_by_set_nx_px_is_told_as_such)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;
    const char *at;

    hf__redis_command(server(), "SET %s 5f0c NX PX 3600000", record("job"));
    EXPECT_IS(hf_acquire(alice, "job", NULL, &none, &err), HF_EPROTO);
    EXPECT_HAS(err.text, "a string that expires in 3");
    EXPECT_HAS(err.text, "SET … NX PX");
    EXPECT_HAS(err.text, "another prefix=");
    EXPECT(!strstr(err.text, "5f0c"));
    at = strstr(err.text, "expires in ");
    EXPECT_MORE(strtol(at + 11, NULL, 10), 3000);
    EXPECT_TEXT(hf__redis_command(server(), "GET %s", record("job")), "5f0c");
}

static int count_one(void *arg, const hf_info *info)
{
    (void)info;
    ++*(int *)arg;
    return 0;
}

/* Neither told, nor deleted, nor in the way of the others. */
TEST(what_is_not_ours_is_neither_listed_nor_cleaned_away)
{
    HELD(held, alice);
    hf_gc_info gone = HF_GC_INFO_INIT;
    int listed = 0;

    put_string();
    hf__redis_command(server(), "HSET holdfast:{other} color blue");
    hf__redis_command(server(), "SET holdfast:job x");
    EXPECT_IS(hf_list(alice, NULL, count_one, &listed, NULL), HF_OK);
    EXPECT_IS(listed, 1);
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 0);
    EXPECT_IS(count_keys(), 4);
    EXPECT_IS(hf_release(held, NULL), HF_OK);
}

/* ---- nonsense in a record of ours */

TEST(nonsense_in_a_record_grants_nothing)
{
    static const char *const fields[] = {"fence", "expires", "keep"};
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    for (int i = 0; i < 3; i++) {
        forget_all();
        EXPECT_IS(try_once(alice, "job"), HF_OK);
        hf__redis_command(server(), "HSET %s %s twelve", record("job"),
                          fields[i]);
        EXPECT_IS(hf_acquire(alice, "job", &opts, &none, &err), HF_EPROTO);
        EXPECT_HAS(err.text, "job");
        EXPECT_HAS(err.text, "DEL");
        EXPECT_TEXT(record_says("job", fields[i]), "twelve");
    }
    EXPECT_IS(try_once(alice, "other"), HF_OK);
}

TEST(a_fence_that_has_no_next_is_refused)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__redis_command(server(), "HSET %s fence 9007199254740992",
                      record("job"));
    EXPECT_IS(hf_acquire(alice, "job", &opts, &none, &err), HF_EPROTO);
    printf("%s\n", err.text);
    EXPECT_IS(try_once(alice, "other"), HF_OK);
}
