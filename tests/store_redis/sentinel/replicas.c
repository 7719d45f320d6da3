/* SPDX-License-Identifier: MIT */
/*
 * wait_replicas=: nothing is told to be granted or renewed that too few
 * replicas have; a grant that they lack is given back.
 */
#include "src/backend/cell.h"
#include "src/backend/redis/wire.h"
#include "tests/servers/servers.h"
#include "tests/store_redis/sentinel/site.h"
#include "tests/store_server/door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The replicas stand still, or go on. */
static void stop_replicas(const struct hf__redis_sentinels *g, bool stopped)
{
    for (int i = 1; i < 3; i++) {
        if (stopped) {
            hf__redis_pause(hf__redis_watched(g, i));
        } else {
            hf__redis_resume(hf__redis_watched(g, i));
        }
    }
}

TEST_WITHIN(60, a_grant_that_no_replica_has_is_given_back)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=1");
    AUTO_CLIENT *bob = open_there("");
    hf_acquire_opts opts = wanting(0, patience(30000));

    stop_replicas(g, true);
    expect_no_grant(alice, "job", &opts, HF_EUNKNOWN,
                    "confirmed by 0 of 1 replicas");
    UNTIL(try_once(bob, "job") == HF_OK);
    stop_replicas(g, false);
    UNTIL(try_once(alice, "job") == HF_OK);
}

TEST_WITHIN(60, as_many_must_have_it_as_were_said)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=2");
    AUTO_CLIENT *bob = open_there("wait_replicas=1");
    hf_acquire_opts opts = wanting(0, patience(30000));

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__redis_pause(hf__redis_watched(g, 2));
    expect_no_grant(alice, "job", &opts, HF_EUNKNOWN,
                    "confirmed by 1 of 2 replicas");
    UNTIL(try_once(bob, "job") == HF_OK);
    hf__redis_resume(hf__redis_watched(g, 2));
}

TEST_WITHIN(60, a_renewal_that_no_replica_has_is_not_believed)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=1");
    int64_t lease_ms = patience(3000);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    int64_t end = hf__test_now_ms() + hf_remaining_ms(job);

    stop_replicas(g, true);
    EXPECT_IS(hf_renew(job, NULL), HF_EUNKNOWN);
    EXPECT_IS(hf_state(job), HF_STATE_AT_RISK);
    EXPECT_LESS(hf__test_now_ms() + hf_remaining_ms(job), end + 50);
    stop_replicas(g, false);
    UNTIL(hf_state(job) == HF_STATE_HELD);
    stop_replicas(g, true);
    EXPECT_IS(hf_wait_lost(job, 3 * lease_ms), HF_LOST);
    expect_lost(job, HF_REASON_EXPIRED);
    stop_replicas(g, false);
    UNTIL(!has_grant(hf__redis_watched(g, 0), "job"));
}

/* Half a site is cut off: its primary has nobody to confirm. Bob stays there,
 * for he asks no Sentinel. */
TEST_WITHIN(90, a_primary_that_is_cut_off_grants_nothing)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=1");
    AUTO_CLIENT *bob = NULL;
    hf_acquire_opts opts = wanting(0, patience(30000));
    AUTO_LOCK *job = NULL;
    char url[HF__REDIS_URL];
    int now;

    snprintf(url, sizeof url, "redis://:clients@%s/0?wait_replicas=1",
             at(hf__redis_watched(g, 0)));
    EXPECT_IS(hf_open(url, NULL, &bob, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__redis_keep_out(hf__redis_watched(g, 0), true);
    expect_no_grant(bob, "job", &opts, HF_EUNKNOWN,
                    "confirmed by 0 of 1 replicas");
    now = await_failover(g, 0);
    UNTIL_WITHIN(30000,
                 *hf__redis_value(hf__redis_watched(g, now), "connected_slaves",
                                  "INFO replication") != '0');
    job = acquire(alice, "job");
    EXPECT_SAFE(try_once(bob, "job") != HF_OK);
    UNTIL(!has_grant(hf__redis_watched(g, 0), "job"));
    expect_held(job);
}

/* ---- cells */

static void enter_first(struct door *d, const struct hf__redis_sentinels *g)
{
    char url[HF__REDIS_URL];

    snprintf(url, sizeof url, "redis://:clients@%s/0?wait_replicas=1",
             at(hf__redis_watched(g, 0)));
    EXPECT_IS(enter(d, url), HF_OK);
}

static void ask(struct door *d, struct hf__cell_op *op, int result)
{
    EXPECT_IS(hf__conn_cell(&d->conn, op,
                            hf__after_ms(hf__now(), patience(5000)), NULL),
              HF_OK);
    EXPECT_IS(op->result, result);
}

static bool has_ten(const struct hf__redis *r)
{
    return strcmp(hf__redis_command(r, "HGET holdfast={stock} value"), "ten") ==
           0;
}

static long changes(const struct hf__redis *r)
{
    return strtol(
        hf__redis_value(r, "rdb_changes_since_last_save", "INFO persistence"),
        NULL, 10);
}

/* It stands, and is seen; but its writer, who asks again and again, also on
 * another connection, hears that it does once a replica has it. */
TEST_WITHIN(60, a_change_of_a_cell_that_no_replica_has_is_not_believed)
{
    AUTO_SITE *g = begin_site(NULL);
    unsigned char ten[HF__CELL_MAX] = "ten";
    unsigned char seen[HF__CELL_MAX] = "";
    hf_error err = HF_ERROR_INIT;
    struct hf__cell_op put = {.what = HF__CELL_PUT,
                              .key = {"holdfast=stock", 14, 9},
                              .writer = {{1}},
                              .value = ten,
                              .length = 3,
                              .err = &err};
    struct hf__cell_op get = {
        .what = HF__CELL_GET, .key = {"holdfast=stock", 14, 9}, .value = seen};
    DOOR(d);
    DOOR(other);

    enter_first(&d, g);
    enter_first(&other, g);
    stop_replicas(g, true);
    ask(&d, &put, HF_EUNKNOWN);
    EXPECT_HAS(err.text, "stock: confirmed by 0 of 1 replicas");
    ask(&d, &get, HF_OK);
    EXPECT_IS(get.state.length, 3);
    EXPECT_IS(memcmp(seen, ten, 3), 0);
    ask(&d, &put, HF_EUNKNOWN);
    long before = changes(hf__redis_watched(g, 0));
    ask(&other, &put, HF_EUNKNOWN);
    /* A server need only tell of what this connection wrote. */
    EXPECT_MORE(changes(hf__redis_watched(g, 0)), before);
    stop_replicas(g, false);
    ask(&other, &put, HF_OK);
    EXPECT_IS(put.state.version, get.state.version);
    EXPECT_SAFE(has_ten(hf__redis_watched(g, 1)) ||
                has_ten(hf__redis_watched(g, 2)));
    put.writer.bytes[0] = 2;
    ask(&d, &put, HF_CONFLICT);
}

/* ---- without memory */

static int queues_left; /* that have memory; 0: all have */

int __real_hf__resp_queue(struct hf__resp *);
int __wrap_hf__resp_queue(struct hf__resp *);
int __wrap_hf__resp_queue(struct hf__resp *c)
{
    if (queues_left > 0 && --queues_left == 0) {
        c->out.is_broken = true;
    }
    return __real_hf__resp_queue(c);
}

enum { RUN_MS = 5000 };

static void run(struct hf__conn *conn, struct hf__op *a, struct hf__op *b)
{
    struct hf__op *ops[] = {a, b};

    EXPECT_IS(hf__conn_execute(conn, ops, b == NULL ? 1 : 2,
                               hf__after_ms(hf__now(), patience(RUN_MS)), NULL),
              HF_OK);
}

static struct hf__op op_of(enum hf__op_kind kind, const char *key)
{
    static const struct hf__owner owner = {.label = "us", .host = "here"};

    return (struct hf__op){.kind = kind,
                           .key = {key, (uint16_t)strlen(key), 9},
                           .token = {{1}},
                           .owner = &owner,
                           .lease_us = INT64_C(60000000)};
}

/* The server knows one of the two scripts (and the one to give back); there is
 * no memory to send the other one's text. */
TEST_WITHIN(60, what_was_confirmed_stays_though_the_rest_can_not_be_sent)
{
    AUTO_SITE *g = begin_site(NULL);
    struct hf__op first = op_of(HF__OP_ACQUIRE, "holdfast:first");
    struct hf__op job = op_of(HF__OP_ACQUIRE, "holdfast:job");
    struct hf__op other = op_of(HF__OP_RENEW, "holdfast:other");
    DOOR(d);

    enter_first(&d, g);
    hf__redis_command(hf__redis_watched(g, 0), "SCRIPT FLUSH");
    run(&d.conn, &first, NULL);
    EXPECT_IS(first.result, HF_OK);
    first.kind = HF__OP_RELEASE;
    run(&d.conn, &first, NULL);
    queues_left = 2;
    run(&d.conn, &job, &other);
    EXPECT_IS(queues_left, 0);
    EXPECT_IS(other.result, HF_ENOMEM);
    EXPECT_IS(job.result, HF_OK);
    EXPECT_SAFE_IS(has_grant(hf__redis_watched(g, 0), "job"), true);
}

/* ---- what is owed */

/* A replica may have the grant, and what took it back not. */
TEST_WITHIN(60, what_is_given_back_is_owed_until_a_replica_knows)
{
    AUTO_SITE *g = begin_site(NULL);
    struct hf__op job = op_of(HF__OP_ACQUIRE, "holdfast:job");
    DOOR(d);

    enter_first(&d, g);
    stop_replicas(g, true);
    run(&d.conn, &job, NULL);
    EXPECT_IS(job.result, HF_EUNKNOWN);
    EXPECT(!has_grant(hf__redis_watched(g, 0), "job"));
    job.kind = HF__OP_RELEASE;
    job.is_unanswered = true;
    run(&d.conn, &job, NULL);
    EXPECT_IS(job.result, HF_EUNKNOWN);
    stop_replicas(g, false);
    run(&d.conn, &job, NULL);
    EXPECT_IS(job.result, HF_LOST);
}

/* ---- without Sentinels */

TEST(a_server_alone_confirms_nothing)
{
    AUTO_SERVER *r = hf__redis_start(NULL);
    AUTO_CLIENT *client = NULL;
    hf_acquire_opts opts = wanting(0, patience(30000));
    char url[HF__REDIS_URL + 32];

    snprintf(url, sizeof url, "redis://%s?wait_replicas=1", at(r));
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    expect_no_grant(client, "job", &opts, HF_EUNKNOWN,
                    "confirmed by 0 of 1 replicas");
    UNTIL(!has_grant(r, "job"));
    snprintf(url, sizeof url, "redis://%s?wait_replicas=17", at(r));
    EXPECT_IS(open_status(url, NULL), HF_EINVAL);
}

TEST(who_may_not_wait_is_told_so)
{
    AUTO_SERVER *r = hf__redis_start(
        &(struct hf__redis_opts){.users = "user bob on >pw ~* &* +@all -wait"});
    AUTO_CLIENT *client = NULL;
    hf_acquire_opts opts = wanting(0, patience(30000));
    char url[HF__REDIS_URL];

    snprintf(url, sizeof url, "redis://bob:pw@%s/0?wait_replicas=1", at(r));
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    expect_no_grant(client, "job", &opts, HF_EAUTH, "NOPERM");
    EXPECT(!has_grant(r, "job"));
}
