/* SPDX-License-Identifier: MIT */
/*
 * A server that lets nobody in, refuses a command, is full, shut or busy: a
 * clear error in time, no lock that is held suffers from what is refused to
 * others, and all goes on once it answers again, on the same client.
 */
#include "tests/servers/servers.h"
#include "tests/store_redis/world.h"
#include "tests/store_server/damage.h"

#include <hiredis/hiredis.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One attempt that must fail so, with these words. */
static void expect_refused(hf_client *client, int status, const char *words)
{
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    EXPECT_IS(hf_acquire(client, "other", &opts, &none, &err), status);
    printf("%s\n", err.text);
    EXPECT_HAS(err.text, words);
}

static void expect_closed(const char *url, int status, const char *words)
{
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(open_status(url, &err), status);
    printf("%s\n", err.text);
    EXPECT_HAS(err.text, words);
}

static void set(const char *name, const char *value)
{
    hf__redis_command(server(), "CONFIG SET %s %s", name, value);
}

/* ---- who may not */

/* May do all but what the rule takes away; then that is given back. */
static void expect_denied(const char *taken, const char *given)
{
    AUTO_SERVER *r = own_server_with_users("user bob on >pw ~* &* +@all");
    AUTO_CLIENT *bob = NULL;
    hf_verdict verdict;

    EXPECT_IS(hf_open(url_as("bob:pw", ""), NULL, &bob, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "other"), HF_OK);
    hf__redis_command(r, "ACL SETUSER bob %s", taken);
    expect_refused(bob, HF_EAUTH, "allow this user");
    printf("%s\n", finding(bob, "privileges", &verdict));
    EXPECT_IS(verdict, HF_UNFIT);
    hf__redis_command(r, "ACL SETUSER bob %s", given);
    EXPECT_IS(try_once(bob, "other"), HF_OK);
    (void)finding(bob, "privileges", &verdict);
    EXPECT_IS(verdict, HF_FINE);
}

CASE_WITHIN(60, a_user_without_scripts_is_told_so,
            expect_denied("-evalsha", "+evalsha"));
CASE_WITHIN(60, a_user_without_a_command_of_a_script_is_told_so,
            expect_denied("-hset", "+hset"));

TEST_WITHIN(60, a_user_of_other_keys_is_told_so)
{
    AUTO_SERVER *r =
        own_server_with_users("user bob on >pw ~others:* &* +@all");
    AUTO_CLIENT *bob = NULL;
    AUTO_CLIENT *carol = NULL;

    EXPECT_IS(hf_open(url_as("bob:pw", ""), NULL, &bob, NULL), HF_OK);
    expect_refused(bob, HF_EAUTH, "keys");
    EXPECT_IS(hf_open(url_as("bob:pw", "prefix=others"), NULL, &carol, NULL),
              HF_OK);
    EXPECT_IS(try_once(carol, "other"), HF_OK);
    EXPECT(!hf__redis_has_ended(r));
}

/* Its connections end with it. */
TEST_WITHIN(60, a_user_who_is_removed_is_told_and_loses_in_time)
{
    AUTO_SERVER *r = own_server_with_users("user bob on >pw ~* &* +@all");
    AUTO_CLIENT *bob = NULL;

    EXPECT_IS(hf_open(url_as("bob:pw", ""), NULL, &bob, NULL), HF_OK);
    AUTO_LOCK *job = acquire_leased(bob, "job", patience(2000));
    hf__redis_command(r, "ACL DELUSER bob");
    expect_refused(bob, HF_EAUTH, "check user and password");
    EXPECT_IS(hf_held(job), 1);
    EXPECT_IS(hf_wait_lost(job, patience(4000)), HF_LOST);
    expect_lost(job, HF_REASON_EXPIRED);
    hf__redis_command(r, "ACL SETUSER bob on >pw ~* &* +@all");
    EXPECT_IS(attempt(bob, "job", 3000), HF_OK);
}

/* ---- full */

TEST_WITHIN(60, a_full_server_is_told_and_survived)
{
    AUTO_SERVER *r = own_server(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(2000));

    set("maxmemory", "1kb");
    expect_refused(bob, HF_EUNAVAIL, "maxmemory");
    for (int i = 0; i < 20; i++) {
        int status = try_once(bob, "job");

        EXPECT(status == HF_BUSY || status == HF_EUNAVAIL);
    }
    EXPECT_IS(hf_renew(job, NULL), HF_OK); /* what is there can be renewed */
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    set("maxmemory", "0");
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT(!hf__redis_has_ended(r));
}

TEST_WITHIN(60, a_server_that_cannot_save_is_told_and_survived)
{
    static const char *const extra[] = {"save 3600 1",
                                        "enable-protected-configs yes", NULL};
    AUTO_SERVER *r = own_server(extra);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(20000));
    char gone[512];
    hf_verdict verdict;

    snprintf(gone, sizeof gone, "%s/gone", hf__test_folder());
    EXPECT_IS(mkdir(gone, 0700), 0);
    set("dir", gone);
    EXPECT_IS(rmdir(gone), 0);
    hf__redis_command(r, "BGSAVE");
    UNTIL(strcmp(hf__redis_value(r, "rdb_last_bgsave_status", "INFO"), "err") ==
          0);
    expect_refused(bob, HF_EUNAVAIL, "disk");
    EXPECT_TEXT(finding(bob, "last_write", &verdict), "a snapshot failed");
    EXPECT_IS(verdict, HF_WARN);
    EXPECT_IS(hf_held(job), 1);
    set("stop-writes-on-bgsave-error", "no");
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(try_once(bob, "other"), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

/* ---- shut */

static void fill(const struct hf__redis *r, int keys)
{
    hf__redis_command(r, "EVAL %s 0 %d",
                      "for i = 1, ARGV[1] do redis.call('SET', 'filler' .. i, "
                      "i) end",
                      keys);
}

TEST_WITHIN(60, a_server_that_loads_its_data_is_waited_for)
{
    static const char *const slow[] = {
        "key-load-delay 10", "loading-process-events-interval-bytes 1024",
        NULL};
    AUTO_SERVER *r = own_server_with_aof(NULL);
    char limit[64];

    snprintf(limit, sizeof limit, "connect_timeout=%lldms",
             (long long)patience(500));
    AUTO_CLIENT *alice = open_with(io_timeout(500, ""));
    AUTO_CLIENT *bob = open_with(io_timeout(500, ""));
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(20000));

    fill(r, 30000);
    hf__redis_kill(r);
    hf__redis_launch(r, slow);
    hf__test_pause_ms(200);
    expect_refused(bob, HF_EUNAVAIL, "load");
    expect_closed(url_as("", limit), HF_EUNAVAIL, "load");
    hf__redis_await(r);
    EXPECT_IS(hf_held(job), 1);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    while (hf_renew(job, NULL) != HF_OK) { /* by a dead connection */
        EXPECT_IS(hf_held(job), 1);
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST_WITHIN(60, a_master_that_turns_replica_is_at_risk_and_then_lost)
{
    AUTO_SERVER *r = own_server(NULL);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(2500));
    bool was_at_risk = false;

    hf__redis_command(r, "REPLICAOF 127.0.0.1 %d", hf__servers_take_port());
    expect_refused(alice, HF_EUNSAFE, "master");
    expect_closed(store_url(NULL), HF_EUNSAFE, "replica");
    while (hf_held(job)) {
        was_at_risk = was_at_risk || hf_state(job) == HF_STATE_AT_RISK;
        hf__test_pause_ms(5);
    }
    EXPECT(was_at_risk);
    expect_lost(job, HF_REASON_EXPIRED);
    hf__redis_command(r, "REPLICAOF NO ONE");
    EXPECT_IS(attempt(alice, "job", 3000), HF_OK);
}

/* ---- busy */

/* The server needs a moment to end the script. */
static int answer_soon(hf_client *client, const char *name)
{
    int64_t start = hf__test_now_ms();
    int r;

    while ((r = try_once(client, name)) == HF_EUNAVAIL) {
        EXPECT_LESS(since(start), patience(2000));
    }
    return r;
}

/* A script of a stranger's that never ends. */
static redisContext *keep_busy(const struct hf__redis *r)
{
    redisContext *c = redisConnect("127.0.0.1", hf__redis_port(r));
    int is_sent = 0;

    EXPECT(c && !c->err);
    EXPECT_IS(redisAppendCommand(c, "EVAL %s 0", "while true do end"),
              REDIS_OK);
    while (!is_sent) {
        EXPECT_IS(redisBufferWrite(c, &is_sent), REDIS_OK);
    }
    return c;
}

TEST_WITHIN(60, a_server_busy_with_a_strangers_script_is_told_and_survived)
{
    static const char *const extra[] = {"lua-time-limit 20", NULL};
    AUTO_SERVER *r = own_server(extra);
    AUTO_CLIENT *alice = open_with(io_timeout(400, ""));
    AUTO_CLIENT *bob = open_with(io_timeout(400, ""));
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(6000));
    redisContext *c = keep_busy(r);

    hf__test_pause_ms(100);
    expect_refused(bob, HF_EUNAVAIL, "SCRIPT KILL");
    hf__test_pause_ms(1000);
    EXPECT_IS(hf_held(job), 1);
    EXPECT(!hf__redis_try(r, "SCRIPT KILL"));
    redisFree(c);
    EXPECT_IS(answer_soon(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    hf__test_pause_ms(patience(3000));
    expect_held(job);
}

/* ---- connections */

TEST_WITHIN(60, who_comes_when_all_places_are_taken_is_told)
{
    static const char *const extra[] = {"maxclients 12", NULL};
    AUTO_SERVER *r = own_server(extra);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    redisContext *others[16];

    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    for (int i = 0; i < 16; i++) {
        others[i] = redisConnect("127.0.0.1", hf__redis_port(r));
        freeReplyObject(redisCommand(others[i], "PING"));
    }
    expect_closed(store_url(NULL), HF_EUNAVAIL, "maxclients");
    hf__test_pause_ms(patience(3000));
    expect_held(job); /* its connections were there */
    EXPECT_IS(try_once(alice, "other"), HF_OK);
    for (int i = 0; i < 16; i++) {
        redisFree(others[i]);
    }
    hf__test_pause_ms(50);
    EXPECT_IS(open_status(store_url(NULL), NULL), HF_OK);
}

static void kill_sessions(void)
{
    hf__redis_command(server(), "CLIENT KILL TYPE normal");
}

TEST_WITHIN(60, sessions_that_are_killed_cost_nobody_a_lock)
{
    OWN_SERVER(false);

    outlive_ends_of(kill_sessions);
}

/* A session that was idle for too long: the server has closed it. */
TEST_WITHIN(60, sessions_that_were_idle_too_long_cost_nobody_an_error)
{
    static const char *const extra[] = {"timeout 1", NULL};
    AUTO_SERVER *r = own_server(extra);
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__test_pause_ms(2500);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    EXPECT(!hf__redis_has_ended(r));
}
