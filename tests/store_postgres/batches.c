/* SPDX-License-Identifier: MIT */
/*
 * What many operations of one call cost each other and the server, at the
 * contract: rows that a stranger keeps, batches that overlap, a deadline that
 * comes before the last of them, what is written for whoever gets nothing; and
 * the bells that are left when they are over.
 */
#include "src/base/rand.h"
#include "tests/store_postgres/site.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- some of many */

enum { KEPT = 16 };

/* Keeps so many rows locked, of names that lie apart, the first one that one,
 * until it is closed. */
static PGconn *keep_from(int first)
{
    PGconn *person = stranger();

    say(person, "BEGIN");
    for (int i = 0; i < KEPT; i++) {
        char statement[200];

        snprintf(statement, sizeof statement,
                 "SELECT FROM holdfast_lock WHERE name_key='holdfast:n%03d' "
                 "FOR UPDATE",
                 first + i * (BATCH_MAX / KEPT));
        say(person, statement);
    }
    return person;
}

/* All but those are done; each of them would wait for a quarter of a second. */
static void ask_others(struct door *d, struct batch *b, enum hf__op_kind kind)
{
    int64_t start = hf__test_now_ms();

    EXPECT_IS(ask(d, b, kind, 20000), HF_OK);
    EXPECT_SOON(hf__test_now_ms() - start, 3500);
    EXPECT_IS(count(b, HF_OK), b->n - KEPT);
    EXPECT_IS(count(b, HF__AGAIN), KEPT);
}

TEST_WITHIN(60, rows_that_a_person_keeps_locked_hold_up_no_other_of_a_call)
{
    DOOR(d);
    struct batch b;
    PGconn *person;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&b, "n", BATCH_MAX, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE); /* so that there are rows */
    ask_all(&d, &b, HF__OP_RELEASE);
    person = keep_from(8);
    prepare(&b, "n", BATCH_MAX, 60000000);
    ask_others(&d, &b, HF__OP_ACQUIRE);
    PQfinish(person);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    person = keep_from(8);
    ask_others(&d, &b, HF__OP_RENEW);
    ask_others(&d, &b, HF__OP_RELEASE);
    PQfinish(person);
}

/* A short lease is renewed with little time. */
TEST(a_row_that_stays_locked_past_a_short_deadline_costs_no_session)
{
    DOOR(d);
    struct batch b;
    PGconn *person;
    int64_t start;
    int r;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&b, "n", 1, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    person = keep_from(0);
    start = hf__test_now_ms();
    r = ask(&d, &b, HF__OP_RENEW, 200);
    /* Only who is stopped by the system for so long may miss it. */
    EXPECT_SOON(hf__test_now_ms() - start, 200);
    EXPECT_IS(r, HF_OK);
    EXPECT_IS(count(&b, HF__AGAIN), 1);
    PQfinish(person);
    ask_all(&d, &b, HF__OP_RENEW);
}

/* Who decides on each by itself stops in time, and the session lives. */
TEST_WITHIN(60, a_deadline_amid_many_grants_costs_the_session_nothing)
{
    DOOR(d);
    struct batch b;
    int64_t start;
    int r;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare_shared(&b, "n", BATCH_MAX, 60000000);
    start = hf__test_now_ms();
    r = ask(&d, &b, HF__OP_ACQUIRE, 100);
    /* Only who is stopped by the system for so long may miss it. */
    EXPECT_SOON(hf__test_now_ms() - start, 100);
    EXPECT_IS(r, HF_OK);
    EXPECT_MORE(count(&b, HF__AGAIN), 0);
    EXPECT_IS(count(&b, HF_OK) + count(&b, HF__AGAIN), b.n);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    ask_all(&d, &b, HF__OP_RENEW);
    ask_all(&d, &b, HF__OP_RELEASE);
}

/* ---- many that overlap */

enum { CLIENTS = 8, NAMES = 64, OF_EACH = 16, ROUNDS = 60 };

static atomic_int inside[NAMES];

/* Some of the names, sorted still. */
static void choose(struct batch *b)
{
    bool is_chosen[NAMES] = {false};
    int n = 0;

    for (int left = OF_EACH; left > 0;) {
        int i = (int)hf__random_between(0, NAMES - 1);

        left -= !is_chosen[i];
        is_chosen[i] = true;
    }
    for (int i = 0; i < NAMES; i++) {
        if (is_chosen[i]) {
            b->op[n++] = b->op[i];
        }
    }
    b->n = n;
}

static int number_of(const struct hf__op *op)
{
    return (int)strtol(op->key.bytes + strlen("holdfast:n"), NULL, 10);
}

static void hold_for_a_moment(struct door *d, struct batch *b)
{
    int n = 0;

    EXPECT_IS(ask(d, b, HF__OP_ACQUIRE, 15000), HF_OK);
    for (int i = 0; i < b->n; i++) {
        if (b->op[i].result == HF_OK) {
            EXPECT_SAFE_IS(atomic_fetch_add(&inside[number_of(&b->op[i])], 1),
                           0);
            b->op[n++] = b->op[i];
        } else {
            EXPECT_IS(b->op[i].result, HF_BUSY);
        }
    }
    b->n = n;
    for (int i = 0; i < n; i++) {
        atomic_fetch_sub(&inside[number_of(&b->op[i])], 1);
    }
    if (n > 0) {
        ask_all(d, b, HF__OP_RELEASE);
    }
}

static void overlap(void *arg)
{
    DOOR(d);
    struct batch b;

    (void)arg;
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < ROUNDS; i++) {
        prepare(&b, "n", NAMES, 60000000);
        choose(&b);
        hold_for_a_moment(&d, &b);
    }
}

/* Each would cost a second. The server counts them as its sessions end. */
TEST_WITHIN(60, batches_that_overlap_never_wait_in_a_circle)
{
    DOOR(d);
    struct batch b;
    struct hf__test_thread *threads[CLIENTS];

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&b, "n", NAMES, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    ask_all(&d, &b, HF__OP_RELEASE);
    sql("ANALYZE holdfast_lock"); /* so small that it would be read whole */
    for (int i = 0; i < CLIENTS; i++) {
        threads[i] = hf__test_start(overlap, NULL);
    }
    hf__test_join_all(threads, CLIENTS);
    shut(&d);
    UNTIL(strcmp(value("SELECT count(*) FROM pg_stat_activity WHERE "
                       "datname=current_database() AND "
                       "application_name LIKE 'holdfast%%'"),
                 "0") == 0);
    EXPECT_TEXT(value("SELECT deadlocks FROM pg_stat_database WHERE "
                      "datname=current_database()"),
                "0");
}

/* ---- what is written */

static bool is_silent(struct door *d, struct batch *b)
{
    char before[64];

    snprintf(before, sizeof before, "%s",
             value("SELECT pg_current_wal_insert_lsn()"));
    prepare(b, "n", NAMES, 60000000);
    EXPECT_IS(ask(d, b, HF__OP_ACQUIRE, 15000), HF_OK);
    EXPECT_IS(count(b, HF_BUSY), b->n);
    return strcmp(before, value("SELECT pg_current_wal_insert_lsn()")) == 0;
}

/* The server writes for itself now and then. */
TEST(who_gets_nothing_writes_nothing)
{
    DOOR(d);
    struct batch held;
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&held, "n", NAMES, 60000000);
    ask_all(&d, &held, HF__OP_ACQUIRE);
    UNTIL(is_silent(&d, &b));
}

/* ---- what was not asked */

/* Who has not read a name yet has to prepare that first. */
TEST(who_cannot_read_a_name_is_not_told_that_it_lost_it)
{
    DOOR(d);
    DOOR(other);
    struct batch b;
    PGconn *person = stranger();

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare_shared(&b, "n", 1, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    say(person, "BEGIN");
    say(person, "LOCK TABLE holdfast_ticket");
    EXPECT_IS(ask(&other, &b, HF__OP_RAISE, 5000), HF_OK);
    EXPECT_SAFE_IS(b.op[0].result, HF_EUNAVAIL);
    EXPECT_IS(ask(&other, &b, HF__OP_INSPECT, 5000), HF_OK);
    EXPECT_SAFE_IS(b.op[0].result, HF_EUNAVAIL);
    PQfinish(person);
    ask_all(&other, &b, HF__OP_RAISE);
}

/* A row that may be there yet, or not. */
TEST(a_name_that_a_person_is_making_costs_the_session_nothing)
{
    DOOR(d);
    struct batch b;
    PGconn *person = stranger();

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    say(person, "BEGIN");
    say(person, "INSERT INTO holdfast_lock(name_key) VALUES('holdfast:n000')");
    prepare_shared(&b, "n", 1, 60000000);
    EXPECT_IS(ask(&d, &b, HF__OP_ACQUIRE, 5000), HF_OK);
    EXPECT_IS(count(&b, HF_EUNAVAIL), 1);
    prepare(&b, "other", 1, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    PQfinish(person);
    prepare_shared(&b, "n", 1, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
}

/* ---- bells */

static int bells(void)
{
    return (int)strtol(
        value("SELECT count(*) FROM pg_locks WHERE "
              "locktype='advisory' AND database=(SELECT oid FROM "
              "pg_database WHERE datname=current_database())"),
        NULL, 10);
}

TEST(a_session_has_a_few_bells_and_gives_them_back)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 2; i++) { /* names without rows, and with */
        prepare(&b, "n", BATCH_MAX, 20000000);
        ask_all(&d, &b, HF__OP_ACQUIRE);
        EXPECT_IS(bells(), 32);
        ask_all(&d, &b, HF__OP_RENEW);
        EXPECT_IS(bells(), 32);
        ask_all(&d, &b, HF__OP_RELEASE);
        EXPECT_IS(bells(), 0);
    }
}

TEST(a_detached_grant_has_no_bell)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 2; i++) {
        prepare(&b, "n", 1, 20000000);
        b.op[0].is_detached = true;
        ask_all(&d, &b, HF__OP_ACQUIRE);
        EXPECT_IS(bells(), 0);
        ask_all(&d, &b, HF__OP_RELEASE);
    }
}

/* They were taken, and the row was not. */
TEST(a_batch_that_failed_leaves_no_bells)
{
    DOOR(d);
    struct batch b;
    PGconn *person;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&b, "n", BATCH_MAX, 20000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    ask_all(&d, &b, HF__OP_RELEASE);
    person = keep_from(8);
    prepare(&b, "n", BATCH_MAX, 20000000);
    EXPECT_IS(ask(&d, &b, HF__OP_ACQUIRE, 15000), HF_OK);
    EXPECT_LESS(bells(), 33);
    PQfinish(person);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    ask_all(&d, &b, HF__OP_RELEASE);
    EXPECT_IS(bells(), 0);
}

/* Whatever a statement that is undone has written, the bell stays taken. */
TEST(a_grant_beside_others_that_cannot_be_written_leaves_no_bell)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE 'no more' USING ERRCODE='53100'; END$$;"
        "CREATE TRIGGER refuse BEFORE INSERT ON holdfast_beside FOR EACH ROW "
        "EXECUTE FUNCTION refuse()");
    prepare_shared(&b, "n", 1, 20000000);
    EXPECT_IS(ask(&d, &b, HF__OP_ACQUIRE, 15000), HF_OK);
    EXPECT_IS(count(&b, HF_OK), 0);
    EXPECT_IS(bells(), 0);
}

/* Two groups of a packet, of which the first is refused. */
TEST(a_record_that_cannot_be_made_costs_no_session)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE 'no more' USING ERRCODE='53100'; END$$;"
        "CREATE TRIGGER refuse BEFORE INSERT ON holdfast_lock FOR EACH ROW "
        "WHEN (new.name_key='holdfast:n000') EXECUTE FUNCTION refuse()");
    prepare(&b, "n", 1, 20000000);
    b.op[0].lock_mode.mode = HF__MODE_SHARED;
    EXPECT_IS(ask(&d, &b, HF__OP_ACQUIRE, 15000), HF_OK);
    EXPECT_IS(count(&b, HF_OK), 0);
    prepare(&b, "m", 1, 20000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
}
