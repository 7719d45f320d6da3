/* SPDX-License-Identifier: MIT */
/*
 * A server that lets nobody in any more, has its table of locks full, ends idle
 * sessions or all of ours: a clear error in time, and no lock that is held
 * suffers from what is refused to others.
 */
#include "tests/contract/loop.h"
#include "tests/contract/peer.h"
#include "tests/servers/servers.h"
#include "tests/store_postgres/world.h"
#include "tests/store_server/damage.h"
#include "tests/store_server/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- no more connections */

enum { PLACES = 16 };

/* As many as there are places for. */
static int fill(PGconn *others[PLACES])
{
    for (int i = 0; i < PLACES; i++) {
        char url[HF__POSTGRES_URL];

        hf__postgres_url(server(), database(), url, sizeof url);
        others[i] = PQconnectdb(url);
        if (PQstatus(others[i]) != CONNECTION_OK) {
            return i;
        }
    }
    return PLACES;
}

static void empty(PGconn *others[PLACES])
{
    for (int i = 0; i < PLACES; i++) {
        PQfinish(others[i]);
    }
}

static const char *const few_places[] = {
    "max_connections = 16", "superuser_reserved_connections = 3", NULL};

TEST_WITHIN(60, who_comes_when_all_places_are_taken_is_told)
{
    AUTO_SERVER *s = own_server(few_places);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    PGconn *others[PLACES] = {0};
    hf_error err = HF_ERROR_INIT;
    int64_t start;

    UNTIL(stats_of(alice).renewed > 0); /* by a connection of its own */
    EXPECT_LESS(fill(others), PLACES);
    EXPECT_IS(open_status(store_url(NULL), &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "max_connections");
    EXPECT_TEXT(err.sqlstate, "53300");
    start = hf__test_now_ms();
    while (since(start) < patience(2000)) {
        EXPECT_IS(try_once(alice, "other"), HF_OK);
        EXPECT(hf_held(job));
        hf__test_pause_ms(50);
    }
    empty(others);
    UNTIL(open_status(store_url(NULL), &err) == HF_OK);
    EXPECT(!hf__postgres_has_ended(s));
}

TEST_WITHIN(60, who_waits_when_all_places_are_taken_is_served_all_the_same)
{
    AUTO_SERVER *s = own_server(few_places);
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    AUTO_LOCK *task = acquire_leased(alice, "task", 60000);
    hf_acquire_opts opts = wanting(HF_FOREVER, 60000);
    AUTO_OUTCOME first = {0};
    AUTO_OUTCOME second = {0};
    PGconn *others[PLACES] = {0};

    EXPECT_IS(try_once(bob, "else"), HF_OK);
    EXPECT_LESS(fill(others), PLACES);
    opts.owner_id = 0;
    begin(bob, "job", &opts, &first);
    begin(bob, "task", &opts, &second);
    loop_for(bob, 500);
    EXPECT_IS(first.calls + second.calls, 0);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(await(bob, &first), HF_OK);
    EXPECT_IS(hf_release(task, NULL), HF_OK);
    EXPECT_IS(await(bob, &second), HF_OK);
    empty(others);
    EXPECT(!hf__postgres_has_ended(s));
}

/* ---- the server's table of locks, which all sessions share */

static const char *const few_locks[] = {"max_connections = 20",
                                        "max_locks_per_transaction = 10", NULL};

static int advisory_locks(void)
{
    return (int)strtol(answer("SELECT count(*) FROM pg_locks WHERE "
                              "locktype='advisory'"),
                       NULL, 10);
}

TEST_WITHIN(60, ten_thousand_grants_of_one_session_leave_the_others_room)
{
    static struct batch all[10000 / BATCH_MAX + 1];
    AUTO_SERVER *s = own_server(few_locks);
    AUTO_STRANGER *db = stranger();
    DOOR(alice);
    DOOR(bob);

    EXPECT_IS(enter(&alice, store_url(NULL)), HF_OK);
    EXPECT_IS(enter(&bob, store_url(NULL)), HF_OK);
    for (int i = 0; i <= 10000 / BATCH_MAX; i++) {
        char stem[16];

        snprintf(stem, sizeof stem, "n%02d.", i);
        prepare(&all[i], stem, BATCH_MAX, 60000000);
        ask_all(&alice, &all[i], HF__OP_ACQUIRE);
    }
    EXPECT_MORE(advisory_locks(), 0);
    EXPECT_LESS(advisory_locks(), 33);
    use(&bob, "other");
    EXPECT_IS(claim(&bob, "job", NULL), HF_OK);
    EXPECT_LESS(advisory_locks(), 35);
    tell(db, "SELECT pg_advisory_xact_lock(i) FROM generate_series(1,50) i");
    for (int i = 0; i <= 10000 / BATCH_MAX; i++) {
        ask_all(&alice, &all[i], HF__OP_RELEASE);
    }
    EXPECT_IS(advisory_locks(), 1); /* of bob's job */
    EXPECT(!hf__postgres_has_ended(s));
}

/* All places that are free just now; who ends, as vacuum does, gives some
 * back. */
static void fill_locks(PGconn *db)
{
    PGresult *result = PQexec(db, "DO $$ BEGIN FOR i IN 1..100000 LOOP PERFORM "
                                  "pg_advisory_lock(i); END LOOP; END $$");

    EXPECT_TEXT(PQresultErrorField(result, PG_DIAG_SQLSTATE), "53200");
    PQclear(result);
}

static int renew_where_full(PGconn *db, hf_lock *job)
{
    fill_locks(db);
    return hf_renew(job, NULL);
}

static int acquire_where_full(PGconn *db, hf_client *alice, hf_error *err)
{
    hf_acquire_opts opts = wanting(0, 30000);
    hf_lock *got = NULL;
    int r;

    fill_locks(db);
    r = hf_acquire(alice, "other", &opts, &got, err);
    if (r == HF_OK) {
        EXPECT_IS(hf_release(got, NULL), HF_OK);
    }
    return r;
}

/* A transaction that writes needs a place in it, too. */
TEST_WITHIN(60, where_others_have_it_full_what_is_held_is_held_to_its_end)
{
    AUTO_SERVER *s = own_server(few_locks);
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(try_once(alice, "other"), HF_OK);
    UNTIL(renew_where_full(db, job) == HF_EUNAVAIL);
    UNTIL(acquire_where_full(db, alice, &err) == HF_EUNAVAIL);
    EXPECT_HAS(err.text, "max_locks_per_transaction");
    EXPECT_IS(hf_held(job), 1);
    tell(db, "SELECT pg_advisory_unlock_all()");
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_IS(attempt(alice, "other", 10000), HF_OK);
    EXPECT(!hf__postgres_has_ended(s));
}

/* ---- ended by the server, or an administrator */

TEST_WITHIN(60, a_server_that_ends_idle_sessions_ends_none_of_ours)
{
    static const char *const extra[] = {"idle_session_timeout = 300", NULL};
    AUTO_SERVER *s = own_server(extra);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    AUTO_STRANGER *db = stranger();
    uint64_t connects;

    EXPECT_IS(try_once(alice, "other"), HF_OK);
    connects = stats_of(alice).connects;
    UNTIL(PQstatus(db) == CONNECTION_BAD || PQconsumeInput(db) == 0);
    hf__test_pause_ms(500);
    EXPECT_IS(try_once(alice, "other"), HF_OK);
    expect_held(job);
    EXPECT_IS(stats_of(alice).connects, connects);
    EXPECT(!hf__postgres_has_ended(s));
}

static void end_sessions(void)
{
    (void)answer("SELECT count(pg_terminate_backend(pid)) FROM "
                 "pg_stat_activity WHERE datname='%s' AND application_name "
                 "LIKE 'holdfast.%%'",
                 database());
}

CASE_WITHIN(60, sessions_that_are_ended_cost_nobody_a_lock,
            outlive_ends_of(end_sessions));

TEST_WITHIN(60, a_server_that_turns_read_only_is_at_risk_and_then_lost)
{
    AUTO_SERVER *s = own_server(NULL);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(2500));
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    hf__postgres_sql(s, database(),
                     "REVOKE UPDATE, INSERT ON holdfast_lock FROM %s",
                     HF__POSTGRES_USER);
    EXPECT_IS(hf_acquire(alice, "other", &opts, &none, &err), HF_EAUTH);
    EXPECT_HAS(err.text, "grant");
    UNTIL(hf_state(job) == HF_STATE_AT_RISK);
    EXPECT_IS(hf_wait_lost(job, 30000), HF_LOST);
    expect_lost(job, HF_REASON_EXPIRED);
    hf__postgres_sql(s, database(),
                     "GRANT UPDATE, INSERT ON holdfast_lock TO %s",
                     HF__POSTGRES_USER);
    EXPECT_IS(attempt(alice, "job", 3000), HF_OK);
}
