/* SPDX-License-Identifier: MIT */
/*
 * A statement that its client has given up may still be applied by the
 * server: a stale connection. Nobody was told of the grant, so nobody would end
 * it. The next connection of the same client ends what is left of the one
 * before.
 */
#include "src/backend/conn.h"
#include "src/backend/record.h"
#include "tests/servers/proxy.h"
#include "tests/store_mysql/world.h"

#include <stdio.h>
#include <string.h>

/* ---- at the contract */

struct visitor {
    struct hf__conn conn;
    struct hf__owner owner;
};

/* `over` stands before the scheme: "fault+", or nothing. */
static void enter_by(struct visitor *v, const char *over)
{
    struct hf__url *url = NULL;
    hf_error err = HF_ERROR_INIT;
    char text[2200];

    snprintf(text, sizeof text, "%s%s", over, store_url(NULL));
    EXPECT_IS(hf__url_parse(text, &url, &err), HF_OK);
    EXPECT_IS(hf__conn_open(&v->conn, hf__backend_find(url->scheme), url, "",
                            hf__after_ms(hf__now(), 5000), &err),
              HF_OK);
    hf__url_free(url);
}

static void enter(struct visitor *v)
{
    enter_by(v, "");
}

static struct hf__op op_on(const char *key, enum hf__op_kind kind, int token,
                           struct visitor *v)
{
    struct hf__op op = {.kind = kind,
                        .key = {key, (uint16_t)strlen(key), 9},
                        .lease_us = 30000000,
                        .owner = &v->owner};

    memset(op.token.bytes, token, sizeof op.token.bytes);
    return op;
}

static int run(struct visitor *v, struct hf__op *a, struct hf__op *b,
               int64_t ms)
{
    struct hf__op *ops[] = {a, b};

    return hf__conn_execute(&v->conn, ops, b ? 2 : 1,
                            hf__after_ms(hf__now(), ms), NULL);
}

static void interrupt_soon(void *conn)
{
    hf__test_pause_ms(200);
    hf__conn_interrupt(conn);
}

/* Behind a statement that is held up, in the same packet, waits another. */
static void leave_a_ghost(struct visitor *v, MYSQL *db)
{
    struct hf__op a = op_on("holdfast:a", HF__OP_ACQUIRE, 1, v);
    struct hf__op b = op_on("holdfast:b", HF__OP_ACQUIRE, 2, v);
    struct hf__test_thread *thread;

    EXPECT_IS(run(v, &a, &b, 5000), HF_OK);
    EXPECT_IS(a.result, HF_OK);
    b.kind = HF__OP_RELEASE;
    EXPECT_IS(run(v, &b, NULL, 5000), HF_OK);
    lock_row(db, "a");
    a.kind = HF__OP_RELEASE;
    b = op_on("holdfast:b", HF__OP_ACQUIRE, 3, v);
    thread = hf__test_start(interrupt_soon, &v->conn);
    EXPECT_IS(run(v, &a, &b, 5000), HF_EUNAVAIL);
    hf__test_join(thread);
    EXPECT_IS(a.result, HF_EUNKNOWN);
    EXPECT_IS(b.result, HF_EUNKNOWN);
    hf__conn_close(&v->conn);
}

static void end_a_ghost(const char *over)
{
    struct visitor v = {0};
    AUTO_STRANGER *db = stranger();
    struct hf__op b = op_on("holdfast:b", HF__OP_RELEASE, 3, &v);

    enter_by(&v, over);
    leave_a_ghost(&v, db);
    enter_by(&v, over);
    EXPECT_IS(run(&v, &b, NULL, 5000), HF_OK);
    EXPECT_SAFE_IS(b.result, HF_LOST);
    tell(db, "COMMIT");
    hf__test_pause_ms(300);
    EXPECT_TEXT(row_says("b", "expires=0"), "1");
    /* Not released either. */
    EXPECT_SAFE(strcmp(row_says("a", "expires=0"), "0") == 0);
    hf__conn_close(&v.conn);
}

CASE(what_a_given_up_packet_would_still_do_is_ended, end_a_ghost(""));
CASE(it_is_ended_behind_a_bad_network_too, end_a_ghost("fault+"));

/* As if the name of the server now led to another: then time must do. */
TEST(what_cannot_be_ended_is_given_back_again_later)
{
    struct visitor v = {0};
    AUTO_STRANGER *db = stranger();
    struct hf__op b = op_on("holdfast:b", HF__OP_RELEASE, 3, &v);

    enter(&v);
    leave_a_ghost(&v, db);
    v.conn.stale_session.server_id++;
    enter(&v);
    EXPECT_IS(run(&v, &b, NULL, 5000), HF_OK);
    EXPECT_IS(b.result, HF_EUNAVAIL);
    tell(db, "COMMIT");
    hf__test_pause_ms(300);
    EXPECT_IS(run(&v, &b, NULL, 5000), HF_OK);
    EXPECT_IS(b.result, HF_OK);
    EXPECT_TEXT(row_says("b", "expires=0"), "1");
    hf__conn_close(&v.conn);
}

/* One that did not hear of the first does not end it: the lease does. */
TEST(without_that_the_packet_goes_on)
{
    struct visitor v = {0};
    AUTO_STRANGER *db = stranger();

    enter(&v);
    leave_a_ghost(&v, db);
    tell(db, "COMMIT");
    hf__test_pause_ms(300);
    EXPECT_TEXT(row_says("b", "HEX(token)"),
                "03030303030303030303030303030303");
}

/* ---- over the public API */

static const char *connections(void)
{
    return hf__mariadb_value(server(),
                             "SELECT COUNT(*) FROM "
                             "information_schema.processlist WHERE db='%s'",
                             database());
}

static void make_row(const char *name)
{
    AUTO_CLIENT *client = open_store();

    EXPECT_IS(try_once(client, name), HF_OK);
}

/* Whoever has little time does not wait on the server for a row. */
TEST(an_acquire_that_was_given_up_leaves_no_ghost)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *bob = open_with("io_timeout=1s");
    AUTO_CLIENT *carol = open_store();

    make_row("job");
    lock_row(db, "job");
    /* Were it io_timeout, nothing would be known. */
    EXPECT_IS(try_once(bob, "job"), HF_EUNAVAIL);
    tell(db, "COMMIT");
    (void)await_free(carol, "job", 10000);
    hf__test_pause_ms(1300); /* and stays so */
    EXPECT_TEXT(row_says("job", "expires=0"), "1");
}

/* The network delivers it when all is settled: the server has no session for
 * it any more. */
TEST(a_statement_that_comes_late_is_for_nobody)
{
    struct hf__proxy *proxy =
        hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql);
    const struct hf__proxy_rule rule = {
        .what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__SILENCE};
    hf_stats_info stats = HF_STATS_INFO_INIT;
    hf_client *bob;

    reach_by_port(hf__proxy_port(proxy));
    bob = open_with(io_timeout(300, ""));
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__proxy_rule(proxy, &rule);
    EXPECT_IS(try_once(bob, "job"), HF_EUNKNOWN);
    do {
        hf__test_pause_ms(5);
        EXPECT_IS(hf_stats(bob, &stats), HF_OK);
    } while (stats.owing > 0);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__proxy_heal(proxy);
    hf__test_pause_ms(300);
    EXPECT_TEXT(row_says("job", "expires=0"), "1");
    hf_close(bob);
    hf__proxy_free(proxy);
}

/* The server is out of reach at the first try: the next one comes soon, though
 * the lease is a day. */
TEST_WITHIN(60, what_nobody_holds_is_given_back_however_long_its_lease)
{
    struct hf__proxy *proxy =
        hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql);
    const struct hf__proxy_rule rule = {
        .what = HF__STATEMENT, .where = HF__AFTER, .action = HF__SILENCE};
    AUTO_CLIENT *carol = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_MAX_MS);
    hf_lock *none = NULL;
    hf_client *bob;

    reach_by_port(hf__proxy_port(proxy));
    bob = open_with(io_timeout(300, ""));
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__proxy_rule(proxy, &rule);
    hf__proxy_refuse(proxy);
    EXPECT_IS(hf_acquire(bob, "job", &opts, &none, NULL), HF_EUNKNOWN);
    hf__test_pause_ms(200);
    EXPECT_IS(try_once(carol, "job"), HF_BUSY);
    hf__proxy_heal(proxy);
    EXPECT_SOON(await_free(carol, "job", 30000), patience(3500));
    hf_close(bob);
    hf__proxy_free(proxy);
}

/* A second client is not taken for the first, however alike they are. */
TEST(only_ones_own_connection_is_ended)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *other = acquire_leased(alice, "other", 3000);
    AUTO_CLIENT *bob = open_with("io_timeout=300ms");
    hf_stats_info stats = HF_STATS_INFO_INIT;

    make_row("job");
    lock_row(db, "job");
    EXPECT(try_once(bob, "job") < 0);
    tell(db, "COMMIT");
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__test_pause_ms(patience(1500));
    expect_held(other);
    EXPECT_IS(hf_stats(alice, &stats), HF_OK);
    EXPECT_IS(stats.connects, 2); /* its first ones */
    printf("%s connections\n", connections());
}
