/* SPDX-License-Identifier: MIT */
/*
 * A request whose connection was given up may still reach the server: a stale
 * connection. Whatever became of its claim since, the name is not granted to
 * it. Alice is behind a proxy that keeps a request of hers and delivers it when
 * all is over; Bob is not.
 */
#include "tests/servers/servers.h"
#include "tests/store_redis/world.h"

#include <string.h>

struct late {
    struct hf__redis *server;
    struct hf__proxy *proxy;
    hf_client *alice;
    hf_client *bob;
};

static void end_late(struct late *s)
{
    close_client(&s->alice);
    close_client(&s->bob);
    hf__proxy_free(s->proxy);
    hf__redis_free(s->server);
}

/* `rights` are those of Alice. */
#define LATE(s, rights)                                                        \
    __attribute__((cleanup(end_late))) struct late s = begin_late(rights)

static struct late begin_late(const char *rights)
{
    struct late s = {0};
    char text[160];

    snprintf(text, sizeof text, "user alice on >pw ~* &* %s", rights);
    s.server = own_server_with_users(text);
    s.proxy = hf__proxy_start(server_port(), &hf__framing_redis);
    s.bob = open_store();
    snprintf(text, sizeof text,
             "redis://alice:pw@127.0.0.1:%d/0?io_timeout=%lldms",
             hf__proxy_port(s.proxy), (long long)patience(400));
    EXPECT_IS(hf_open(text, NULL, &s.alice, NULL), HF_OK);
    EXPECT_IS(try_once(s.alice, "job"), HF_OK);
    return s;
}

/* Alice's next operation stays on its way. */
static void keep_next(struct late *s)
{
    hf__proxy_rule(s->proxy, &(struct hf__proxy_rule){.what = HF__STATEMENT,
                                                      .where = HF__BEFORE,
                                                      .action = HF__SILENCE,
                                                      .text = "EVALSHA"});
}

static void expect_nobody_gets_it(struct late *s)
{
    EXPECT_IS(hf__proxy_counts(s->proxy).hits, 1);
    hf__test_pause_ms(patience(300)); /* for what is given back */
    EXPECT_IS(try_once(s->bob, "job"), HF_OK);
    hf__proxy_heal(s->proxy);
    hf__test_pause_ms(patience(300));
    EXPECT_SAFE_IS(try_once(s->bob, "job"), HF_OK);
}

static int claim(struct late *s, int is_fair, hf_lock **lock)
{
    hf_acquire_opts opts = wanting(patience(2000), 30000);

    opts.fair = is_fair;
    return hf_acquire(s->alice, "job", &opts, lock, NULL);
}

/* ---- what the claim heard since */

static void arrive_after_release(const char *rights)
{
    LATE(s, rights);
    AUTO_LOCK *job = NULL;

    keep_next(&s);
    EXPECT_IS(claim(&s, 0, &job), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_nobody_gets_it(&s);
}

static void arrive_after_busy(const char *rights, int is_fair)
{
    LATE(s, rights);
    AUTO_LOCK *job = acquire(s.bob, "job");
    hf_lock *none = NULL;

    keep_next(&s);
    EXPECT_IS(claim(&s, is_fair, &none), HF_TIMEDOUT);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_nobody_gets_it(&s);
}

#define ALL     "+@all"
#define NO_KILL "+@all -client"

CASE_WITHIN(60, a_request_that_comes_after_the_release_is_for_nobody,
            arrive_after_release(ALL));
CASE_WITHIN(60, a_request_that_comes_after_its_claim_gave_up_is_for_nobody,
            arrive_after_busy(ALL, 0));
CASE_WITHIN(60, a_request_that_comes_after_its_place_was_left_is_for_nobody,
            arrive_after_busy(ALL, 1));

TEST_WITHIN(60, who_may_end_no_connection_is_kept_out_by_token)
{
    arrive_after_release(NO_KILL);
    arrive_after_busy(NO_KILL, 0);
    arrive_after_busy(NO_KILL, 1);
}

/* The connection is ended, whatever it would still do. */
TEST_WITHIN(60, a_connection_that_was_given_up_is_ended_first)
{
    LATE(s, ALL);
    AUTO_LOCK *job = NULL;
    hf__redis_command(s.server, "CONFIG RESETSTAT");

    keep_next(&s);
    EXPECT_IS(claim(&s, 0, &job), HF_OK);
    EXPECT_HAS(hf__redis_command(s.server, "INFO commandstats"),
               "cmdstat_client|kill:calls=1");
}

/* ---- a script that is stopped in the middle */

/* What is written by then is given back. */
TEST_WITHIN(60, what_is_refused_in_the_middle_leaves_no_grant)
{
    static const char *const rights[] = {"+@all -pexpire", "+@all -hdel",
                                         "+@all -pttl"};

    for (int i = 0; i < 3; i++) {
        char users[100];
        AUTO_CLIENT *alice = NULL;
        AUTO_CLIENT *bob = NULL;
        struct hf__redis *own;
        hf_acquire_opts opts = wanting(0, 30000);
        AUTO_LOCK *perhaps = NULL;

        snprintf(users, sizeof users, "user alice on >pw ~* &* %s", rights[i]);
        own = own_server_with_users(users);
        EXPECT_IS(hf_open(url_as("alice:pw", ""), NULL, &alice, NULL), HF_OK);
        bob = open_store();
        if (hf_acquire(alice, "job", &opts, &perhaps, NULL) == HF_OK) {
            EXPECT_IS(hf_release(perhaps, NULL), HF_OK); /* has no need of it */
        }
        EXPECT_IS(attempt(bob, "job", patience(2000)), HF_OK);
        close_client(&alice);
        close_client(&bob);
        alice = bob = NULL;
        hf__redis_free(own);
    }
}
