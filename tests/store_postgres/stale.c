/* SPDX-License-Identifier: MIT */
/*
 * A statement that its client has given up may still be applied by the
 * server: a stale connection. Nobody was told of the grant, so nobody would end
 * it. The next connection of the same client ends what is left of the one
 * before.
 */
#include "src/backend/conn.h"
#include "tests/servers/proxy.h"
#include "tests/store_postgres/world.h"

#include <stdio.h>
#include <string.h>

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

static int run(struct visitor *v, struct hf__op *a, struct hf__op *b)
{
    struct hf__op *ops[] = {a, b};

    return hf__conn_execute(&v->conn, ops, b ? 2 : 1,
                            hf__after_ms(hf__now(), 5000), NULL);
}

/* Who gives back "a" is held up there for two seconds, by what would not mind
 * that its client has gone. */
static void hold_up_releases(void)
{
    hf__postgres_sql(
        server(), database(),
        "CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        "PERFORM set_config('client_connection_check_interval','0',false);"
        "PERFORM pg_sleep(2); RETURN new; END$$;"
        "CREATE TRIGGER hold_up BEFORE UPDATE ON holdfast_lock FOR EACH ROW "
        "WHEN (old.name_key='holdfast:a' AND new.expires=0) "
        "EXECUTE FUNCTION hold_up()");
}

static const char *sleepers(void)
{
    return answer("SELECT count(*) FROM pg_stat_activity WHERE "
                  "wait_event='PgSleep' AND datname=current_database()");
}

static void interrupt_sleeper(void *conn)
{
    UNTIL(strcmp(sleepers(), "1") == 0);
    hf__conn_interrupt(conn);
}

/* Behind a statement that is held up, in the same packet, waits another. */
static void leave_a_ghost(struct visitor *v)
{
    struct hf__op a = op_on("holdfast:a", HF__OP_ACQUIRE, 1, v);
    struct hf__op b = op_on("holdfast:b", HF__OP_ACQUIRE, 2, v);
    struct hf__test_thread *thread;

    EXPECT_IS(run(v, &a, &b), HF_OK);
    EXPECT_IS(a.result, HF_OK);
    b.kind = HF__OP_RELEASE;
    EXPECT_IS(run(v, &b, NULL), HF_OK);
    hold_up_releases();
    a.kind = HF__OP_RELEASE;
    b = op_on("holdfast:b", HF__OP_ACQUIRE, 3, v);
    thread = hf__test_start(interrupt_sleeper, &v->conn);
    EXPECT_IS(run(v, &a, &b), HF_EUNAVAIL);
    hf__test_join(thread);
    EXPECT_IS(a.result, HF_EUNKNOWN);
    EXPECT_IS(b.result, HF_EUNKNOWN);
    hf__conn_close(&v->conn);
}

static void end_a_ghost(const char *over)
{
    struct visitor v = {0};
    struct hf__op b = op_on("holdfast:b", HF__OP_RELEASE, 3, &v);

    enter_by(&v, over);
    leave_a_ghost(&v);
    enter_by(&v, over);
    EXPECT_TEXT(sleepers(), "0");
    EXPECT_IS(run(&v, &b, NULL), HF_OK);
    EXPECT_SAFE_IS(b.result, HF_LOST);
    EXPECT_TEXT(row_says("b", "expires=0"), "t");
    /* Not released either. */
    EXPECT_SAFE(strcmp(row_says("a", "expires=0"), "f") == 0);
    hf__conn_close(&v.conn);
}

CASE(what_a_given_up_packet_would_still_do_is_ended, end_a_ghost(""));
CASE(it_is_ended_behind_a_bad_network_too, end_a_ghost("fault+"));

/* As if the name of the server now led to another: then time must do. */
TEST(what_cannot_be_ended_is_given_back_again_later)
{
    struct visitor v = {0};
    struct hf__op b = op_on("holdfast:b", HF__OP_RELEASE, 3, &v);

    enter_by(&v, "");
    leave_a_ghost(&v);
    v.conn.stale_session.server_id++;
    enter_by(&v, "");
    EXPECT_IS(run(&v, &b, NULL), HF_OK);
    EXPECT_IS(b.result, HF_EUNAVAIL);
    UNTIL(strcmp(row_says("b", "expires=0"), "f") == 0);
    EXPECT_IS(run(&v, &b, NULL), HF_OK);
    EXPECT_IS(b.result, HF_OK);
    EXPECT_TEXT(row_says("b", "expires=0"), "t");
    hf__conn_close(&v.conn);
}

/* What the user does is done by another role, who may not end it. */
TEST(what_another_role_has_under_way_counts)
{
    struct visitor v = {0};
    struct hf__op b = op_on("holdfast:b", HF__OP_RELEASE, 3, &v);

    hf__postgres_sql(
        server(), database(),
        "CREATE ROLE \"%s\"; GRANT \"%s\" TO " HF__POSTGRES_USER
        "; GRANT ALL ON SCHEMA public TO \"%s\";"
        "ALTER ROLE " HF__POSTGRES_USER " IN DATABASE \"%s\" SET role='%s'",
        database(), database(), database(), database(), database());
    enter_by(&v, "");
    leave_a_ghost(&v);
    enter_by(&v, "");
    EXPECT_IS(run(&v, &b, NULL), HF_OK);
    EXPECT_SAFE_IS(b.result, HF_EUNAVAIL);
    UNTIL(strcmp(row_says("b", "expires=0"), "f") == 0);
    EXPECT_IS(run(&v, &b, NULL), HF_OK);
    EXPECT_IS(b.result, HF_OK);
    hf__conn_close(&v.conn);
}

/* … and who may. */
TEST(what_another_role_may_end_is_ended)
{
    hf__postgres_sql(
        server(), database(),
        "CREATE ROLE \"%s\"; GRANT \"%s\" TO " HF__POSTGRES_USER
        "; GRANT pg_signal_backend TO \"%s\";"
        "GRANT ALL ON SCHEMA public TO \"%s\";"
        "ALTER ROLE " HF__POSTGRES_USER " IN DATABASE \"%s\" SET role='%s'",
        database(), database(), database(), database(), database(), database());
    end_a_ghost("");
}

/* One that did not hear of the first does not end it: the lease does. */
TEST(without_that_the_packet_goes_on)
{
    struct visitor v = {0};

    enter_by(&v, "");
    leave_a_ghost(&v);
    UNTIL(strcmp(row_says("b", "encode(token,'hex')"),
                 "03030303030303030303030303030303") == 0);
}

/* Of another user the mark is no proof. */
TEST(who_has_a_mark_of_another_user_is_left_alone)
{
    struct visitor v = {0};
    char mark[64];
    PGconn *other;

    enter_by(&v, "");
    snprintf(mark, sizeof mark, "%s",
             answer("SELECT application_name FROM pg_stat_activity WHERE "
                    "application_name LIKE 'holdfast.%%' AND "
                    "datname=current_database()"));
    leave_a_ghost(&v);
    hf__postgres_sql(server(), database(),
                     "CREATE ROLE \"%s\" LOGIN; "
                     "GRANT \"%s\" TO " HF__POSTGRES_USER,
                     database(), database());
    other = stranger_as(database());
    tell(other, "SET application_name='%s'", mark);
    enter_by(&v, "");
    EXPECT_TEXT(sleepers(), "0");
    tell(other, "SELECT 1");
    PQfinish(other);
    hf__conn_close(&v.conn);
}

/* The network delivers it when all is settled: the server has no session for
 * it any more. */
TEST(a_statement_that_comes_late_is_for_nobody)
{
    struct hf__proxy *proxy =
        hf__proxy_start(hf__postgres_port(server()), &hf__framing_postgres);
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
    EXPECT_TEXT(row_says("job", "expires=0"), "t");
    hf_close(bob);
    hf__proxy_free(proxy);
}
