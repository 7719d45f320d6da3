/* SPDX-License-Identifier: MIT */
/*
 * Cells on Redis: what a record looks like, what is made of one that somebody
 * else wrote, who may not have cells, and what a lost answer, a forgotten
 * script and a full memory cost.
 */
#include "src/backend/cell.h"
#include "tests/servers/servers.h"
#include "tests/store_redis/world.h"

#include <stdlib.h>
#include <string.h>

#define KEY "holdfast={stock}"

static struct hf__conn session;
static struct hf__cell_op op;
static hf_error error;
static unsigned char value[HF__CELL_MAX];

#define SESSION(user)                                                          \
    HF_AUTO(end_session) struct hf__conn *own_session = begin(user);           \
    (void)own_session

static void end_session(struct hf__conn **c)
{
    hf__conn_close(*c);
}

static struct hf__conn *begin(const char *user)
{
    open_session(&session, url_as(user, ""));
    return &session;
}

/* Gives the session's status. */
static int run(void)
{
    hf_error err = HF_ERROR_INIT;

    error = (hf_error)HF_ERROR_INIT;
    op.err = &error;
    op.value = value;
    return hf__conn_cell(&session, &op,
                         hf__after_ms(hf__now(), patience(20000)), &err);
}

static void prepare(enum hf__cell_do what, int who, uint64_t version)
{
    static const char ten[3] = {'t', 'e', 'n'};

    op = (struct hf__cell_op){.what = what,
                              .key = {"holdfast=stock", 14, 9},
                              .writer = {{(unsigned char)who, 1}},
                              .expected = version};
    if (what == HF__CELL_PUT) {
        memcpy(value, ten, sizeof ten);
        op.length = sizeof ten;
    }
}

static int ask(enum hf__cell_do what, int who, uint64_t version)
{
    prepare(what, who, version);
    EXPECT_IS(run(), HF_OK);
    return op.result;
}

static int get(void)
{
    return ask(HF__CELL_GET, 0, 0);
}

static int put(int who, uint64_t version)
{
    return ask(HF__CELL_PUT, who, version);
}

static int delete (int who, uint64_t version)
{
    return ask(HF__CELL_DELETE, who, version);
}

static uint64_t clean(void)
{
    static const struct hf__key prefix = {"holdfast=", 9, 9};
    struct hf__gc g = {.of_cells = true};
    hf_error err = HF_ERROR_INIT;

    do {
        EXPECT_IS(hf__conn_gc(&session, &prefix, &g,
                              hf__after_ms(hf__now(), patience(20000)), &err),
                  HF_OK);
    } while (g.length > 0);
    return g.count;
}

static const char *says(const char *field)
{
    return hf__redis_command(server(), "HGET " KEY " %s", field);
}

/* ---- a record */

TEST(a_cell_is_one_hash_that_stays)
{
    SESSION("");

    EXPECT_IS(put(1, 0), HF_OK);
    EXPECT_IS(strtoull(says("version"), NULL, 10), op.state.version);
    EXPECT_TEXT(says("writer"), "01010000000000000000000000000000");
    EXPECT_TEXT(says("value"), "ten");
    EXPECT_TEXT(hf__redis_command(server(), "PTTL " KEY), "-1");
    EXPECT_IS(delete (2, op.state.version), HF_OK);
    EXPECT_TEXT(hf__redis_command(server(), "HLEN " KEY), "2");
    EXPECT_TEXT(hf__redis_command(server(), "PTTL " KEY), "-1");
    EXPECT_IS(count_keys(), 1);
}

/* The clock was set back, or the record came from a server that is ahead. */
TEST(a_version_ahead_of_the_clock_is_counted_on)
{
    SESSION("");

    EXPECT_IS(put(1, 0), HF_OK);
    hf__redis_command(server(), "HSET " KEY " version 9007199254740989");
    EXPECT_IS(put(2, 9007199254740989), HF_OK);
    EXPECT_IS(op.state.version, 9007199254740990);
    EXPECT_IS(delete (3, 9007199254740990), HF_OK);
    EXPECT_IS(op.state.version, 9007199254740991);
    EXPECT_IS(get(), HF_OK);
    EXPECT_IS(op.state.version, 9007199254740991);
    EXPECT_IS(put(4, 9007199254740991), HF_EPROTO);
    EXPECT_IS(clean(), 0);
}

TEST(a_quorum_has_no_cells)
{
    EXPECT(hf__backend_find("redis")->caps & HF_CAP_CELLS);
    EXPECT(!(hf__backend_find("redlock")->caps & HF_CAP_CELLS));
}

/* ---- somebody else wrote it */

static void expect_refusal(int result, const char *remedy)
{
    EXPECT_IS(result, HF_EPROTO);
    EXPECT_HAS(error.text, "stock");
    EXPECT_HAS(error.text, remedy);
}

static const char *digest(void)
{
    return hf__redis_command(
        server(), "EVAL %s 1 " KEY,
        "return redis.sha1hex(redis.call('DUMP', KEYS[1]))");
}

/* Named with what helps by whatever comes, and left as it is. */
static void expect_refused(const char *remedy, uint64_t version)
{
    char before[64];

    snprintf(before, sizeof before, "%s", digest());
    expect_refusal(get(), remedy);
    printf("%s\n", error.text);
    expect_refusal(put(2, 0), remedy);
    expect_refusal(put(2, version), remedy);
    expect_refusal(put(1, version), remedy);
    expect_refusal(delete (2, version), remedy);
    EXPECT_IS(clean(), 0);
    EXPECT_TEXT(digest(), before);
}

TEST(a_damaged_record_is_told_and_left_alone)
{
    static const struct {
        const char *field;
        const char *value;
    } spoils[] = {
        {"version", "twelve"},
        {"version", "0"},
        {"version", "-5"},
        {"version", "007"},
        {"version", "1e3"},
        {"version", "0x10"},
        {"version", "9007199254740992"},
        {"version", "99999999999999999999999999"},
        {"writer", "01"},
        {"writer", "0101000000000000000000000000000G"},
        {"version", NULL},
        {"writer", NULL},
    };
    SESSION("");

    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        forget_all();
        EXPECT_IS(put(1, 0), HF_OK);
        uint64_t version = op.state.version;
        if (spoils[i].value) {
            hf__redis_command(server(), "HSET " KEY " %s %s", spoils[i].field,
                              spoils[i].value);
        } else {
            hf__redis_command(server(), "HDEL " KEY " %s", spoils[i].field);
        }
        expect_refused("PREFIX={NAME}", version);
    }
}

TEST(a_value_that_is_too_long_is_not_taken)
{
    SESSION("");

    EXPECT_IS(put(1, 0), HF_OK);
    uint64_t version = op.state.version;
    hf__redis_command(server(), "EVAL %s 1 " KEY,
                      "redis.call('HSET', KEYS[1], 'value', "
                      "string.rep('x', 65537)) return 0");
    expect_refusal(get(), "DEL");
    expect_refusal(put(2, version), "DEL");
    EXPECT_TEXT(hf__redis_command(server(), "HSTRLEN " KEY " value"), "65537");
    hf__redis_command(server(), "EVAL %s 1 " KEY,
                      "redis.call('HSET', KEYS[1], 'value', "
                      "string.rep('x', 65536)) return 0");
    EXPECT_IS(get(), HF_OK);
    EXPECT_IS(op.state.length, 65536);
}

TEST(what_is_no_cell_at_the_key_is_told_and_left_alone)
{
    SESSION("");

    hf__redis_command(server(), "SET " KEY " precious");
    expect_refused("another prefix=", 5);
    forget_all();
    hf__redis_command(server(), "RPUSH " KEY " precious");
    expect_refused("another prefix=", 5);
    forget_all();
    hf__redis_command(server(), "HSET " KEY " color blue");
    expect_refused("PREFIX={NAME}", 5);
    forget_all();
    EXPECT_IS(put(1, 0), HF_OK); /* nor one that is to expire */
    hf__redis_command(server(), "EXPIRE " KEY " 600");
    EXPECT_IS(put(2, op.state.version), HF_EPROTO);
}

/* ---- who may not */

TEST_WITHIN(60, who_may_have_locks_alone_is_told_so_by_cells_alone)
{
    AUTO_SERVER *r =
        own_server_with_users("user bob on >pw ~holdfast:* ~holdfast;* "
                              "&holdfast;* +@all");
    AUTO_CLIENT *bob = NULL;
    hf_gc_info gone = HF_GC_INFO_INIT;
    hf_verdict verdict;

    hf__redis_command(r, "HSET " KEY " version 5 writer "
                         "01010000000000000000000000000000");
    EXPECT_IS(hf_open(url_as("bob:pw", ""), NULL, &bob, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_IS(hf_gc(bob, 0, &gone, NULL), HF_OK);
    (void)finding(bob, "privileges", &verdict);
    EXPECT_IS(verdict, HF_FINE);
    (void)finding(bob, "cells", &verdict);
    EXPECT_IS(verdict, HF_WARN);
    SESSION("bob:pw");
    EXPECT_IS(get(), HF_EAUTH);
    EXPECT_HAS(error.text, "stock");
    EXPECT_HAS(error.text, "~PREFIX=*");
    EXPECT_IS(put(1, 5), HF_EAUTH);
    EXPECT_IS(delete (1, 5), HF_EAUTH);
    EXPECT_IS(clean(), 0);
    EXPECT_TEXT(says("version"), "5");
    hf__redis_command(r, "ACL SETUSER bob ~holdfast=*");
    EXPECT_IS(put(1, 5), HF_OK);
    (void)finding(bob, "cells", &verdict);
    EXPECT_IS(verdict, HF_FINE);
}

/* A deletion is two commands of its script. */
TEST_WITHIN(60, a_user_without_a_command_does_nothing_by_half)
{
    static const char *const commands[] = {"hdel", "hset"};
    AUTO_SERVER *r = own_server_with_users("user bob on >pw ~* &* +@all");
    SESSION("bob:pw");

    EXPECT_IS(put(1, 0), HF_OK);
    uint64_t version = op.state.version;
    for (int i = 0; i < 2; i++) {
        hf__redis_command(r, "ACL SETUSER bob -%s", commands[i]);
        EXPECT_IS(delete (2, version), HF_EAUTH);
        EXPECT_HAS(error.text, "allow this user");
        EXPECT_IS(get(), HF_OK);
        EXPECT_IS(op.state.version, version);
        EXPECT(op.state.has_value);
        hf__redis_command(r, "ACL SETUSER bob +%s", commands[i]);
    }
    EXPECT_IS(delete (2, version), HF_OK);
}

TEST_WITHIN(60, a_full_server_still_deletes)
{
    AUTO_SERVER *r = own_server(NULL);
    SESSION("");

    EXPECT_IS(put(1, 0), HF_OK);
    uint64_t version = op.state.version;
    hf__redis_command(r, "CONFIG SET maxmemory 1");
    EXPECT_IS(put(2, version), HF_EUNAVAIL);
    EXPECT_HAS(error.text, "maxmemory");
    EXPECT_IS(get(), HF_OK);
    EXPECT_IS(op.state.version, version);
    EXPECT_IS(delete (2, version), HF_OK);
    hf__redis_command(r, "CONFIG SET maxmemory 0");
    EXPECT_IS(put(3, op.state.version), HF_OK);
}

TEST_WITHIN(60, a_master_that_turned_replica_is_left_by_a_change)
{
    AUTO_SERVER *r = own_server(NULL);
    SESSION("");

    EXPECT_IS(put(1, 0), HF_OK);
    hf__redis_command(r, "REPLICAOF 127.0.0.1 %d", hf__servers_take_port());
    prepare(HF__CELL_PUT, 2, op.state.version);
    EXPECT_IS(run(), HF_EUNAVAIL);
    EXPECT_IS(op.result, HF_EUNAVAIL);
    EXPECT_HAS(error.text, "replica");
}

/* ---- what is lost */

TEST(a_cells_script_that_is_forgotten_costs_nobody_an_error)
{
    SESSION("");

    for (int i = 0; i < 3; i++) {
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(get(), HF_OK);
        uint64_t version = op.state.version;
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(put(1, version), HF_OK);
        version = op.state.version;
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(put(2, version + 1), HF_CONFLICT);
        hf__redis_command(server(), "SCRIPT FLUSH");
        EXPECT_IS(delete (3, version), HF_OK);
    }
    hf__redis_command(server(), "SCRIPT FLUSH");
    UNTIL(clean() == 1);
}

static void lose(enum hf__proxy_what what, bool is_applied)
{
    struct hf__proxy *proxy =
        hf__proxy_start(server_port(), &hf__framing_redis);
    char url[HF__REDIS_URL];

    snprintf(url, sizeof url, "redis://127.0.0.1:%d/%d", hf__proxy_port(proxy),
             hf__redis_test_database());
    open_session(&session, url);
    hf__proxy_rule(proxy, &(struct hf__proxy_rule){.what = what,
                                                   .where = HF__BEFORE,
                                                   .text = "put"});
    prepare(HF__CELL_PUT, 1, 0);
    EXPECT_IS(run(), HF_EUNAVAIL);
    EXPECT_IS(op.result, HF_EUNKNOWN);
    EXPECT_IS(hf__proxy_counts(proxy).hits, 1);
    EXPECT_IS(count_keys(), is_applied);
    hf__conn_close(&session);
    open_session(&session, url);
    EXPECT_IS(run(), HF_OK);
    EXPECT_IS(op.result, HF_OK);
    EXPECT_IS(strtoull(says("version"), NULL, 10), op.state.version);
    hf__conn_close(&session);
    hf__proxy_free(proxy);
}

CASE(a_change_that_got_no_answer_is_asked_for_again, lose(HF__REPLY, true));
CASE(a_change_that_did_not_arrive_is_asked_for_again,
     lose(HF__STATEMENT, false));

/* The connection ended before anything was sent. */
TEST(a_session_that_has_ended_has_surely_done_nothing)
{
    SESSION("");

    EXPECT_IS(get(), HF_OK);
    hf__redis_command(server(), "CLIENT KILL TYPE normal");
    UNTIL(!strstr(hf__redis_command(server(), "CLIENT LIST"), "name=holdfast"));
    hf__test_pause_ms(2); /* it is idle */
    prepare(HF__CELL_PUT, 1, 0);
    EXPECT_IS(run(), HF_EUNAVAIL);
    EXPECT_IS(op.result, HF_EUNAVAIL);
    EXPECT_IS(count_keys(), 0);
}
