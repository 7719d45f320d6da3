/* SPDX-License-Identifier: MIT */
/*
 * Members that are there and refuse: full, shut, busy, or closed to our user.
 * As long as the others are a majority nobody notices; else the error says why,
 * and all goes on, on the same client, once enough of them are well.
 */
#include "tests/store_redlock/world.h"

#include <string.h>

enum { MEMBERS = 5, MINORITY = 2, MAJORITY = 3, LEASE_MS = 1500 };

static const struct ail {
    const char *how[3]; /* the words of a command */
    const char *sick;   /* the last one that brings it about … */
    const char *well;   /* … and that ends it */
    int status;         /* of an acquire, where all have it */
    const char *words;
} ails[] = {
    {{"CONFIG", "SET", "maxmemory"},
     "1kb",
     "0",
     HF_EUNAVAIL,
     "raise maxmemory"},
    {{"CONFIG", "SET", "min-replicas-to-write"},
     "1",
     "0",
     HF_EUNAVAIL,
     "min-replicas-to-write"},
    {{"ACL", "SETUSER", "default"},
     "-evalsha",
     "+evalsha",
     HF_EAUTH,
     "allow this user"},
};
enum { AILS = (int)(sizeof ails / sizeof *ails) };

static void tell_first(int n, const struct ail *ail, const char *last)
{
    for (int i = 0; i < n; i++) {
        (void)hf__redis_command(member(i), "%s %s %s %s", ail->how[0],
                                ail->how[1], ail->how[2], last);
    }
}

static void try_until_granted(hf_client *client)
{
    UNTIL(try_once(client, "other") == HF_OK);
}

/* ---- what is refused */

TEST_WITHIN(90, a_minority_that_refuses_is_noticed_by_nobody)
{
    GROUP(MEMBERS);
    CLIENTS(alice, bob);

    for (int i = 0; i < AILS; i++) {
        AUTO_LOCK *job = acquire_leased(alice, "job", patience(LEASE_MS));

        tell_first(MINORITY, &ails[i], ails[i].sick);
        EXPECT_IS(try_once(alice, "other"), HF_OK);
        EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
        hf__test_pause_ms(2 * patience(LEASE_MS));
        expect_held(job);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        EXPECT_IS(try_once(bob, "job"), HF_OK);
        tell_first(MINORITY, &ails[i], ails[i].well);
        EXPECT_IS(try_once(bob, "job"), HF_OK);
    }
}

static void expect_told(int sick, const struct ail *ail, int status,
                        const char *words)
{
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    tell_first(sick, ail, ail->sick);
    EXPECT_IS(hf_acquire(alice, "other", &opts, &none, &err), status);
    printf("%s\n", err.text);
    EXPECT_HAS(err.text, words);
    for (int i = 0; i < sick; i++) {
        char address[32];

        snprintf(address, sizeof address, ":%d", port_of(i));
        EXPECT_HAS(err.text, address);
    }
    tell_first(sick, ail, ail->well);
    try_until_granted(alice);
    expect_nothing_left(~0U, "other");
}

TEST_WITHIN(60, members_that_refuse_say_why)
{
    AUTO_GROUP *g = durable_group(MEMBERS);

    for (int i = 0; i < AILS; i++) {
        expect_told(hf__redis_group_size(g), &ails[i], ails[i].status,
                    ails[i].words);
    }
}

/* The others grant it, which is asked for again until it is given back. */
TEST_WITHIN(60, what_a_minority_grants_while_a_majority_refuses_is_given_back)
{
    GROUP(MEMBERS);

    for (int i = 0; i < AILS; i++) {
        expect_told(MAJORITY, &ails[i], HF_EUNKNOWN, ails[i].words);
    }
}

/* Those that hold are renewed and released: it needs no memory. */
TEST_WITHIN(60, a_majority_that_is_full_costs_no_lock)
{
    AUTO_GROUP *g = durable_group(MEMBERS);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(LEASE_MS));

    tell_first(hf__redis_group_size(g), &ails[0], ails[0].sick);
    hf__test_pause_ms(2 * patience(LEASE_MS));
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    tell_first(MEMBERS, &ails[0], ails[0].well);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* ---- busy with somebody else's script that never ends */

struct stranger {
    struct hf__test_thread *thread;
    int member;
};

static void run_for_ever(void *arg)
{
    struct stranger *s = arg;

    EXPECT(hf__redis_try(member(s->member), "EVAL %s 0", "while true do end") !=
           NULL);
}

static void keep_first_busy(int n, struct stranger strangers[])
{
    for (int i = 0; i < n; i++) {
        (void)hf__redis_command(member(i), "CONFIG SET lua-time-limit 20");
        strangers[i].member = i;
        strangers[i].thread = hf__test_start(run_for_ever, &strangers[i]);
    }
    hf__test_pause_ms(100);
}

static void end_strangers(int n, struct stranger strangers[])
{
    for (int i = 0; i < n; i++) {
        EXPECT(hf__redis_try(member(i), "SCRIPT KILL") == NULL);
        hf__test_join(strangers[i].thread);
    }
}

TEST_WITHIN(60, one_that_is_busy_with_a_script_costs_no_lock)
{
    GROUP(3);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(LEASE_MS));
    struct stranger stranger;

    keep_first_busy(1, &stranger);
    EXPECT_IS(try_once(alice, "other"), HF_OK);
    hf__test_pause_ms(patience(LEASE_MS) + 200);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    end_strangers(1, &stranger);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    expect_nothing_left(~0U, "job");
}

TEST_WITHIN(60, a_majority_that_is_busy_with_scripts_is_told)
{
    GROUP(3);
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;
    struct stranger strangers[2];

    keep_first_busy(2, strangers);
    EXPECT_IS(hf_acquire(alice, "other", &opts, &none, &err), HF_EUNAVAIL);
    printf("%s\n", err.text);
    EXPECT_HAS(err.text, "SCRIPT KILL");
    end_strangers(2, strangers);
    try_until_granted(alice);
    expect_nothing_left(~0U, "other");
}
